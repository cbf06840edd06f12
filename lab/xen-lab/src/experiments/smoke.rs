//! A short test that everything works: PSX with two guests that simulate, a parameter that is set while it
//! runs, and reports by hypercall.

use paceline_experiments::Setup;
use paceline_report::{Finding, Ours, Shape};

use super::invariant;
use crate::sizes::Phold;
use crate::{Boot, Domain, Plan, Results, Source, Step, TranscriptError};

const KEY: &str = "smoke psx";
const NAMES: [&str; 2] = ["federate-0", "federate-1"];

/// The longest that PHOLD may take, in seconds of the machine's time.
const LIMIT_S: u32 = 120;

/// What Xen answers to dom0's reports by hypercall (`lab/xen/guest/hypercall.c`): the results of
/// `paceline_xen.h`, -EFAULT for an argument at an invalid address, and -EINVAL for a page that does not
/// exist.
const ANSWERS: [(&str, f64); 8] = [
    ("first", 0.0),
    ("backwards", 1.0),
    ("flag", 4.0),
    ("reserved", 4.0),
    ("nowhere", -14.0),
    ("outside", 2.0),
    ("over", 0.0),
    ("page", -22.0),
];

/// The boots of the experiment, and the judge of what they print.
pub fn plan(_: &Setup) -> Plan {
    let mut boot = Boot::new(KEY, "psx");
    boot.limit_s = 600;
    boot.domains = NAMES.map(Domain::new).to_vec();
    boot.steps.extend([Step::Create(NAMES.map(String::from).to_vec()), Step::Mark("phold".into())]);
    let phold = Phold { windows: 5, cost_us: 1_000 };
    let commands: Vec<_> =
        (0..2).map(|rank| (NAMES[rank], phold.command("equal", rank, NAMES.len()))).collect();
    boot.steps.extend(Step::together(&commands, LIMIT_S));
    boot.steps.extend([Step::Dump, Step::Mark("tick".into())]);
    boot.steps.extend([Step::Set("psx-tick-us".into(), "500".into()), Step::Dump, Step::Answer]);
    boot.steps.push(Step::Destroy(NAMES[1].into()));
    boot.steps.push(Step::Mark("hypercalls".into()));
    boot.steps.push(Step::Shell("answers=$(hypercall) && echo \"lab: $answers\"".into()));
    Plan { cells: vec![boot], judge: Box::new(judge) }
}

fn judge(results: &Results) -> Result<Finding, TranscriptError> {
    let phold = results.part(KEY, "phold")?;
    let done = NAMES.iter().map(|name| phold.guest(name, "done")).collect::<Result<Vec<_>, _>>()?;
    let reports: f64 = phold.numbers(&Source::Scheduler, "reports")?.iter().sum();
    let tick_ns = results.part(KEY, "tick")?.number(&Source::Scheduler, "tick_ns")?;
    let hypercalls = results.part(KEY, "hypercalls")?;
    let answers = ANSWERS.iter().map(|(name, _)| hypercalls.number(&Source::Dom0, name));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    let wrong = answers.iter().zip(&ANSWERS).filter(|(answer, (_, expected))| *answer != expected).count();
    let listed = answers.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let checks = vec![
        invariant("PHOLD on two guests: exit statuses", Ours::all(done, ""), Shape::exactly(0.0)),
        invariant("LVTs reported to the hypervisor", Ours::one(reports, ""), Shape::Above(0.0)),
        invariant(
            "PSX's tick, set to 500 us while it runs",
            Ours::one(tick_ns / 1e3, "us"),
            Shape::exactly(500.0),
        ),
        invariant(
            "reports by hypercall with another answer than they must have",
            Ours::one(wrong as f64, "").with(listed),
            Shape::exactly(0.0),
        ),
    ];
    Ok(Finding { checks, ..Finding::default() })
}
