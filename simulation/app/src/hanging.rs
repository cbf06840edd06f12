//! A run that does not end when it is asked to, because its model does not come back from an event: says
//! where it hangs.
//!
//! A run ends between two batches of events; a model that loops for ever within one keeps it from that.
//! Invariant: nothing is said of a run that ends soon.

use std::thread;
use std::time::Duration;

use paceline_kernel::{LpId, Time};

use crate::progress;

/// A run has so much time to end before anybody looks.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// An LP that is at the same events for so long hangs.
const HANGING: Duration = Duration::from_millis(500);

/// Says once, some time after the run was asked to end, which LPs are still at the same event; `at_work` says
/// which are at one.
pub fn watch(at_work: impl Fn() -> Vec<(LpId, Time)> + Send + 'static) {
    let look = move || {
        thread::sleep(PATIENCE);
        loop {
            let before = at_work();
            thread::sleep(HANGING);
            let after = at_work();
            let stuck = before.iter().filter(|one| after.contains(one));
            let waiting: Vec<String> =
                stuck.map(|(lp, at)| format!("{lp}, which handles an event of {at} or later")).collect();
            if !waiting.is_empty() {
                let waiting = waiting.join("; ");
                return progress::warn(&format!(
                    "the run was asked to end and waits for {waiting}; a second Ctrl-C ends it at once"
                ));
            }
        }
    };
    // Without such a thread nothing is said, as before.
    drop(thread::Builder::new().name("paceline-hanging".into()).spawn(look));
}
