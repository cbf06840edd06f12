//! Where the machine's thread waits: paused, between single turns, or tied to real time.
//!
//! Invariants: a machine that is not asked for anything pays one look at an atomic flag; each request gets
//! one answer, also when the machine ends meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paceline_app::text;

use super::seconds;

/// The longest that a request waits for the machine.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a machine that waits shows what is new.
const LOOK: Duration = Duration::from_millis(20);

/// The gate. Its state is changed by requests and by the machine's thread.
#[derive(Debug)]
pub struct Gate {
    /// Whether the machine's thread has to look at the state.
    is_asked: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_paused: bool,
    /// Whether the machine's thread waits now, and since which machine time.
    waits_ns: Option<u64>,
    is_over: bool,
    step: Step,
    /// Simulated seconds a second, and from which moment of both times; the moment is set at the next turn.
    pace: Option<(f64, Option<(Instant, u64)>)>,
}

/// A single turn that is asked for.
#[derive(Debug, Default)]
enum Step {
    #[default]
    None,
    Asked(SyncSender<String>),
    /// It runs: whoever asked gets its words at its end.
    Running(SyncSender<String>),
}

impl Gate {
    pub fn new(is_paused: bool) -> Self {
        let state = State { is_paused, ..State::default() };
        Self { is_asked: AtomicBool::new(is_paused), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Whether the machine's thread has anything to do here.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    pub fn is_paused(&self) -> bool {
        self.state().is_paused
    }

    pub fn pace(&self) -> Option<f64> {
        self.state().pace.map(|(factor, _)| factor)
    }

    /// The machine has ended: nobody waits for it any more.
    pub fn end(&self) {
        let mut state = self.state();
        *state = State { is_over: true, ..State::default() };
        drop(state);
        self.changed.notify_all();
    }

    /// A turn has ended; `say` is put into words if it was asked for.
    pub fn stepped(&self, say: impl FnOnce() -> String) {
        let mut state = self.state();
        match std::mem::take(&mut state.step) {
            // Whoever asked may have lost patience.
            Step::Running(sender) => drop(sender.try_send(say())),
            other => state.step = other,
        }
    }

    /// Keeps the machine's thread, which is at this machine time, as long as the machine is held. `look` is
    /// called all the while.
    pub fn wait(&self, now_ns: u64, look: impl Fn()) {
        let mut state = self.state();
        while let Some(wait) = state.hold(now_ns) {
            state.waits_ns = Some(now_ns);
            self.changed.notify_all();
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
            drop(state);
            look();
            state = self.state();
        }
        state.waits_ns = None;
        self.is_asked.store(state.is_held(), Ordering::Relaxed);
    }

    /// Does what is asked, in one line.
    pub fn answer(&self, request: &str) -> Result<String, String> {
        let mut state = self.state();
        if state.is_over {
            return Err("the machine has ended".into());
        }
        match request.split(' ').collect::<Vec<_>>()[..] {
            ["pause"] => {
                state.is_paused = true;
                self.tell(&state);
                let waits = |state: &mut State| state.waits_ns.is_none() && !state.is_over;
                let waited = self.changed.wait_timeout_while(state, PATIENCE, waits);
                let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                match state.waits_ns {
                    Some(ns) => Ok(format!("paused at {}", text::seconds(seconds(ns)))),
                    None if state.is_over => Err("the machine has ended".into()),
                    None => Err("no VCPU has left its PCPU yet: the machine pauses where one does".into()),
                }
            }
            ["go"] => {
                state.is_paused = false;
                // What passed while it waited does not count as being late.
                state.pace = state.pace.map(|(factor, _)| (factor, None));
                self.tell(&state);
                Ok("goes on".into())
            }
            ["step"] => {
                let (sender, said) = sync_channel(1);
                state.is_paused = true;
                state.step = Step::Asked(sender);
                self.tell(&state);
                drop(state);
                said.recv_timeout(PATIENCE).map_err(|_| "the machine has ended, or has no turn yet".into())
            }
            ["pace", "free"] => {
                state.pace = None;
                self.tell(&state);
                Ok("as fast as it can from now on".into())
            }
            ["pace", factor] => match factor.parse() {
                Ok(factor) if factor > 0.0 && f64::is_finite(factor) => {
                    state.pace = Some((factor, None));
                    self.tell(&state);
                    Ok(format!("{factor} simulated seconds a second from now on"))
                }
                _ => Err(format!("a pace of {factor}; allowed: a number above 0, or free")),
            },
            _ => {
                Err(format!("unknown request {request:?}; allowed: pause, go, step, pace NUMBER, pace free"))
            }
        }
    }

    /// Lets the machine's thread look at the state.
    fn tell(&self, state: &State) {
        // It is cleared by that thread alone, once nothing holds it.
        self.is_asked.fetch_or(state.is_held(), Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that may panic is done while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    const fn is_held(&self) -> bool {
        self.is_paused || self.pace.is_some()
    }

    /// How long to wait before looking again; nothing where the machine goes on.
    fn hold(&mut self, now_ns: u64) -> Option<Duration> {
        if self.is_paused {
            match std::mem::take(&mut self.step) {
                Step::Asked(sender) => {
                    self.step = Step::Running(sender);
                    return None;
                }
                other => self.step = other,
            }
            return Some(LOOK);
        }
        let (factor, from) = self.pace.as_mut()?;
        let (start, from_ns) = *from.get_or_insert_with(|| (Instant::now(), now_ns));
        // A pace that is very low asks for more time than there is.
        let due = Duration::try_from_secs_f64(seconds(now_ns.saturating_sub(from_ns)) / *factor);
        let left = due.unwrap_or(Duration::MAX).checked_sub(start.elapsed())?;
        (!left.is_zero()).then(|| left.min(LOOK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_held_takes_single_turns_and_goes_on() {
        let gate = Gate::new(true);
        std::thread::scope(|scope| {
            let machine = scope.spawn(|| {
                gate.wait(0, || ());
                let mut turns = 0;
                while gate.is_asked() {
                    turns += 1;
                    gate.stepped(|| format!("turn {turns}"));
                    gate.wait(turns, || ());
                }
                gate.end();
                turns
            });
            assert_eq!(gate.answer("pause"), Ok("paused at 0 s".into()));
            assert_eq!(gate.answer("step"), Ok("turn 1".into()));
            assert_eq!(gate.answer("step"), Ok("turn 2".into()));
            assert!(gate.answer("pace nothing").is_err());
            assert_eq!(gate.answer("go"), Ok("goes on".into()));
            assert_eq!(machine.join().ok(), Some(2));
        });
        assert!(gate.answer("pause").is_err_and(|problem| problem.contains("ended")));
    }

    #[test]
    fn a_pace_lets_real_time_pass() {
        let gate = Gate::new(false);
        assert!(gate.answer("pace 100").is_ok() && gate.pace() == Some(100.0));
        let start = Instant::now();
        gate.wait(0, || ());
        // Five simulated seconds at a hundred a second.
        gate.wait(5_000_000_000, || ());
        assert!(start.elapsed() >= Duration::from_millis(50));
    }
}
