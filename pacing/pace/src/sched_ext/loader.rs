//! The pacer that loads the policy into the kernel and watches over it.
//!
//! `start.rs` starts it. What is loaded is `policy.rs`, when it is taken out for a while `starvation.rs`,
//! and what it counts `report.rs`.
#![allow(unsafe_code)] // a child is put into its scheduling class between fork and exec

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io};

use libbpf_rs::{ErrorKind, MapCore, MapFlags};
use paceline_lvt::{DEFAULT_SLOTS, layout};

use super::pin::Pin;
use super::policy::{Policy, Settings};
use super::report::PolicyReport;
use super::starvation::{Action, Starvation};
use crate::pacer::{PaceError, Pacer};
use crate::sched;
use crate::settings::PaceSettings;

/// How often the loader checks that the policy still runs and that its tasks get CPU time.
const PERIOD: Duration = Duration::from_millis(50);
/// The slice, unless the user has set one.
const USUAL_SLICE: Duration = Duration::from_micros(500);
/// CPU time without progress after which a task is stuck, at least, in slices.
const STUCK_SLICES: u32 = 20;
/// `SCHED_EXT` of `include/uapi/linux/sched.h`.
const SCHED_EXT: i32 = 7;

pub struct Loader {
    /// Before `pin`, since it is to be dropped first.
    policy: Policy,
    pin: Pin,
    starvation: Starvation,
    started: Instant,
    report: PolicyReport,
    pauses: u64,
}

impl Loader {
    /// Loads and attaches the policy, or says why it cannot be.
    pub fn start(settings: &PaceSettings) -> Result<Self, String> {
        refuse_second()?;
        let mut policy = Policy::load(policy_settings(settings)).map_err(|error| reason("loaded", &error))?;
        let pin = Pin::new();
        let header = layout::header(DEFAULT_SLOTS);
        let mut page = policy.page();
        page.update(&0u32.to_ne_bytes(), &header, MapFlags::ANY)
            .map_err(|error| reason("given a page", &error))?;
        page.pin(pin.path()).map_err(|error| reason("given a place in /sys/fs/bpf", &error))?;
        // Last: if an earlier step fails, the scheduling of the machine has not changed.
        policy.attach().map_err(|error| reason("attached", &error))?;
        let started = Instant::now();
        Ok(Self {
            policy,
            pin,
            starvation: Starvation::new(Duration::ZERO),
            started,
            report: PolicyReport::default(),
            pauses: 0,
        })
    }

    fn failed(what: &'static str, error: libbpf_rs::Error) -> PaceError {
        PaceError::System { what, reason: io::Error::other(error) }
    }
}

impl Pacer for Loader {
    fn name(&self) -> &'static str {
        "sched-ext"
    }

    fn page(&self) -> &Path {
        self.pin.path()
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn prepare(&self, command: &mut Command) -> Result<(), PaceError> {
        // The command joins the class before it executes its program, and its children inherit it.
        // SAFETY: the closure makes one system call, which is allowed between fork and exec, and touches no
        // memory of others.
        unsafe {
            command.pre_exec(|| sched::call(0, SCHED_EXT, 0));
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), PaceError> {
        let report =
            self.policy.report().map_err(|error| Self::failed("asking the policy how it goes", error))?;
        self.report = report;
        // A pause detaches the policy, which the kernel reports as an end as well.
        if self.report.exit_kind != 0 && !self.starvation.is_paused() {
            return Err(PaceError::Ejected(self.report.exit()));
        }
        let ran = Duration::from_nanos(self.report.ran_ns);
        let stranded = Duration::from_nanos(self.report.stranded_ns);
        match self.starvation.judge(self.started.elapsed(), ran, self.report.queued > 0, stranded) {
            Action::Keep => {}
            Action::Pause => {
                self.pauses += 1;
                self.policy.detach();
            }
            Action::Resume => {
                self.policy.attach().map_err(|error| Self::failed("putting the policy in again", error))?;
            }
        }
        Ok(())
    }

    fn statistics(&mut self) -> Vec<(&'static str, u64)> {
        if let Ok(report) = self.policy.report() {
            self.report = report;
        }
        let mut statistics = self.report.counters().to_vec();
        statistics.push(("pauses for programs of the fair class", self.pauses));
        statistics
    }

    fn stop(mut self: Box<Self>) -> Result<(), PaceError> {
        self.policy.detach();
        Ok(())
    }
}

fn policy_settings(settings: &PaceSettings) -> Settings {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).expect("slices are at most milliseconds");
    let slice_ns = nanos(settings.slice.unwrap_or(USUAL_SLICE));
    // Even without a minimum share, no task waits for longer than the policy's own limit.
    let wait_max_ns =
        (slice_ns * 1000).checked_div(u64::from(settings.min_share_permille)).unwrap_or(u64::MAX);
    Settings { slice_ns, stuck_ns: slice_ns * u64::from(STUCK_SLICES), wait_max_ns, slots: DEFAULT_SLOTS }
}

/// Fails if the class already has a policy, and names it: there can be one at a time.
fn refuse_second() -> Result<(), String> {
    let read = |file: &str| fs::read_to_string(Path::new(super::CLASS).join(file)).unwrap_or_default();
    match read("state").trim() {
        "" | "disabled" => Ok(()),
        _ => Err(format!("the scheduler {} holds the class", read("root/ops").trim())),
    }
}

/// Why the policy could not be `done`.
fn reason(done: &str, error: &libbpf_rs::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN".into(),
        _ => format!("the policy could not be {done}: {error:#}"),
    }
}
