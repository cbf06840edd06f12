//! Models in every mode of the engine, also where their LPs move: the same digest, results and files.

use std::borrow::Cow;

use paceline_engine::{Protocol, Report, Simulation};
use paceline_kernel::{Balance, Model, Time};
use paceline_results::{Results, RunFacts};
use serde_json::Value;

pub type Outcome = (String, Vec<(Cow<'static, str>, Value)>, String);

/// Digest and all results including the files.
pub fn outcome<M: Model + Results>(simulation: Simulation<M>) -> Outcome {
    let (report, model) = simulation.run_keeping_model().expect("the model keeps the rules");
    outcome_of(report, &model)
}

/// The same of a run that has ended.
pub fn outcome_of<M: Model + Results>(report: Report<M::Output>, model: &M) -> Outcome {
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).expect("nothing is lost");
    let mut files = Vec::new();
    for file in summary.files {
        file.write(&mut files).expect("memory takes everything");
    }
    (report.digest.to_string(), summary.lines, String::from_utf8(files).expect("text"))
}

pub fn all_agree<M: Model + Results>(model: impl Fn() -> M, until: Time) {
    let base = |protocol, federates, threads| {
        let simulation = Simulation::new(model()).protocol(protocol).until(until);
        simulation.federates(federates).threads(threads)
    };
    let reference = outcome(base(Protocol::Sequential, 1, 1));
    for (protocol, ..) in Protocol::ALL.into_iter().skip(1) {
        for (federates, threads) in [(1, 1), (7, 2), (23, 3)] {
            let found = outcome(base(protocol, federates, threads));
            assert_eq!(found, reference, "{protocol:?}, {federates} federates, {threads} threads");
        }
    }
    for (seed, protocol) in [(1, Protocol::Window), (2, Protocol::NullMessage), (3, Protocol::Optimistic)] {
        let moving = base(protocol, 5, 2).leg_events(997).shuffle_lps(seed);
        assert_eq!(outcome(moving), reference, "{protocol:?} with LPs that move at random");
    }
    let moving = base(Protocol::Window, 4, 2).balance(Balance::LoadAndCommunication);
    assert_eq!(outcome(moving.leg_events(2000)), reference, "with LPs that move by messages");
}
