//! The experiments of the co-scheduling thesis: co-scheduling of communicating VMs by their pending messages.
//!
//! Two hosts, LU (a wavefront that sends an edge of every plane) and EP (independent work) on VMs that share
//! PCPUs, under Xen's SEDF and under CSDE and CSDD, which run the VCPU with most pending messages first. SEDF
//! has Xen 4.1's settings: guests have extra time only, in turns of 500 us; DOM0 has 15 ms of every 20 ms
//! besides. CSDE and CSDD scan 1,024 ports of every candidate at each decision, as the paper's appendix does;
//! an indexed variant shows the cost of the scan.
//!
//! LU is faster among EP because an event (a message, its acknowledgement, the notice that a packet has left)
//! gives its VM a turn at once instead of at the end of the queue. The model contains only the events; this
//! effect follows from them.

mod machine;
mod mixed;
mod parallel;
mod runs;
mod turns;

use paceline_machine::guests::class::Class;

use crate::parameters::kinds::choice;
use crate::prelude::*;
use runs::{Case, Load, SEDF, Work, part};

catalogue! {
    "cs-table4": "EP and LU alone on their PCPUs", SimulatedMachine => table4;
    "cs-table5": "Several EP at once", SimulatedMachine => parallel::table5;
    "cs-table6": "Several LU at once", SimulatedMachine => parallel::table6;
    "cs-table7": "LU among two groups of 5 EP VMs", SimulatedMachine => mixed::table7;
    "cs-table8": "LU among two groups of 3 EP VMs", SimulatedMachine => mixed::table8;
    "cs-table9": "LU among two groups of 7 EP VMs", SimulatedMachine => mixed::table9;
}

/// An application that runs alone: its name, its published seconds, and how far ours may be from them. Those
/// that set a constant are to be nearer than published times are otherwise.
type Alone = (Load, &'static str, f64, Tolerance);

const ALONE: [Alone; 7] = [
    (Load::Ep(Class::A, 1), "EP class A", 6.82, Tolerance::Percent(2.0)),
    (Load::Ep(Class::B, 1), "EP class B", 27.35, Tolerance::Percent(2.0)),
    (Load::Ep(Class::C, 1), "EP class C", 109.48, Tolerance::Percent(2.0)),
    (Load::Ep(Class::D, 1), "EP class D", 1750.05, Tolerance::Percent(2.0)),
    (Load::Lu(Class::A, 1), "LU class A", 40.34, Tolerance::TIMES),
    (Load::Lu(Class::B, 1), "LU class B", 225.03, Tolerance::Percent(2.0)),
    (Load::Lu(Class::C, 1), "LU class C", 905.34, Tolerance::Percent(5.0)),
];

fn table4(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let applications: Vec<Alone> =
        parameters.distinct("applications", &choice(ALONE.map(|alone| (alone.1, alone))))?;
    let work = Work::Part(parameters.one("part", &part())?);
    let case = move |load| Case::new(load, SEDF, work);
    let cells = applications.iter().map(|(load, ..)| case(*load).cell(setup)).collect();
    Ok(Plan::new(cells, move |results| {
        let mut checks = Vec::new();
        let mut table = Table::new("Run times alone", ["application", "published", "ours", "error"]);
        let mut points = [const { Vec::new() }; 2];
        let names: Vec<_> = applications.iter().map(|(_, what, ..)| *what).collect();
        for (place, (load, what, published, within)) in applications.into_iter().enumerate() {
            let ours = results.seconds(&case(load).key())?;
            points[0].push((place as f64, ours));
            points[1].push((place as f64, published));
            let error = 100.0 * (ours / published - 1.0);
            table.row([what.to_owned(), seconds(published), seconds(ours), format!("{error:+.1} %")]);
            let criterion = Criterion::published(published, within);
            let ours = Ours::one(ours, "s").with(format!("{error:+.1} %"));
            checks.push(check(format!("{what} alone"), criterion, ours));
        }
        let notes = vec![
            "This table calibrates: one constant for a pair of EP, one for a point and iteration of LU. The latter is set by \
             class B, the class that tables 6 to 9 run."
                .into(),
            "LU A sets no constant: by the source its points take a quarter less time than those of B and C, of which a plane's \
             Jacobians (2 MB for each process) do not fit the cache. Caches are not modelled."
                .into(),
        ];
        let [ours, published] = points;
        let figure = plot(
            "Run times alone",
            "",
            [Axis::categories("application", names), Axis::log("run time", "s")],
            vec![
                Series::ours("run time", Kind::Bars, ours),
                Series::published("run time", Kind::Bars, published),
            ],
        );
        let (figures, tables) = (vec![figure], vec![table]);
        Ok(Finding { about: about(), checks, figures, tables, notes, ..Finding::default() })
    }))
}

fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

fn about() -> Vec<String> {
    vec![
        "Two hosts with two PCPUs each and a gigabit link. An application has VMs with one VCPU each, pinned to a PCPU, and its \
         MPI processes poll for messages, which DOM0 carries."
            .into(),
    ]
}
