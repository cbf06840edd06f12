//! Panics of a model, caught wherever it is called: they end the run with an error, never the thread.
//!
//! Invariant: a library changes no hook of the program that uses it; [`tell_panics_once`] is called by
//! programs.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic;
use std::sync::Once;

use paceline_kernel::{Caught, Model, Time, ask, catch, note_panic};

use crate::RunError;

/// Lets a panic of a model be reported once, by the error that ends its run: with the file and line, the LP,
/// the time and the event. Without this, Rust's hook prints the file and line when it happens, and the error
/// has the rest; under Time Warp the hook prints panics that are rolled back, too, and so do not count.
///
/// For the `main` of a program: it sets the panic hook of the whole process, once. Panics elsewhere are for
/// the hook that was there before. Where `RUST_BACKTRACE` asks for a backtrace, the error has it
/// ([`paceline_kernel::PanicNote`]).
pub fn tell_panics_once() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Only here, where the stack is still as it was; whoever catches the panic sees its own.
            let backtrace = Backtrace::capture();
            let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
            if !note_panic(info, backtrace) {
                before(info);
            }
        }));
    });
}

impl From<Caught> for RunError {
    fn from(panic: Caught) -> Self {
        match panic.into_event_error() {
            Ok(trouble) => trouble.into(),
            Err(panic) => Self::Panic(panic),
        }
    }
}

/// Does `work`, in which the model may be called; its panic is an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch(work).unwrap_or_else(|panic| Err(panic.into()))
}

/// The number of LPs and the lookahead, should the model panic in saying so.
pub(crate) fn facts<M: Model>(model: &M) -> (u32, Time) {
    (ask(|| "`lps`".into(), || model.lps()), ask(|| "`lookahead`".into(), || model.lookahead()))
}
