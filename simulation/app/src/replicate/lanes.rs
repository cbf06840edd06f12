//! Replications side by side on threads of this process.
//!
//! Invariants: replications begin in their order; each runs on one lane, a thread that only waits for the
//! run's own workers, and no two share anything but the handles to look at them. What came of them is
//! reported on the calling thread.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::Builder;

use paceline_kernel::{Caught, catch};

/// Calls `job` with the numbers from 0 to `count`, on `lanes` threads, until it returns `None`, and `done`
/// with each result, in the order in which they come. A panic in `job` is a result too: `panicked` makes it
/// of the panic. The error: no thread can be started.
pub fn side_by_side<R: Send>(
    count: u32,
    lanes: u32,
    job: impl Fn(u32) -> Option<R> + Sync,
    panicked: impl Fn(Caught) -> R + Sync,
    mut done: impl FnMut(u32, R),
) -> io::Result<()> {
    let next = AtomicU32::new(0);
    let lane = |sender: std::sync::mpsc::Sender<(u32, R)>| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            // What a panic leaves behind belongs to this replication alone.
            let result = match catch(|| job(number)) {
                Ok(None) => return,
                Ok(Some(result)) => result,
                Err(panic) => panicked(panic),
            };
            if sender.send((number, result)).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (sender, results) = channel();
        for number in 0..lanes.min(count) {
            let (sender, lane) = (sender.clone(), &lane);
            let started =
                Builder::new().name("replications".into()).spawn_scoped(scope, move || lane(sender));
            match started {
                Ok(_) => {}
                Err(error) if number == 0 => return Err(error),
                // Fewer at once compute the same.
                Err(_) => break,
            }
        }
        drop(sender);
        results.into_iter().for_each(|(number, result)| done(number, result));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Barrier;

    #[test]
    fn so_many_run_at_once_and_a_panic_keeps_nobody_from_the_end() {
        for lanes in [1, 2, 5] {
            // Nobody passes before all lanes are there: fewer at once would wait for ever.
            let all = Barrier::new(lanes as usize);
            let job = |number: u32| {
                all.wait();
                assert!(number != 7, "seven");
                Some(number.to_string())
            };
            let mut found = BTreeMap::new();
            let ran = side_by_side(
                20 * lanes,
                lanes,
                job,
                |panic| panic.note.message,
                |number, text| {
                    assert!(found.insert(number, text).is_none(), "{number} came twice");
                },
            );
            let expected = |number: u32| if number == 7 { "seven".to_owned() } else { number.to_string() };
            assert!(
                ran.is_ok() && found == (0..20 * lanes).map(|number| (number, expected(number))).collect()
            );
        }
    }

    #[test]
    fn none_ends_all() {
        let mut found = Vec::new();
        let job = |number: u32| (number < 3).then_some(number);
        side_by_side(u32::MAX, 1, job, |_| 0, |number, _| found.push(number)).unwrap();
        assert_eq!(found, [0, 1, 2]);
    }
}
