//! The course of experiments: their boots, side by side and each key once, and then their findings.
//!
//! Every finding gets two more checks: that neither the hypervisor nor a kernel has reported a problem in its
//! boots, and if boots are run twice, that both printed the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use paceline_experiments::Setup;
use paceline_experiments::batch::{Batch, Judged, Ran};
use paceline_report::{Check, Criterion, Finding, Ours, Shape};

use crate::boot::Boot;
use crate::error::{LabError, io};
use crate::experiment::Experiment;
use crate::lab::{Booted, Lab};
use crate::transcript::Results;

/// How experiments are run.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// What all experiments are planned with.
    pub setup: &'a Setup,
    /// How many boots run at a time.
    pub workers: usize,
    /// Whether each boot is run twice, to see whether both print the same.
    pub twice: bool,
    /// Where the serial consoles are written.
    pub logs: &'a Path,
}

/// A report of progress.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Something is being downloaded or built.
    Message(&'a str),
    /// A boot has printed a line.
    Line {
        /// The key of the boot ([`Boot::key`](crate::boot::Boot::key)).
        boot: &'a str,
        /// The part it is in.
        part: &'a str,
        /// The text of the line.
        line: &'a str,
    },
    /// A boot is over.
    Booted {
        /// The key of the boot ([`Boot::key`](crate::boot::Boot::key)).
        boot: &'a str,
        /// How long it took.
        wall: Duration,
    },
}

/// Runs experiments. Returns a finding for each, in their order; if its boots have failed, the finding says
/// so in a check.
pub fn course(
    lab: &mut Lab,
    experiments: &[&Experiment],
    course: Course<'_>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Vec<Finding>, LabError> {
    let mut batch = Batch::new(experiments, course.setup);
    let boots: Vec<&Boot> = batch.cells().iter().collect();
    lab.prepare(&boots, &|line| progress(Progress::Message(line)))?;
    fs::create_dir_all(course.logs).map_err(io("make the folder", course.logs))?;
    let lab: &Lab = lab;
    let (mut results, mut different) = (Results::default(), BTreeMap::new());
    let job = |boot: Boot| once_or_twice(lab, &boot, course, progress);
    batch.run(course.workers, &job, &mut |Ran { key, output: (booted, difference), wall }| {
        progress(Progress::Booted { boot: &key, wall });
        different.extend(difference.map(|text| (key.clone(), text)));
        results.boots.insert(key, booted.transcript);
    })?;
    let findings = batch.judge(&results).into_iter().map(|Judged { mut finding, keys }| {
        finding.checks.push(quiet(&keys, &results));
        if course.twice {
            finding.checks.push(same(&keys, &different));
        }
        finding
    });
    Ok(findings.collect())
}

/// The result of a boot, and, if it was run twice, the first difference between both outputs.
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

fn quiet(boots: &[String], results: &Results) -> Check {
    let transcripts = boots.iter().filter_map(|boot| results.transcript(boot).ok());
    let complaints: Vec<&String> = transcripts.flat_map(|transcript| &transcript.complaints).collect();
    let first = complaints.first().map(|line| format!("such as {line:?}")).unwrap_or_default();
    Check {
        what: "complaints of hypervisor and kernels".into(),
        criterion: Criterion::invariant(Shape::exactly(0.0)),
        ours: Ours::one(complaints.len() as f64, "").with(first),
    }
}

fn same(boots: &[String], different: &BTreeMap<String, String>) -> Check {
    let different: Vec<String> =
        boots.iter().filter_map(|boot| Some(format!("{boot}: {}", different.get(boot)?))).collect();
    Check {
        what: "boots that print something else the second time".into(),
        criterion: Criterion::invariant(Shape::exactly(0.0)),
        ours: Ours::one(different.len() as f64, "").with(different.first().cloned().unwrap_or_default()),
    }
}
