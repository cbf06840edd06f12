//! Tells an observer what machines do, and who holds up whom.
//!
//! A machine that stands is held up by the one that has promised least among those that have not answered
//! yet, if that may do something earlier than the machine itself; otherwise by what is simulated.
//!
//! Invariant: of frames that never arrive a bounded number is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::frame_log::FrameKey;
use super::observer::{FrameEnd, MachineActivity, MachineObserver, MachineSlice};
use super::seat::{Seat, Step};

/// How long a machine must have nothing to do to count as idle, in nanoseconds of virtual time. A slow
/// processor stands up to an instruction after its bound, which takes it no longer than that.
const IDLE_NS: u64 = 1_100;
/// So many frames on their way are kept.
const MOST_FRAMES: usize = 1 << 16;

/// What is seen of the machines of a run.
#[derive(Debug)]
pub(super) struct Watch {
    observer: Arc<dyn MachineObserver>,
    /// By machine: what it has been doing; `None` outside of stretches.
    open: Vec<Option<MachineSlice>>,
    /// Frames that have left and not arrived.
    flying: BTreeMap<FrameKey, FrameEnd>,
}

impl Watch {
    pub(super) fn new(observer: Arc<dyn MachineObserver>, seats: &mut [Seat]) -> Self {
        let names: Vec<_> = seats.iter().map(|seat| seat.machine().name().to_owned()).collect();
        observer.machines(&names);
        seats.iter_mut().for_each(Seat::log_frames);
        Self { observer, open: vec![None; names.len()], flying: BTreeMap::new() }
    }

    /// Looks at all machines, after anything may have changed.
    pub(super) fn look(&mut self, seats: &mut [Seat]) {
        let now = Instant::now();
        let at_work =
            (0..).zip(&*seats).filter(|(_, seat)| matches!(seat.step(), Step::Waiting | Step::Running));
        let furthest_behind = at_work.map(|(number, seat)| (seat.promise_ns(), number)).min();
        for (number, seat) in seats.iter().enumerate().filter(|(_, seat)| seat.has_begun()) {
            let next_ns = seat.promise_ns();
            let slice = MachineSlice {
                machine: number,
                activity: activity(seat, furthest_behind.filter(|(promise_ns, _)| *promise_ns < next_ns)),
                start: now,
                end: now,
                next_ns: Some(next_ns).filter(|ns| *ns != u64::MAX),
                clock_ns: seat.clock_ns(),
            };
            let kind = |slice: &MachineSlice| (slice.activity, slice.next_ns);
            if self.open[number].as_ref().is_none_or(|open| kind(open) != kind(&slice)) {
                self.close(number, now);
                self.open[number] = Some(slice);
            }
        }
        self.follow_frames(seats, now);
    }

    /// A stretch ends for a machine.
    pub(super) fn end(&mut self, seats: &mut [Seat], number: usize) {
        self.look(seats);
        self.close(number, Instant::now());
    }

    fn close(&mut self, number: usize, end: Instant) {
        if let Some(slice) = self.open[number].take() {
            self.observer.did(&MachineSlice { end, ..slice });
        }
    }

    fn follow_frames(&mut self, seats: &mut [Seat], at: Instant) {
        // What leaves first, so that everything that arrives is known.
        for (machine, seat) in seats.iter_mut().enumerate() {
            let left = seat.frames().into_iter().flat_map(|frames| frames.take_left());
            self.flying.extend(left.map(|key| (key, FrameEnd { machine, at, time_ns: key.0 / 1_000 })));
        }
        while self.flying.len() > MOST_FRAMES {
            self.flying.pop_first();
        }
        for (machine, seat) in seats.iter_mut().enumerate() {
            let arrived = seat.frames().into_iter().flat_map(|frames| frames.take_arrived());
            for (time_ns, key) in arrived {
                // Simulated hosts send frames, too.
                if let Some(from) = self.flying.remove(&key) {
                    self.observer.frame(&from, &FrameEnd { machine, at, time_ns });
                }
            }
        }
    }
}

/// `behind` is a machine that can still send something before this one does anything.
fn activity(seat: &Seat, behind: Option<(u64, usize)>) -> MachineActivity {
    match seat.step() {
        _ if seat.is_off() => MachineActivity::Off,
        Step::Over => MachineActivity::Off,
        Step::Running if seat.is_starting() => MachineActivity::Starting,
        Step::Running => MachineActivity::Running,
        Step::Waiting => MachineActivity::Granted,
        Step::Idle if seat.promise_ns() >= seat.bound_ns().saturating_add(IDLE_NS) => MachineActivity::Idle,
        Step::Idle => MachineActivity::Waiting(behind.map(|(_, number)| number)),
    }
}
