//! One event, and what is said of it: which it was, the LP's state before and after, what it sent.

use paceline_engine::{Run, RunError};
use paceline_kernel::Model;
use serde::Serialize;

use super::Answer;

/// Characters shown of a state or an event.
const TEXT_CHARS: usize = 400;
/// Messages listed that an event has sent.
const SENT_MAX: usize = 4;

/// Runs the next event. The outer error is that of the run, which cannot go on.
pub(super) fn event<M: Model>(run: &mut Run<M>) -> Result<Answer, RunError>
where
    M::State: Serialize,
    M::Event: Serialize,
{
    if !run.can_step() {
        return Ok(Err("single events cannot be run where federates are outside; allowed: window".into()));
    }
    let Some((lp, _)) = run.next_event() else {
        return Ok(Ok(format!("no event is left before the end; paused at {}", run.time())));
    };
    let before = shown(run.state(lp));
    let Some(stepped) = run.run_event()? else {
        return Ok(Ok(format!("no event is left before the end; paused at {}", run.time())));
    };
    let (time, after) = (stepped.time, shown(run.state(lp)));
    let mut said = format!("{time}: {lp} handled {}", shown(&stepped.event));
    said += &match before == after {
        true => format!("; its state stays {before}"),
        false => format!("; its state was {before}; and is {after}"),
    };
    let list = stepped.sent.iter().take(SENT_MAX);
    let list: Vec<_> =
        list.map(|sent| format!("to {} at {}: {}", sent.to, sent.time, shown(&sent.event))).collect();
    said += &match (list.is_empty(), stepped.sent.len().saturating_sub(SENT_MAX)) {
        (true, _) => "; it sent nothing".to_owned(),
        (false, 0) => format!("; it sent {}", list.join(", ")),
        (false, more) => format!("; it sent {}, and {more} more", list.join(", ")),
    };
    Ok(Ok(said))
}

/// As JSON, cut where it is long.
fn shown(what: &impl Serialize) -> String {
    let text = serde_json::to_string(what).unwrap_or_else(|_| "(no text)".into());
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
