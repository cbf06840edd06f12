//! Runs tasks side by side on a pool of threads; they begin in their order.
//!
//! Invariants: results of tasks are reported on the calling thread only. With one worker the tasks run there
//! too, one after the other, and nothing disturbs them. With several no task may wait for another pool: its
//! thread would begin the next task within it.

use std::sync::OnceLock;
use std::sync::mpsc::channel;

use rayon_core::ThreadPoolBuilder;

/// Runs `job` with each of `tasks`, at most `workers` of them at once; `done` is called with each result as
/// tasks end. After the first failure no further task begins; the failure is returned when the tasks that had
/// begun have ended.
///
/// If no threads can be started, the calling thread runs all tasks.
pub fn side_by_side<T: Send, R: Send, E: Send + Sync>(
    tasks: Vec<T>,
    workers: usize,
    job: &(impl Fn(T) -> Result<R, E> + Sync),
    done: &mut dyn FnMut(R),
) -> Result<(), E> {
    let workers = workers.min(tasks.len());
    let pool = (workers > 1).then(|| ThreadPoolBuilder::new().num_threads(workers).build());
    let Some(Ok(pool)) = pool else {
        return tasks.into_iter().try_for_each(|task| job(task).map(&mut *done));
    };
    let (sender, results) = channel();
    let failure = OnceLock::new();
    pool.in_place_scope_fifo(|scope| {
        for task in tasks {
            let (sender, failure) = (sender.clone(), &failure);
            scope.spawn_fifo(move |_| {
                if failure.get().is_some() {
                    return;
                }
                // If the failure is not the first one, it is dropped. The receiver exists until all tasks
                // have ended.
                let _ = match job(task) {
                    Ok(result) => sender.send(result).ok(),
                    Err(error) => failure.set(error).ok(),
                };
            });
        }
        drop(sender);
        results.into_iter().for_each(done);
    });
    failure.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    const WORKERS: [usize; 3] = [1, 2, 5];

    #[test]
    fn tasks_are_begun_in_their_order() {
        for workers in WORKERS {
            let begun: Vec<AtomicBool> = (0..200).map(|_| AtomicBool::new(false)).collect();
            let job = |task: usize| -> Result<usize, Infallible> {
                begun[task].store(true, Ordering::SeqCst);
                Ok(begun[..task].iter().filter(|begun| !begun.load(Ordering::SeqCst)).count())
            };
            let mut passed_over = Vec::new();
            let result =
                side_by_side((0..begun.len()).collect(), workers, &job, &mut |count| passed_over.push(count));
            assert_eq!((result, passed_over.len()), (Ok(()), begun.len()));
            // Each of the other threads may have taken one that it is about to begin.
            assert!(passed_over.iter().all(|count| *count < workers), "{workers}: {passed_over:?}");
        }
    }

    #[test]
    fn after_a_failure_nothing_is_begun() {
        for workers in WORKERS {
            let begun = AtomicUsize::new(0);
            let job = |task: usize| {
                begun.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(1));
                if task == 2 { Err("the third") } else { Ok(task) }
            };
            let mut done = 0;
            let result = side_by_side((0..1_000).collect(), workers, &job, &mut |_| done += 1);
            assert_eq!(result, Err("the third"));
            let begun = begun.into_inner();
            assert!(begun < 1_000 && done == begun - 1, "{workers} workers: {begun} begun, {done} done");
        }
    }

    #[test]
    fn no_tasks_are_no_failure() {
        let result = side_by_side(Vec::new(), 4, &|()| Err("there is none"), &mut |()| ());
        assert_eq!(result, Ok(()));
    }
}
