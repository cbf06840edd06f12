//! Checkpoints of all models, damaged and with a checksum that fits: each is refused, or resumed to an end or
//! to a typed error. Nothing in them makes a model panic, whatever the protocol.
//!
//! `PACELINE_CASES` sets the number of damaged versions of each model (default [`CASES`]), `PACELINE_SEED`
//! the first.

use std::sync::Arc;
use std::time::Duration;

use paceline_engine::{
    CheckpointError, CheckpointFile, Checkpoints, Monitor, Protocol, RunError, Simulation,
};
use paceline_kernel::{Model, Rng, Time};
use paceline_models::cellular::Cellular;
use paceline_models::packets::from_section;
use paceline_models::phold::Phold;
use paceline_models::queueing::Queueing;
use paceline_models::seir::Seir;
use paceline_models::supply_chain::SupplyChain;
use paceline_models::traffic::Traffic;
use paceline_models::wireless::Wireless;
use paceline_models::wireless_csma::Csma;
use paceline_packets::{Flow, LinkSpec, Packets, Trace, topology};
use paceline_results::{Results, RunFacts};
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use crate::built;
use crate::packets_modes::{DUMBBELL, FAILING};

/// Damaged versions of each model; and of PHOLD, which leaves no outputs behind, so that a damaged length of
/// their list is counted up to.
const CASES: u64 = 150;
const CASES_OF_PHOLD: u64 = 40;
const CASES_OF_PACKETS: u64 = 200;
/// Magic word and version, then the lengths of header and body.
const OPENING_BYTES: usize = 28;
const CHECKSUM_BYTES: usize = 8;
const HEADER: &[u8] = b"mine";
/// The greatest number of 64 bits, and of 32, as postcard writes them.
const GREATEST: [&[u8]; 2] =
    [&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], &[0xff, 0xff, 0xff, 0xff, 0x0f]];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

/// A file with this body, and with lengths and checksum as they must be.
fn seal(opening: &[u8], body: &[u8]) -> Vec<u8> {
    let mut file = opening[..12].to_vec();
    for part in [HEADER, body] {
        file.extend((part.len() as u64).to_le_bytes());
    }
    let mut hasher = Xxh3::new();
    [HEADER, body, &file].into_iter().for_each(|part| hasher.update(part));
    [&file, HEADER, body, &hasher.digest().to_le_bytes()].concat()
}

/// Changes some numbers of a body: to great ones, small ones, others of the same body, by a bit; or moves
/// what follows.
fn damage(body: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let (at, from) = (rng.below(body.len() as u64) as usize, rng.below(body.len() as u64) as usize);
        match rng.below(7) {
            0 => body[at] ^= 1 << rng.below(8),
            1 => body[at] = rng.u64() as u8,
            2 => body[at] = rng.below(4) as u8,
            3 => body[at] = body[from],
            4 => body[at] = body[at].wrapping_add(1),
            5 => drop(body.splice(at..=at, GREATEST[rng.below(2) as usize].iter().copied())),
            _ => drop(body.splice(at..(at + 5).min(body.len()), GREATEST[1].iter().copied())),
        }
    }
}

fn simulation<M: Model>(model: M, until: Time) -> Simulation<M> {
    Simulation::new(model).seed(1).until(until)
}

/// Damages a checkpoint of the run at `half`, and resumes what is not refused.
fn all_are_refused_or_run<M>(name: &str, model: impl Fn() -> M, half: Time, until: Time, cases: u64)
where
    M: Model + Results,
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.checkpoint");
    let monitor = Monitor::new();
    let checkpoints = Checkpoints { path: path.clone(), every: Duration::ZERO, header: HEADER.to_vec() };
    let first = simulation(model(), half).protocol(Protocol::Window).federates(2).threads(1).leg_events(20);
    first.checkpoint(checkpoints).monitor(&monitor).run().expect("the model keeps the rules");
    let sound = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: no checkpoint: {error}"));
    let body = &sound[OPENING_BYTES + HEADER.len()..sound.len() - CHECKSUM_BYTES];
    let [mut resumed, mut refused] = [0u64; 2];
    let first_seed = setting("PACELINE_SEED", 0);
    for seed in first_seed..first_seed + setting("PACELINE_CASES", cases) {
        let mut rng = Rng::new(seed, 0x726f_6164);
        let mut damaged = body.to_vec();
        if seed > first_seed {
            damage(&mut damaged, &mut rng);
        }
        std::fs::write(&path, seal(&sound, &damaged)).expect("it can be written");
        let world = match CheckpointFile::open(&path).expect("its checksum fits").world(&model()) {
            Ok(world) => world,
            Err(error) => {
                assert!(seed > first_seed, "an undamaged one is refused: {error}");
                assert!(matches!(&error, CheckpointError::Model { what, .. } if !what.is_empty()), "{error}");
                refused += 1;
                continue;
            }
        };
        let protocols = [Protocol::Sequential, Protocol::Window, Protocol::Optimistic];
        let protocol = protocols[rng.below(3) as usize];
        let run = simulation(model(), until).protocol(protocol).federates(2).threads(1).resume(world);
        match run.run_keeping_model() {
            Ok((report, model)) => {
                let facts = RunFacts { events: report.events, end_time: report.end_time };
                // Totals that do not match are reported; they are no reason to panic.
                if let Ok(summary) = model.results(report.outputs, &facts) {
                    summary
                        .files
                        .into_iter()
                        .for_each(|file| file.write(&mut std::io::sink()).expect("a sink"));
                }
            }
            Err(error) => {
                assert!(!matches!(error, RunError::Event(_)), "{name}, seed {seed}, {protocol:?}: {error}");
            }
        }
        resumed += 1;
    }
    let least = (resumed + refused) / 20;
    assert!(
        resumed.min(refused) >= least,
        "{name}: {resumed} resumed, {refused} refused: such damage tests little"
    );
}

fn traffic(keys: &'static str) -> impl Fn() -> Traffic {
    move || built(keys, |section| Traffic::from_section(section, 1))
}

#[test]
fn of_traffic() {
    for (name, keys, half, until) in [
        ("a jam", "grid = 3\nrate = 60\nlights = true\nstorage = true\nblock = 0.05", 200, 320),
        ("lights", "grid = 3\nrate = 20\nlights = true", 150, 400),
        ("free flow", "grid = 2\nrate = 60\ncrossing = \"0.7s\"", 200, 400),
        (
            "a town",
            "network = \"data/ringtown_net.tntp\"\ntrips = \"data/ringtown_trips.tntp\"\ndemand = 0.05\nstorage = true",
            900,
            1500,
        ),
    ] {
        all_are_refused_or_run(name, traffic(keys), Time::secs(half), Time::secs(until), CASES);
    }
}

#[test]
fn of_wireless_networks() {
    for deliveries in ["together", "singly"] {
        let keys = format!(
            "hosts = 20\nside = 100\nrange = 20\nsteps = 12\nrounds = 1\ndeliveries = \"{deliveries}\""
        );
        let model = || built(&keys, |section| Wireless::from_section(section, 1));
        all_are_refused_or_run(deliveries, model, Time::from_secs_f64(5.4), Time::secs(10), CASES);
    }
}

#[test]
fn of_wireless_networks_with_losses() {
    let keys = "hosts = 12\nside = 300\nrange = 75\nrequest_every = \"30ms\"\nstep = \"7ms\"\nspeed = 40\nwindow = 7";
    let model = || built(keys, |section| Csma::from_section(section, 1));
    all_are_refused_or_run("losses", model, Time::millis(40), Time::millis(80), CASES);
}

/// Two hosts, one of which sends what a trace says to the other by way of a slower link, again and again.
fn traced() -> Packets {
    let access = LinkSpec::new(1_000_000_000, 10_000_000);
    let network = topology::dumbbell(1, &access, &LinkSpec::new(2_000_000, 50_000_000)).expect("a network");
    let trace = Trace::new((0..40).map(|number| (number * 700_000_001, 100 + number as u32)).collect());
    let trace = Arc::new(trace.and_then(|trace| trace.repeated(30_000_000_000)).expect("a trace"));
    let (from, to) = (network.node("left-0").expect("a host"), network.node("right-0").expect("a host"));
    Packets::new(network, vec![Flow::trace(from, to, trace)]).expect("a model")
}

#[test]
fn of_packet_networks_with_traces() {
    all_are_refused_or_run("a trace", traced, Time::millis(20), Time::millis(80), CASES_OF_PACKETS);
}

/// Queues of flows and of classes, and what decides about congestion.
#[test]
fn of_packet_networks_with_other_queues() {
    let queue = "kind = \"red\", low = 5, high = 15, packets = 30, ecn = true";
    let classes = "classes = [{ kind = \"drop-tail\", packets = 9 }, { kind = \"codel\" }]";
    let class = |keys: String| keys.replace("apart = \"10ms\"", "apart = \"10ms\"\nclass = 1");
    for (name, keys) in [
        ("CoDel", DUMBBELL.replace(queue, "kind = \"codel\"")),
        ("FQ-CoDel", DUMBBELL.replace(queue, "kind = \"fq-codel\"").replace("cubic", "bbr")),
        ("priorities", class(DUMBBELL.replace(queue, &format!("kind = \"priority\", {classes}")))),
        ("DRR", class(DUMBBELL.replace(queue, &format!("kind = \"drr\", {classes}")))),
        ("bursts of loss", DUMBBELL.replace("loss = 0.003", "burst_loss = { to_bad = 0.01, to_good = 0.5 }")),
        ("NewReno", DUMBBELL.replace("cubic", "newreno")),
    ] {
        let keys = keys.replace("pairs = 12", "pairs = 3");
        let model = || built(&keys, |section| from_section(section, 1));
        all_are_refused_or_run(name, model, Time::millis(60), Time::millis(140), CASES_OF_PACKETS);
    }
}

/// Switches that share a buffer and pause their neighbours, RDMA, and applications of every kind.
#[test]
fn of_packet_networks_with_switches_and_applications() {
    let links = "pairs = 4\naccess = { rate = \"1Gbps\", latency = \"50us\" }\n\
                 bottleneck = { rate = \"100Mbps\", latency = \"50us\" }\n";
    let network = format!("topology = \"dumbbell\"\n{links}");
    let shared = "switch = { buffer = \"1MB\", pfc = { classes = [0, 3], xoff = \"9kB\" } }\n";
    let flows = |from: &str, to: &str, keys: &str| {
        format!("[[model.flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = {keys}\n")
    };
    let application =
        |kind: &str, keys: &str| format!("{network}[[model.applications]]\nkind = \"{kind}\"\n{keys}\n");
    let asks =
        |kind: &str, keys: &str| application(kind, &format!("from = \"left-0\"\nto = \"right-0\"\n{keys}"));
    let sized = "request = \"1kB\"\nresponse = \"20kB\"";
    let incast = format!("client = \"right-0\"\nservers = \"left-*\"\n{sized}");
    let rdma = flows("left-*", "right-0", "\"rdma\"\ncongestion = \"dcqcn\"\nclass = 3");
    let before = flows("left-0", "right-0", "\"tcp\"\nbytes = \"90kB\"\nname = \"a\"");
    let behind = flows("right-0", "left-0", "\"tcp\"\nbytes = \"90kB\"\nafter = \"a\"");
    let ranks = "ranks = \"hosts\"\nbytes = \"300kB\"";
    for (name, keys) in [
        ("RDMA", format!("{network}{shared}{rdma}")),
        ("waits", format!("{network}{before}{behind}")),
        ("requests", asks("request-response", sized)),
        ("pages", asks("http", "")),
        ("video", asks("video", "ladder_kbps = [500, 1000]")),
        ("incast", application("incast", &incast).replace("[[", &format!("{shared}[["))),
        ("all-reduce", application("all-reduce", ranks)),
        ("all-to-all", application("all-to-all", ranks)),
    ] {
        let model = || built(&keys, |section| from_section(section, 1));
        all_are_refused_or_run(name, model, Time::millis(12), Time::millis(60), CASES_OF_PACKETS);
    }
}

/// Queues that decide at arrival, lossy links, congestion controls, links that fail.
#[test]
fn of_packet_networks() {
    let queue = "\"red\", low = 5, high = 15, packets = 30, ecn = true";
    for (name, keys) in [
        ("early marks", DUMBBELL.to_owned()),
        ("thresholds", DUMBBELL.replace(queue, "\"threshold\", mark_packets = 9").replace("cubic", "dctcp")),
        ("failures", FAILING.to_owned()),
    ] {
        let keys = keys.replace("pairs = 12", "pairs = 3").replace("dctcp\"\necn = \"classic\"", "dctcp\"");
        let model = || built(&keys, |section| from_section(section, 1));
        all_are_refused_or_run(name, model, Time::millis(60), Time::millis(140), CASES_OF_PACKETS);
    }
}

#[test]
fn of_phold() {
    let keys = "lps = 12\nlookahead = \"300ms\"";
    let model = || built(keys, Phold::from_section);
    all_are_refused_or_run("phold", model, Time::secs(20), Time::secs(40), CASES_OF_PHOLD);
}

#[test]
fn of_queueing_networks() {
    let keys = "stations = [{ name = \"a\", servers = 2, service = \"2s\" }, { name = \"b\", count = 2, service = \"3s\" }]\n\
                classes = [{ name = \"x\", start = \"a\", population = 5 },\n\
                { name = \"y\", start = \"b\", between_arrivals = \"4s\", priority = 1 }]\n\
                routes = [{ from = \"a\", to = \"b\", class = \"x\" }, { from = \"b\", to = \"a\", class = \"x\" }]\nwarm_up = \"5s\"";
    let model = || built(keys, Queueing::from_section);
    all_are_refused_or_run("queueing", model, Time::secs(20), Time::secs(50), CASES);
}

#[test]
fn of_cellular_networks() {
    let keys = "columns = 3\nrows = 4\nchannels = 3\nreserved = 1\nbetween_calls = \"20s\"\nstay = \"40s\"";
    let model = || built(keys, Cellular::from_section);
    all_are_refused_or_run("cellular", model, Time::secs(200), Time::secs(400), CASES);
}

#[test]
fn of_epidemics() {
    let model = || built("people = 40\nbetween_contacts = \"1d\"", |section| Seir::from_section(section, 1));
    let day = |days: u64| Time::secs(days * 86_400);
    all_are_refused_or_run("seir", model, day(8), day(30), CASES);
}

#[test]
fn of_supply_chains() {
    let keys = "products = 3\nbetween_demands = \"6h\"\nwarm_up = \"2d\"\nstages = [\n\
                { name = \"shop\", base_stock = 3, lead_time = \"1d\" },\n\
                { name = \"factory\", base_stock = 5, lead_time = \"2d\" }]";
    let model = || built(keys, SupplyChain::from_section);
    let day = |days: u64| Time::secs(days * 86_400);
    all_are_refused_or_run("supply-chain", model, day(6), day(12), CASES);
}
