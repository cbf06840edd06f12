//! `paceline run`: a scenario from the first key to the last file.

use std::time::{Duration, Instant};

use paceline_engine::Monitor;
use paceline_models::results::{ResultFile, Results, RunFacts, Summary};

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::loaded::{self, AnyModel, Loaded};
use crate::output::Output;
use crate::progress::Progress;
use crate::settings::RunSettings;
use crate::summary::Finished;
use crate::text;

/// Runs a scenario.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let Loaded { scenario, kind, model, settings } = loaded::load(&arguments.scenario)?;
    let monitor = Monitor::new();
    stop_on_signal(&monitor)?;
    let output = arguments.out.as_deref().map(Output::open).transpose()?;
    let wanted = !arguments.json && !arguments.quiet;
    let progress = Progress::start(&monitor, settings.until, wanted);
    let names = (kind.name(), scenario);
    let (finished, files) = match model {
        AnyModel::Phold(phold) => execute(phold, names, settings, &monitor, progress)?,
        AnyModel::Traffic(traffic) => execute(traffic, names, settings, &monitor, progress)?,
    };
    let written = match output {
        Some(output) => write(output, &finished, files)?,
        None => String::new(),
    };
    match (arguments.json, arguments.quiet) {
        (true, _) => text::print(&format!("{:#}\n", finished.everything())),
        (false, true) => text::print(&finished.line()),
        (false, false) => text::print(&format!("{}{written}", finished.page())),
    }
}

/// The run itself, and what the model says of it.
fn execute<M: Results>(
    model: M,
    names: (&'static str, String),
    settings: RunSettings,
    monitor: &Monitor,
    progress: Progress,
) -> Result<(Finished, Vec<ResultFile>), Failure> {
    let (mut report, model) = settings.simulation(model, monitor).run_keeping_model()?;
    drop(progress);
    let outputs = std::mem::take(&mut report.outputs);
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let Summary { lines, files } = model.results(outputs, &facts).map_err(Failure::Results)?;
    Ok((Finished::new(names, settings, &report, lines), files))
}

/// Writes all files and says so in a line.
fn write(mut output: Output, finished: &Finished, files: Vec<ResultFile>) -> Result<String, Failure> {
    output.write("summary.json", |file| file.write_all(format!("{:#}\n", finished.results()).as_bytes()))?;
    for file in files {
        output.write(file.name, |to| file.write(to))?;
    }
    let written = output.finish()?;
    let names: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    Ok(format!("\nWritten: {}\n", names.join(", ")))
}

/// The first signal to end (Ctrl-C, termination) stops the run; another one ends the program, unless it comes with the
/// first: some programs that end others signal both a process and its group.
fn stop_on_signal(monitor: &Monitor) -> Result<(), Failure> {
    const INTERRUPTED: i32 = 130;
    const TOGETHER: Duration = Duration::from_millis(200);
    let monitor = monitor.clone();
    let mut first = None;
    let handler = move || match first {
        None => {
            first = Some(Instant::now());
            monitor.stop();
        }
        Some(first) if first.elapsed() < TOGETHER => {}
        Some(_) => std::process::exit(INTERRUPTED),
    };
    ctrlc::set_handler(handler).map_err(Failure::Signals)
}
