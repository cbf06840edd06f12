//! The picture of README.md, `docs/pictures/lvt.svg`: the same federates under a fair scheduler and under one
//! that runs those furthest behind first.
//!
//! Invariant: the picture is a function of two runs of the simulated machine, so the file is equal on every
//! host, byte by byte. `PACELINE_DRAW=1` writes it anew.

mod svg;

use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use paceline_kernel::{Digest, Model as _, Settings, Time};
use paceline_machine::guests::federate::{GuestSettings, Outcome, collect, federates};
use paceline_machine::{DomainSpec, HostSpec, MachineSpec, ProcessId, run_observed};
use paceline_models::phold::{Destination, Phold};
use paceline_policy::Setting;

use crate::lab::Watch;
use svg::{Panel, Run, Track};

const FEDERATES: u32 = 8;
const PCPUS: u32 = 4;
const HORIZON: Time = Time::secs(10);
const FILE: &str = "docs/pictures/lvt.svg";

/// What one run shows: its federates over real time, when it ended, and the digest of what it computed.
struct Seen {
    tracks: Vec<Track>,
    ended_ns: u64,
    digest: Digest,
}

/// PHOLD on eight federates, each a polling process of a domain of its own, on a host with half as many CPUs.
fn seen(policy: &str) -> Seen {
    let model = Arc::new(Phold {
        lps: 100 * FEDERATES,
        messages_per_lp: 40.0,
        lookahead: Time::secs(1),
        mean: Time::secs(1),
        work_ns: 0,
        destination: Destination::Group { groups: FEDERATES, locality: 0.9 },
    });
    let settings = Settings { seed: 1, window: Time::secs(1), ..Settings::default() };
    let guests = GuestSettings {
        until: HORIZON,
        reports: true,
        reports_per_lookahead: 4,
        per_packet: 8,
        ..GuestSettings::default()
    };
    let partition = Arc::new(model.partition(FEDERATES));
    let programs =
        federates(model, partition, settings, guests, ProcessId(0)).expect("the settings are right");
    let mut host = HostSpec::new("host", PCPUS, policy);
    // The privileged domain carries all messages; PSX puts it first by itself.
    if policy == "credit" {
        host.dom0_settings.set("weight", Setting::Count(8192));
    }
    let mut spec = MachineSpec { hosts: vec![host], ..MachineSpec::default() };
    let named = programs.into_iter().enumerate();
    spec.domains = named.map(|(id, program)| DomainSpec::new(format!("{id}"), 0, vec![program])).collect();
    let mut watch = Watch::default();
    let ran = run_observed(spec, &mut watch).expect("the machine runs to its end");
    let outcome: Outcome<_> = collect::<Phold>(ran.programs).expect("all federates reach the horizon");
    // Domain 0 is the privileged one.
    let track = |dom| Track {
        lvt: watch.lvts.iter().filter(|(of, ..)| *of == dom).map(|(_, at, lvt)| (*at, *lvt)).collect(),
        ran: watch.of(dom).into_iter().map(|(_, from, to)| (from, to)).collect(),
    };
    Seen { tracks: (1..=FEDERATES).map(track).collect(), ended_ns: ran.report.at_ns, digest: outcome.digest }
}

fn drawn(fair: &Seen, paced: &Seen) -> String {
    let panels = fair.tracks.iter().zip(&paced.tracks).enumerate();
    let panels =
        panels.map(|(id, (fair, paced))| Panel { title: format!("federate {id}"), tracks: [fair, paced] });
    let runs = [
        Run { label: "fair: all get the same share of the CPUs", ended_ns: fair.ended_ns },
        Run { label: "paced: those furthest behind run first", ended_ns: paced.ended_ns },
    ];
    svg::picture(&runs, &panels.collect::<Vec<_>>(), HORIZON.as_nanos())
}

#[test]
fn the_picture_shows_what_the_machine_does() {
    let (fair, paced) = (seen("credit"), seen("psx"));
    assert_eq!(fair.digest, paced.digest, "a scheduler changes when, never what");
    let gain = fair.ended_ns as f64 / paced.ended_ns as f64;
    assert!(
        (7.5..8.5).contains(&gain),
        "README.md says that the paced run takes an eighth of the time: {gain:.2}"
    );
    let picture = drawn(&fair, &paced);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    if env::var_os("PACELINE_DRAW").is_some() {
        fs::write(&path, &picture).unwrap_or_else(|error| panic!("{FILE}: {error}"));
    }
    let stored = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{FILE}: {error}"));
    assert!(
        stored == picture,
        "{FILE} differs from what the machine does: draw it anew with PACELINE_DRAW=1"
    );
}
