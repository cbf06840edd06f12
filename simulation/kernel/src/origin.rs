//! Where a run comes from: what distinguishes a run of one model, with its parameters and its seed, from all
//! others. Checkpoints hold it, so that no run goes on as another.
//!
//! Most of it is found by trying, and the model need not say it: every LP is initialized, and the first
//! events of the run are handled once more, in the total order and apart from any run; nothing is committed.
//! What the model's parameters change in there changes a digest. Whatever they change later only the model
//! itself can report ([`Model::parameters`]).
//!
//! Invariant: the same model, seed and order of ties, asked for as many events before the same time, give the
//! same origin.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::{Deserialize, Serialize};

use crate::context::Rules;
use crate::withdrawn::Withdrawn;
use crate::world::Lp;
use crate::{Context, Digest, Event, LpId, Model, TieBreak, Time, ask, catch};

/// Events that are tried, at most: enough that most parameters show, and few enough for
/// every checkpoint.
const EVENTS: u32 = 1 << 10;
/// Characters of parameters that are shown, before and after the first that differs.
const SHOWN: usize = 40;

/// Which model a run is of, how it was set, and how it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    model: String,
    lps: u32,
    lookahead: Time,
    parameters: String,
    seed: u64,
    ties: TieBreak,
    /// Over all LPs after `init`, and what they sent.
    starts: Digest,
    /// Before when events were tried.
    until: Time,
    /// How many events that were, what happened, and in which states it left LPs.
    tried: u32,
    course: Digest,
}

impl Origin {
    /// The origin of a run of `model` with this seed and this order of ties, which has come to `until`: up to
    /// 1024 events before that are tried.
    pub fn of<M: Model>(model: &M, seed: u64, ties: TieBreak, until: Time) -> Self {
        // Without the declared channels: a message that breaks them ends the run itself, and the trial only
        // has to come out the same for the same model.
        let rules = Rules::new(seed, ties, model.lookahead(), model.lps());
        let (starts, first) = start(model, &rules);
        let (tried, course) = run(model, &rules, first, until);
        Self {
            model: name_of::<M>(),
            lps: model.lps(),
            lookahead: model.lookahead(),
            parameters: ask(|| "`parameters`".into(), || model.parameters()),
            seed,
            ties,
            starts,
            until,
            tried,
            course,
        }
    }

    /// Whether trying more events, of a run that has come further, would add nothing.
    pub fn is_full(&self) -> bool {
        self.tried == EVENTS
    }

    /// The seed of the run's random streams, and its order of ties.
    pub fn settings(&self) -> (u64, TieBreak) {
        (self.seed, self.ties)
    }

    /// What distinguishes a run of `model` from this one, if it had the same seed and order of ties: nothing
    /// if it is the same.
    ///
    /// ```
    /// use paceline_kernel::{Context, LpId, Model, Origin, TieBreak, Time};
    ///
    /// /// An LP that does something every so often.
    /// struct Clock(Time);
    ///
    /// impl Model for Clock {
    ///     type State = u64;
    ///     type Event = ();
    ///     type Output = ();
    ///
    ///     fn lps(&self) -> u32 {
    ///         1
    ///     }
    ///     fn lookahead(&self) -> Time {
    ///         Time::secs(1)
    ///     }
    ///     fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
    ///         cx.schedule(Time::ZERO, ());
    ///         0
    ///     }
    ///     fn handle(&self, ticks: &mut u64, _: &(), cx: &mut Context<Self>) {
    ///         *ticks += 1;
    ///         cx.schedule(self.0, ());
    ///     }
    /// }
    ///
    /// let origin = Origin::of(&Clock(Time::secs(1)), 1, TieBreak::Fixed, Time::secs(60));
    /// assert_eq!(origin.unlike(&Clock(Time::secs(1))), None);
    /// let difference = origin.unlike(&Clock(Time::secs(2))).expect("it is another clock");
    /// assert!(difference.contains("first 60 events"), "{difference}");
    /// ```
    pub fn unlike<M: Model>(&self, model: &M) -> Option<String> {
        let (name, lps, lookahead) = (name_of::<M>(), model.lps(), model.lookahead());
        // What names a difference most exactly comes first; the trial, which takes longest, only if all else
        // is equal.
        if self.model != name {
            return Some(format!("it is of the model `{}`, not of `{name}`", self.model));
        }
        if self.lps != lps {
            return Some(format!("it holds {} LPs, the model has {lps}", self.lps));
        }
        if self.lookahead != lookahead {
            return Some(format!("its lookahead is {}, that of the model {lookahead}", self.lookahead));
        }
        let parameters = ask(|| "`parameters`".into(), || model.parameters());
        if self.parameters != parameters {
            let (ours, theirs) = (self.parameters.as_str(), parameters.as_str());
            let alike = ours.chars().zip(theirs.chars()).take_while(|(one, other)| one == other).count();
            let (ours, theirs) = (excerpt(ours, alike), excerpt(theirs, alike));
            return Some(format!("its parameters are `{ours}`, those of the model `{theirs}`"));
        }
        let now = Self::of(model, self.seed, self.ties, self.until);
        if self.starts != now.starts {
            return Some(
                "its LPs began in other states, or sent other first events, than those of the model".into(),
            );
        }
        (*self != now).then(|| {
            format!(
                "its LPs began like those of the model and did something else in the first {} events: a parameter, or \
                 what the model does, has changed",
                self.tried
            )
        })
    }
}

/// Initializes all LPs, one after the other; gives the first events, as many as may be tried.
fn start<M: Model>(model: &M, rules: &Rules) -> (Digest, BinaryHeap<Event<M::Event>>) {
    let (mut digest, mut first) = (Digest::default(), BinaryHeap::new());
    for lp in (0..model.lps()).map(LpId) {
        let ((content, withdrawn), sent) = init(model, rules, lp);
        content.add_to_digest(lp, Some(&withdrawn), &mut digest);
        for event in sent {
            digest.event(&event);
            first.push(event);
            // No more than this many are tried: the latest, which is on top here, cannot be one of them.
            if first.len() > EVENTS as usize {
                first.pop();
            }
        }
    }
    (digest, first)
}

/// An LP, and what it has cancelled.
type Started<M> = (Lp<<M as Model>::State>, Withdrawn);

fn init<M: Model>(model: &M, rules: &Rules, lp: LpId) -> (Started<M>, Vec<Event<M::Event>>) {
    let (mut withdrawn, mut sent, mut fault) = (Withdrawn::default(), Vec::new(), None);
    let content = Lp::start(model, rules, lp, Some(&mut withdrawn), &mut sent, &mut fault);
    ((content, withdrawn), sent)
}

/// Handles events before `until`, the least first. Says how many that were, and what came of it.
fn run<M: Model>(model: &M, rules: &Rules, first: BinaryHeap<Event<M::Event>>, until: Time) -> (u32, Digest) {
    let mut queue: BinaryHeap<_> = first.into_iter().map(Reverse).collect();
    let (mut lps, mut digest, mut tried) = (BTreeMap::new(), Digest::default(), 0);
    while tried < EVENTS
        && let Some(Reverse(event)) = queue.pop()
        && event.time() < until
    {
        let lp = event.to();
        // Initialised again, since keeping the states of all LPs from `start` would take the memory of a run.
        let (Lp { core, state }, withdrawn) = lps.entry(lp.0).or_insert_with(|| init(model, rules, lp).0);
        if withdrawn.pass_over(event.key()).is_some() {
            // It counts, as only so many of the first events are there.
            tried += 1;
            continue;
        }
        let (mut sent, mut fault) = (Vec::new(), None);
        let handle = || {
            let mut cx = Context::new(model, rules, lp, *core, Some(withdrawn), &mut sent, &mut fault);
            cx.enter(&event);
            model.handle(state, &event.payload, &mut cx);
            *core = cx.core();
        };
        // A run would have ended with that. The LP is half way through an event: its state says nothing.
        if catch(handle).is_err() || fault.is_some() {
            lps.remove(&lp.0);
            break;
        }
        digest.event(&event);
        queue.extend(sent.into_iter().map(Reverse));
        tried += 1;
    }
    lps.iter().for_each(|(lp, (content, withdrawn))| {
        content.add_to_digest(LpId(*lp), Some(withdrawn), &mut digest)
    });
    (tried, digest)
}

/// The name of a model; also of the unit of time, where that is not the usual one.
fn name_of<M>() -> String {
    let name = short_name(std::any::type_name::<M>());
    if Time::UNIT == "ns" { name } else { format!("{name}, in {}", Time::UNIT) }
}

/// The name of a type without the modules that it and its arguments are in: a program may have them
/// elsewhere.
fn short_name(name: &str) -> String {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let (mut short, mut rest) = (String::new(), name);
    while !rest.is_empty() {
        let path = rest.len() - rest.trim_start_matches(is_of_path).len();
        short.push_str(rest[..path].rsplit("::").next().unwrap_or(""));
        let other = rest[path..].find(is_of_path).map_or(rest.len(), |at| path + at);
        short.push_str(&rest[path..other]);
        rest = &rest[other..];
    }
    short
}

/// What stands about character `place` of a text.
fn excerpt(text: &str, place: usize) -> String {
    let from = place.saturating_sub(SHOWN);
    let shown: String = text.chars().skip(from).take(2 * SHOWN).collect();
    let more = text.chars().count() > from + 2 * SHOWN;
    format!("{}{shown}{}", if from > 0 { "..." } else { "" }, if more { "..." } else { "" })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn names_of_types_are_without_their_modules() {
        for (name, short) in [
            ("phold::Phold", "Phold"),
            ("Phold", "Phold"),
            ("a::b::Pair<c::One, (d::Two, &[u8])>", "Pair<One, (Two, &[u8])>"),
            ("<a::B as c::D>::E", "<B as D>E"),
        ] {
            assert_eq!(short_name(name), short);
        }
    }

    #[test]
    fn the_place_that_differs_is_shown() {
        let text = format!("Model {{ {}rate: 5, more: 7 }}", "x".repeat(100));
        assert_eq!(excerpt(&text, 115), format!("...{}rate: 5, more: 7 }}", "x".repeat(33)));
        assert_eq!(excerpt("Model(7)", 6), "Model(7)");
    }
}
