//! `paceline machine`: a simulated machine from its scenario to what came of it.
//!
//! No signal is handled here: a machine that is interrupted shows nothing.

#[cfg(feature = "live")]
mod live;
mod page;
mod watch;

use std::path::PathBuf;
use std::time::Instant;

use paceline_app::failure::CommandError;
#[cfg(feature = "live")]
use paceline_app::live::Live;
use paceline_app::loaded::Source;
use paceline_app::output::{Output, deliver};
use paceline_app::progress::warn;
use paceline_app::stdout;
use paceline_app::text;
use paceline_kernel::Time;
#[cfg(feature = "live")]
use paceline_machine::MachineSpec;
use paceline_machine_scenarios::{MachineScenario, Outcome};
use paceline_scenario::inputs::recorded;
use paceline_scenario::{Scenario, ScenarioError};

use crate::args::MachineArguments;

use crate::failure::Special;
use crate::models::PROGRAM;
#[cfg(feature = "live")]
use live::MachinePage;
use page::Finished;
pub use page::{everything_of, seconds};
#[cfg(feature = "live")]
use watch::Watch;
pub use watch::Watched;

pub fn is_machine(scenario: &Scenario) -> bool {
    scenario.has("machine")
}

pub fn read(source: &Source) -> Result<MachineScenario, ScenarioError> {
    let mut scenario = source.open()?;
    if !is_machine(&scenario) && scenario.has("model") {
        let problem = "a scenario of a run, which `paceline run` runs";
        return Err(scenario.section("model")?.refuse("", problem, "the sections [machine] and [host]"));
    }
    MachineScenario::read(&source.name(), scenario)
}

pub fn run(arguments: &MachineArguments) -> Result<(), CommandError> {
    let source = Source::read(&arguments.scenario)?;
    let (scenario, inputs) = recorded(&source.folder, || read(&source));
    let scenario = scenario?;
    let kind = scenario.policy();
    let spec = scenario.spec(kind)?;
    let until = scenario.until_ns().map(Time::nanos);
    let provenance = PROGRAM.provenance(&source.open()?, until).inputs(inputs);
    let identity = provenance.identity(scenario.seed()).and("policy", "/policy", kind.into());
    let output = arguments.out.as_deref().map(|folder| Output::open(folder, &identity)).transpose()?;
    let mut watched = Watched::default();
    let mut watch = watched.watch(kind);
    if let Some(path) = &arguments.trace {
        watch.trace(path, &spec)?;
    }
    let options = arguments.output;
    let is_for_people = !options.json && !options.quiet;
    let progress = watched.show(scenario.until_ns(), is_for_people);
    let start = Instant::now();
    #[cfg(feature = "live")]
    let live = serve(arguments, &scenario, &spec, &mut watch)?;
    let ran = scenario.run(kind, spec, &mut watch);
    drop(progress);
    let wall = start.elapsed();
    // The trace of a failed run is the most useful one.
    let traced = watch.finish();
    #[cfg(feature = "live")]
    drop(live);
    if let (Err(_), Err(failure)) = (&ran, &traced) {
        warn(&failure.problem());
    }
    let outcome = ran.map_err(|error| Special::Machine(kind, error))?;
    let mut finished = Finished::new(&scenario, outcome, wall, provenance);
    let page = options.quiet.then(|| finished.page());
    let summary = match (options.json, options.quiet) {
        (true, _) => format!("{:#}\n", finished.everything()),
        (false, true) => finished.line(),
        (false, false) => finished.page(),
    };
    deliver(&summary, is_for_people, || {
        let written = output.map(|output| write(output, &mut finished, page)).transpose()?;
        let trace = arguments.trace.clone().filter(|_| traced.is_ok());
        Ok(written.into_iter().flatten().chain(trace).collect())
    })?;
    traced
}

/// Serves the live page of a machine, if there is to be one, and lets it wait before its first event if it is
/// to.
#[cfg(feature = "live")]
fn serve(
    arguments: &MachineArguments,
    scenario: &MachineScenario,
    spec: &MachineSpec,
    watch: &mut Watch,
) -> Result<Option<Live>, CommandError> {
    let page = || {
        let (policy, until_ns) = (scenario.policy(), scenario.until_ns());
        MachinePage::new(scenario.name(), policy, until_ns, spec, arguments.live.paused)
    };
    let page = arguments.live.live.is_some().then(page);
    let live = page.as_ref().map(|page| arguments.live.serve_scene(|| page.clone())).transpose()?;
    page.iter().for_each(|page| watch.show_on(page));
    Ok(live.flatten())
}

/// Says what would run.
pub fn check(source: &Source) -> Result<(), CommandError> {
    let scenario = read(source)?;
    let kind = scenario.policy();
    let spec = scenario.spec(kind)?;
    let vcpus: u32 = spec.domains.iter().map(|domain| domain.vcpus).sum();
    let pcpus: u32 = spec.hosts.iter().map(|host| host.pcpus).sum();
    let processes: usize = spec.domains.iter().map(|domain| domain.processes.len()).sum();
    let number = |number: usize| text::count(number as u64);
    let until =
        scenario.until_ns().map_or("all are done".to_owned(), |until_ns| Time::nanos(until_ns).to_string());
    let facts = [
        ("policy", kind.to_owned()),
        ("hosts", number(spec.hosts.len())),
        ("PCPUs", number(pcpus as usize)),
        ("domains", number(spec.domains.len())),
        ("VCPUs", number(vcpus as usize)),
        ("processes", number(processes)),
        ("until", until),
        ("seed", scenario.seed().to_string()),
    ];
    let rows = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let title = format!("{} is sound", source.file.display());
    stdout::print(&text::groups(&[(&title, rows)]))
}

/// Writes all files, and gives back which they are; prints `page` where there is no room for the summary.
fn write(
    mut output: Output,
    finished: &mut Finished<'_>,
    page: Option<String>,
) -> Result<Vec<PathBuf>, CommandError> {
    let results = finished.results();
    let several = finished.outcome.workloads.len() > 1;
    let workloads = finished.outcome.workloads.iter_mut();
    let files: Vec<_> = workloads
        .flat_map(|workload| {
            let files = std::mem::take(&mut workload.summary.files).into_iter();
            let name = workload.name.clone();
            files.map(move |file| {
                (if several { format!("{name}-{}", file.name) } else { file.name.to_string() }, file)
            })
        })
        .collect();
    output.write_summary(&results, files.iter().map(|(name, _)| name.clone()));
    for (name, file) in files {
        output.write(&name, |to| file.write(to));
    }
    if let Some(page) = page.filter(|_| output.lacks_summary()) {
        stdout::print(&page)?;
    }
    output.finish()
}

pub fn ended(outcome: &Outcome) -> &'static str {
    match outcome.report.ended {
        paceline_machine::Ended::Done => "done",
        paceline_machine::Ended::Horizon => "horizon",
    }
}
