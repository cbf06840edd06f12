//! Runs of the models can be interrupted between two events: saved, restored and dealt to other federates,
//! they end the same. PHOLD's events can be undone as well; for traffic this is tested beside its source.

use paceline_kernel::{
    Digest, Federate, Kept, LpId, Model, Outbox, Partition, Past, Progress, Rng, Settings, TieBreak, Time,
    Undo, Windows, World,
};
use paceline_models::cellular::Cellular;
use paceline_models::packets::from_section;
use paceline_models::phold::{Destination, Phold};
use paceline_models::queueing::Queueing;
use paceline_models::seir::Seir;
use paceline_models::supply_chain::SupplyChain;
use paceline_models::traffic::Traffic;
use paceline_results::{Results, RunFacts};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::built;
use crate::packets_modes::{DUMBBELL, FAILING};

type Federates<M> = Vec<Federate<M>>;

fn settings<M: Model>(model: &M) -> Settings {
    Settings { seed: 5, ties: TieBreak::Fixed, window: model.lookahead() }
}

/// Runs all events before `until`.
fn drive<M: Model>(model: &M, federates: &mut Federates<M>, partition: &Partition, until: Time) {
    let mut outbox = Outbox::new(partition.federates());
    let mut windows = Windows::lookahead(model.lookahead());
    loop {
        let least = federates.iter_mut().map(Federate::lvt).min().expect("there are federates");
        let Some(bound) = windows.open(least, until) else { break };
        for federate in federates.iter_mut() {
            federate.advance(model, partition, bound, usize::MAX, &mut outbox);
        }
        outbox.flush(|to, events, _| federates[to as usize].receive(events.drain(..)));
    }
}

/// Ends a run: digest, events, and the outputs of all its legs.
fn finish<M: Model>(
    model: &M,
    federates: Federates<M>,
    mut past: Past<M::Output>,
) -> (Digest, u64, Vec<M::Output>) {
    for federate in federates {
        let finished = federate.finish(model);
        past.digest.join(finished.digest);
        past.events += finished.events;
        past.outputs.push(finished.output);
    }
    (past.digest, past.events, past.outputs)
}

/// A run to `until` that is saved as text and restored at each of `stops`; each stop gives the number of
/// federates to continue with.
fn interrupted<M>(model: &M, stops: &[(Time, u32)], until: Time) -> (Digest, u64, Vec<M::Output>)
where
    M: Model<State: Serialize + DeserializeOwned, Event: Serialize + DeserializeOwned>,
    M::Output: Serialize + DeserializeOwned,
{
    let mut partition = model.partition(3);
    let mut federates: Federates<M> =
        Federate::build(model, &partition, settings(model)).expect("the model keeps the rules");
    let mut past = Past::default();
    for (stop, parts) in stops {
        drive(model, &mut federates, &partition, *stop);
        let world: World<M> = World::gather(federates, &partition, past);
        let text = serde_json::to_string(&world).expect("a world can be written down");
        drop(world);
        let world: World<M> = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(serde_json::to_string(&world).expect("as above"), text, "nothing is lost on the way");
        partition = model.partition(*parts);
        (federates, past) = world.deal(model, &partition, settings(model));
    }
    drive(model, &mut federates, &partition, until);
    finish(model, federates, past)
}

fn phold(lps: u32) -> Phold {
    let (lookahead, mean) = (Time::millis(300), Time::secs(1));
    let destination = Destination::Any { remote: 0.4 };
    Phold { lps, messages_per_lp: 3.5, lookahead, mean, work_ns: 0, destination }
}

fn jam() -> Traffic {
    let keys = "grid = 6\nrate = 120\nlights = true\nstorage = true\nblock = 0.1";
    built(keys, |section| Traffic::from_section(section, 1))
}

const STOPS: [(u64, u32); 5] = [(0, 1), (40, 7), (41, 2), (300, 5), (599, 4)];

fn stops() -> [(Time, u32); 5] {
    STOPS.map(|(at_s, parts)| (Time::secs(at_s), parts))
}

#[test]
fn phold_goes_on_as_if_it_had_not_been_stopped() {
    let model = phold(103);
    let until = Time::secs(600);
    let (digest, events, _) = interrupted(&model, &[], until);
    let (resumed, counted, _) = interrupted(&model, &stops(), until);
    assert!(events > 10_000);
    assert_eq!((resumed, counted), (digest, events));
}

/// All that a run has come to: digest, events, results and files.
fn say<M: Model + Results>(
    model: &M,
    (digest, events, outputs): (Digest, u64, Vec<M::Output>),
    until: Time,
) -> String {
    let facts = RunFacts { events, end_time: until };
    let summary = model.results(outputs, &facts).expect("nothing is lost");
    let mut said = format!("{digest} {events} {:?}\n", summary.lines).into_bytes();
    for file in summary.files {
        file.write(&mut said).expect("memory takes everything");
    }
    String::from_utf8(said).expect("text")
}

/// Connections, queues that decide at departure, links that fail, and samples.
#[test]
fn packet_networks_go_on_as_if_they_had_not_been_stopped() {
    let stops = [(0, 1), (40, 7), (41, 2), (119, 5)].map(|(ms, parts)| (Time::millis(ms), parts));
    let until = Time::millis(160);
    let queued = DUMBBELL.replace("\"red\", low = 5, high = 15, packets = 30", "\"fq-codel\"");
    for keys in [DUMBBELL, &queued, FAILING] {
        let model = built(keys, |section| from_section(section, 1));
        let undisturbed = say(&model, interrupted(&model, &[], until), until);
        assert!(undisturbed.lines().count() > 50, "flows and links are in it");
        assert!(say(&model, interrupted(&model, &stops, until), until) == undisturbed, "{keys}");
    }
}

#[test]
fn traffic_goes_on_as_if_it_had_not_been_stopped() {
    let model = jam();
    let until = Time::secs(600);
    let say = |run| say(&model, run, until);
    let undisturbed = say(interrupted(&model, &[], until));
    assert!(undisturbed.lines().count() > 300, "trips and roads are in it");
    assert!(say(interrupted(&model, &stops(), until)) == undisturbed);
}

/// The same for any model, with stops at parts of the whole run.
fn goes_on<M>(model: &M, until: Time)
where
    M: Model<State: Serialize + DeserializeOwned, Event: Serialize + DeserializeOwned> + Results,
    M::Output: Serialize + DeserializeOwned,
{
    let at = |part: u64| Time::ticks(until.as_ticks() / 100 * part);
    let stops = [(0, 1), (30, 7), (31, 2), (60, 5), (99, 4)].map(|(part, parts)| (at(part), parts));
    let undisturbed = say(model, interrupted(model, &[], until), until);
    assert!(say(model, interrupted(model, &stops, until), until) == undisturbed, "{undisturbed}");
}

#[test]
fn models_whose_answers_are_known_go_on_as_if_they_had_not_been_stopped() {
    let queueing = built(crate::queueing::MIXED, Queueing::from_section);
    goes_on(&queueing, Time::secs(300));
    goes_on(&built(crate::cellular::MOVING, Cellular::from_section), Time::secs(600));
    let epidemic = built("people = 300\nbetween_contacts = \"1d\"", |section| Seir::from_section(section, 1));
    goes_on(&epidemic, Time::secs(60 * 86_400));
    goes_on(&built(crate::supply_chain::CHAIN, SupplyChain::from_section), Time::secs(40 * 86_400));
}

/// The state of the only LP of `model` after `events` events.
fn after(model: &Phold, events: u64) -> u64 {
    let partition = Partition::runs(1, 1);
    let built = Federate::<Phold>::build(model, &partition, settings(model));
    let mut federate = built.expect("PHOLD keeps the rules").remove(0);
    let mut outbox = Outbox::new(1);
    for _ in 0..events {
        assert_eq!(federate.step(model, &partition, Time::MAX, &mut outbox), Progress::More);
    }
    let world = World::gather(vec![federate], &partition, Past::default());
    let world = serde_json::to_value(&world).expect("a world can be written down");
    world["lps"][0]["state"].as_u64().expect("PHOLD counts")
}

#[test]
fn phold_takes_events_back() {
    let model = phold(1);
    assert!(Phold::UNDO.is_some());
    for (events, undone) in [(1, 1), (5, 2), (40, 40), (100, 1)] {
        let mut state = after(&model, events);
        for left in (events - undone..events).rev() {
            let mut kept = Kept::new(LpId(0), Time::ZERO, Rng::new(1, 0), &[]);
            model.undo(&mut state, &(), &mut kept);
            assert_eq!(state, after(&model, left));
        }
    }
}
