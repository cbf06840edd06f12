//! Random calls of up to eight federates in two federations, compared with a small infrastructure: what each
//! client is called with is equal, and so are times. And what always holds: nothing comes below a granted
//! time, GALT falls only where somebody begins to regulate, and not all of a federation wait.

use std::collections::BTreeMap;

use proptest::prelude::*;

mod reference;
mod reference_time;
mod world;

use reference::Federation;
use reference_time::Clock;
use world::World;

const CLIENTS: u32 = 8;

/// What a client does. Times are counted from where it is, instances and messages from the last one, until
/// the step is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Create,
    Destroy,
    Join,
    Resign(i32),
    Lose,
    Publish(u8, u8),
    Unpublish(u8),
    Subscribe(u8, u8),
    Unsubscribe(u8),
    PublishInteraction(u8),
    UnpublishInteraction(u8),
    SubscribeInteraction(u8),
    UnsubscribeInteraction(u8),
    Register(u8),
    Update { object: usize, mask: u8, at: Option<i64> },
    Delete(usize),
    Forget(usize),
    Send { interaction: u8, at: Option<i64> },
    Retract(usize),
    Regulate(i64),
    StopRegulating,
    Constrain,
    StopBeingConstrained,
    Advance { to: i64, is_to_next: bool, is_available: bool },
    Flush(i64),
    Lookahead(i64),
    Asynchronous(bool),
}

fn any_declaration() -> impl Strategy<Value = Step> {
    let (class, mask, interaction) = (0..2_u8, 0..8_u8, 0..3_u8);
    prop_oneof![
        4 => (class.clone(), mask.clone()).prop_map(|(class, mask)| Step::Publish(class, mask)),
        1 => class.clone().prop_map(Step::Unpublish),
        4 => (class.clone(), mask).prop_map(|(class, mask)| Step::Subscribe(class, mask)),
        1 => class.prop_map(Step::Unsubscribe),
        4 => interaction.clone().prop_map(Step::PublishInteraction),
        1 => interaction.clone().prop_map(Step::UnpublishInteraction),
        4 => interaction.clone().prop_map(Step::SubscribeInteraction),
        1 => interaction.prop_map(Step::UnsubscribeInteraction),
    ]
}

fn any_exchange() -> impl Strategy<Value = Step> {
    let at = || prop::option::weighted(0.8, -1..6_i64);
    prop_oneof![
        3 => (0..2_u8).prop_map(Step::Register),
        8 => (0..4_usize, 1..8_u8, at()).prop_map(|(object, mask, at)| Step::Update { object, mask, at }),
        1 => (0..4_usize).prop_map(Step::Delete),
        1 => (0..4_usize).prop_map(Step::Forget),
        10 => (0..3_u8, at()).prop_map(|(interaction, at)| Step::Send { interaction, at }),
        3 => (0..4_usize).prop_map(Step::Retract),
    ]
}

fn any_time() -> impl Strategy<Value = Step> {
    let advance = (-1..7_i64, any::<bool>(), any::<bool>());
    prop_oneof![
        4 => prop_oneof![Just(0_i64), 0..4_i64].prop_map(Step::Regulate),
        1 => Just(Step::StopRegulating),
        4 => Just(Step::Constrain),
        1 => Just(Step::StopBeingConstrained),
        20 => advance.prop_map(|(to, is_to_next, is_available)| Step::Advance { to, is_to_next, is_available }),
        3 => (-1..7_i64).prop_map(Step::Flush),
        2 => (0..5_i64).prop_map(Step::Lookahead),
        1 => any::<bool>().prop_map(Step::Asynchronous),
    ]
}

fn any_step() -> impl Strategy<Value = (u32, Step)> {
    let membership = prop_oneof![
        1 => Just(Step::Create),
        1 => Just(Step::Destroy),
        4 => Just(Step::Join),
        2 => prop::sample::select(vec![0, 1, 4, 5]).prop_map(Step::Resign),
        1 => Just(Step::Lose),
    ];
    let step = prop_oneof![1 => membership, 6 => any_declaration(), 10 => any_exchange(), 14 => any_time()];
    (1..=CLIENTS, step)
}

/// Which federation a client knows.
pub fn federation_of(client: u32) -> usize {
    usize::from(client > 5)
}

/// All that the small infrastructure has: federations by number.
#[derive(Default)]
struct Reference {
    federations: BTreeMap<usize, Federation>,
}

/// As the infrastructures are asked: with times and numbers for what is counted from somewhere.
fn resolve(step: Step, federation: &Federation, clock: &Clock) -> Step {
    let stamp = |at: Option<i64>| at.map(|at| clock.send_bound().map_or(clock.now, |bound| bound.0) + at);
    let instance = |back: usize| (federation.registered + 1).saturating_sub(back);
    match step {
        Step::Update { object, mask, at } => {
            Step::Update { object: instance(object + 2), mask, at: stamp(at) }
        }
        Step::Delete(back) => Step::Delete(instance(back + 1)),
        Step::Forget(back) => Step::Forget(instance(back + 1)),
        Step::Send { interaction, at } => Step::Send { interaction, at: stamp(at) },
        Step::Retract(back) => Step::Retract(federation.sent.len().saturating_sub(back)),
        Step::Advance { to, is_to_next, is_available } => {
            Step::Advance { to: clock.now + to, is_to_next, is_available }
        }
        Step::Flush(to) => Step::Flush(clock.now + to),
        step => step,
    }
}

impl Reference {
    /// The step as it is asked for, and whether it is allowed.
    fn take(&mut self, client: u32, step: Step) -> (Step, bool) {
        let number = federation_of(client);
        let Some(federation) = self.federations.get_mut(&number) else {
            let creates = step == Step::Create;
            if creates {
                self.federations.insert(number, Federation::default());
            }
            return (step, creates || step == Step::Lose);
        };
        let handle = federation.handle_of(client);
        match (step, handle) {
            (Step::Create, _) => (step, false),
            (Step::Destroy, _) => {
                let is_empty = federation.federates.is_empty();
                if is_empty {
                    self.federations.remove(&number);
                }
                (step, is_empty)
            }
            (Step::Join, None) => {
                federation.join(client);
                (step, true)
            }
            (Step::Lose, None) => (step, true),
            (Step::Lose, Some(handle)) => (step, federation.resign(handle, 4)),
            (_, None) | (Step::Join, _) => (step, false),
            (Step::Resign(action), Some(handle)) => (step, federation.resign(handle, action)),
            (step, Some(handle)) => {
                let step = resolve(step, federation, &federation.federates[&handle].clock);
                (step, federation.take(handle, step))
            }
        }
    }

    /// By client.
    fn words(&mut self) -> BTreeMap<u32, Vec<String>> {
        let mut words: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (client, said) in self.federations.values_mut().flat_map(|federation| federation.words.drain(..))
        {
            words.entry(client).or_default().push(said);
        }
        words
    }
}

/// Checks times, and returns GALT of all, where nobody who sends counts as a last time.
fn check_times(reference: &Reference, world: &mut World) -> BTreeMap<u32, i64> {
    let mut galts = BTreeMap::new();
    for federation in reference.federations.values() {
        for (handle, federate) in &federation.federates {
            let (galt, words) = federation.queried(*handle);
            assert_eq!(world.queried(federate.client), words, "of {}", federate.client);
            galts.insert(federate.client, galt.unwrap_or(i64::MAX));
        }
        let mut clocks = federation.federates.values().map(|federate| &federate.clock);
        assert!(federation.federates.is_empty() || !clocks.all(Clock::waits), "all wait");
    }
    galts
}

fn compare(steps: Vec<(u32, Step)>) {
    let (mut reference, mut world) = (Reference::default(), World::new());
    let mut before = BTreeMap::new();
    // Most calls need a federation.
    let first = (1..=CLIENTS).map(|client| (client, Step::Join));
    let first = [(1, Step::Create), (8, Step::Create)].into_iter().chain(first);
    for (client, step) in first.chain(steps) {
        let (resolved, is_allowed) = reference.take(client, step);
        let words = reference.words();
        assert_eq!(world.take(client, resolved), is_allowed, "{client} {resolved:?}");
        (1..=CLIENTS).for_each(|client| {
            let expected = words.get(&client).cloned().unwrap_or_default();
            assert_eq!(world.words(client), expected, "of {client}, after {resolved:?}");
        });
        let galts = check_times(&reference, &mut world);
        if !matches!(step, Step::Regulate(_)) {
            for (client, galt) in &galts {
                let fell = before.get(client).is_some_and(|before| galt < before);
                assert!(!fell, "GALT of {client} fell after {resolved:?}: {before:?}, {galts:?}");
            }
        }
        before = galts;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn federates_are_called_as_by_the_small_infrastructure(
        steps in prop::collection::vec(any_step(), 1..150),
    ) {
        compare(steps);
    }

    /// The same where all regulate, are constrained and subscribe, so that more of the steps do something.
    #[test]
    fn federates_that_keep_time_are_called_as_by_the_small_infrastructure(
        lookaheads in prop::collection::vec(0..4_i64, CLIENTS as usize),
        steps in prop::collection::vec((1..=CLIENTS, prop_oneof![any_exchange(), any_time()]), 1..150),
    ) {
        let enter = |(client, lookahead)| {
            let declared = (0..3).flat_map(|class| [Step::PublishInteraction(class), Step::SubscribeInteraction(class)]);
            let objects = [Step::Publish(1, 7), Step::Subscribe(0, 3), Step::Register(1)];
            let timed = [Step::Constrain, Step::Regulate(lookahead)];
            declared.chain(objects).chain(timed).map(move |step| (client, step))
        };
        compare((1..=CLIENTS).zip(lookaheads).flat_map(enter).chain(steps).collect());
    }
}
