//! The processes of the prediction do their windows whatever their number and place, and the finding can be drawn.

use paceline_report::svg;

use super::runs::{Case, Pattern, Place, Windows};
use super::*;
use crate::catalogue::planned;
use crate::plan::{Measure, Results, Setup};

#[test]
fn processes_of_any_number_come_to_an_end_and_more_of_them_take_longer() {
    let (setup, windows) = (Setup::default(), Windows { few: 50, many: 3 });
    for place in [Place::Host, Place::Loopback, Place::Cluster] {
        for pattern in Pattern::ALL {
            let time = |processes| {
                let cell = Case { place, processes, events: 500.0, pattern, windows }.cell(&setup);
                (cell.job)().unwrap_or_else(|error| panic!("{place:?}, {processes}: {error}")).seconds
            };
            // Of a tree with one, two and three levels.
            let times = [1, 2, 4, 34, 40].map(time);
            assert!(times[1..].iter().all(|several| *several > times[0]), "{place:?}: {times:?}");
        }
    }
}

#[test]
fn whatever_was_measured_is_judged_and_can_be_drawn() {
    let measure = Measure { seconds: 1.0, ..Measure::default() };
    for experiment in EXPERIMENTS {
        let plan = planned(experiment.name, &Setup::default());
        let measures = plan.cells.iter().map(|cell| (cell.key.clone(), Ok(measure.clone())));
        let finding =
            (plan.judge)(&Results { measures: measures.collect() }).expect("all cells have results");
        assert!(finding.checks.len() > 10 && !finding.notes.is_empty() && !finding.tables.is_empty());
        assert!(finding.figures.iter().all(|figure| svg(figure, experiment.name).is_ok()));
    }
}
