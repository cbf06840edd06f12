//! Guests in the trace of their run, `--trace`: what each did in real time, whom it waited for, and arrows
//! for frames from guest to guest.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_app::trace::Trace;
use paceline_emulate::run::{FrameEnd, MachineObserver, MachineSlice};
use paceline_report::{GuestFrame, GuestSlice};

/// Writes what guests do into the trace of their run.
#[derive(Debug)]
pub struct GuestTracks {
    trace: Trace,
    names: OnceLock<Vec<String>>,
    frames: AtomicU64,
}

impl GuestTracks {
    pub fn new(trace: &Trace) -> Self {
        Self { trace: trace.clone(), names: OnceLock::new(), frames: AtomicU64::new(0) }
    }
}

impl MachineObserver for GuestTracks {
    fn machines(&self, names: &[String]) {
        self.names.get_or_init(|| names.to_vec());
        self.trace.file().guests(names.iter().map(String::as_str));
    }

    fn did(&self, slice: &MachineSlice) {
        let MachineSlice { machine, activity, start, end, next_ns, clock_ns } = *slice;
        let name = activity.describe(self.names.get().map_or(&[], Vec::as_slice));
        let [start_ns, end_ns] = [start, end].map(|at| self.trace.at_ns(at));
        let guest = machine as u32;
        self.trace.file().guest_slice(&GuestSlice {
            guest,
            name: &name,
            start_ns,
            end_ns,
            next_ns,
            clock_ns,
        });
    }

    fn frame(&self, from: &FrameEnd, to: &FrameEnd) {
        // Arrows have numbers from 1.
        let number = 1 + self.frames.fetch_add(1, Ordering::Relaxed);
        let end = |end: &FrameEnd| (end.machine as u32, self.trace.at_ns(end.at), end.time_ns);
        self.trace.file().guest_frame(&GuestFrame { number, from: end(from), to: end(to) });
    }
}
