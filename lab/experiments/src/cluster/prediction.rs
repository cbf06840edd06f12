//! The prediction: how well it meets what was measured with 2 and 4 processes on one host, and what 1,000
//! nodes would do.

use super::runs::{Case, MEASURED, Measured, Pattern, Place, Windows};
use crate::parameters::kinds::{count, number};
use crate::prelude::*;

/// By how much a prediction may differ from what was measured, in per cent.
const ALLOWED: f64 = 25.0;

#[derive(Clone, Debug)]
struct Runs {
    windows: Windows,
    nodes: Vec<u32>,
    /// Weak scaling: events of a process in a window, whatever the number of processes.
    of_each: Vec<f64>,
    /// Strong scaling: events of all processes in a window.
    of_all: Vec<f64>,
}

/// What is compared with a measurement: its name, place and processes, what was measured, and for which
/// windows that sets a constant.
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
    fn case(&self, measured: &Measured, windows: Windows) -> Case {
        let Self { place, processes, .. } = *self;
        let events = measured.events / f64::from(processes);
        Case { place, processes, events, pattern: Pattern::Any, windows }
    }
}

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let events = number(1.0..=1e12);
    let [few, many] = ["windows", "windows_of_many"].map(|key| parameters.one(key, &count(1..=100_000)));
    let runs = Runs {
        windows: Windows { few: few?, many: many? },
        nodes: parameters.points("nodes", &count(1..=10_000))?,
        of_each: parameters.points("events_of_each", &events)?,
        of_all: parameters.points("events_of_all", &events)?,
    };
    let mut cases: Vec<Case> = COMPARISONS
        .iter()
        .flat_map(|comparison| MEASURED.iter().map(|measured| comparison.case(measured, runs.windows)))
        .collect();
    for pattern in Pattern::ALL {
        for nodes in runs.nodes.iter().copied() {
            cases.extend(runs.of_each.iter().map(|events| runs.weak(nodes, *events, pattern)));
            cases.extend(runs.of_all.iter().map(|events| runs.strong(nodes, *events, pattern)));
        }
    }
    let calibration = setup.calibration.clone();
    let cells = cases.into_iter().map(|case| case.cell(setup)).collect();
    Ok(Plan::new(cells, move |results| judge(results, &runs, &calibration)))
}

fn judge(results: &Results, runs: &Runs, calibration: &Calibration) -> Found<Finding> {
    let mut finding = Finding { about: vec![about()], notes: notes(), ..Finding::default() };
    compare(results, runs.windows, &mut finding)?;
    let mut claims = Claims::default();
    for pattern in Pattern::ALL {
        let title = format!("Weak scaling, messages {}", pattern.name());
        let weak = claims.if_planned(&title, || runs.weak_scaling(results, calibration, &title, pattern))?;
        let mut at_most = Vec::new();
        if let Some((table, figure, last)) = weak {
            finding.tables.push(table);
            finding.figures.push(figure);
            at_most = last;
        }
        let most = thousands(runs.most());
        let name = pattern.name();
        let what = format!("messages {name}: efficiency of {most} nodes as a node's windows get more events");
        claims.add(what, || {
            among(&runs.nodes, &1)?;
            several(&runs.nodes)?;
            several(&at_most)?;
            Ok((Criterion::invariant(Shape::Rises(0.0)), Ours::all(at_most.iter().copied(), "")))
        })?;
        let title = format!("Strong scaling, messages {}", pattern.name());
        let strong = claims.if_planned(&title, || runs.strong_scaling(results, &title, pattern))?;
        if let Some((table, figure)) = strong {
            finding.tables.push(table);
            finding.figures.push(figure);
        }
    }
    Ok(claims.put_into(finding))
}

/// Predictions beside measurements.
fn compare(results: &Results, windows: Windows, finding: &mut Finding) -> Found<()> {
    let mut figure = plot(
        "Time of a window, predicted and measured",
        "On one host with two cores; published: measured. Events are those of all processes.",
        [Axis::log("events a window", ""), Axis::log("time of a window", "us")],
        Vec::new(),
    );
    for comparison in &COMPARISONS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for measured in &MEASURED {
            let predicted_us = comparison.case(measured, windows).seconds(results)? * 1e6;
            let measured_us = (comparison.measured_us)(measured);
            ours.push((measured.events, predicted_us));
            theirs.push((measured.events, measured_us));
            if comparison.calibrates.contains(&measured.events) {
                continue;
            }
            let error = predicted_us / measured_us - 1.0;
            finding.checks.push(check(
                format!("{}: a window of {:.0} events", comparison.name, measured.events),
                Criterion::published(measured_us, Tolerance::Percent(ALLOWED)).saying("measured"),
                Ours::one(predicted_us, "us").with(format!("{:+.0} %", 100.0 * error)),
            ));
        }
        figure.series.push(Series::ours(comparison.name, Kind::Lines, ours));
        figure.series.push(Series::published(comparison.name, Kind::Points, theirs));
    }
    finding.figures.push(figure);
    Ok(())
}

/// A number with its thousands apart.
fn thousands(number: u32) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

impl Runs {
    fn weak(&self, nodes: u32, events: f64, pattern: Pattern) -> Case {
        Case { place: Place::Cluster, processes: nodes, events, pattern, windows: self.windows }
    }

    fn strong(&self, nodes: u32, events: f64, pattern: Pattern) -> Case {
        self.weak(nodes, events / f64::from(nodes), pattern)
    }

    fn most(&self) -> u32 {
        self.nodes[self.nodes.len() - 1]
    }

    /// `one` by the time on each number of nodes.
    fn points(&self, one: f64, time: impl Fn(u32) -> Found<f64>) -> Found<Vec<(f64, f64)>> {
        self.nodes.iter().map(|nodes| Ok((f64::from(*nodes), one / time(*nodes)?))).collect()
    }

    /// A table, a figure, and the efficiency of the most nodes by events.
    fn weak_scaling(
        &self,
        results: &Results,
        calibration: &Calibration,
        title: &str,
        pattern: Pattern,
    ) -> Found<(Table, Figure, Vec<f64>)> {
        let mut figure = plot(
            title,
            "Time of a window on one node by that on so many, with as many events on each.",
            [Axis::log("processes, one a node", ""), Axis::linear("efficiency", "")],
            Vec::new(),
        );
        let most = thousands(self.most());
        let columns = [
            "events a node and window",
            "time on 1 node",
            &format!("on {most} nodes"),
            "efficiency",
            "frames a process",
        ];
        let name = pattern.name();
        let mut table = Table::new(format!("{most} nodes, weak scaling, messages {name}"), columns);
        let mut at_most = Vec::new();
        for events in self.of_each.iter().copied() {
            let time = |nodes| self.weak(nodes, events, pattern).seconds(results);
            let one = time(1)?;
            let points = self.points(one, time)?;
            let last = points[points.len() - 1].1;
            at_most.push(last);
            let frames = self.weak(self.most(), events, pattern).frames(calibration);
            let us = |seconds: f64| format!("{:.0} us", 1e6 * seconds);
            table.row([
                format!("{events:.0}"),
                us(one),
                us(time(self.most())?),
                format!("{last:.2}"),
                format!("{frames:.0}"),
            ]);
            figure.series.push(Series::ours(format!("{events:.0} events"), Kind::Lines, points));
        }
        Ok((table, figure, at_most))
    }

    fn strong_scaling(&self, results: &Results, title: &str, pattern: Pattern) -> Found<(Table, Figure)> {
        let mut figure = plot(
            title,
            "Time of a window on one node by that on so many, with as many events on all together.",
            [Axis::log("processes, one a node", ""), Axis::log("speed-up", "")],
            Vec::new(),
        );
        let last = format!("speed-up of {} nodes", thousands(self.most()));
        let columns = ["events a window", "best speed-up", "nodes for that", &last];
        let mut table = Table::new(title, columns);
        for events in self.of_all.iter().copied() {
            let time = |nodes| self.strong(nodes, events, pattern).seconds(results);
            let points = self.points(time(1)?, time)?;
            let best =
                points.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
            table.row([
                format!("{events:.0}"),
                format!("{:.1}", best.1),
                format!("{:.0}", best.0),
                format!("{:.1}", points[points.len() - 1].1),
            ]);
            figure.series.push(Series::ours(format!("{events:.0} events"), Kind::Lines, points));
        }
        Ok((table, figure))
    }
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
