//! Progress on stderr during a run: simulated time, events a second, time left; or lines of JSON.
//!
//! A thread of its own looks ten times a second. It sleeps on a channel, so that the end of the run wakes it
//! at once. Nothing is shown where stderr is no terminal; lines of JSON are written to whatever it is.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use paceline_engine::Monitor;
use paceline_kernel::Time;
use serde_json::json;

use crate::{terminal, text};

const PERIOD: Duration = Duration::from_millis(100);
/// How much of the displayed speed comes from the latest period.
const FRESH: f64 = 0.2;

/// Warns on stderr, beside a progress display if there is one.
pub fn warn(what: &str) {
    // What the display has drawn on the line of the cursor is erased; it draws itself again.
    let erased = if io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
    eprintln!("{erased}warning: {what}");
}

/// A progress display; ends when dropped.
#[derive(Debug)]
pub struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// A display that shows nothing, for output that is no terminal.
    pub fn none() -> Self {
        Self(None)
    }

    /// Whether it shows anything.
    pub fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Starts to show progress towards `until`, if `wanted` and there is a terminal.
    pub fn start(monitor: &Monitor, until: Option<Time>, wanted: bool) -> Self {
        let (looked, ended) = (monitor.clone(), monitor.clone());
        let mut speed = Speed::start();
        let look = move || (looked.time().as_ticks(), say(&looked, until, &mut speed));
        let last = move || {
            if ended.stopped() {
                // The terminal has written ^C there.
                eprintln!();
            }
        };
        Self::show(until.map(Time::as_ticks), wanted, look, last)
    }

    /// Starts to write how far a run has come as lines of JSON on stderr, for a program that shows it by
    /// itself: simulated seconds, those of the horizon where there is one, and events.
    pub fn lines(until: Option<Time>, mut look: impl FnMut() -> (Time, u64) + Send + 'static) -> Self {
        let until_s = until.map(Time::as_secs_f64);
        let (end, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let (time, events) = look();
                let time_s = time.as_secs_f64();
                let said = json!({ "progress": { "time_s": time_s, "until_s": until_s, "events": events } });
                eprintln!("{said}");
            }
        });
        Self(Some((end, thread)))
    }

    /// Starts to show how far something has come on its way to `length`, if `wanted` and there is a terminal:
    /// `look` gives the position and the words beside the bar; `last` is done when it has ended.
    pub fn show(
        length: Option<u64>,
        wanted: bool,
        mut look: impl FnMut() -> (u64, String) + Send + 'static,
        last: impl FnOnce() + Send + 'static,
    ) -> Self {
        if !wanted || !io::stderr().is_terminal() {
            return Self::none();
        }
        let (end, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let words = Words::default();
            let bar = bar(length, &words);
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let (position, said) = look();
                words.set(said);
                bar.set_position(position);
            }
            bar.finish_and_clear();
            last();
        });
        Self(Some((end, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            // A display that failed is no reason to fail.
            let _ = thread.join();
        }
    }
}

/// What stands beside the bar. The bar fetches it when it is drawn, so that both are drawn at once.
#[derive(Clone, Default)]
struct Words(Arc<Mutex<String>>);

impl Words {
    fn set(&self, words: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn bar(length: Option<u64>, words: &Words) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (ProgressBar::new(length), "{wide_bar:.cyan/dim} {words}"),
        None => (ProgressBar::new_spinner(), "{spinner:.cyan} {words}"),
    };
    let words = words.clone();
    let show = move |state: &ProgressState, out: &mut dyn fmt::Write| {
        let (opening, closing) = match length {
            Some(_) => (
                format!("{:>3.0} %  ", state.fraction() * 100.0),
                format!("{:#} left", HumanDuration(state.eta())),
            ),
            None => (String::new(), format!("{:#} so far", HumanDuration(state.elapsed()))),
        };
        // A line that goes on below cannot be erased. The bar or the spinner stands before the words.
        let room = terminal::of_stderr().map_or(usize::MAX, |columns| columns.saturating_sub(2));
        // If the terminal takes no text, the error cannot be reported either.
        let _ = out.write_str(&beside(&opening, &words.get(), &closing, room));
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    bar.with_style(style.with_key("words", show))
}

/// What there is room for of the words beside the bar, whole words and numbers only.
fn beside(opening: &str, words: &str, closing: &str, room: usize) -> String {
    let mut parts: Vec<String> = words.split(", ").chain([closing]).map(str::to_owned).collect();
    parts[0].insert_str(0, opening);
    let line = terminal::fitting(&parts, room);
    // Not even the first part fits: how far it has come, without of what.
    if line.chars().count() <= room { line } else { opening.trim().to_owned() }
}

fn say(monitor: &Monitor, until: Option<Time>, speed: &mut Speed) -> String {
    let rate = text::rate(speed.update(monitor.events()));
    if monitor.stopped() {
        return "stopping".into();
    }
    let now = text::seconds(monitor.time().as_secs_f64());
    match until {
        Some(until) => format!("{now} of {}, {rate}", text::time(until)),
        None => format!("{now} simulated, {rate}"),
    }
}

/// Events a second, smoothed.
pub struct Speed {
    then: Instant,
    before: u64,
    smooth: Option<f64>,
}

impl Speed {
    /// Of something that begins now.
    pub fn start() -> Self {
        Self { then: Instant::now(), before: 0, smooth: None }
    }

    /// The speed, now that there were so many events.
    pub fn update(&mut self, events: u64) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.then).as_secs_f64().max(1e-9);
        let latest = events.saturating_sub(self.before) as f64 / seconds;
        let smooth = self.smooth.map_or(latest, |smooth| smooth + FRESH * (latest - smooth));
        *self = Self { then: now, before: events, smooth: Some(smooth) };
        smooth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_progress_is_longer_than_the_terminal_and_no_number_is_cut() {
        let words = "1234.5 of 12000s, 6.6 M events/s";
        let shown = |room| beside(" 10 %  ", words, "3m left", room);
        assert_eq!(shown(200), " 10 %  1234.5 of 12000s, 6.6 M events/s, 3m left");
        assert_eq!(shown(40), " 10 %  1234.5 of 12000s, 6.6 M events/s");
        assert_eq!(shown(38), " 10 %  1234.5 of 12000s");
        assert_eq!(shown(20), "10 %");
        assert!((4..60).all(|room| shown(room).chars().count() <= room));
    }
}
