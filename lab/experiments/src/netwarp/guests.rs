//! Guests of the emulator as hosts of a network: the one file that knows how their image is packed, how they
//! are started, and how a run with them is put together.
//!
//! All guests of an experiment boot one image, once: they start from a template whose memory they share.
//!
//! Invariant: what a run gives depends on the network and the scripts alone, not on the host's load.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use paceline_emulate::guest::{Card, Emulator, Guest, GuestSettings, GuestState};
use paceline_emulate::image::{
    Contents, ImageError, READY, SETUP, Setup as GuestSetup, SetupCard, SetupScript, Sources, pack,
};
use paceline_emulate::run::{Machine, Terms, federates};
use paceline_engine::{Outside, Protocol, Simulation};
use paceline_kernel::{LpId, Model as _, Time};
use paceline_packets::{NetResults, Packets, Stations, WebResult};
use paceline_results::{Results as _, RunFacts};
use tempfile::TempDir;

use crate::prelude::*;

/// What a boot is granted at a time, and at most in all, in nanoseconds.
const BOOT_STEP: u64 = 100_000_000;
const BOOT_LIMIT: u64 = 60_000_000_000;
/// The memory of a guest if nothing else is said.
const MEMORY_MIB: u32 = 128;
/// A card's data in a frame.
const MTU: u16 = 1_500;

/// Guests that run programs of Debian, which boot when the first run needs them.
#[derive(Clone)]
pub(super) struct Guests {
    programs: &'static [&'static str],
    memory_mib: u32,
    booted: Arc<OnceLock<Found<Booted>>>,
}

/// Guests that have booted.
struct Booted {
    emulator: Emulator,
    memory_mib: u32,
    folder: TempDir,
}

/// What is left of a run with guests.
#[derive(Clone, Debug, Default)]
pub(super) struct Ran {
    /// The captures, by the names of their files.
    pub captures: BTreeMap<String, Vec<u8>>,
    /// What guests wrote to their consoles, in the order of the scripts.
    pub consoles: Vec<String>,
    /// What simulated clients of the web have seen, by host.
    pub web: Vec<WebResult>,
}

impl Guests {
    /// Guests that have these of Debian's programs beside those of busybox.
    pub fn new(programs: &'static [&'static str]) -> Self {
        Self { programs, memory_mib: MEMORY_MIB, booted: Arc::default() }
    }

    /// The same with other memory, which has to be enough for the image too.
    pub fn memory(self, memory_mib: u32) -> Self {
        Self { memory_mib, ..self }
    }

    /// Runs `model` to `until` with a guest at each of its machines, in their order. Each runs its script
    /// from `start` on.
    pub fn run(&self, model: &Packets, scripts: &[String], start: Time, until: Time) -> Found<Ran> {
        let machines = machines(model)?;
        let mut started = self.start(&machines, scripts, start)?;
        let nodes: Vec<u32> = machines.iter().map(|(node, _)| *node).take(scripts.len()).collect();
        let guests = started.guests.drain(..).map(|guest| Box::new(guest) as Box<dyn Machine>);
        let terms = Terms { at_once: 2, ..Terms::default() };
        let guests = nodes.iter().copied().zip(guests).collect();
        let outside = federates(model, guests, terms).map_err(failed)?;
        let count = nodes.len() as u32 + 1;
        let partition = model.partition(count);
        let run = Simulation::new(model.clone()).protocol(Protocol::Window).threads(1).federates(count);
        let mut run = run.until(until);
        for (node, guest) in nodes.into_iter().zip(outside) {
            run = run.outside(partition.place(LpId(node)).0, Outside::new(guest));
        }
        let report = run.run().map_err(failed)?;
        let facts = RunFacts { events: report.events, end_time: report.end_time };
        let web = NetResults::new(model.flows(), &report.outputs).web;
        let captures = captures(model, report.outputs, &facts)?;
        Ok(Ran { captures, consoles: started.consoles(), web })
    }

    /// Starts a guest for each script without a network: whoever drives them forwards their frames.
    pub fn start(&self, machines: &[(u32, Ipv4Addr)], scripts: &[String], start: Time) -> Found<Started> {
        let booted = self.booted.get_or_init(|| Booted::new(self.programs, self.memory_mib)).as_ref();
        booted.map_err(CellError::clone)?.start(machines, scripts, start)
    }
}

impl Booted {
    fn new(programs: &[&str], memory_mib: u32) -> Found<Self> {
        let emulator = Emulator::find().map_err(|error| CellError::Skipped(error.to_string()))?;
        let folder = tempfile::tempdir().map_err(failed)?;
        let programs: Vec<String> = programs.iter().map(ToString::to_string).collect();
        let contents = Contents { programs: programs.clone(), ..Contents::default() };
        let image = pack(&Sources::of(&emulator), &contents).map_err(|error| match error {
            // What scripts/emulator has not unpacked is no failure of ours.
            ImageError::NoProgram { .. } | ImageError::Unreadable { .. } => {
                CellError::Skipped(format!("{error}; needed: {} (scripts/emulator add)", programs.join(", ")))
            }
            other => failed(other),
        })?;
        let least = image.least_memory_mib();
        if memory_mib < least {
            let size = image.size() >> 20;
            let problem =
                format!("guests with {memory_mib} MiB, and an image of {size} MiB: it needs {least}");
            return Err(failed(problem));
        }
        fs::write(folder.path().join("image"), image.to_bytes()).map_err(failed)?;
        let booted = Self { emulator, memory_mib, folder };
        booted.save_template()?;
        Ok(booted)
    }

    /// Boots a guest up to where all are saved.
    fn save_template(&self) -> Found<()> {
        let mut settings = self.settings(self.folder.path(), "boot", "unused");
        settings.template = Some(self.template());
        let mut guest = Guest::start(&settings, &self.emulator).map_err(failed)?;
        let mut stopped = guest.wait().map_err(failed)?;
        while !console(&settings).contains(READY) {
            if stopped.state != GuestState::Standing || stopped.time_ns > BOOT_LIMIT {
                let console = console(&settings);
                return Err(CellError::Guests(format!("a guest does not boot; its console:\n{console}")));
            }
            guest.grant(stopped.time_ns + BOOT_STEP, &[]).map_err(failed)?;
            stopped = guest.wait().map_err(failed)?;
        }
        guest.save_template().map_err(failed)
    }

    fn template(&self) -> std::path::PathBuf {
        self.folder.path().join("template")
    }

    fn settings(&self, folder: &Path, name: &str, text: &str) -> GuestSettings {
        let mut settings =
            GuestSettings::new(name, self.emulator.kernel(), folder.join(format!("{name}.console")));
        settings.memory_mib = self.memory_mib;
        settings.initramfs = Some(self.folder.path().join("image"));
        settings.cards = vec![Card { mac: [0x52, 0x54, 0, 0, 0, 1], mtu: MTU }];
        settings.texts = vec![(SETUP.into(), text.into())];
        settings
    }

    /// Starts a guest for each script, at the machines in their order.
    fn start(&self, machines: &[(u32, Ipv4Addr)], scripts: &[String], start: Time) -> Found<Started> {
        // Cells run side by side: each has consoles of its own.
        let folder = tempfile::tempdir_in(self.folder.path()).map_err(failed)?;
        let mut started = Started { guests: Vec::new(), settings: Vec::new(), folder };
        for (number, script) in scripts.iter().enumerate() {
            let text = setup(machines, number, script, start).text();
            let mut settings = self.settings(started.folder.path(), &name(number), &text);
            settings.load = Some(self.template());
            started.guests.push(Guest::start(&settings, &self.emulator).map_err(failed)?);
            started.settings.push(settings);
        }
        Ok(started)
    }
}

/// Guests that stand at their first time, or are on their way there.
pub(super) struct Started {
    pub guests: Vec<Guest>,
    settings: Vec<GuestSettings>,
    /// With the consoles.
    folder: TempDir,
}

impl Started {
    /// What they have written to their consoles.
    pub fn consoles(&self) -> Vec<String> {
        self.settings.iter().map(console).collect()
    }
}

/// The machines of a model, with their addresses.
pub(super) fn machines(model: &Packets) -> Found<Vec<(u32, Ipv4Addr)>> {
    let stations = model.stations().ok_or_else(|| failed("the network has no machines"))?;
    Ok(stations.machines().collect())
}

/// The captures of a run, by the names of their files.
pub(super) fn captures(
    model: &Packets,
    outputs: Vec<paceline_packets::NetOutput>,
    facts: &RunFacts,
) -> Found<BTreeMap<String, Vec<u8>>> {
    let summary = model.results(outputs, facts).map_err(failed)?;
    let mut captures = BTreeMap::new();
    for file in summary.files.into_iter().filter(|file| file.name.ends_with(".pcap")) {
        let (name, mut bytes) = (file.name.to_string(), Vec::new());
        file.write(&mut bytes).map_err(failed)?;
        captures.insert(name, bytes);
    }
    Ok(captures)
}

/// What the guest at a machine is told: its card, all other guests, and its script.
fn setup(machines: &[(u32, Ipv4Addr)], number: usize, script: &str, start: Time) -> GuestSetup {
    let address = machines[number].1;
    let others = machines.iter().filter(|(_, other)| *other != address);
    GuestSetup {
        name: name(number),
        seed: [number as u8 + 1; 32],
        cards: vec![SetupCard {
            mac: Stations::ethernet_address(address),
            mtu: MTU,
            address,
            prefix: 24,
            gateway: None,
            neighbours: others.map(|(_, other)| (*other, Stations::ethernet_address(*other))).collect(),
        }],
        hosts: machines.iter().enumerate().map(|(other, (_, address))| (name(other), *address)).collect(),
        scripts: vec![SetupScript {
            label: "script".into(),
            at_ns: Some(start.as_ticks() / Time::TICKS_PER_NANO),
            text: script.into(),
        }],
        ..GuestSetup::default()
    }
}

/// A guest's name, which its console and others know.
fn name(number: usize) -> String {
    format!("guest-{number}")
}

fn console(settings: &GuestSettings) -> String {
    String::from_utf8_lossy(&fs::read(&settings.console).unwrap_or_default()).into_owned()
}

pub(super) fn failed(error: impl std::fmt::Display) -> CellError {
    CellError::Guests(error.to_string())
}
