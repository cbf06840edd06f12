//! Guests with two VCPUs: the process of the message rounds runs on one, and the guest's kernel leaves the
//! other idle but for its own work, as timer ticks of Linux are.
//!
//! The idle VCPU's clock stands still while that of its sibling advances: when it wakes, it is the least of
//! the host, and runs before VCPUs that have something to do. NSX corrects that by adjustments, whose periods
//! the paper gives as a minute and as "some long time".
//!
//! Invariants: a guest's own work depends on the calibration and the seed only, and is the same under all
//! schedulers; it ends when the guest's process of the rounds has ended.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use paceline_kernel::Rng;
use paceline_machine::{Guest, Op, Program};

use crate::prelude::*;

/// A stream of random numbers for each guest, which no other code uses.
const STREAM: u64 = 2_000;

/// A process, and whether it has ended, for the kernel of its guest.
#[derive(Debug)]
struct Watched {
    process: Box<dyn Program>,
    has_ended: Arc<AtomicBool>,
}

/// The guest kernel's own work.
#[derive(Debug)]
struct Kernel {
    rng: Rng,
    gap_ns: u64,
    work_ns: u64,
    slept: bool,
    /// Whether the process of its guest has ended.
    has_ended: Arc<AtomicBool>,
}

/// The two processes of the `number`th guest, whose application is `process`.
pub fn processes(
    process: Box<dyn Program>,
    calibration: &Calibration,
    (seed, number): (u64, u64),
) -> Vec<Box<dyn Program>> {
    let has_ended = Arc::new(AtomicBool::new(false));
    let kernel = Kernel {
        rng: Rng::new(seed, STREAM + number),
        gap_ns: calibration.get("nsx.guest_gap"),
        work_ns: calibration.get("nsx.guest_work"),
        slept: false,
        has_ended: Arc::clone(&has_ended),
    };
    vec![Box::new(Watched { process, has_ended }), Box::new(kernel)]
}

/// The process of the rounds that `program` is, or watches.
pub fn watched(program: &dyn Program) -> &dyn Program {
    (program as &dyn Any).downcast_ref::<Watched>().map_or(program, |watched| &*watched.process)
}

impl Program for Watched {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        let op = self.process.next(guest);
        if matches!(op, Op::Done) {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        op
    }

    fn waits_for(&self) -> String {
        self.process.waits_for()
    }
}

impl Program for Kernel {
    fn next(&mut self, _guest: &mut Guest<'_>) -> Op {
        if self.has_ended.load(Ordering::Relaxed) {
            return Op::Done;
        }
        self.slept = !self.slept;
        match self.slept {
            true => Op::Sleep(1 + self.rng.below(2 * self.gap_ns)),
            false => Op::Compute(1 + self.rng.below(2 * self.work_ns)),
        }
    }

    fn waits_for(&self) -> String {
        "its next timer tick".into()
    }
}

/// Which of NSX's adjustments has another period than the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjusted {
    /// The VCPUs of a domain are raised to its clock so often, in microseconds (`adjust`).
    Vcpus(u64),
    /// All domains are raised where one lags (`adjust_all`).
    Domains(u64),
}

impl Adjusted {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vcpus(_) => "idle VCPUs",
            Self::Domains(_) => "idle domains",
        }
    }

    pub const fn period_us(self) -> u64 {
        match self {
            Self::Vcpus(period_us) | Self::Domains(period_us) => period_us,
        }
    }
}
