//! What processes measure.
//!
//! In a part of a world nobody knows yet whether the world has ended, once nothing in the part keeps it from
//! ending: what is measured from then on waits until that is known.
//!
//! Invariant: what is measured after the end does not count.

use paceline_kernel::Time;
use paceline_network::Network;
use paceline_results::{Note, OutputError, Outputs};

use super::Core;
use super::request::ProcessId;

/// What has been measured, and what waits for the end to be known.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    outputs: Outputs,
    late: Vec<(Time, &'static str, Note)>,
    /// The process that first measured what is not declared.
    misused: Option<(ProcessId, OutputError)>,
}

impl<P, N: Network> Core<P, N> {
    /// From now on processes measure these.
    pub fn gather(&mut self, outputs: Outputs) {
        self.measured.outputs = outputs;
    }

    /// The process that first measured what cannot be, and why it cannot.
    pub fn misused_output(&self) -> Option<&(ProcessId, OutputError)> {
        self.measured.misused.as_ref()
    }

    /// Whether a process measured what cannot be.
    #[inline]
    pub(super) fn has_misused_output(&self) -> bool {
        self.measured.misused.is_some()
    }

    /// What has been measured up to `last`.
    pub fn outputs(&self, last: Time) -> Outputs {
        let Measured { outputs, late, .. } = &self.measured;
        let mut outputs = outputs.clone();
        let in_time = late.iter().filter(|(at, ..)| *at <= last);
        in_time.for_each(|(at, name, note)| {
            outputs.note(name, *at, *note).expect("it was looked at when it came");
        });
        outputs
    }

    /// The world has not ended before `sure`.
    pub fn keep_outputs_until(&mut self, sure: Time) {
        let Measured { outputs, late, .. } = &mut self.measured;
        // They came in the order of their times.
        let in_time = late.partition_point(|(at, ..)| *at <= sure);
        for (at, name, note) in late.drain(..in_time) {
            outputs.note(name, at, note).expect("it was looked at when it came");
        }
    }

    pub(super) fn measure(&mut self, id: ProcessId, name: &'static str, note: Note) {
        let may_be_after_the_end = self.living == 0 && self.parcels.is_part();
        let Measured { outputs, late, misused } = &mut self.measured;
        let noted = if may_be_after_the_end {
            // A mistake is found when it is made.
            outputs.check(name, note).map(|()| late.push((self.now, name, note)))
        } else {
            outputs.note(name, self.now, note)
        };
        if let Err(error) = noted {
            misused.get_or_insert((id, error));
        }
    }
}
