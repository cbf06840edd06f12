//! What must hold whatever guests do: while eight of them spin, some of which report meaningless LVTs to the
//! hypervisor, dom0 answers, guests are paused, destroyed and crash, and a guest comes and goes fifty times.
//!
//! The hypervisors of these boots check their invariants at every decision; a violation ends the boot.

use std::collections::BTreeMap;

use paceline_experiments::Setup;
use paceline_report::{Check, Finding, Ours, Shape, Table};

use super::{goal, invariant};
use crate::{Boot, Domain, Plan, Results, Source, Step, TranscriptError};

/// The schedulers; only the first one in short runs.
const SCHEDULERS: [&str; 4] = ["psxplus", "psx", "nsx", "csdd"];

/// The schedulers that take reports of LVTs; under the others a guest's report is refused.
const TAKE_REPORTS: [&str; 2] = ["psxplus", "psx"];

/// The parts of a boot in which guests exist.
const PARTS: [&str; 6] = ["spinning", "shares", "paused", "visits", "crash", "destroyed"];

/// What the guests do. All run without end, except one that crashes after a while. One domain's VCPU always
/// has the least possible LVT, and never sleeps.
const GUESTS: [(&str, &str); 8] = [
    ("hog-1", "hog"),
    ("hog-2", "hog"),
    ("hog-3", "hog"),
    (CRASHING, "(sleep 12; echo paceline: crash=1; echo c >/proc/sysrq-trigger) & hog"),
    ("forward", "liar --kind forward --tells 0"),
    ("random", "liar --kind random --tells 0"),
    ("least", "liar --kind least --tells 0"),
    ("never", "liar --kind never --tells 0"),
];

/// The guest that crashes, after its share has been measured.
const CRASHING: &str = "hog-4";

/// A guest that comes and goes.
const VISITOR: &str = "visitor";

/// For how long shares are measured, in milliseconds of the machine's time.
const LOOK_MS: u32 = 4_000;

/// The share of a PCPU that PSX+ promises to each VCPU that wants to run, and the factor that allows for the
/// ends of the measurement.
const SHARE: f64 = 0.05;
const SHARE_SLACK: f64 = 0.8;

/// How long dom0's shell may take to answer, in milliseconds of the machine's time.
const ANSWER_MS: f64 = 2_000.0;

fn key(scheduler: &str) -> String {
    format!("faults {scheduler}")
}

fn mark(name: &str) -> Step {
    Step::Mark(name.into())
}

/// Waits until a guest that is ending is gone.
fn gone(name: &str) -> Step {
    Step::Shell(format!(
        "tries=0; while xl domid {name} >/dev/null 2>&1 && [ $tries -lt 100 ]; do usleep 100000; tries=$((tries + 1)); done; \
         [ $tries -lt 100 ]"
    ))
}

fn boot(scheduler: &str, times: u32) -> Boot {
    let mut boot = Boot::new(key(scheduler), scheduler);
    boot.debug = true;
    boot.limit_s = 3_600;
    boot.domains = GUESTS.iter().map(|(name, _)| Domain::new(*name)).collect();
    boot.domains.push(Domain::new(VISITOR));
    boot.steps.push(Step::Create(GUESTS.iter().map(|(name, _)| (*name).into()).collect()));
    boot.steps.push(mark("spinning"));
    boot.steps.extend(GUESTS.iter().map(|(name, command)| Step::Tell((*name).into(), (*command).into())));
    boot.steps.extend([Step::Sleep(1_000), Step::Answer, Step::Answer, Step::Answer]);
    boot.steps.extend([mark("shares"), Step::Dump, Step::Sleep(LOOK_MS), Step::Dump]);
    boot.steps.push(mark("paused"));
    for name in ["hog-1", "least", "random"] {
        boot.steps.extend([Step::Pause(name.into()), Step::Answer, Step::Unpause(name.into()), Step::Answer]);
    }
    let come_and_go = format!(
        "xl create -q /lab/guests/{VISITOR}.cfg && xl destroy {VISITOR} && echo lab: came_and_went=1"
    );
    boot.steps.extend([mark("visits"), Step::Repeat(times, vec![Step::Shell(come_and_go)]), Step::Answer]);
    boot.steps.extend([mark("crash"), gone(CRASHING), Step::Answer]);
    boot.steps.push(mark("destroyed"));
    for name in ["least", "hog-2", "random"] {
        boot.steps.extend([Step::Destroy(name.into()), Step::Answer]);
    }
    boot.steps.push(Step::Dump);
    boot
}

/// The boots of the experiment, and the judge of what they print.
pub fn plan(setup: &Setup) -> Plan {
    let (schedulers, times) = if setup.quick { (&SCHEDULERS[..1], 5) } else { (&SCHEDULERS[..], 50) };
    let boots = schedulers.iter().map(|scheduler| boot(scheduler, times)).collect();
    Plan { cells: boots, judge: Box::new(move |results| judge(results, schedulers, times)) }
}

fn judge(results: &Results, schedulers: &[&str], times: u32) -> Result<Finding, TranscriptError> {
    let mut finding = Finding {
        about: vec![
            "Eight guests spin on two PCPUs; four are honest, one simulates, and three give the hypervisor random local virtual \
             times, the least for ever, or none. One crashes, and a ninth comes and goes. Hypervisors check their invariants at every \
             decision."
                .into(),
        ],
        ..Finding::default()
    };
    let mut table = Table::new("Shares of a PCPU while eight guests spin", ["scheduler", "guest", "share"]);
    for scheduler in schedulers {
        let key = key(scheduler);
        let mut answers = Vec::new();
        for part in PARTS {
            answers.extend(results.part(&key, part)?.numbers(&Source::Dom0, "answer_ms")?);
        }
        let slowest = answers.iter().copied().fold(0.0, f64::max);
        finding.checks.push(goal(
            format!("{scheduler}: dom0's shell answers, slowest of {}", answers.len()),
            Ours::one(slowest, "ms"),
            Shape::at_most(ANSWER_MS),
        ));
        let visits = results.part(&key, "visits")?.numbers(&Source::Dom0, "came_and_went")?.len();
        finding.checks.push(invariant(
            format!("{scheduler}: xl create and xl destroy in a row"),
            Ours::one(visits as f64, "times"),
            Shape::exactly(times.into()),
        ));
        finding.checks.push(check_reports(results, &key, scheduler)?);
        let shares = shares(results, &key)?;
        for (name, share) in &shares {
            table.row([(*scheduler).to_owned(), name.clone(), format!("{share:.3}")]);
        }
        let least = shares.values().copied().fold(f64::INFINITY, f64::min);
        if *scheduler == "psxplus" {
            finding.checks.push(goal(
                "psxplus: least share of a guest that spins",
                Ours::one(100.0 * least, "% of a PCPU"),
                Shape::at_least(100.0 * SHARE * SHARE_SLACK),
            ));
        }
        if TAKE_REPORTS.contains(scheduler) {
            let refused = results.part(&key, "shares")?.numbers(&Source::Scheduler, "backwards")?;
            let most = refused.iter().copied().fold(0.0, f64::max);
            finding.checks.push(invariant(
                format!("{scheduler}: LVTs of one guest that went back, and were refused"),
                Ours::one(most, ""),
                Shape::Above(0.0),
            ));
        }
    }
    finding.tables.push(table);
    Ok(finding)
}

/// Whether guests that report LVTs find a scheduler that takes reports, if the scheduler is one that does.
fn check_reports(results: &Results, key: &str, scheduler: &str) -> Result<Check, TranscriptError> {
    let mut found = Vec::new();
    for part in PARTS {
        for (name, _) in GUESTS {
            found.extend(results.part(key, part)?.numbers(&Source::Guest(name.into()), "told")?);
        }
    }
    let liars = GUESTS.iter().filter(|(_, command)| command.starts_with("liar")).count();
    let listens = TAKE_REPORTS.contains(&scheduler);
    let heard = found.iter().filter(|answer| **answer == 1.0).count();
    let wrong = found.len().abs_diff(liars) + heard.abs_diff(if listens { liars } else { 0 });
    let takes = if listens { "takes" } else { "takes no" };
    Ok(invariant(
        format!("{scheduler}, which {takes} LVTs: guests that found it otherwise, or gave no answer"),
        Ours::one(wrong as f64, "").with(format!("{heard} of {} found one that does", found.len())),
        Shape::exactly(0.0),
    ))
}

/// The shares of a PCPU that the guests had between two dumps, by name. Ids of domains count from 1 in the
/// order of creation.
fn shares(results: &Results, key: &str) -> Result<BTreeMap<String, f64>, TranscriptError> {
    let part = results.part(key, "shares")?;
    let mut ran: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for line in part.lines(&Source::Scheduler) {
        let number = |name: &str| line.get(name).and_then(|value| value.parse::<f64>().ok());
        if let (Some(domain), Some(ran_ns)) = (number("dom"), number("ran_ns")) {
            ran.entry(domain as usize).or_default().push(ran_ns);
        }
    }
    let look_ns = part.seconds()? * 1e9;
    let share = |(place, (name, _)): (usize, &(&str, &str))| {
        let ran = ran.get(&(place + 1)).map(Vec::as_slice);
        let between = ran.and_then(|ran| Some(ran.last()? - ran.first()?)).unwrap_or(0.0);
        ((*name).to_owned(), between / look_ns)
    };
    Ok(GUESTS.iter().enumerate().map(share).collect())
}
