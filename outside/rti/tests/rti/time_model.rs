//! Time management for random federations: GALT and LITS against their definition, and what always holds of
//! grants and messages.

use std::collections::BTreeSet;

use paceline_hla::{Bytes, Call, Callback, Response, TimeQueryReturn, request};
use proptest::prelude::*;

use crate::harness::Harness;
use crate::time::{interval, number, time};

const FEDERATES: usize = 4;

/// What a federate asks for; times are counted from where it is, or from what it may send at.
#[derive(Clone, Copy, Debug)]
enum Step {
    Regulate(i64),
    StopRegulating,
    Constrain,
    StopBeingConstrained,
    Advance { by: i64, is_to_next_message: bool, is_available: bool },
    Send(i64),
    GrowLookahead(i64),
    Leave,
}

fn any_step() -> impl Strategy<Value = (usize, Step)> {
    let advance =
        (0..6_i64, any::<bool>(), any::<bool>()).prop_map(|(by, is_to_next_message, is_available)| {
            Step::Advance { by, is_to_next_message, is_available }
        });
    let step = prop_oneof![
        3 => prop_oneof![Just(0_i64), 0..4_i64].prop_map(Step::Regulate),
        1 => Just(Step::StopRegulating),
        3 => Just(Step::Constrain),
        1 => Just(Step::StopBeingConstrained),
        12 => advance,
        8 => (0..5_i64).prop_map(Step::Send),
        1 => (1..3_i64).prop_map(Step::GrowLookahead),
        1 => Just(Step::Leave),
    ];
    (0..FEDERATES, step)
}

/// What the test knows of a federate, from its calls and callbacks alone.
#[derive(Clone, Debug, Default)]
struct Federate {
    is_gone: bool,
    now: i64,
    /// Nothing may come at `now` any more.
    is_closed: bool,
    lookahead: Option<i64>,
    is_constrained: bool,
    awaits_constraint: bool,
    /// To when, and whether only to the next message, or with messages at that time left.
    pending: Option<(i64, bool, bool)>,
    /// Times of messages in timestamp order that have not come.
    queue: Vec<i64>,
}

impl Federate {
    fn waits(&self) -> bool {
        self.is_gone || self.awaits_constraint || self.pending.is_some()
    }

    /// When it acts if nothing more arrives.
    fn acts(&self) -> i64 {
        let next = self.queue.iter().min().copied();
        match self.pending {
            Some((to, true, _)) => next.map_or(to, |next| next.min(to)),
            Some((to, ..)) => to,
            None => self.now,
        }
    }
}

/// GALT of all, by its definition: who waits for its next message acts when anything arrives, and so on,
/// until nothing changes.
fn galts(federates: &[Federate]) -> Vec<Option<i64>> {
    let mut acts: Vec<i64> = federates.iter().map(Federate::acts).collect();
    loop {
        let arrives: Vec<Option<i64>> = (0..federates.len())
            .map(|to| {
                let others = (0..federates.len()).filter(|from| *from != to);
                others
                    .filter_map(|from| federates[from].lookahead.map(|lookahead| acts[from] + lookahead))
                    .min()
            })
            .collect();
        let earlier = federates.iter().zip(&acts).zip(&arrives).map(|((federate, acts), arrives)| {
            let reacts = federate.is_constrained && matches!(federate.pending, Some((_, true, _)));
            if reacts { arrives.map_or(*acts, |arrives| arrives.min(*acts)) } else { *acts }
        });
        let earlier: Vec<i64> = earlier.collect();
        if earlier == acts {
            return arrives;
        }
        acts = earlier;
    }
}

struct Federation {
    harness: Harness,
    federates: Vec<Federate>,
}

fn query(result: Option<TimeQueryReturn>) -> Option<i64> {
    let result = result.expect("there is one");
    result.logical_time_is_valid.then(|| number(result.logical_time.as_ref()))
}

impl Federation {
    fn new() -> Self {
        let mut harness = Harness::joined_with(FEDERATES as u32, "HLAinteger64Time");
        for federate in 1..=FEDERATES as u32 {
            let interaction_class = harness.interaction_class("Hit.Hard");
            harness.ask(
                federate,
                request::PublishInteractionClass { interaction_class: interaction_class.clone() },
            );
            harness.ask(federate, request::SubscribeInteractionClass { interaction_class });
        }
        Self { harness, federates: vec![Federate::default(); FEDERATES] }
    }

    fn call(&mut self, who: usize, call: impl Into<Call>) -> bool {
        !matches!(self.harness.call(who as u32 + 1, call), Response::Exception(_))
    }

    fn take_step(&mut self, who: usize, step: Step) {
        let Federate { now, lookahead, pending, .. } = self.federates[who].clone();
        match step {
            Step::Regulate(lookahead) => {
                if self.call(who, request::EnableTimeRegulation { lookahead: interval(lookahead) }) {
                    self.federates[who].lookahead = Some(lookahead);
                }
            }
            Step::StopRegulating => {
                if self.call(who, request::DisableTimeRegulation {}) {
                    self.federates[who].lookahead = None;
                }
            }
            Step::Constrain => {
                let is_taken = self.call(who, request::EnableTimeConstrained {});
                self.federates[who].awaits_constraint |= is_taken;
            }
            Step::StopBeingConstrained => {
                if self.call(who, request::DisableTimeConstrained {}) {
                    self.federates[who].is_constrained = false;
                    self.federates[who].queue.clear();
                }
            }
            Step::Advance { by, is_to_next_message, is_available } => {
                let to = time(now + by);
                let is_taken = match (is_to_next_message, is_available) {
                    (false, false) => self.call(who, request::TimeAdvanceRequest { time: to }),
                    (false, true) => self.call(who, request::TimeAdvanceRequestAvailable { time: to }),
                    (true, false) => self.call(who, request::NextMessageRequest { time: to }),
                    (true, true) => self.call(who, request::NextMessageRequestAvailable { time: to }),
                };
                if is_taken {
                    self.federates[who].pending = Some((now + by, is_to_next_message, is_available));
                }
            }
            Step::Send(more) => {
                let at = pending.map_or(now, |(to, ..)| to) + lookahead.unwrap_or(0) + more;
                let sent = request::SendInteractionWithTime {
                    interaction_class: self.harness.interaction_class("Hit.Hard"),
                    parameter_values: None,
                    user_supplied_tag: Bytes::new(),
                    time: time(at),
                };
                // The first federate answers for the handle above, and may be gone.
                if self.call(who, sent) && lookahead.is_some() {
                    let others = self.federates.iter_mut().enumerate().filter(|(other, _)| *other != who);
                    others
                        .filter(|(_, other)| other.is_constrained)
                        .for_each(|(_, other)| other.queue.push(at));
                }
            }
            Step::GrowLookahead(by) => {
                let grown = lookahead.map_or(by, |lookahead| lookahead + by);
                if self.call(who, request::ModifyLookahead { lookahead: interval(grown) }) {
                    self.federates[who].lookahead = Some(grown);
                }
            }
            Step::Leave if who > 0 => {
                self.harness.lose(who as u32 + 1);
                self.federates[who] = Federate { is_gone: true, ..Federate::default() };
            }
            Step::Leave => {}
        }
        (0..FEDERATES).for_each(|federate| self.take_callbacks(federate));
    }

    fn take_callbacks(&mut self, who: usize) {
        let federate = &mut self.federates[who];
        for callback in self.harness.taken(who as u32 + 1) {
            match callback {
                Callback::TimeRegulationEnabled(enabled) => {
                    let now = number(enabled.time.as_ref());
                    assert!(now >= federate.now, "time went back");
                    federate.is_closed &= now == federate.now;
                    federate.now = now;
                }
                Callback::TimeConstrainedEnabled(enabled) => {
                    assert_eq!(number(enabled.time.as_ref()), federate.now);
                    (federate.awaits_constraint, federate.is_constrained) = (false, true);
                }
                Callback::TimeAdvanceGrant(granted) => {
                    let (to, is_to_next_message, is_available) =
                        federate.pending.take().expect("it has asked");
                    let now = number(granted.time.as_ref());
                    assert!(now == to || (is_to_next_message && now < to), "{now} was granted for {to}");
                    assert!(federate.queue.iter().all(|queued| *queued > now), "a message was left behind");
                    federate.is_closed = !is_available || (now == federate.now && federate.is_closed);
                    federate.now = now;
                }
                Callback::ReceiveInteractionWithTime(message) if message.received_order_type == 1 => {
                    let at = number(message.time.as_ref());
                    let least = federate.queue.iter().min().copied();
                    assert_eq!(Some(at), least, "messages come in order, each once");
                    assert!(
                        at > federate.now || (at == federate.now && !federate.is_closed),
                        "it is past {at}"
                    );
                    let place = federate.queue.iter().position(|queued| *queued == at);
                    federate.queue.remove(place.expect("it was found"));
                }
                Callback::ReceiveInteractionWithTime(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// GALT and LITS of all that are there.
    fn queried(&mut self) -> Vec<(Option<i64>, Option<i64>)> {
        let there: Vec<u32> =
            (0..FEDERATES as u32).filter(|who| !self.federates[*who as usize].is_gone).collect();
        let query = |who: u32| {
            let Response::QueryGALT(galt) = self.harness.ask(who + 1, request::QueryGALT {}) else {
                panic!()
            };
            let Response::QueryLITS(lits) = self.harness.ask(who + 1, request::QueryLITS {}) else {
                panic!()
            };
            (query(galt.result), query(lits.result))
        };
        there.into_iter().map(query).collect()
    }

    fn defined(&self) -> Vec<(Option<i64>, Option<i64>)> {
        let there: Vec<Federate> =
            self.federates.iter().filter(|federate| !federate.is_gone).cloned().collect();
        let lits = |galt: Option<i64>, federate: &Federate| federate.queue.iter().copied().chain(galt).min();
        galts(&there).into_iter().zip(&there).map(|(galt, federate)| (galt, lits(galt, federate))).collect()
    }
}

/// How far nothing may come any more; with nobody who sends, nothing at all.
fn as_bound(galt: Option<i64>) -> i64 {
    galt.unwrap_or(i64::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn times_are_as_defined_and_somebody_can_always_go_on(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut federation = Federation::new();
        let mut before = federation.queried();
        for (who, step) in steps {
            if federation.federates[who].is_gone {
                continue;
            }
            federation.take_step(who, step);
            let queried = federation.queried();
            prop_assert_eq!(&queried, &federation.defined(), "after {:?} of {}", step, who);
            prop_assert!(!federation.federates.iter().all(Federate::waits), "all wait, after {:?}", step);
            // GALT never falls, but when somebody begins to regulate.
            if !matches!(step, Step::Regulate(_) | Step::Leave) {
                let falls = |((before, _), (after, _)): (&(Option<i64>, _), &(Option<i64>, _))| {
                    as_bound(*after) < as_bound(*before)
                };
                prop_assert!(!before.iter().zip(&queried).any(falls), "{:?} falls to {:?}", before, queried);
            }
            before = queried;
        }
    }

    /// Federates whose steps are longer than their lookaheads all get to the end.
    #[test]
    fn all_get_to_the_end(
        settings in prop::collection::vec((0..4_i64, 1..12_i64, any::<bool>()), FEDERATES),
        order in prop::collection::vec(0..FEDERATES, 0..200),
    ) {
        const END: i64 = 40;
        let mut federation = Federation::new();
        for (who, (lookahead, ..)) in settings.iter().enumerate() {
            federation.take_step(who, Step::Regulate(*lookahead));
            federation.take_step(who, Step::Constrain);
        }
        // In a random order first, then round and round.
        let rounds = (0..FEDERATES).cycle().take(FEDERATES * 400);
        for who in order.into_iter().chain(rounds) {
            let federate = &federation.federates[who];
            if federate.pending.is_none() && federate.now < END {
                let (_, by, is_to_next_message) = settings[who];
                let by = by.min(END - federate.now);
                federation.take_step(who, Step::Advance { by, is_to_next_message, is_available: false });
            }
        }
        let short: BTreeSet<i64> = federation.federates.iter().map(|federate| federate.now).collect();
        prop_assert!(short.iter().all(|now| *now >= END), "{:?}", short);
    }
}
