//! The owner of a run: the program that has started it (`--owned`), which advances it, reads its states and
//! sends it events, by lines of JSON on standard input that are answered on standard output.
//!
//! Invariants: each line gets one answer, in their order, but for `finish`, whose answer is the summary; no
//! answer comes after the summary has begun; a run whose owner has gone stops.

use std::io::{self, BufRead};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use paceline_engine::{Reached, Run, RunError};
use paceline_kernel::{LpId, Model, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Answer, Request, Setting, Steering, advance, parameters, window_end};
use crate::failure::CommandError;
use crate::stdout;

/// What an owner asks.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Wish {
    /// How far it is.
    Status,
    /// Everything before this time is to happen; with none, everything before the horizon.
    Until(Option<String>),
    /// One window is to happen.
    Window,
    /// One event is to happen.
    Event,
    /// The state of this LP.
    State(u32),
    /// The states of all LPs.
    States,
    /// An event from outside.
    Send { to: u32, at: String, event: Value },
    /// Which parameters can be changed.
    Parameters,
    /// A parameter is to be changed.
    Set(Setting),
    /// A checkpoint is to be written.
    Checkpoint,
    /// It is to go on with so many threads.
    Threads(u32),
    /// It is to end where it is.
    Finish,
}

/// The end of a run that serves its owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner(Arc<Mutex<IsOver>>);

#[derive(Debug, Default)]
struct IsOver(bool);

impl Owner {
    /// Serves the owner of the run that is steered so, on a thread of its own.
    pub(crate) fn serve(steering: &Steering) -> Result<Self, CommandError> {
        let owner = Self::default();
        let (served, steering) = (owner.clone(), steering.clone());
        // It reads until the program ends, so nobody waits for it.
        let serve = move || served.answer_all(&steering);
        Builder::new().name("paceline-owner".into()).spawn(serve).map_err(|reason| {
            CommandError::Input(format!("--owned: there is no thread to read standard input: {reason}"))
        })?;
        Ok(owner)
    }

    /// Answers no more, once the answer in hand is written.
    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = true;
    }

    fn answer_all(&self, steering: &Steering) {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            // Held until the answer is written: the summary comes after it.
            let is_over = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if is_over.0 {
                return;
            }
            let Some(answer) = answer(steering, &line) else { continue };
            let said = match answer {
                Ok(said) => format!("{{\"ok\":{said}}}\n"),
                Err(problem) => format!("{}\n", json!({ "error": problem })),
            };
            if stdout::print(&said).is_err() {
                break;
            }
        }
        steering.monitor().stop();
    }
}

/// The answer to a line; none to the wish that the run ends, whose answer is the summary.
fn answer(steering: &Steering, line: &str) -> Option<Answer> {
    let wish: Wish = match serde_json::from_str(line) {
        Ok(wish) => wish,
        Err(problem) => return Some(Err(format!("no request: {problem}"))),
    };
    let is_finish = wish == Wish::Finish;
    // It takes as long as the run does.
    let answer = steering.ask(Request::Owner(wish), Duration::MAX);
    if is_finish { None } else { Some(answer) }
}

/// Does what the owner wishes. The outer error is that of the run, which cannot go on.
pub(super) fn carry_out<M: Model>(run: &mut Run<M>, wish: Wish) -> Result<Answer, RunError>
where
    M::State: Serialize,
    M::Event: Serialize + DeserializeOwned,
{
    let mut said = Map::new();
    let problem = match wish {
        Wish::Status | Wish::Finish => None,
        Wish::Until(until) => match until.as_deref().map_or(Ok(Time::MAX), paceline_scenario::duration) {
            Ok(until) => {
                said.insert("reached".into(), reached(advance(run, until)?).into());
                None
            }
            Err(problem) => Some(format!("until {}: {problem}", until.unwrap_or_default())),
        },
        Wish::Window => {
            let end = window_end(run);
            said.insert("reached".into(), reached(advance(run, end)?).into());
            None
        }
        Wish::Event if !run.can_step() => {
            Some("single events cannot be run where federates are outside".into())
        }
        Wish::Event => event(run, &mut said)?.err(),
        Wish::State(lp) => state(run, LpId(lp)).map(|state| said.insert("state".into(), state)).err(),
        Wish::States => {
            let states: Said<Vec<_>> = run.states().map(|(lp, state)| value(state, lp)).collect();
            states.map(|states| said.insert("states".into(), states.into())).err()
        }
        Wish::Send { to, at, event } => send(run, LpId(to), &at, event).err(),
        Wish::Parameters => {
            said.insert("parameters".into(), parameters::described(&run.parameters()?));
            None
        }
        Wish::Set(setting) => match parameters::set(run, &setting)? {
            Ok(made) => {
                said.insert("at_s".into(), seconds(made.at));
                None
            }
            Err(problem) => Some(problem),
        },
        Wish::Checkpoint => match run.checkpoint()? {
            true => None,
            false => Some("the run has no file for checkpoints; allowed: a run with run.checkpoint".into()),
        },
        Wish::Threads(threads) => run.set_threads(threads).err().map(|error| error.to_string()),
    };
    if let Some(problem) = problem {
        return Ok(Err(problem));
    }
    said.insert("time_s".into(), seconds(run.time()));
    said.insert("next_time_s".into(), run.next_time().map_or(Value::Null, seconds));
    said.insert("events".into(), run.events().into());
    said.insert("lps".into(), run.model().lps().into());
    Ok(Ok(Value::from(said).to_string()))
}

/// What is said, or why it cannot be.
type Said<T> = Result<T, String>;

const fn reached(reached: Reached) -> &'static str {
    match reached {
        Reached::End => "end",
        Reached::Stopped => "stopped",
        _ => "time",
    }
}

/// Runs one event, and says which it was: `"event"` is null where none is left.
fn event<M: Model>(run: &mut Run<M>, said: &mut Map<String, Value>) -> Result<Said<()>, RunError>
where
    M::State: Serialize,
    M::Event: Serialize,
{
    let before = run.next_event().map(|(lp, _)| state(run, lp));
    let Some(stepped) = run.run_event()? else {
        said.insert("event".into(), Value::Null);
        return Ok(Ok(()));
    };
    let lp = stepped.lp;
    let describe = || {
        let sent: Said<Vec<_>> = stepped
            .sent
            .iter()
            .map(|sent| {
                Ok(json!({ "to": sent.to.0, "time_s": seconds(sent.time), "event": value(&sent.event, lp)? }))
            })
            .collect();
        Ok(json!({
            "lp": lp.0,
            "time_s": seconds(stepped.time),
            "event": value(&stepped.event, lp)?,
            "before": before.transpose()?,
            "after": state(run, lp)?,
            "sent": sent?,
        }))
    };
    Ok(describe().map(|event| {
        said.insert("event".into(), event);
    }))
}

fn state<M: Model>(run: &Run<M>, lp: LpId) -> Said<Value>
where
    M::State: Serialize,
{
    let lps = run.model().lps();
    if lp.0 >= lps {
        return Err(format!("the state of {lp}; allowed: LPs below {lps}"));
    }
    value(run.state(lp), lp)
}

fn send<M: Model>(run: &mut Run<M>, lp: LpId, at: &str, event: Value) -> Said<()>
where
    M::Event: DeserializeOwned,
{
    let at = paceline_scenario::duration(at).map_err(|problem| format!("an event at {at}: {problem}"))?;
    let shown = event.to_string();
    let event = serde_json::from_value(event)
        .map_err(|problem| format!("{shown} is no event of this model: {problem}"))?;
    run.send(lp, at, event).map_err(|error| error.to_string())
}

fn value(what: &impl Serialize, lp: LpId) -> Said<Value> {
    serde_json::to_value(what).map_err(|problem| format!("what {lp} has cannot be said in JSON: {problem}"))
}

/// Seconds, or null for never.
fn seconds(time: Time) -> Value {
    if time == Time::MAX { Value::Null } else { time.as_secs_f64().into() }
}
