//! Bounds against their definition, and against the distances of windows, for random members.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{Channels, Context, DistanceWindows, Distances, LpId, Model, Partition};

fn sender(earliest: u64, lookahead: u64, is_past_own_time: bool, reacts: bool) -> Sender<Time> {
    let delay = SendDelay::new(Time::ticks(lookahead), is_past_own_time);
    Sender { earliest: Time::ticks(earliest), delay, reacts, floor: None }
}

fn set_all(bounds: &mut SendBounds<Time>, members: &[Sender<Time>]) {
    (0..).zip(members).for_each(|(number, member)| bounds.set(number, Some(*member)));
}

fn bounds_of(members: &[Sender<Time>]) -> Vec<Option<SendBound<Time>>> {
    let mut bounds = SendBounds::default();
    set_all(&mut bounds, members);
    (0..).zip(members).map(|(number, _)| bounds.bound_of(number)).collect()
}

/// The definition: who reacts acts when the first thing arrives that anybody sends, and so on, until nothing
/// changes any more.
fn bounds_by_definition(members: &[Sender<Time>]) -> Vec<Option<SendBound<Time>>> {
    let mut acts: Vec<_> = members.iter().map(|member| SendBound::at(member.earliest)).collect();
    loop {
        let arrives: Vec<_> = (0..members.len())
            .map(|to| {
                let others = (0..members.len()).filter(|from| *from != to);
                let sent = others.map(|from| {
                    let sent = acts[from].later_by(members[from].delay);
                    members[from].floor.map_or(sent, |floor| floor.max(sent))
                });
                sent.min()
            })
            .collect();
        let earlier: Vec<_> = (0..members.len())
            .map(|to| match arrives[to] {
                Some(arrives) if members[to].reacts => acts[to].min(arrives),
                _ => acts[to],
            })
            .collect();
        if earlier == acts {
            return arrives;
        }
        acts = earlier;
    }
}

prop_compose! {
    fn any_sender()(
        earliest in 0..12_u64,
        lookahead in prop_oneof![Just(0_u64), 0..5_u64],
        is_past_own_time: bool,
        reacts: bool,
        floor in prop::option::weighted(0.3, (0..20_u64, any::<bool>())),
    ) -> Sender<Time> {
        let floor = floor.map(|(time, is_open)| SendBound { time: Time::ticks(time), is_open });
        Sender { floor, ..sender(earliest, lookahead, is_past_own_time, reacts) }
    }
}

/// A channel from each LP to each other one, whose lookahead is the sender's.
struct Mesh {
    lookaheads: Vec<u64>,
}

impl Model for Mesh {
    type State = ();
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        self.lookaheads.len() as u32
    }
    fn lookahead(&self) -> Time {
        Time::TICK
    }
    fn channels(&self, lp: LpId) -> Channels {
        let lookahead = Time::ticks(self.lookaheads[lp.0 as usize]);
        let others = (0..self.lps()).filter(|to| *to != lp.0);
        Channels::Only(others.map(|to| (LpId(to), lookahead)).collect())
    }
    fn init(&self, _lp: LpId, _cx: &mut Context<Self>) {}
    fn handle(&self, _state: &mut (), _event: &(), _cx: &mut Context<Self>) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bounds_are_those_of_the_definition(members in prop::collection::vec(any_sender(), 0..7)) {
        prop_assert_eq!(bounds_of(&members), bounds_by_definition(&members));
    }

    /// As members come, change and go, bounds are those of the members that are there.
    #[test]
    fn bounds_that_are_kept_are_those_computed_anew(
        changes in prop::collection::vec((0..6_u32, prop::option::weighted(0.8, any_sender())), 0..40),
    ) {
        let (mut kept, mut members) = (SendBounds::default(), BTreeMap::new());
        for (member, sender) in changes {
            kept.set(member, sender);
            match sender {
                Some(sender) => drop(members.insert(member, sender)),
                None => drop(members.remove(&member)),
            }
            let senders: Vec<_> = members.values().copied().collect();
            let bounds: Vec<_> = members.keys().map(|member| kept.bound_of(*member)).collect();
            prop_assert_eq!(bounds, bounds_by_definition(&senders));
            prop_assert_eq!(kept.least(), senders.iter().map(Sender::promise).min());
            prop_assert_eq!(kept.bound_of(99), kept.least(), "who only receives");
        }
    }

    /// Who waits for no more than its own promise has it as soon as the least promise of all reaches it.
    #[test]
    fn the_least_promise_decides_for_all_who_wait(
        members in prop::collection::vec(any_sender(), 1..7),
        (wanted, is_open) in (0..20_u64, any::<bool>()),
    ) {
        let wanted = SendBound { time: Time::ticks(wanted), is_open };
        let mut bounds = SendBounds::default();
        set_all(&mut bounds, &members);
        for (number, _) in (0..).zip(&members).filter(|(_, member)| wanted <= member.promise()) {
            let reached = bounds.bound_of(number).is_none_or(|bound| wanted <= bound);
            let by_least = bounds.least().is_some_and(|least| wanted <= least);
            prop_assert!(reached == by_least, "{number}");
        }
    }

    /// Where all wait, one of those with the least earliest time may act: nobody waits in a circle.
    #[test]
    fn somebody_may_act_where_all_wait(members in prop::collection::vec(any_sender(), 2..7)) {
        let bounds = bounds_of(&members);
        // Who may send at its own time waits only for what is sent before it.
        let may_act = members.iter().zip(&bounds).any(|(member, bound)| {
            let bound = bound.expect("there is another one");
            let sends_at_own_time = member.delay == SendDelay::new(Time::ZERO, false);
            if sends_at_own_time { bound.reaches(member.earliest) } else { bound.passes(member.earliest) }
        });
        prop_assert!(may_act, "{members:?} have {bounds:?}");
    }

    /// A bound rises, or stays, as a member goes on, and as its lookahead grows.
    #[test]
    fn bounds_never_fall_as_members_go_on(
        members in prop::collection::vec(any_sender(), 2..7),
        who: prop::sample::Index,
        (by, more) in (0..5_u64, 0..3_u64),
    ) {
        let (before, mut later) = (bounds_of(&members), members.clone());
        let who = &mut later[who.index(members.len())];
        who.earliest = who.earliest.saturating_add(Time::ticks(by));
        who.delay.lookahead = who.delay.lookahead.saturating_add(Time::ticks(more));
        // With a lookahead, a bound that excludes its time is not needed.
        who.delay.is_open &= who.delay.lookahead == Time::ZERO;
        prop_assert!(before.iter().zip(bounds_of(&later)).all(|(before, later)| *before <= later));
    }

    #[test]
    fn bounds_are_those_of_windows_by_distance(
        (lookaheads, next) in (2..8_usize).prop_flat_map(|count| {
            (prop::collection::vec(2..20_u64, count), prop::collection::vec(0..60_u64, count))
        }),
    ) {
        let count = lookaheads.len() as u32;
        let lag = Time::ticks(*lookaheads.iter().max().expect("two at least"));
        let members: Vec<_> =
            next.iter().zip(&lookaheads).map(|(next, lookahead)| sender(*next, *lookahead, true, true)).collect();
        let next: Vec<_> = next.into_iter().map(Time::ticks).collect();
        let distances = Distances::worth(&Mesh { lookaheads }, &Partition::runs(count, count));
        let distances = distances.expect("channels are allowed").expect("each lookahead is twice the model's");
        let mut windows = DistanceWindows::new(Arc::new(distances));
        prop_assert!(windows.open(&next, Time::MAX));
        let lag = next.iter().min().expect("two at least").saturating_add(lag);
        let bounds = bounds_of(&members).into_iter();
        let bounds: Vec<_> = bounds.map(|bound| bound.expect("others send").time.min(lag)).collect();
        prop_assert_eq!(bounds, windows.bounds());
    }
}
