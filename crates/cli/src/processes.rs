//! `paceline run` of a model whose parts are processes: sections `[model]`, `[run]` and `[network]`, a run, a summary.
//!
//! Invariant: what is printed as results, and the digest, depend on nothing of how it is run.

mod settings;
mod summary;

use paceline_actors::{Control, Report, Simulation};
use paceline_kernel::Time;
use paceline_network::{Constant, Flows, Network};

use crate::args::ResultArguments;
use crate::failure::Failure;
use crate::loaded::Source;
use crate::output::Output;
use crate::progress::Progress;
use crate::run::{files_line, on_signal};
use crate::text;

use settings::{Model, ProcessSettings, Program};
use summary::{Finished, Lines};

/// Reads a scenario of processes, and says what would run.
pub fn check(source: &Source) -> Result<(), Failure> {
    let (program, settings) = settings::read(source)?;
    let hosts = match &settings.model {
        Model::Constant { hosts, .. } => *hosts as usize,
        Model::Flows { platform, .. } => platform.hosts().len(),
    };
    let facts = [
        ("model", program.name().to_owned()),
        ("processes", text::count(program.processes().into())),
        ("hosts", text::count(hosts as u64)),
        ("network", settings.network.to_owned()),
        ("until", settings.until.map_or("the end of all processes".to_owned(), |until| until.to_string())),
        ("threads", settings.threads.to_string()),
        ("rounds", settings::round_name(settings.round)),
        ("seed", settings.seed.to_string()),
    ];
    let rows = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
    text::print(&text::groups(&[(&format!("{} is sound", source.file.display()), rows)]))
}

/// Runs a scenario of processes.
pub fn run(source: &Source, results: &ResultArguments) -> Result<(), Failure> {
    let (program, settings) = settings::read(source)?;
    if results.trace.is_some() {
        return Err(Failure::Option("a run of processes writes no trace yet; leave out --trace".into()));
    }
    let output = results.out.as_deref().map(Output::open).transpose()?;
    let control = Control::default();
    let stop = control.clone();
    on_signal(move || stop.stop())?;
    let watched = control.clone();
    let look = move || (watched.time().as_nanos(), format!("{} steps", text::count(watched.steps())));
    let wanted = !results.json && !results.quiet;
    let progress = Progress::show(settings.until.map(Time::as_nanos), wanted, look, || ());
    let ran = match &settings.model {
        Model::Constant { seconds, hosts } => {
            execute(&program, &settings, Constant::new(*seconds), &vec![(1e9, 1); *hosts as usize], &control)
        }
        Model::Flows { platform, model } => {
            let hosts: Vec<(f64, u32)> =
                platform.hosts().iter().map(|host| (host.speeds[0], host.cores)).collect();
            execute(&program, &settings, Flows::new(platform, *model), &hosts, &control)
        }
    };
    drop(progress);
    let (report, lines) = ran?;
    let finished = Finished::new(source.name(), program.name(), &settings, &report, lines);
    let written = match output {
        Some(mut output) => {
            let text = format!("{:#}\n", finished.results());
            output.write("summary.json", |file| file.write_all(text.as_bytes()))?;
            output.finish()?
        }
        None => Vec::new(),
    };
    match (results.json, results.quiet) {
        (true, _) => text::print(&format!("{:#}\n", finished.everything())),
        (false, true) => text::print(&finished.line()),
        (false, false) => text::print(&format!("{}{}", finished.page(), files_line(&written))),
    }
}

/// The run itself, and what the model says of it.
fn execute<N: Network>(
    program: &Program,
    settings: &ProcessSettings,
    network: N,
    hosts: &[(f64, u32)],
    control: &Control,
) -> Result<(Report, Lines), Failure> {
    let count = hosts.len() as u32;
    match program {
        Program::Chord(chord) => {
            let mut simulation = simulation(settings, network, hosts, control);
            let outcome = chord.spawn(&mut simulation, count, settings.seed);
            let report = simulation.run().map_err(|error| Failure::Processes(error.into()))?;
            let lines = vec![
                ("lookups", outcome.lookups().into()),
                ("lookups_answered", outcome.answered().into()),
                ("mean_hops", outcome.mean_hops().into()),
            ];
            Ok((report, lines))
        }
        Program::MpiTrace(trace) => {
            let mut simulation = simulation(settings, network, hosts, control);
            let outcome = trace.spawn(&mut simulation, count);
            let report = simulation.run().map_err(|error| Failure::Processes(error.into()))?;
            let ends = outcome.ends();
            let over = ends.iter().filter(|end| **end > Time::ZERO).count();
            let last = ends.into_iter().max().unwrap_or(Time::ZERO);
            let lines = vec![("ranks_at_their_end", over.into()), ("last_end_s", last.as_secs_f64().into())];
            Ok((report, lines))
        }
    }
}

/// A world that is run as the settings say.
fn simulation<P: Send + 'static, N: Network>(
    settings: &ProcessSettings,
    network: N,
    hosts: &[(f64, u32)],
    control: &Control,
) -> Simulation<P, N> {
    Simulation::new(network, hosts)
        .until(settings.until.unwrap_or(Time::MAX))
        .seed(settings.seed)
        .threads(settings.threads as usize)
        .rounds(settings.round)
        .coordination(settings.coordination)
        .waiting(settings.waiting)
        .pin(settings.pin)
        .context(settings.context)
        .control(control)
}
