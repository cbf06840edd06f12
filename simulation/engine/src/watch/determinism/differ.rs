//! Two federates in lockstep, and the first thing in which they differ.
//!
//! Values are compared by their hashes, and in a sample of the events by what `Debug` shows of them as well,
//! which finds fields that `Hash` leaves out. Where values differ, the first line of `Debug` that does is
//! shown with the names of the fields around it.
//!
//! Invariant: `settled` holds the hash of each LP's state after the last event that happened to it; a state
//! that has another hash was changed by somebody else.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

use paceline_kernel::{
    Event, EventId, Federate, LpId, Model, Outbox, Partition, Progress, RuleError, same_lines,
};

use super::watched::Watched;
use super::{Comparison, DeterminismError, Difference, Moment};

/// All of so many first events are compared by `Debug` too, and then one in [`SAMPLE`]: showing a state costs
/// far more than hashing it.
const THOROUGH: u64 = 1 << 16;
const SAMPLE: u64 = 64;
/// In place of an entry of a list that has ended.
const NO_MORE: &str = "nothing more";

type Outboxes<M> = (Outbox<<M as Model>::Event>, Outbox<<M as Model>::Event>);

pub(super) struct Twin<'a, M: Model> {
    pub(super) models: (&'a M, &'a M),
    pub(super) partition: &'a Partition,
    pub(super) one: Federate<M, Watched<M::Event>>,
    pub(super) other: Federate<M, Watched<M::Event>>,
    pub(super) how: &'a Comparison,
    pub(super) settled: Vec<u64>,
}

impl<M: Model> Twin<'_, M> {
    /// Both handle their next event. What the first did; the second has had the same messages.
    pub(super) fn step(&mut self, outboxes: &mut Outboxes<M>) -> Progress {
        let until = self.how.until;
        // What comes of it is compared afterwards (`compare_event`).
        self.other.step(self.models.1, self.partition, until, &mut outboxes.1);
        self.one.step(self.models.0, self.partition, until, &mut outboxes.0)
    }

    /// Compares all LPs after `init`, and what they sent.
    pub(super) fn compare_starts(&mut self) -> Result<(), Box<DeterminismError>> {
        let differs =
            |lp, difference| Box::new(DeterminismError { events: 0, lp, moment: Moment::Init, difference });
        for lp in (0..self.partition.lps()).map(LpId) {
            if let Some(difference) = self.lp(lp, true) {
                return Err(differs(lp, difference));
            }
            self.settled.push(hash(self.one.look(lp, self.partition).0));
        }
        let (one, other) = (&self.one.queue().put, &self.other.queue().put);
        let Some((at, event)) = first_unlike(one, other, true) else { return Ok(()) };
        // The lists are in the order of senders, so that the first difference is of the sender that comes
        // first.
        let sender = |event: &Event<M::Event>| event.origin(self.how.ties).0;
        let lp = one.get(at).map(sender).into_iter().chain(other.get(at).map(sender)).min();
        let lp = lp.unwrap_or(sender(event));
        let before = one[..at].iter().filter(|event| sender(event) == lp).count();
        let text = |list: &[Event<M::Event>]| message(list.get(at).filter(|event| sender(event) == lp));
        let difference = Difference::Message { number: before + 1, first: text(one), second: text(other) };
        Err(differs(lp, difference))
    }

    /// Compares what the event handled last has done; `events` came before it.
    pub(super) fn compare_event(&mut self, events: u64) -> Result<(), Box<DeterminismError>> {
        let thorough = events < THOROUGH || events.is_multiple_of(SAMPLE);
        let lp = self.taken().to();
        match self.event(lp, thorough) {
            Some(difference) => Err(self.different(events, lp, difference)),
            None => {
                self.settled[lp.index()] = hash(self.one.look(lp, self.partition).0);
                Ok(())
            }
        }
    }

    /// Compares all LPs, after `events` events.
    pub(super) fn compare_all(&self, events: u64) -> Result<(), Box<DeterminismError>> {
        for lp in (0..self.partition.lps()).map(LpId) {
            let (state, _) = self.one.look(lp, self.partition);
            let touched = hash(state) != self.settled[lp.index()];
            let difference = if touched { Some(Difference::Touched) } else { self.lp(lp, true) };
            if let Some(difference) = difference {
                return Err(self.different(events, lp, difference));
            }
        }
        Ok(())
    }

    fn taken(&self) -> &Event<M::Event> {
        self.one.queue().taken.as_ref().expect("an event was handled")
    }

    fn different(&self, events: u64, lp: LpId, difference: Difference) -> Box<DeterminismError> {
        let event = self.taken();
        let moment = Moment::Event(event.time(), format!("{:?}", event.payload));
        Box::new(DeterminismError { events, lp, moment, difference })
    }

    /// What differs after `lp` has handled an event.
    fn event(&self, lp: LpId, thorough: bool) -> Option<Difference> {
        let (one, other) = (self.one.fault(), self.other.fault());
        if one != other {
            return Some(Difference::Rule(shown(one), shown(other)));
        }
        let (one, other) = (&self.one.queue().put, &self.other.queue().put);
        self.lp(lp, thorough).or_else(|| {
            let (at, _) = first_unlike(one, other, thorough)?;
            let (first, second) = (message(one.get(at)), message(other.get(at)));
            Some(Difference::Message { number: at + 1, first, second })
        })
    }

    /// What differs between the two of an LP: state, then draws.
    fn lp(&self, lp: LpId, thorough: bool) -> Option<Difference> {
        let (one, one_draws) = self.one.look(lp, self.partition);
        let (other, other_draws) = self.other.look(lp, self.partition);
        if !alike(one, other, thorough) {
            let (field, first, second) = unlike_field(one, other);
            return Some(Difference::State { field, first, second });
        }
        if one_draws != other_draws {
            return Some(Difference::Draws(one_draws, other_draws));
        }
        let of = |federate: &'_ Federate<M, Watched<_>>| -> Vec<EventId> {
            federate.cancelled_by(lp, self.partition).collect()
        };
        let (one, other) = (of(&self.one), of(&self.other));
        (one != other).then(|| Difference::Cancelled(times(&one), times(&other)))
    }
}

/// The times of events that were cancelled.
fn times(cancelled: &[EventId]) -> String {
    let times: Vec<String> = cancelled.iter().map(|id| id.time().to_string()).collect();
    if times.is_empty() { "nothing".to_owned() } else { format!("what was due at {}", times.join(", ")) }
}

/// A fault, or that there is none.
pub(super) fn shown(fault: Option<&RuleError>) -> String {
    fault.map_or("no rule was broken".to_owned(), RuleError::to_string)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether two values have one hash and, if that is looked at, show the same lines in `Debug`, in any order:
/// the lines of a hash map come in another order every time.
fn alike<T: Hash + Debug>(one: &T, other: &T, thorough: bool) -> bool {
    if hash(one) != hash(other) {
        return false;
    }
    if !thorough {
        return true;
    }
    same_lines(&format!("{one:#?}"), &format!("{other:#?}"))
}

/// The place of the first events that differ, and one of them.
fn first_unlike<'e, E: Hash + Debug>(
    one: &'e [Event<E>],
    other: &'e [Event<E>],
    thorough: bool,
) -> Option<(usize, &'e Event<E>)> {
    let same = |one: &Event<E>, other: &Event<E>| {
        one == other && one.to() == other.to() && alike(&one.payload, &other.payload, thorough)
    };
    let at = one.iter().zip(other).take_while(|(one, other)| same(one, other)).count();
    Some((at, one.get(at).or(other.get(at))?))
}

fn message<E: Debug>(event: Option<&Event<E>>) -> String {
    event.map_or("none".to_owned(), |event| {
        format!("{:?} to {} for {}", event.payload, event.to(), event.time())
    })
}

/// The way to the first line of `Debug` that differs, and that line's value in both.
fn unlike_field(one: &impl Debug, other: &impl Debug) -> (String, String, String) {
    let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
    let (mut lines, mut others) = (one.lines(), other.lines());
    // The names of the fields around the line in hand, each with its indentation.
    let mut around: Vec<(usize, &str)> = Vec::new();
    loop {
        let (line, other) = match (lines.next(), others.next()) {
            (None, None) => {
                let alike = "a value that `Debug` does not show";
                return (String::new(), alike.to_owned(), "another".to_owned());
            }
            (line, other) => (line.unwrap_or(NO_MORE), other.unwrap_or(NO_MORE)),
        };
        let (name, value) = split(line);
        // Where one of two lists ends earlier, the longer one's entry says where.
        let indent = indent(line).max(indent(other));
        around.retain(|(outer, _)| *outer < indent);
        if line != other {
            let (other_name, other_value) = split(other);
            let mut names: Vec<&str> = around.iter().map(|(_, name)| *name).collect();
            if name == other_name && !name.is_empty() {
                names.push(name);
                return (names.join("."), value.to_owned(), other_value.to_owned());
            }
            return (names.join("."), entry(line), entry(other));
        }
        if !name.is_empty() {
            around.push((indent, name));
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A line that is not a field.
fn entry(line: &str) -> String {
    let line = trimmed(line);
    if ["]", "}", ")"].contains(&line) { NO_MORE.to_owned() } else { line.to_owned() }
}

/// Name and value of a field, as in `served: 5,`; no name where the line has none.
fn split(line: &str) -> (&str, &str) {
    let line = trimmed(line);
    match line.split_once(": ") {
        Some((name, value)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => (name, value),
        _ => ("", line),
    }
}

fn trimmed(line: &str) -> &str {
    line.trim().trim_end_matches(',')
}

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, Hash)]
    struct Lane {
        queue: Vec<u32>,
    }

    #[derive(Debug, Hash)]
    struct Node {
        served: u64,
        lanes: Vec<Lane>,
    }

    #[test]
    fn the_first_field_that_differs_is_named_with_those_around_it() {
        let node = |served, queue: &[u32]| Node { served, lanes: vec![Lane { queue: queue.to_vec() }] };
        let words = |(field, one, other): (String, String, String)| [field, one, other];
        assert_eq!(words(unlike_field(&node(5, &[1]), &node(6, &[2]))), ["served", "5", "6"]);
        assert_eq!(words(unlike_field(&node(5, &[1, 7]), &node(5, &[1, 8]))), ["lanes.queue", "7", "8"]);
        assert_eq!(words(unlike_field(&node(5, &[1]), &node(5, &[1, 8]))), ["lanes.queue", NO_MORE, "8"]);
        assert_eq!(words(unlike_field(&3, &4)), ["", "3", "4"]);
    }
}
