//! `check --determinism` of processes: two runs of a scenario side by side, one on one thread, and one in
//! which every round runs on several.
//!
//! So it finds a model that looks at a clock, a global variable or the order of a hash map, and one whose
//! processes share data that they read or write in whichever order threads run them.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use paceline_processes::{Control, Rounds};
use paceline_scenario::ScenarioError;

use super::loaded::{self, Loaded};
use crate::failure::{CommandError, OwnFailure};
use crate::loaded::Source;
use crate::process_model::probe::{Compared, Probe};
use crate::process_model::{Ran, Watch};
use crate::program::Program;
use crate::progress::Progress;
use crate::{signals, stdout, text};

/// The threads of the run in which rounds are divided.
const THREADS: u32 = 2;

/// Two runs differ: where, in words.
#[derive(Debug)]
struct Differs(String);

impl OwnFailure for Differs {
    fn problem(&self) -> String {
        self.0.clone()
    }

    fn status(&self) -> ExitCode {
        ExitCode::from(1)
    }
}

/// Runs a scenario twice, compares at most `most` rounds and the results, and says how far the two were the
/// same.
pub fn check_determinism(program: &Program, source: &Source, most: u64) -> Result<(), CommandError> {
    let one = read(program, source, 1, Rounds::Never)?;
    let other = read(program, source, THREADS, Rounds::Always)?;
    let until = one.settings.until;
    let controls = [Control::default(), Control::default()];
    let stop = controls.clone();
    let interrupted = Arc::new(AtomicBool::new(false));
    let interrupt = Arc::clone(&interrupted);
    signals::on_first(move || {
        interrupt.store(true, Ordering::SeqCst);
        stop.iter().for_each(Control::stop);
    })
    .map_err(CommandError::Signals)?;
    let watched = controls[1].clone();
    let look = move || (watched.time().as_nanos(), format!("{} steps", text::count(watched.steps())));
    let progress = Progress::show(until.map(paceline_kernel::Time::as_nanos), true, look, || ());
    let [says, compares] = Probe::pair(most);
    let run = |loaded: Loaded, control: &Control, probe: Probe| {
        let watch = Watch { probe: Some(probe), ..Watch::through(control.clone()) };
        loaded.model.run(&loaded.settings, &watch)
    };
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| run(one, &controls[0], says));
        let second = run(other, &controls[1], compares.clone());
        let compared = compares.compared();
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), (second, compared))
    });
    drop(progress);
    let (second, compared) = second;
    let compared = compared.unwrap_or_default();
    conclude(source, &compared, [first, second], interrupted.load(Ordering::SeqCst))
}

/// A scenario that is run on so many threads, whatever it says itself.
fn read(program: &Program, source: &Source, threads: u32, round: Rounds) -> Result<Loaded, ScenarioError> {
    let mut loaded = loaded::read(program, source)?;
    loaded.settings.threads = threads;
    loaded.settings.round = round;
    loaded.settings.federates = None;
    Ok(loaded)
}

fn conclude(
    source: &Source,
    compared: &Compared,
    [first, second]: [Result<Ran, CommandError>; 2],
    is_interrupted: bool,
) -> Result<(), CommandError> {
    let differs = |what: &str| {
        let file = source.file.display();
        let problem = format!("two runs of {file} differ, on one thread and on {THREADS}: {what}");
        Err(CommandError::Other(Box::new(Differs(problem))))
    };
    // What is interrupted ends in one before the other.
    if let Some(difference) = compared.difference.as_ref().filter(|_| !is_interrupted) {
        return differs(difference);
    }
    // What both say of how they failed is said once.
    let (first, second) = (first?, second?);
    if !compared.is_cut && !is_interrupted {
        let pairs = first.results.lines.iter().zip(&second.results.lines);
        let mut different = String::new();
        for ((name, one), (_, other)) in pairs.filter(|(one, other)| one != other) {
            // A string takes all that is written into it.
            let _ = write!(
                different,
                "{}{name} is {one} and {other}",
                if different.is_empty() { "" } else { ", " }
            );
        }
        if !different.is_empty() {
            return differs(&format!("their rounds do not, but {different}"));
        }
    }
    let ended = match (compared.is_cut, is_interrupted) {
        (true, _) => format!("after as many rounds as wanted, at {}", text::time(compared.last)),
        (false, true) => format!("interrupted at {}", text::time(compared.last)),
        (false, false) => first.report.ended_by.at(text::time(first.report.end_time)),
    };
    let rows = [("rounds compared", text::count(compared.rounds)), ("ended", ended)];
    let rows = rows.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let title =
        format!("Two runs of {}, on one thread and on {THREADS}, do not differ", source.file.display());
    stdout::print(&text::groups(&[(&title, rows)]))?;
    if is_interrupted { Err(CommandError::Interrupted) } else { Ok(()) }
}
