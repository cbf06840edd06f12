//! Whether events can be taken back at all: handles each, takes it back, compares, and handles it again.
//!
//! The state before is remembered twice, as a copy and as the text that `Debug` gives. Taking back goes by
//! `undo` where the run undoes, else by the copy; a copy that shares something with the state shows as well.
//!
//! Invariant: two states are the same only if `Hash` and `Debug` both say so, for a field that one of the two
//! leaves out may still change what the LP does next. Where the hashes are equal, the lines of `Debug` may
//! come in another order: those of a hash map do.

use super::EventErrorKind;
use crate::digest::hash_of;
use crate::model::take_back;
use crate::shown::same_lines;
use crate::{Context, Event, Model};

/// Handles `event`, and makes sure that this can be taken back and gives the same again.
pub(super) fn handle<M: Model>(
    model: &M,
    state: &mut M::State,
    event: &Event<M::Event>,
    cx: &mut Context<'_, M>,
    undo: bool,
) -> Result<(), EventErrorKind> {
    // As text too: a copy that shares something with the state changes along with it.
    let copy = state.clone();
    let (hash, text) = (hash_of(state), format!("{state:#?}"));
    same("a copy of the state differs from it", hash, &text, &copy)?;
    let mark = cx.mark();
    model.handle(state, &event.payload, cx);
    let (after_hash, after) = (hash_of(state), format!("{state:#?}"));
    let (sent, cancelled) = (cx.sent_since(&mark), cx.cancelled_now());
    same("handling the event changed a copy of the state made before", hash, &text, &copy)?;
    if undo {
        let words = cx.words_since(&mark);
        let mut kept = cx.kept_since(&mark, event, &words);
        take_back(model, state, &event.payload, &mut kept);
        same("`undo` does not bring back the state before the event", hash, &text, state)?;
        if !kept.is_empty() {
            return Err(difference("`undo` leaves words that the event kept", "all taken back", "some left"));
        }
    } else {
        // As a rollback does: `clone_from` may be written by hand, and leave something behind.
        state.clone_from(&copy);
        same("a copy of a copy of the state differs from it", hash, &text, state)?;
    }
    // A second time from the same state: what differs now would differ after a rollback.
    cx.go_back(&mark);
    model.handle(state, &event.payload, cx);
    same("handling the event again changes the state in another way", after_hash, &after, state)?;
    let again = cx.sent_since(&mark);
    if sent != again {
        let (sent, again) = first_line(&sent, &again);
        return Err(difference("handling the event again sends other messages", sent, again));
    }
    let again = cx.cancelled_now();
    if cancelled != again {
        let (cancelled, again) = (format!("{cancelled:?}"), format!("{again:?}"));
        return Err(difference("handling the event again cancels other events", &cancelled, &again));
    }
    Ok(())
}

fn same<S: std::hash::Hash + std::fmt::Debug>(
    what: &'static str,
    hash: u64,
    text: &str,
    state: &S,
) -> Result<(), EventErrorKind> {
    let (now, is_same_hash) = (format!("{state:#?}"), hash_of(state) == hash);
    if is_same_hash && same_lines(&now, text) {
        return Ok(());
    }
    let (before, after) = first_line(text, &now);
    // Else the author would look for the difference in a field that `Hash` sees.
    let note = if is_same_hash { " (of the same hash)" } else { "" };
    Err(difference(what, before, &format!("{after}{note}")))
}

/// The first line in which two texts differ, in both.
fn first_line<'t>(before: &'t str, after: &'t str) -> (&'t str, &'t str) {
    let mut pairs = before.lines().zip(after.lines());
    match pairs.find(|(before, after)| before != after) {
        Some((before, after)) => (before.trim(), after.trim()),
        None if before == after => ("(the same in `Debug`)", "(another hash)"),
        None => {
            let rest = |text: &'t str, other: &str| {
                text.lines().nth(other.lines().count()).unwrap_or("(nothing more)").trim()
            };
            (rest(before, after), rest(after, before))
        }
    }
}

fn difference(what: &'static str, before: &str, after: &str) -> EventErrorKind {
    EventErrorKind::Irreversible { what, before: before.to_owned(), after: after.to_owned() }
}
