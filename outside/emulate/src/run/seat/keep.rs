//! A machine in a checkpoint: what is kept of its seat, and its state in a file beside.
//!
//! Between two legs a machine stands at or before the bound of its federate, and has been sent every frame
//! before that. What it is still to be sent is kept with the seat; frames that are on links, and what its
//! host has done, are the engine's.
//!
//! Invariant: a state is on the disk, under a name that no valid checkpoint has, before the checkpoint that
//! names it gets its own name.

use std::collections::VecDeque;
use std::path::Path;

use paceline_packets::Packets;
use rustix::event::{PollFd, PollFlags, poll};

use super::{Frame, Saved, Seat, Step};
use crate::run::checkpoint::{self, KeptFrame, KeptSeat};

impl Seat {
    /// Writes the machine's state beside the checkpoint, and gives what the checkpoint is to keep.
    pub(in crate::run) fn save(&mut self, model: &Packets, checkpoint: &Path) -> Result<Vec<u8>, String> {
        // One that has not been asked for anything yet may still be starting.
        while self.is_running() {
            let mut fds = [PollFd::from_borrowed_fd(self.machine.fd(), PollFlags::IN)];
            // Shorter than any deadline, which `read` looks at.
            let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let _ = poll(&mut fds, Some(&wait));
            self.read(model);
        }
        let name = self.machine.name().to_owned();
        if self.step != Step::Idle {
            return Err(format!("guest {name} cannot go on, so it cannot be saved"));
        }
        let failed = |reason: &dyn std::fmt::Display| format!("guest {name} cannot be saved: {reason}");
        let (number, machines) = self.place;
        let file = checkpoint::new_file(checkpoint, number, self.clock_ns).map_err(|error| failed(&error))?;
        let Saved { logs, kept: machine } = self.machine.save(&file).map_err(|error| error.to_string())?;
        let state = checkpoint::sealed(&file).map_err(|error| failed(&error))?;
        let logs = checkpoint::copied(&logs, &file).map_err(|error| failed(&error))?;
        let frames = self.arriving.iter().map(KeptFrame::from).collect();
        let kept = KeptSeat {
            name: name.clone(),
            node: self.nodes[0].0,
            place: (number, machines),
            clock_ns: self.clock_ns,
            ethernet: self.ethernet.clone(),
            sent: self.sent,
            events: self.events,
            arriving: frames,
            is_off: self.is_off,
            state,
            logs,
            machine,
        };
        kept.to_bytes().map_err(|error| failed(&error))
    }

    /// Goes on with a machine that starts from its state in a checkpoint.
    pub(in crate::run) fn restore(&mut self, kept: &KeptSeat) {
        self.restored_ns = Some(kept.clock_ns);
        (self.ethernet, self.sent, self.events) = (kept.ethernet.clone(), kept.sent, kept.events);
        self.arriving = kept.arriving.iter().map(Frame::from).collect::<VecDeque<_>>();
    }

    /// Why a machine that has just started is not the one that was saved.
    pub(super) fn not_restored(&self) -> Option<String> {
        let (name, clock_ns) = (self.machine.name(), self.clock_ns);
        let expected_ns = self.restored_ns.filter(|expected| *expected != clock_ns)?;
        Some(format!("guest {name} starts at {clock_ns} ns, not at {expected_ns} ns, where it was saved"))
    }
}
