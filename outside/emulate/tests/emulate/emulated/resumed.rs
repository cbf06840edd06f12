//! A run of two guests that is resumed from a checkpoint with a request or an answer on its way.

use std::fs;
use std::path::Path;
use std::time::Duration;

use paceline_emulate::run::{SavedMachines, federates, resumed};
use paceline_engine::{CheckpointFile, Checkpoints};
use paceline_kernel::Time;

use crate::guest::support;

use super::{LATENCY_NS, TERMS, echoes, joined, model, outcome, pinging, run, started};

#[test]
fn guests_go_on_from_a_checkpoint() {
    let Some(emulator) = support::emulator() else { return };
    let model = model();
    let whole = run(&emulator, &model, "whole", 1);
    // The third request is on its first link, or the third answer on its last.
    let third = echoes(&whole.1[0])[4].0;
    for (test, cut_ns) in [("request", third + 1_000_000), ("answer", third + 2 * LATENCY_NS - 1_000_000)] {
        let guests = pinging(&emulator, &model, test);
        let nodes = [guests[0].0, guests[1].0];
        let checkpoint = support::folder(test).join("run.checkpoint");
        let every = Duration::from_secs(3600);
        let checkpoints = Checkpoints { path: checkpoint.clone(), every, header: Vec::new() };
        let first = federates(&model, started(&emulator, &guests), TERMS).unwrap();
        let mut run = joined(&model, nodes, first, 2).checkpoint(checkpoints).start().unwrap();
        run.run_until(Time::nanos(cut_ns)).unwrap();
        assert!(run.checkpoint().unwrap());
        run.run_until(Time::MAX).unwrap();
        assert!(outcome(&model, run.finish().unwrap()) == whole, "{test}: a checkpoint changed the run");
        assert_eq!(consoles(test), consoles("whole"), "{test}: a checkpoint changed consoles");

        let file = CheckpointFile::open(&checkpoint).unwrap();
        let saved = SavedMachines::open(&file).unwrap();
        let guests = guests.map(|(node, mut settings)| {
            // Where they are does not matter, and what was written after the checkpoint is not in them.
            saved.write_logs(node, &settings.logs()).unwrap();
            (settings.load, settings.appends) = (saved.state(node), true);
            (node, settings)
        });
        assert!(consoles(test)[0].len() < consoles("whole")[0].len(), "what was written later is not there");
        let second = resumed(&model, started(&emulator, &guests), TERMS, &saved).unwrap();
        let run = joined(&model, nodes, second, 1).resume(file.world(&model).unwrap());
        let resumed = outcome(&model, run.run().unwrap());
        assert_eq!(consoles(test), consoles("whole"), "{test}: consoles");
        assert_eq!(resumed.0, whole.0, "{test}: digest");
        assert!(resumed.1 == whole.1, "{test}: captures");
    }
}

fn consoles(test: &str) -> [String; 2] {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest");
    [0, 1].map(|number| fs::read_to_string(folder.join(format!("{test}-{number}/console"))).unwrap())
}
