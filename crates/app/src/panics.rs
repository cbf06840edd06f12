//! Panics of the model in events that may be rolled back: they count only if they are not, so that nothing is said of them
//! when they happen.
//!
//! Such a panic is caught by the engine, which reports it at the end if it has become final. What else panics in a worker
//! takes the run down with it: the main thread then panics too, and the worker's panic, the latest that was passed over,
//! is reported first. Invariant: a panic on any other thread is reported at once, as usual.

use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The name of the engine's worker threads.
const WORKER: &str = "paceline";

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Keeps silent about panics of workers from now on.
pub fn keep_silent() {
    panic::set_hook(quiet(panic::take_hook(), |passed_over| eprintln!("{passed_over}")));
}

/// What passes on to `hook` only panics of threads that are no workers, after it has told the latest that it passed over.
fn quiet(hook: Hook, tell: impl Fn(&str) + Send + Sync + 'static) -> Hook {
    let latest: Arc<Mutex<Option<String>>> = Arc::default();
    Box::new(move |info| {
        let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
        if thread::current().name() == Some(WORKER) {
            *latest = Some(format!("in a worker thread: {info}"));
            return;
        }
        if let Some(latest) = latest.take() {
            tell(&latest);
        }
        hook(info);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn workers_are_passed_over_until_somebody_else_panics() {
        let (told, told_at_once) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (telling, counting) = (Arc::clone(&told), Arc::clone(&told_at_once));
        let ours = |info: &PanicHookInfo<'_>| info.payload_as_str().is_some_and(|text| text.contains("ours"));
        let before = panic::take_hook();
        let hook: Hook = Box::new(move |info| match ours(info) {
            true => drop(counting.fetch_add(1, Ordering::SeqCst)),
            false => before(info),
        });
        panic::set_hook(quiet(hook, move |text| telling.lock().unwrap().push(text.to_owned())));
        let panics = |name: &str, text: &'static str| {
            let thread = thread::Builder::new().name(name.into()).spawn(move || panic!("{text}")).unwrap();
            assert!(thread.join().is_err());
        };
        panics(WORKER, "ours, rolled back");
        panics(WORKER, "ours, for good");
        assert_eq!((told.lock().unwrap().len(), told_at_once.load(Ordering::SeqCst)), (0, 0));
        panics("other", "ours, elsewhere");
        let told = told.lock().unwrap();
        assert_eq!((told.len(), told_at_once.load(Ordering::SeqCst)), (1, 1));
        assert!(told[0].contains("ours, for good"), "{told:?}");
    }
}
