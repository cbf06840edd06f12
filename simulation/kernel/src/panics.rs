//! Panics of a model: reported once, with the place in the source and what the model was asked for.
//!
//! Rust gives the place of a panic only to its hook, and the hook prints it at once. Under Time Warp the
//! event may yet be rolled back, and elsewhere the error that ends the run says it again. So a program's hook
//! may leave the place here ([`note_panic`]), for whoever catches the panic on the same thread ([`catch`]).
//! On the path of an event there is only a value that is dropped if a panic passes by ([`Asking`]); that
//! costs nothing as long as none does.
//!
//! Invariant: what is noted belongs to the latest panic of the thread, and is taken by whoever catches it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use thiserror::Error;

use crate::{EventError, EventErrorKind, LpId, Time};

thread_local! {
    /// How many calls of [`catch`] would catch a panic of this thread.
    static CATCHERS: Cell<u32> = const { Cell::new(0) };
    /// Where the latest panic of this thread was, and its backtrace.
    static PLACE: RefCell<Option<(String, Option<String>)>> = const { RefCell::new(None) };
    /// What the model was asked for when it panicked.
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// What a panic said, and where it was raised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PanicNote {
    /// What the panic said; "without a message" where that was no text.
    pub message: String,
    /// File, line and column, if the hook of the program left them ([`note_panic`]).
    pub place: Option<String>,
    /// The backtrace, if the hook left one.
    pub backtrace: Option<String>,
}

impl PanicNote {
    /// A panic of which only the words are known.
    pub fn saying(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

impl fmt::Display for PanicNote {
    /// What follows "the model panicked".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// What a model was asked for when it panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Something about no event, such as "`init` of LP 3".
    Call(String),
    /// To handle, commit or take back an event.
    Event { lp: LpId, at: Time, event: String },
}

/// A model that panicked outside of an event.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct PanicError {
    /// What it was asked for, such as "`init` of LP 3"; none where it is not known whether that was the
    /// model.
    pub asked: Option<String>,
    /// What it said, and where.
    pub note: PanicNote,
}

crate::debug_tells!(PanicError);

impl PanicError {
    fn text(&self) -> String {
        match &self.asked {
            Some(asked) => format!("the model panicked in {asked}{}", self.note),
            None => format!("a panic, in the model or in what runs it{}", self.note),
        }
    }
}

/// A panic that was caught.
#[derive(Debug)]
pub struct Caught {
    payload: Box<dyn Any + Send>,
    /// What it said, and where.
    pub note: PanicNote,
    /// Boxed, as results of calls that mostly succeed hold this.
    pub(crate) asked: Option<Box<Asked>>,
}

impl Caught {
    /// Whether it was raised with a value of this type.
    pub fn is<T: Any>(&self) -> bool {
        self.payload.is::<T>()
    }

    /// The panic goes on, as if it had not been caught: whoever catches it next finds what is known of it.
    pub fn resume(self) -> ! {
        let Self { payload, note, asked } = self;
        PLACE.set(note.place.map(|place| (place, note.backtrace)));
        ASKED.set(asked.map(|asked| *asked));
        std::panic::resume_unwind(payload)
    }

    /// The error of the event that the model handled when it panicked; outside of events, the panic is the
    /// error.
    pub fn into_event_error(self) -> Result<EventError, PanicError> {
        let Self { note, asked, .. } = self;
        match asked.map(|asked| *asked) {
            Some(Asked::Event { lp, at, event }) => {
                Ok(EventError { kind: EventErrorKind::Panic(note), lp, at, event })
            }
            Some(Asked::Call(call)) => Err(PanicError { asked: Some(call), note }),
            None => Err(PanicError { asked: None, note }),
        }
    }
}

/// For hooks of panics: notes where this one is, for who catches it. Returns whether anybody will; if not,
/// the hook has to report it.
pub fn note_panic(info: &PanicHookInfo<'_>, backtrace: Option<String>) -> bool {
    let is_caught = CATCHERS.get() > 0;
    if is_caught {
        PLACE.set(info.location().map(|place| (place.to_string(), backtrace)));
    }
    is_caught
}

/// Calls `work`. Its panic is the error, with the place in the source and what the model was asked for.
pub fn catch<R>(work: impl FnOnce() -> R) -> Result<R, Caught> {
    let caught = {
        CATCHERS.set(CATCHERS.get() + 1);
        let caught = catch_unwind(AssertUnwindSafe(work));
        CATCHERS.set(CATCHERS.get() - 1);
        caught
    };
    caught.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let message = message.unwrap_or_else(|| "without a message".to_owned());
        // Taken out: what stays behind would be reported of the thread's next panic.
        let (place, backtrace) = PLACE.take().map_or((None, None), |(place, trace)| (Some(place), trace));
        Caught { payload, note: PanicNote { message, place, backtrace }, asked: ASKED.take().map(Box::new) }
    })
}

/// The model is asked for something, until [`Asking::end`]: if it panics, `noted` says what that was.
pub(crate) struct Asking<F: Fn() -> Asked>(F);

impl<F: Fn() -> Asked> Asking<F> {
    #[inline(always)]
    pub fn begin(noted: F) -> Self {
        Self(noted)
    }

    /// The model has answered, so that nothing is noted.
    #[inline(always)]
    pub fn end(self) {
        std::mem::forget(self);
    }
}

/// Reached only by a panic that passes by: an answer ends with [`Asking::end`].
impl<F: Fn() -> Asked> Drop for Asking<F> {
    fn drop(&mut self) {
        let asked = (self.0)();
        // Values are dropped from the innermost call outwards: the first to note knows best.
        ASKED.with_borrow_mut(|noted| {
            noted.get_or_insert(asked);
        });
    }
}

/// Asks the model for something about no event; `call` names it, should the model panic.
#[inline(always)]
pub fn ask<R>(call: impl Fn() -> String, work: impl FnOnce() -> R) -> R {
    let asking = Asking::begin(|| Asked::Call(call()));
    let answer = work();
    asking.end();
    answer
}

/// An event as its `Debug` shows it, even where that panics.
pub(crate) fn shown(event: &impl Debug) -> String {
    // A panic of `Debug` must not hide the one that the event is shown for.
    let place = (PLACE.take(), ASKED.take());
    let shown = catch(|| format!("{event:?}")).unwrap_or_else(|_| "an event whose `Debug` panics".to_owned());
    PLACE.set(place.0);
    ASKED.set(place.1);
    shown
}
