//! `paceline run` of a model whose parts are processes: sections `[model]`, `[run]` and `[network]`, a run, a summary.
//!
//! Invariant: what is printed as results, and the digest, depend on nothing of how it is run.

mod lines;
pub mod settings;
mod summary;
mod trace;

use paceline_app::args::ResultArguments;
use paceline_app::failure::Failure;
use paceline_app::loaded::Source;
use paceline_app::output::{Output, deliver};
use paceline_app::progress::{Progress, warn};
use paceline_app::provenance::Provenance;
use paceline_app::replicate::{Outcome, Replica, Replicas, Series};
use paceline_app::run::write;
use paceline_app::signals;
use paceline_app::stdout;
use paceline_app::text;
use paceline_kernel::Time;
use paceline_network::{Constant, Flows, Network, Platform};
use paceline_processes::{Control, EndedBy, Report, RunError, Simulation};
use paceline_results::ResultFile;

use crate::failure::Special;
use crate::models::PROGRAM;
use settings::{Model, ProcessSettings, Program};
use summary::{Finished, Lines};
use trace::Trace;

/// Reads a scenario of processes, and says what would run.
pub fn check(source: &Source) -> Result<(), Failure> {
    let (program, settings) = settings::read(source)?;
    let hosts = settings.model.hosts();
    let facts = [
        ("model", program.name().to_owned()),
        ("processes", text::count(program.processes(hosts).into())),
        ("hosts", text::count(hosts.into())),
        ("network", settings.network.to_owned()),
        ("until", settings.until.map_or("the end of all processes".to_owned(), |until| until.to_string())),
        ("federates", settings.federates.map_or("none".to_owned(), |federates| federates.to_string())),
        ("threads", settings.threads.to_string()),
        ("rounds", settings::round_name(settings.round)),
        ("seed", settings.seed.to_string()),
    ];
    let rows = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
    stdout::print(&text::groups(&[(&format!("{} is sound", source.file.display()), rows)]))
}

/// Runs a scenario of processes.
pub fn run(source: &Source, results: &ResultArguments) -> Result<(), Failure> {
    let (program, settings) = settings::read(source)?;
    if results.log.log.is_some() {
        let problem = "--log: a model of processes has no events; allowed: models of LPs";
        return Err(Failure::Option(problem.into()));
    }
    if results.trace.is_some() && settings.federates.is_some() {
        return Err(Special::Processes(RunError::Observed.into()).into());
    }
    let provenance =
        Provenance::new(&PROGRAM, &source.open()?, settings.until).inputs(settings.inputs.clone());
    let identity = provenance.identity(settings.seed);
    let output = results.out.as_deref().map(|folder| Output::open(folder, &identity)).transpose()?;
    let trace = results.trace.as_deref().map(|path| Trace::open(path, &source.name())).transpose()?;
    let control = Control::default();
    let stop = control.clone();
    signals::on_first(move || stop.stop())?;
    let watched = control.clone();
    let watch = Watch { control, trace };
    let look = move || (watched.time().as_nanos(), format!("{} steps", text::count(watched.steps())));
    let wanted = !results.json && !results.quiet;
    let progress = Progress::show(settings.until.map(Time::as_nanos), wanted, look, || ());
    let ran = execute_any(&program, &settings, &watch);
    drop(progress);
    let traced = watch
        .trace
        .map_or(Ok(()), |trace| trace.finish(ran.as_ref().ok().map(|(report, _)| report.end_time)));
    if let (Err(_), Err(failure)) = (&ran, &traced) {
        // The trace of a failed run is the most useful one.
        warn(&failure.problem());
    }
    let (report, lines) = ran?;
    let finished = Finished::new(source.name(), program.name(), &settings, &report, lines, provenance);
    let summary = match (results.json, results.quiet) {
        (true, _) => format!("{:#}\n", finished.everything()),
        (false, true) => finished.line(),
        (false, false) => finished.page(),
    };
    deliver(&summary, wanted, || {
        let page = || finished.page();
        let page = results.quiet.then_some(&page as &dyn Fn() -> String);
        let written =
            output.map(|output| write(output, &finished.results(), Vec::new(), page)).transpose()?;
        let trace = results.trace.clone().filter(|_| traced.is_ok());
        Ok(written.into_iter().flatten().chain(trace).collect())
    })?;
    traced?;
    if report.ended_by == EndedBy::Interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Replications of models of processes.
#[derive(Clone, Copy, Debug)]
pub struct OfProcesses;

impl Replicas for OfProcesses {
    fn subject(&self, source: &Source) -> Result<Series, Failure> {
        let (program, settings) = settings::read(source)?;
        Ok(Series {
            model: program.name(),
            first_seed: settings.seed,
            until: settings.until,
            provenance: Provenance::new(&PROGRAM, &source.open()?, settings.until).inputs(settings.inputs),
            is_sequential: false,
            units: ["messages", "messages/s"],
        })
    }

    fn replica(&self) -> Box<dyn Replica> {
        Box::new(OneOf(Control::default()))
    }
}

/// A run of processes as one of several of this program.
#[derive(Debug)]
struct OneOf(Control);

impl Replica for OneOf {
    fn run(&self, source: &Source) -> Result<(Outcome, Vec<ResultFile>), Failure> {
        let (program, settings) = settings::read(source)?;
        let watch = Watch { control: self.0.clone(), trace: None };
        let (report, lines) = execute_any(&program, &settings, &watch)?;
        let provenance =
            Provenance::new(&PROGRAM, &source.open()?, settings.until).inputs(settings.inputs.clone());
        let finished = Finished::new(source.name(), program.name(), &settings, &report, lines, provenance);
        Ok((finished.outcome(), Vec::new()))
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn time(&self) -> Time {
        self.0.time()
    }

    fn work(&self) -> u64 {
        self.0.steps()
    }
}

/// Who looks on at a run.
struct Watch {
    control: Control,
    trace: Option<Trace>,
}

/// The hosts of a world.
#[derive(Clone, Copy, Debug)]
enum Hosts<'p> {
    /// So many, with one core of 1 Gf/s each.
    Alike(u32),
    /// Those of a platform.
    Of(&'p Platform),
}

impl Hosts<'_> {
    fn count(self) -> u32 {
        match self {
            Self::Alike(count) => count,
            Self::Of(platform) => platform.hosts().len() as u32,
        }
    }
}

/// The run on the network that the settings name.
fn execute_any(
    program: &Program,
    settings: &ProcessSettings,
    watch: &Watch,
) -> Result<(Report, Lines), Failure> {
    match &settings.model {
        Model::Constant { seconds, hosts } => {
            execute(program, settings, Constant::new(*seconds), Hosts::Alike(*hosts), watch)
        }
        Model::Flows { platform, model } => {
            execute(program, settings, Flows::new(platform, *model), Hosts::Of(platform), watch)
        }
    }
}

/// The run itself, and what the model says of it.
fn execute<N: Network + Clone + Send + Sync>(
    program: &Program,
    settings: &ProcessSettings,
    network: N,
    hosts: Hosts,
    watch: &Watch,
) -> Result<(Report, Lines), Failure> {
    let count = hosts.count();
    match program {
        Program::Chord(chord) => {
            let mut simulation = simulation(settings, network, hosts, watch);
            let outcome = chord.spawn(&mut simulation, count, settings.seed);
            let report = simulation.run().map_err(|error| Special::Processes(error.into()))?;
            let lines = vec![
                ("lookups", outcome.lookups().into()),
                ("lookups_answered", outcome.answered().into()),
                ("mean_hops", outcome.mean_hops().into()),
            ];
            Ok((report, lines))
        }
        Program::MasterWorkers(program) => {
            let mut simulation = simulation(settings, network, hosts, watch);
            let outcome = program.spawn(&mut simulation);
            let report = simulation.run().map_err(|error| Special::Processes(error.into()))?;
            let lines = vec![("tasks_done", outcome.done().into()), ("tasks_lost", outcome.lost().into())];
            Ok((report, lines))
        }
        Program::MpiTrace(trace) => {
            let mut simulation = simulation(settings, network, hosts, watch);
            let outcome = trace.spawn(&mut simulation, count);
            let ran = simulation.run();
            // Others wait for that rank in vain: it is the cause of a deadlock.
            if let Some(failed) = outcome.failure() {
                return Err(Special::Rank(failed.clone()).into());
            }
            let report = ran.map_err(|error| Special::Processes(error.into()))?;
            Ok((report, lines::mpi_trace(trace, &outcome)))
        }
        Program::Bittorrent(swarm) => {
            let mut simulation = simulation(settings, network, hosts, watch);
            let outcome = swarm.spawn(&mut simulation, count, settings.seed);
            let report = simulation.run().map_err(|error| Special::Processes(error.into()))?;
            Ok((report, lines::bittorrent(&outcome)))
        }
        Program::Farm(farm) => {
            let mut simulation = simulation(settings, network, hosts, watch);
            let outcome =
                farm.spawn(&mut simulation, count).expect("settings with too few hosts are refused");
            let report = simulation.run().map_err(|error| Special::Processes(error.into()))?;
            Ok((report, lines::farm(&outcome)))
        }
    }
}

/// A world that is run as the settings say.
fn simulation<P: Send + 'static, N: Network + Clone + Send + Sync>(
    settings: &ProcessSettings,
    network: N,
    hosts: Hosts,
    watch: &Watch,
) -> Simulation<P, N> {
    let simulation = match hosts {
        Hosts::Alike(count) => Simulation::new(network, &vec![(1e9, 1); count as usize]),
        Hosts::Of(platform) => Simulation::with_hosts_of(platform, network),
    };
    let simulation = simulation
        .until(settings.until.unwrap_or(Time::MAX))
        .seed(settings.seed)
        .threads(settings.threads as usize)
        .rounds(settings.round)
        .coordination(settings.coordination)
        .waiting(settings.waiting)
        .pin(settings.pin)
        .context(settings.context)
        .on_stall(|stall| eprintln!("warning: {stall}"))
        .control(&watch.control);
    let simulation = match settings.federates {
        Some(federates) => simulation.federates(federates),
        None => simulation,
    };
    match &watch.trace {
        Some(trace) => simulation.observe(trace.observer()),
        None => simulation,
    }
}
