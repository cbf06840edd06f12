//! BitTorrent: every peer that can get the whole file gets it, the rules of the swarm hold, and the result
//! does not depend on the way it is run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use paceline_kernel::{Rng, Time};
use paceline_models::bittorrent::{Action, Bittorrent, Message, Observed, Outcome, ROUND};
use paceline_network::{Constant, FlowModel, Flows};
use paceline_processes::{ContextKind, EndedBy, Report, Rounds, Simulation};

const HOSTS: u32 = 9;

/// The way a swarm is run.
#[derive(Clone, Copy)]
struct Way {
    seed: u64,
    until: Time,
    threads: usize,
    context: ContextKind,
}

impl Way {
    fn new(seed: u64) -> Self {
        Self { seed, until: Time::secs(3000), threads: 1, context: ContextKind::Future }
    }
}

fn run(swarm: &Bittorrent, way: Way) -> (Report, Arc<Outcome>) {
    let world: Simulation<Message, _> = Simulation::new(Constant::new(0.037), &[(1e9, 1); HOSTS as usize]);
    let world = world.seed(way.seed).until(way.until).threads(way.threads).context(way.context);
    let mut world = world.rounds(Rounds::Always);
    let outcome = swarm.spawn(&mut world, HOSTS, way.seed);
    (world.run().unwrap_or_else(|error| panic!("{error}")), outcome)
}

/// A swarm drawn from `seed`, with a seed that stays.
fn drawn(seed: u64) -> Bittorrent {
    let mut rng = Rng::new(seed, 99);
    let peers = 2 + rng.below(30) as u32;
    let most_pieces = if rng.chance(0.3) { 150 } else { 20 };
    Bittorrent {
        peers,
        seeds: 1 + rng.below(u64::from(peers.min(4)) - 1) as u32,
        pieces: 1 + rng.below(most_pieces) as u32,
        blocks: 1 + rng.below(6) as u32,
        slots: 1 + rng.below(4) as u32,
        starts: Time::secs(if rng.chance(0.5) { rng.below(60) } else { 0 }),
        linger: rng.chance(0.3).then(|| Time::secs(rng.below(100))),
        observe: true,
        ..Bittorrent::default()
    }
}

#[test]
fn with_a_seed_every_leecher_completes_and_the_rules_hold() {
    for seed in 0..40 {
        let swarm = drawn(seed);
        let (report, outcome) = run(&swarm, Way::new(seed));
        let leechers = (swarm.peers - swarm.seeds) as usize;
        assert_eq!(outcome.completions().len(), leechers, "seed {seed}: {swarm:?}");
        let unchoked = report.outputs.tally("unchoked").greatest().unwrap_or(0.0);
        assert!(unchoked <= f64::from(swarm.slots) + 1.0, "seed {seed}");
        assert_eq!(report.ended_by, EndedBy::Horizon, "the seeds stay");
        let needed = leechers as u64 * u64::from(swarm.pieces) * u64::from(swarm.blocks);
        let [sent, twice] = ["blocks_sent", "duplicate_blocks"].map(|name| report.outputs.count(name));
        assert!(sent - twice >= needed, "seed {seed}");
        assert!(report.outputs.count("messages_sent") > sent / u64::from(swarm.blocks));
        assert_nobody_sends_what_it_does_not_have(&swarm, &outcome);
        if swarm.starts == Time::ZERO {
            assert_few_are_served_between_rounds(&swarm, &outcome);
        }
    }
}

/// If all peers start at the same time, the peers served by a peer change only every 10 s.
fn assert_few_are_served_between_rounds(swarm: &Bittorrent, outcome: &Outcome) {
    let mut served: BTreeMap<(u32, u64), BTreeSet<u32>> = BTreeMap::new();
    for Observed { at, action, peer } in outcome.observed() {
        let (round, into_ns) = (at.as_nanos() / ROUND.as_nanos(), at.as_nanos() % ROUND.as_nanos());
        if let (Action::Sent { to, .. }, 1..) = (action, into_ns) {
            served.entry((peer, round)).or_default().insert(to);
        }
    }
    assert!(!served.is_empty());
    for ((peer, round), others) in served {
        assert!(
            others.len() <= swarm.slots as usize + 1,
            "peer {peer}, round {round}: {others:?} are served"
        );
    }
}

fn assert_nobody_sends_what_it_does_not_have(swarm: &Bittorrent, outcome: &Outcome) {
    let observed = outcome.observed();
    let completed: BTreeMap<(u32, u32), Time> = observed
        .iter()
        .filter_map(|observed| match observed.action {
            Action::Completed { piece } => Some(((observed.peer, piece), observed.at)),
            Action::Sent { .. } => None,
        })
        .collect();
    let leechers = swarm.peers - swarm.seeds;
    assert_eq!(completed.len() as u32, leechers * swarm.pieces, "each completes each piece");
    let mut sent_by_leechers = 0;
    for observed in &observed {
        let Action::Sent { piece, to } = observed.action else { continue };
        assert!(to >= swarm.seeds, "a seed asks for nothing");
        if observed.peer >= swarm.seeds {
            let has = completed.get(&(observed.peer, piece)).is_some_and(|since| *since <= observed.at);
            assert!(has, "{observed:?} is not there yet");
            sent_by_leechers += 1;
        }
    }
    assert!(sent_by_leechers > 0 || leechers < 5 || swarm.pieces < 3, "{swarm:?}: leechers serve each other");
}

#[test]
fn a_file_that_nobody_has_whole_any_more_is_completed_by_nobody() {
    let whole =
        Bittorrent { peers: 12, pieces: 200, blocks: 8, slots: 1, observe: true, ..Bittorrent::default() };
    let (_, outcome) = run(&whole, Way::new(7));
    let pieces_there = |before: Time| {
        let observed = outcome.observed().into_iter().filter(|observed| observed.at < before);
        let sent = observed.filter(|observed| observed.peer == 0).map(|observed| observed.action);
        let sent: BTreeSet<u32> = sent
            .filter_map(|action| if let Action::Sent { piece, .. } = action { Some(piece) } else { None })
            .collect();
        sent.len() as u32
    };
    // The seed has served some peers when it leaves, but has not sent every piece.
    let leaves = Time::secs(25);
    assert!((1..whole.pieces).contains(&pieces_there(leaves)), "{}", pieces_there(leaves));
    for linger in [None, Some(Time::ZERO)] {
        let swarm = Bittorrent { seeds_leave: Some(leaves), linger, ..whole.clone() };
        let (report, outcome) = run(&swarm, Way { until: Time::secs(500), ..Way::new(7) });
        assert_eq!((outcome.completions().len(), report.ended_by), (0, EndedBy::Horizon));
        let completed = outcome
            .observed()
            .into_iter()
            .filter(|observed| matches!(observed.action, Action::Completed { .. }));
        assert!(completed.count() > 20, "what is there is shared all the same");
    }
}

#[test]
fn where_all_leave_the_run_ends_with_the_last_peer() {
    let swarm = Bittorrent {
        peers: 30,
        starts: Time::secs(100),
        seeds_leave: Some(Time::secs(900)),
        linger: Some(Time::secs(20)),
        ..Bittorrent::default()
    };
    let (report, outcome) = run(&swarm, Way::new(3));
    assert_eq!((report.ended_by, report.end_time), (EndedBy::Processes, Time::secs(900)));
    assert_eq!(outcome.completions().len(), 29);
}

#[test]
fn who_is_left_alone_asks_the_tracker_again() {
    let leaves = Some(Time::secs(15));
    let swarm = Bittorrent { peers: 2, pieces: 1000, seeds_leave: leaves, ..Bittorrent::default() };
    let messages = |until: u64| {
        run(&swarm, Way { until: Time::secs(until), ..Way::new(1) }).0.outputs.count("messages_sent")
    };
    assert_eq!(messages(1016) - messages(16), 100, "in every round");
}

#[test]
fn a_swarm_without_seeds_goes_on_to_the_horizon() {
    let swarm = Bittorrent { peers: 5, seeds: 0, ..Bittorrent::default() };
    let (report, outcome) = run(&swarm, Way { until: Time::secs(200), ..Way::new(1) });
    assert_eq!((outcome.completions().len(), report.ended_by), (0, EndedBy::Horizon));
}

#[test]
fn threads_and_contexts_change_nothing() {
    for seed in 100..108 {
        let swarm = drawn(seed);
        let swarm = Bittorrent { observe: false, pieces: swarm.pieces.min(20), ..swarm };
        let way = Way { until: Time::secs(120), ..Way::new(seed) };
        let facts = |way: Way| {
            let (report, outcome) = run(&swarm, way);
            (
                report.digest,
                outcome.completions(),
                report.outputs.count("messages_sent"),
                report.outputs.count("duplicate_blocks"),
            )
        };
        let reference = facts(way);
        for threads in [2, 8] {
            assert_eq!(facts(Way { threads, ..way }), reference, "seed {seed}, {threads} threads");
        }
        if swarm.peers < 12 {
            assert_eq!(facts(Way { context: ContextKind::Thread, ..way }), reference, "seed {seed}");
        }
    }
}

#[test]
fn over_links_that_are_shared_a_larger_swarm_takes_little_longer_and_blocks_are_cancelled() {
    let platform = r#"<platform version="4.1">
      <cluster id="c" prefix="n-" suffix="" radical="0-40" speed="1Gf" bw="1MBps" lat="10ms"/>
    </platform>"#;
    let platform = paceline_network::read("c.xml", platform, &mut |_| Err("no other files".into())).unwrap();
    let last = |peers: u32| {
        let network = Flows::new(&platform, FlowModel::LV08);
        let mut world = Simulation::new(network, &[(1e9, 1); 41]).until(Time::secs(3000));
        let swarm = Bittorrent { peers, pieces: 40, block_bytes: 1e5, ..Bittorrent::default() };
        let outcome = swarm.spawn(&mut world, 41, 1);
        let report = world.run().unwrap_or_else(|error| panic!("{error}"));
        let completions = outcome.completions();
        assert_eq!(completions.len() as u32, peers - 1);
        // In the end game several peers send the same blocks: some are cancelled in transit, some arrive
        // twice.
        let needed = u64::from(peers - 1) * u64::from(swarm.pieces) * u64::from(swarm.blocks);
        let [sent, twice] = ["blocks_sent", "duplicate_blocks"].map(|name| report.outputs.count(name));
        assert!(twice > 0 && sent > needed + twice);
        completions[completions.len() - 1].as_secs_f64()
    };
    // If the leechers were served by the seed alone, 4 times as many would take 4 times as long.
    let (few, many) = (last(10), last(40));
    assert!(many < 2.0 * few, "{few} s for 9 leechers, {many} s for 39");
}
