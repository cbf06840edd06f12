//! The engine's model of handlers that are C functions.
//!
//! Invariants: handlers change nothing but the state and the call they are given, so that they may be called
//! on any thread, on several at once, and again after a rollback; an exception becomes a panic without a
//! hook, which ends the run once the event is final, and is kept until then.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

use paceline_kernel::{Channels, Context, LpId, Model, Time};
use pyo3::PyErr;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::layout::{Layout, as_bytes};
use super::values::{Message, State, Words};

/// Parameters, state, message and call; zero, or 1 where an exception was raised.
pub type Handler = unsafe extern "C" fn(*const u8, *mut u64, *const u64, *mut Call) -> i32;

/// Exceptions that are kept of events that may be rolled back. An event that fails again replaces its earlier
/// one; beyond this many, the latest in simulated time go, which are the last to become final.
const MOST_EXCEPTIONS: usize = 1000;

/// All that is the same for every size of messages.
pub struct Declared {
    pub lps: u32,
    pub lookahead: Time,
    /// Of each LP, to whom it sends and how far ahead.
    pub channels: Option<Vec<Vec<(LpId, Time)>>>,
    /// The record of parameters, as handlers read it.
    pub parameters: Vec<u64>,
    pub state: &'static Layout,
    pub message: &'static Layout,
    pub init: Handler,
    pub handle: Handler,
    /// By time and LP.
    pub raised: Mutex<BTreeMap<(u64, u32), PyErr>>,
}

/// Final states, one after the other, and whose they are.
#[derive(Default, Serialize, Deserialize)]
pub struct Final {
    pub lps: Vec<u32>,
    pub states: Vec<u8>,
}

/// The model, with messages of so many words.
pub struct Handlers<W> {
    declared: Arc<Declared>,
    words: std::marker::PhantomData<fn() -> W>,
}

impl<W: Words> Handlers<W> {
    pub fn new(declared: &Arc<Declared>) -> Self {
        Self { declared: Arc::clone(declared), words: std::marker::PhantomData }
    }

    #[inline(always)]
    fn call(&self, handler: Handler, state: &mut State, message: *const u64, cx: &mut Context<'_, Self>) {
        let mut scratch = W::zeros(self.declared.message.words());
        let mut call = Call {
            now: cx.now().as_nanos() as i64,
            lp: i64::from(cx.lp().0),
            lps: i64::from(self.declared.lps),
            scratch: scratch.pointer(),
            rng: *cx.rng(),
            context: std::ptr::from_mut(cx).cast(),
            send: send::<W>,
            refused: None,
            raised: None,
        };
        let parameters = self.declared.parameters.as_ptr().cast();
        // SAFETY: `_model.py` made the handler for these dtypes: it reads the parameters and the message,
        // writes the state and the scratch within their sizes, and returns a status. `cx` is not used while
        // it is lent to the call.
        let status = unsafe { handler(parameters, state.words.as_mut_ptr(), message, &raw mut call) };
        *cx.rng() = call.rng;
        if status != 0 || call.refused.is_some() {
            self.fail(call, cx);
        }
    }

    /// Ends the event: the run ends, or rolls the event back.
    #[cold]
    #[inline(never)]
    fn fail(&self, call: Call, cx: &Context<'_, Self>) -> ! {
        let text = match (call.refused, call.raised) {
            (Some(refused), _) => refused,
            (None, Some(raised)) => {
                let mut kept = self.declared.raised.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                kept.insert((cx.now().as_nanos(), cx.lp().0), raised);
                if kept.len() > MOST_EXCEPTIONS {
                    kept.pop_last();
                }
                "an exception".to_owned()
            }
            (None, None) => "an exception that was lost".to_owned(),
        };
        // No `panic!`: its hook prints, and the exception says it all.
        resume_unwind(Box::new(text));
    }
}

/// Sends the words in the scratch.
///
/// # Safety
/// `call.context` is a context of `Handlers<W>` that nobody else uses, and `call.scratch` is the memory of a
/// `W`.
unsafe fn send<W: Words>(call: &Call, to: LpId, delay: Time) {
    fn context<'c, W: Words>(context: *mut c_void) -> &'c mut Context<'c, Handlers<W>> {
        // SAFETY: as `send` asks. The lifetime is that of the handler's call, and does not leave `send`.
        unsafe { &mut *context.cast() }
    }
    let cx = context::<W>(call.context);
    let layout = cx.model().declared.message;
    let mut words = W::zeros(layout.words());
    // SAFETY: both are memory of the layout's words, and one is new.
    unsafe { std::ptr::copy_nonoverlapping(call.scratch, words.pointer(), layout.words()) };
    cx.send(to, delay, Message { layout, words });
}

impl<W: Words> Model for Handlers<W> {
    type State = State;
    type Event = Message<W>;
    type Output = Final;

    fn lps(&self) -> u32 {
        self.declared.lps
    }

    fn lookahead(&self) -> Time {
        self.declared.lookahead
    }

    /// Handlers have times as signed numbers.
    fn latest_horizon(&self) -> Time {
        Time::nanos(i64::MAX as u64)
    }

    /// Compared between the workers of a run.
    fn parameters(&self) -> String {
        let Declared { parameters, state, message, .. } = &*self.declared;
        format!("state {:016x}, message {:016x}, parameters {parameters:x?}", state.key(), message.key())
    }

    fn channels(&self, lp: LpId) -> Channels {
        let declared = self.declared.channels.as_ref();
        declared.map_or(Channels::All, |channels| Channels::Only(channels[lp.index()].clone()))
    }

    fn init(&self, _lp: LpId, cx: &mut Context<Self>) -> State {
        let mut state = State::zeros(self.declared.state);
        self.call(self.declared.init, &mut state, std::ptr::null(), cx);
        state
    }

    #[inline(always)]
    fn handle(&self, state: &mut State, message: &Message<W>, cx: &mut Context<Self>) {
        self.call(self.declared.handle, state, message.words.as_ref().as_ptr(), cx);
    }

    fn state_bytes(&self, state: &State) -> usize {
        state.bytes()
    }

    fn finish(&self, lp: LpId, state: &State, output: &mut Final) {
        output.lps.push(lp.0);
        output.states.extend_from_slice(&as_bytes(&state.words)[..self.declared.state.bytes()]);
    }
}
