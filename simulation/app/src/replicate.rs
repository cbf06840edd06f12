//! `paceline replicate`: independent replications of a scenario, several of them at once, and what they say
//! together.
//!
//! A replication is what `paceline run` does with its seed: seeds are `run.seed`, `run.seed + 1` and so on.
//! All run in this process, on threads of their own. While the threads of one wait, those of another compute
//! (Bononi, Bracuto, D'Angelo and Donatiello, 2005).
//!
//! Where things are: `plan` decides how many run at once, `lanes` runs them, `watched` looks at them and ends
//! them, `fate` is what came of each, `together` what they say as a sample, `page` what is printed and
//! written, `live` their page while they run.

pub mod arguments;
mod fate;
mod lanes;
#[cfg(feature = "live")]
mod live;
mod page;
mod plan;
mod replicas;
mod together;
mod watched;

use std::path::Path;
use std::time::Instant;

use paceline_engine::RunError;
use paceline_kernel::Caught;

pub use arguments::ReplicateArguments;
pub use replicas::{Replica, Replicas, Series};

use crate::failure::CommandError;
use crate::finish::write;
use crate::hanging;
use crate::loaded::Source;
use crate::output::{Output, deliver};
use crate::signals;

use fate::Fate;
#[cfg(feature = "live")]
use live::ReplicationsPage;
use page::Replicated;
use plan::Plan;
use watched::Watched;

/// Runs replications of a scenario, whose model is one of `replicas`.
pub fn replicate(
    replicas: &dyn Replicas,
    source: Source,
    arguments: &ReplicateArguments,
) -> Result<(), CommandError> {
    let plan = Plan::new(replicas, source, arguments)?;
    let watched = Watched::new(replicas, &plan);
    let stop = watched.clone();
    signals::on_first(move || {
        stop.stop();
        let stop = stop.clone();
        hanging::watch(move || stop.at_work());
    })
    .map_err(CommandError::Signals)?;
    let out = arguments.out.as_deref();
    let output = out.map(|out| Output::open(out, &plan.identity())).transpose()?;
    let options = arguments.output;
    let is_for_people = !options.json && !options.quiet;
    let progress = watched.show(&plan, is_for_people);
    #[cfg(feature = "live")]
    let (page, live) = {
        let page = arguments.live.live.is_some().then(|| ReplicationsPage::new(&plan, &watched));
        let live = page.as_ref().map(|page| arguments.live.serve(|| page.clone())).transpose()?;
        (page, live)
    };
    #[cfg(feature = "live")]
    let note = |seed: u64, fate: &Fate| page.iter().for_each(|page| page.note(seed, fate));
    #[cfg(not(feature = "live"))]
    let note = |_: u64, _: &Fate| ();
    let start = Instant::now();
    let fates = run_all(&plan, &watched, out, note);
    drop(progress);
    #[cfg(feature = "live")]
    drop(live);
    let replicated = Replicated::new(&plan, fates?, start.elapsed());
    let summary = match (options.json, options.quiet) {
        (true, _) => format!("{:#}\n", replicated.everything()),
        (false, true) => replicated.lines(),
        (false, false) => replicated.page(),
    };
    deliver(&summary, is_for_people, || {
        Ok(output.map(|output| replicated.write(output)).transpose()?.unwrap_or_default())
    })?;
    let is_interrupted = replicated.is_interrupted();
    let failures = replicated.into_failures();
    match failures.is_empty() {
        false => Err(CommandError::Replications(failures)),
        true if is_interrupted => Err(CommandError::Interrupted),
        true => Ok(()),
    }
}

/// Runs all, and calls `note` with the seed and the fate of each as it comes.
fn run_all(
    plan: &Plan,
    watched: &Watched,
    out: Option<&Path>,
    note: impl Fn(u64, &Fate),
) -> Result<Vec<Fate>, CommandError> {
    let mut fates: Vec<Fate> = (0..plan.replications).map(|_| Fate::NotBegun).collect();
    let job = |number| watched.during(number, |replica| run_one(plan, number, replica, out));
    let panicked = |panic: Caught| Err(RunError::from(panic).into());
    let ran = lanes::side_by_side(plan.replications, plan.at_once, job, panicked, |number, result| {
        let fate = result.unwrap_or_else(Fate::Failed);
        note(plan.seed(number), &fate);
        fates[number as usize] = fate;
    });
    ran.map_err(|error| RunError::Threads(format!("no replication can begin: {error}")))?;
    Ok(fates)
}

/// Runs a replication, counted from 0, and writes its files into a folder of its own in `out`. A failure to
/// write them leaves the outcome.
fn run_one(
    plan: &Plan,
    number: u32,
    replica: &dyn Replica,
    out: Option<&Path>,
) -> Result<Fate, CommandError> {
    let (outcome, files) = replica.run(&plan.source(number))?;
    let folder = out.map(|out| out.join(format!("seed-{}", plan.seed(number))));
    let unwritten = folder.and_then(|folder| {
        // That results of other runs are replaced has been said for all together.
        let output = Output::open_silently(&folder, &plan.provenance.identity(plan.seed(number)));
        output.and_then(|output| write(output.with(plan.tables), &outcome.results, files, None, None)).err()
    });
    Ok(Fate::Ended(outcome.into(), unwritten))
}
