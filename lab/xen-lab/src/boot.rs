//! One boot of the hypervisor: its options, its possible guests, and what dom0 does step by step.
//!
//! A boot takes most of a minute before its first step, and each guest some seconds more; so one boot serves
//! many measurements, each opened by a [`Step::Mark`], with parameters changed between them.
//!
//! Invariant: what a boot prints depends only on this description, the hypervisor, and the guests' programs
//! and scripts.
//!
//! Limits: `limit_s` of a [`Boot`] is in real time, and `emulator.rs` ends a boot that exceeds it; that of
//! [`Step::Await`] is in the machine's time, and `dom0-functions.sh` ends the wait.

/// The description of one boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Boot {
    /// Names everything on which its output depends, for example `nsx 2 vcpus`. Boots with the same key are
    /// run once.
    pub key: String,
    /// The scheduler by its name on Xen's command line: `credit`, `credit2`, `psx`, `psxplus`, `nsx`,
    /// `sedf`, `csde`, `csdd`.
    pub scheduler: String,
    /// Whether the hypervisor checks its invariants at every decision, which takes a third more time.
    pub debug: bool,
    /// Further options on Xen's command line, for example `nsx-tick-us=300`.
    pub options: Vec<String>,
    /// The guests that steps create and talk to, by name.
    pub domains: Vec<Domain>,
    /// What dom0 does, in this order. After the last one the machine is switched off.
    pub steps: Vec<Step>,
    /// How long it may take on this machine, in seconds of real time.
    pub limit_s: u32,
}

/// A guest. It waits for commands, which [`Step::Tell`] gives it, runs each in a shell, and prints `paceline:
/// done=STATUS` when it is over.
///
/// The guests of a boot have the addresses 10.0.0.2, 10.0.0.3, ... in their order, and know each other by
/// name.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name: letters, digits and dashes.
    pub name: String,
    /// Its virtual CPUs.
    pub vcpus: u32,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// The PCPUs of its VCPUs, one after the other; VCPUs for which none is named run anywhere.
    pub pins: Vec<u32>,
    /// Whether it is a PVH guest (which runs on PCPUs with hardware virtualization only), not a PV guest.
    pub pvh: bool,
    /// Its weight under credit and credit2; the default is 256.
    pub weight: u32,
}

/// What dom0 does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Opens a part of the transcript: what is printed from now on belongs to it.
    Mark(String),
    /// Creates guests, and waits until each is ready for commands.
    Create(Vec<String>),
    /// Gives a guest a command, and does not wait for it. It is one line of shell.
    Tell(String, String),
    /// Waits until a guest has done its command, at most so many seconds of the machine's time; if it has not
    /// by then, the boot has failed.
    Await(String, u32),
    /// Sets a parameter of the hypervisor while it runs: its name on Xen's command line, and the value.
    Set(String, String),
    /// Pauses a guest.
    Pause(String),
    /// Resumes a paused guest.
    Unpause(String),
    /// Destroys a guest, whatever it does. What it has not printed by then is lost; it can be created again.
    Destroy(String),
    /// Has the scheduler print its state and counters.
    Dump,
    /// Measures how long dom0's shell takes to answer, in its own time: prints `answer_ms`.
    Answer,
    /// Waits, in milliseconds of the machine's time.
    Sleep(u32),
    /// Runs a line of shell in dom0; if its status is not 0, the boot has failed.
    Shell(String),
    /// Repeats steps this many times.
    Repeat(u32, Vec<Step>),
}

impl Boot {
    /// A boot with this key and scheduler, and nothing to do yet.
    pub fn new(key: impl Into<String>, scheduler: impl Into<String>) -> Self {
        Self { key: key.into(), scheduler: scheduler.into(), limit_s: 1800, ..Self::default() }
    }
}

impl Domain {
    /// A PV guest with one VCPU and 128 MiB.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), vcpus: 1, memory_mib: 128, pins: Vec::new(), pvh: false, weight: 256 }
    }
}

impl Step {
    /// Gives all these guests their commands in as short a time as dom0 can, and waits for them, in this
    /// order.
    pub fn together(commands: &[(&str, String)], limit_s: u32) -> Vec<Self> {
        let tell = commands.iter().map(|(name, command)| Self::Tell((*name).into(), command.clone()));
        tell.chain(commands.iter().map(|(name, _)| Self::Await((*name).into(), limit_s))).collect()
    }
}
