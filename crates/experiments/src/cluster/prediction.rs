//! The prediction: how well it meets what was measured with 2 and 4 processes on one host, and what 1,000 nodes would do.

use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};

use super::runs::{Case, MEASURED, Measured, Pattern, Place};
use crate::Calibration;
use crate::plan::{CellError, Plan, Results, Setup};

/// By how much a prediction may differ from what was measured.
const ALLOWED: f64 = 0.25;
const NODES: [u32; 8] = [1, 2, 4, 8, 32, 100, 320, 1_000];
/// Weak scaling: events of a process in a window, whatever the number of processes.
const OF_EACH: [f64; 4] = [300.0, 3_000.0, 30_000.0, 300_000.0];
/// Strong scaling: events of all processes in a window.
const OF_ALL: [f64; 4] = [30_000.0, 300_000.0, 3_000_000.0, 30_000_000.0];

/// What is compared with a measurement: its name, place and processes, what was measured, and for which windows that sets a constant.
struct Comparison {
    name: &'static str,
    place: Place,
    processes: u32,
    measured_us: fn(&Measured) -> f64,
    calibrates: &'static [f64],
}

const COMPARISONS: [Comparison; 4] = [
    Comparison {
        name: "1 process",
        place: Place::Host,
        processes: 1,
        measured_us: |measured| measured.one_us,
        calibrates: &[33.0, 324.0, 2_978.0, 16_394.0],
    },
    Comparison {
        name: "2 processes, shared memory",
        place: Place::Host,
        processes: 2,
        measured_us: |measured| measured.two_us,
        calibrates: &[33.0, 16_394.0],
    },
    Comparison {
        name: "4 processes, shared memory",
        place: Place::Host,
        processes: 4,
        measured_us: |measured| measured.four_us,
        calibrates: &[],
    },
    Comparison {
        name: "2 processes, TLS",
        place: Place::Loopback,
        processes: 2,
        measured_us: |measured| measured.tls_us,
        calibrates: &[],
    },
];

impl Comparison {
    fn case(&self, measured: &Measured) -> Case {
        let Self { place, processes, .. } = *self;
        Case { place, processes, events: measured.events / f64::from(processes), pattern: Pattern::Any }
    }
}

fn weak(nodes: u32, events: f64, pattern: Pattern) -> Case {
    Case { place: Place::Cluster, processes: nodes, events, pattern }
}

fn strong(nodes: u32, events: f64, pattern: Pattern) -> Case {
    weak(nodes, events / f64::from(nodes), pattern)
}

/// Plans it.
pub fn plan(setup: &Setup) -> Plan {
    let mut cases: Vec<Case> = COMPARISONS
        .iter()
        .flat_map(|comparison| MEASURED.iter().map(|measured| comparison.case(measured)))
        .collect();
    for pattern in Pattern::ALL {
        for nodes in NODES {
            cases.extend(OF_EACH.map(|events| weak(nodes, events, pattern)));
            cases.extend(OF_ALL.map(|events| strong(nodes, events, pattern)));
        }
    }
    let calibration = setup.calibration.clone();
    let judge = move |results: &Results| judge(results, &calibration);
    Plan { cells: cases.into_iter().map(|case| case.cell(setup)).collect(), judge: Box::new(judge) }
}

fn judge(results: &Results, calibration: &Calibration) -> Result<Finding, CellError> {
    let mut finding = Finding { about: vec![about()], notes: notes(), ..Finding::default() };
    compare(results, &mut finding)?;
    scale(results, calibration, &mut finding)?;
    Ok(finding)
}

/// Predictions beside measurements.
fn compare(results: &Results, finding: &mut Finding) -> Result<(), CellError> {
    let mut figure = Figure {
        title: "Time of a window, predicted and measured".into(),
        caption: "On one host with two cores; published: measured. Events are those of all processes.".into(),
        x: Axis::log("events a window", ""),
        y: Axis::log("time of a window", "us"),
        series: Vec::new(),
    };
    for comparison in &COMPARISONS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for measured in &MEASURED {
            let predicted_us = comparison.case(measured).seconds(results)? * 1e6;
            let measured_us = (comparison.measured_us)(measured);
            ours.push((measured.events, predicted_us));
            theirs.push((measured.events, measured_us));
            if comparison.calibrates.contains(&measured.events) {
                continue;
            }
            let error = predicted_us / measured_us - 1.0;
            finding.checks.push(Check {
                what: format!("{}: a window of {:.0} events", comparison.name, measured.events),
                published: format!("{measured_us:.1} us measured"),
                ours: format!("{predicted_us:.1} us ({:+.0} %)", 100.0 * error),
                must: format!("within {:.0} %", 100.0 * ALLOWED),
                holds: error.abs() <= ALLOWED,
            });
        }
        figure.series.push(Series::ours(comparison.name, Kind::Lines, ours));
        figure.series.push(Series::published(comparison.name, Kind::Points, theirs));
    }
    finding.figures.push(figure);
    Ok(())
}

/// What up to 1,000 nodes would do.
fn scale(results: &Results, calibration: &Calibration, finding: &mut Finding) -> Result<(), CellError> {
    let nodes = || Axis::log("processes, one a node", "");
    for pattern in Pattern::ALL {
        let name = pattern.name();
        let mut efficiency = Figure {
            title: format!("Weak scaling, messages {name}"),
            caption: "Time of a window on one node by that on so many, with as many events on each.".into(),
            x: nodes(),
            y: Axis::linear("efficiency", ""),
            series: Vec::new(),
        };
        let columns = [
            "events a node and window",
            "time on 1 node",
            "on 1,000 nodes",
            "efficiency",
            "frames a process",
        ];
        let mut table = Table::new(format!("1,000 nodes, weak scaling, messages {name}"), columns);
        let mut at_most = Vec::new();
        for events in OF_EACH {
            let time = |nodes| weak(nodes, events, pattern).seconds(results);
            let one = time(1)?;
            let points: Result<Vec<_>, CellError> =
                NODES.iter().map(|nodes| Ok((f64::from(*nodes), one / time(*nodes)?))).collect();
            let points = points?;
            let (most, last) = (NODES[NODES.len() - 1], points[NODES.len() - 1].1);
            at_most.push(last);
            let frames = weak(most, events, pattern).frames(calibration);
            let us = |seconds: f64| format!("{:.0} us", 1e6 * seconds);
            table.row([
                format!("{events:.0}"),
                us(one),
                us(time(most)?),
                format!("{last:.2}"),
                format!("{frames:.0}"),
            ]);
            efficiency.series.push(Series::ours(format!("{events:.0} events"), Kind::Lines, points));
        }
        finding.tables.push(table);
        finding.figures.push(efficiency);
        finding.checks.push(Check {
            what: format!("messages {name}: efficiency of 1,000 nodes as a node's windows get more events"),
            published: String::new(),
            ours: at_most.iter().map(|efficiency| format!("{efficiency:.2}")).collect::<Vec<_>>().join(", "),
            must: "rises".into(),
            holds: at_most.windows(2).all(|pair| pair[1] > pair[0]),
        });

        let mut speedup = Figure {
            title: format!("Strong scaling, messages {name}"),
            caption: "Time of a window on one node by that on so many, with as many events on all together."
                .into(),
            x: nodes(),
            y: Axis::log("speed-up", ""),
            series: Vec::new(),
        };
        let columns = ["events a window", "best speed-up", "nodes for that", "speed-up of 1,000 nodes"];
        let mut table = Table::new(format!("Strong scaling, messages {name}"), columns);
        for events in OF_ALL {
            let one = strong(1, events, pattern).seconds(results)?;
            let points: Result<Vec<_>, CellError> = NODES
                .iter()
                .map(|nodes| Ok((f64::from(*nodes), one / strong(*nodes, events, pattern).seconds(results)?)))
                .collect();
            let points = points?;
            let best =
                points.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
            let last = points[NODES.len() - 1].1;
            table.row([
                format!("{events:.0}"),
                format!("{:.1}", best.1),
                format!("{:.0}", best.0),
                format!("{last:.1}"),
            ]);
            speedup.series.push(Series::ours(format!("{events:.0} events"), Kind::Lines, points));
        }
        finding.tables.push(table);
        finding.figures.push(speedup);
    }
    Ok(())
}

fn about() -> String {
    "Processes of one thread under \"window\" on simulated machines: each computes the events of a window, sends frames to others, takes part in \
     the round through a tree with up to 32 below each, and waits. What things cost was measured on one node (the constants whose names \
     begin with cluster.); of a network only the latency is assumed. One event in four goes to any LP: of all processes, or of eight near ones."
        .into()
}

fn notes() -> Vec<String> {
    vec![
        "With two processes that share memory, the windows of 33 and of 16,394 events set a constant each (cluster.saying, cluster.crossing) \
         and are not checked; nor is one process. The rest of what was measured with several processes sets no constant."
            .into(),
        "As in the engine, a process that waits looks again and again for a while, over TCP without end, unless the run has more processes than \
         its host has cores: then it sleeps at once."
            .into(),
        "A node is one process with one thread here. One with more threads has more events in a window for the same exchange, and its time \
         on one node is shorter by what the threads gain."
            .into(),
        "Of the frames that a process sends in a window, up to eight are packets of the machine; the CPU time of the others is charged, \
         but not what they do to each other in switches and NICs. Loads are alike but for chance; a model with uneven ones waits for the \
         slowest process besides."
            .into(),
    ]
}
