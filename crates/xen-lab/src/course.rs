//! The course of experiments: their boots, side by side and each key once, and then what they show.
//!
//! Every finding gets two more checks: that neither the hypervisor nor a kernel has complained in its boots, and where boots
//! are run twice, that both printed the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use paceline_report::{Check, Finding};

use crate::boot::Boot;
use crate::error::{LabError, io};
use crate::experiment::{Experiment, Plan, Setup};
use crate::lab::{Booted, Lab};
use crate::transcript::{Results, TranscriptError};

/// How experiments are run.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// What they are.
    pub setup: Setup,
    /// How many boots at a time.
    pub workers: usize,
    /// Whether each boot is run twice, to see whether both print the same.
    pub twice: bool,
    /// Where the serial consoles are written.
    pub logs: &'a Path,
}

/// What goes on.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Something is got or built.
    Told(&'a str),
    /// A boot has printed a line.
    Line {
        /// Its key.
        boot: &'a str,
        /// The part it is in.
        part: &'a str,
        /// The line.
        line: &'a str,
    },
    /// A boot is over.
    Booted {
        /// Its key.
        boot: &'a str,
        /// How long it took.
        wall: Duration,
    },
}

/// What came of the boots, by key.
#[derive(Default)]
struct Done {
    results: Results,
    walls: BTreeMap<String, Duration>,
    different: BTreeMap<String, String>,
}

/// Runs experiments. Gives out a finding for each, in their order; one whose boots have failed says so in a check that does
/// not hold.
pub fn course(
    lab: &mut Lab,
    experiments: &[&Experiment],
    course: Course<'_>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Vec<Finding>, LabError> {
    let plans: Vec<Plan> = experiments.iter().map(|experiment| (experiment.plan)(&course.setup)).collect();
    let mut known = BTreeSet::new();
    let all = plans.iter().flat_map(|plan| &plan.boots);
    let boots: Vec<&Boot> = all.filter(|boot| known.insert(boot.key.as_str())).collect();
    lab.prepare(&boots, &|line| progress(Progress::Told(line)))?;
    fs::create_dir_all(course.logs).map_err(io("make the folder", course.logs))?;
    let done = run(lab, &boots, course, progress)?;
    let findings = experiments.iter().zip(plans).map(|(experiment, Plan { boots, judge })| {
        let mut finding = judge(&done.results).unwrap_or_else(|error| failed(&error));
        finding.name = experiment.name.into();
        finding.title = experiment.title.into();
        let walls = boots.iter().filter_map(|boot| done.walls.get(&boot.key));
        finding.wall_seconds = walls.map(Duration::as_secs_f64).sum();
        finding.checks.push(quiet(&boots, &done.results));
        if course.twice {
            finding.checks.push(same(&boots, &done.different));
        }
        finding
    });
    Ok(findings.collect())
}

/// Runs boots, so many at a time.
fn run(
    lab: &Lab,
    boots: &[&Boot],
    course: Course<'_>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Done, LabError> {
    let (open, done) = (Mutex::new(boots.iter()), Mutex::new(Ok(Done::default())));
    thread::scope(|scope| {
        for _ in 0..course.workers.clamp(1, boots.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let next = open.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
                    let Some(boot) = next else { return };
                    let start = Instant::now();
                    let booted = once_or_twice(lab, boot, course, progress);
                    let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    match (&mut *done, booted) {
                        (Ok(done), Ok((booted, different))) => {
                            progress(Progress::Booted { boot: &boot.key, wall: start.elapsed() });
                            done.walls.insert(boot.key.clone(), start.elapsed());
                            done.results.boots.insert(boot.key.clone(), booted.transcript);
                            done.different.extend(different.map(|told| (boot.key.clone(), told)));
                        }
                        (Ok(_), Err(error)) => {
                            *done = Err(error);
                            return;
                        }
                        (Err(_), _) => return,
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A boot, and where it printed something else the second time, if it was run twice.
fn once_or_twice(
    lab: &Lab,
    boot: &Boot,
    course: Course<'_>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<(Booted, Option<String>), LabError> {
    let mut line = |part: &str, line: &str| progress(Progress::Line { boot: &boot.key, part, line });
    let file: String =
        boot.key.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let first = lab.boot(boot, &course.logs.join(format!("{file}.log")), &mut line)?;
    if !course.twice {
        return Ok((first, None));
    }
    let second = lab.boot(boot, &course.logs.join(format!("{file}-again.log")), &mut |_, _| ())?;
    Ok((first.clone(), difference(&first.console, &second.console)))
}

/// Where two consoles differ, in words.
fn difference(one: &[String], other: &[String]) -> Option<String> {
    let place = (0..one.len().max(other.len())).find(|place| one.get(*place) != other.get(*place))?;
    let line = |lines: &[String]| lines.get(place).map_or("nothing".into(), |line| format!("{line:?}"));
    Some(format!("line {}: {}, then {}", place + 1, line(one), line(other)))
}

fn failed(error: &TranscriptError) -> Finding {
    let check = Check {
        what: "it can be run".into(),
        published: String::new(),
        ours: error.to_string(),
        must: "no error".into(),
        holds: false,
    };
    Finding { checks: vec![check], ..Finding::default() }
}

fn quiet(boots: &[Boot], results: &Results) -> Check {
    let transcripts = boots.iter().filter_map(|boot| results.transcript(&boot.key).ok());
    let complaints: Vec<&String> = transcripts.flat_map(|transcript| &transcript.complaints).collect();
    let first = complaints.first().map(|line| format!(", such as {line:?}")).unwrap_or_default();
    Check {
        what: "complaints of hypervisor and kernels".into(),
        published: String::new(),
        ours: format!("{}{first}", complaints.len()),
        must: "none".into(),
        holds: complaints.is_empty(),
    }
}

fn same(boots: &[Boot], different: &BTreeMap<String, String>) -> Check {
    let first = boots.iter().find_map(|boot| Some(format!("{}: {}", boot.key, different.get(&boot.key)?)));
    Check {
        what: "each boot twice".into(),
        published: String::new(),
        holds: first.is_none(),
        ours: first.unwrap_or_else(|| "the same, to the byte".into()),
        must: "both print the same".into(),
    }
}
