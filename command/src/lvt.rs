//! `paceline lvt`: `new`, which makes a page; `relay`, in a file of its own; and `watch`, which shows a page
//! while its owners run: which owner is furthest behind, which ones wait, and which share of a core each
//! gets.
//!
//! A watch reads the page periodically, and changes nothing on it. It ends after `--count` looks, or when the
//! user interrupts it, which is no failure; a page that is truncated or overwritten meanwhile is a failure.

pub mod arguments;
mod in_use;
mod look;
pub mod relay;
mod screen;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use paceline_app::failure::CommandError;
use paceline_app::{signals, stdout};
use paceline_lvt::{ENV, Page};

use arguments::{LvtCommand, NewArguments, WatchArguments};
use look::{Look, Watcher};
use screen::Screen;

/// The shortest time between two looks; in less, the system's accounts of CPU time have not advanced.
const LEAST_INTERVAL: Duration = Duration::from_millis(10);
/// The time between two checks of the keyboard.
const KEYS_EVERY: Duration = Duration::from_millis(100);

pub fn lvt(command: &LvtCommand) -> Result<(), CommandError> {
    match command {
        LvtCommand::New(arguments) => new(arguments),
        LvtCommand::Watch(arguments) => watch(arguments),
        LvtCommand::Relay(arguments) => relay::relay(arguments),
    }
}

/// Makes a page, and prints the command by which a shell names it to what it starts.
fn new(arguments: &NewArguments) -> Result<(), CommandError> {
    let path = std::path::absolute(&arguments.file)
        .map_err(|reason| CommandError::Write(arguments.file.clone(), reason))?;
    let page = Page::create(&path, arguments.slots).map_err(|error| {
        let allowed = "a new file in a folder that you may write to, best in memory, such as /dev/shm/my.lvt";
        CommandError::Option(format!("{error}; allowed: {allowed}"))
    })?;
    let quoted = page.path().display().to_string().replace('\'', r"'\''");
    stdout::print(&format!("export {ENV}='{quoted}'\n"))
}

fn watch(arguments: &WatchArguments) -> Result<(), CommandError> {
    let page = find(arguments.page.as_deref())?;
    if arguments.interval < LEAST_INTERVAL {
        let allowed = "at least 10ms, such as 500ms";
        return Err(CommandError::Option(format!("--interval {:?}; allowed: {allowed}", arguments.interval)));
    }
    if !arguments.json && !std::io::stdout().is_terminal() {
        let problem = "standard output is no terminal; --json prints a line for each look instead";
        return Err(CommandError::Option(problem.into()));
    }
    let (send_stop, stopped) = mpsc::channel();
    // If the receiver is gone, the watch is ending already.
    signals::on_each(move |_| send_stop.send(()).unwrap_or_default()).map_err(CommandError::Signals)?;
    let looks = arguments.count.unwrap_or(u64::MAX);
    let mut watcher = Watcher::new(page);
    if arguments.json {
        for number in 1..=looks {
            let line = serde_json::to_string(&watcher.look()?).expect("numbers and text can be written");
            stdout::print(&format!("{line}\n"))?;
            let last = number == looks;
            if last || stopped.recv_timeout(arguments.interval) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        return Ok(());
    }
    let mut screen = Screen::open();
    let result = show(&mut screen, &mut watcher, looks, arguments.interval, &stopped);
    screen.close();
    result
}

/// Shows looks on the screen, until `q` is pressed or a signal comes.
fn show(
    screen: &mut Screen,
    watcher: &mut Watcher,
    looks: u64,
    interval: Duration,
    stopped: &Receiver<()>,
) -> Result<(), CommandError> {
    for _ in 0..looks {
        let look: Look = watcher.look()?;
        let until = Instant::now() + interval;
        loop {
            screen.draw(&look).map_err(CommandError::Print)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let is_over = screen.wait_for_key(left.min(KEYS_EVERY)).map_err(CommandError::Print)?;
            if is_over || stopped.try_recv().is_ok() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The page to watch: the one given, else the one that the environment names, else the one that others use.
fn find(given: Option<&Path>) -> Result<Page, CommandError> {
    let found = given.map_or_else(Page::from_env, |path| Page::open(path).map(Some));
    let page = found.map_err(|error| CommandError::Option(error.to_string()))?;
    page.map_or_else(|| in_use::only(in_use::pages()), Ok)
}
