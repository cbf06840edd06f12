//! Progress of an emulation on stderr: what is done before guests run; then simulated time against real time,
//! and the guest that is furthest behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use paceline_app::progress::Progress;
use paceline_app::text;
use paceline_emulate::scenario::{Starting, Watched};
use paceline_engine::Monitor;
use paceline_kernel::Time;

/// How far guests have come before they run: the clock of the one that boots, in nanoseconds, or 0.
#[derive(Clone, Default)]
pub struct Startup(Arc<AtomicU64>);

impl Startup {
    pub fn note(&self, starting: Starting) {
        let clock_ns = match starting {
            Starting::Boot { clock_ns } => clock_ns.max(1),
            Starting::Guests => 0,
        };
        self.0.store(clock_ns, Ordering::Relaxed);
    }

    /// Shows it, if `wanted`.
    pub fn show(&self, wanted: bool, monitor: &Monitor, guests: usize) -> Progress {
        let (startup, monitor) = (self.clone(), monitor.clone());
        let look = move || {
            let words = match startup.0.load(Ordering::Relaxed) {
                _ if monitor.stopped() => "stopping".into(),
                0 if guests == 1 => "starting the guest".into(),
                0 => format!("starting {guests} guests"),
                ns => format!("booting an image that is kept: {:.1} s of its clock", ns as f64 / 1e9),
            };
            (0, words)
        };
        Progress::show(None, wanted, look, || {})
    }
}

/// Shows how a run goes on, if `wanted`. `is_resumed`: it goes on from a checkpoint, and what was simulated
/// before took none of its time.
pub fn show(
    wanted: bool,
    monitor: &Monitor,
    (is_resumed, until): (bool, Option<Time>),
    watched: &Watched,
) -> Progress {
    let (looked, ended, watched) = (monitor.clone(), monitor.clone(), watched.clone());
    let mut begun = (!is_resumed).then(|| (Instant::now(), Time::ZERO));
    let look = move || {
        let now = looked.time();
        if begun.is_none() && now > Time::ZERO {
            // The first time that a resumed run knows is that of its checkpoint.
            begun = Some((Instant::now(), now));
        }
        let speed = begun.map_or(0.0, |(start, from): (Instant, Time)| {
            now.saturating_sub(from).as_secs_f64() / start.elapsed().as_secs_f64().max(1e-3)
        });
        (now.as_ticks(), words(&looked, until, speed, &watched))
    };
    let last = move || {
        if ended.stopped() {
            // The terminal has written ^C there.
            eprintln!();
        }
    };
    Progress::show(until.map(Time::as_ticks), wanted, look, last)
}

/// `speed`: simulated seconds in a real one.
fn words(monitor: &Monitor, until: Option<Time>, speed: f64, watched: &Watched) -> String {
    if monitor.stopped() {
        return "stopping".into();
    }
    let now = text::seconds(monitor.time().as_secs_f64());
    let mut parts = match until {
        Some(until) => vec![format!("{now} of {}", text::time(until))],
        None => vec![now],
    };
    parts.push(format!("{} times real time", two_digits(speed)));
    let running = watched.guests.iter().filter(|(_, seen)| seen.is_running.load(Ordering::Relaxed));
    let behind = running.min_by_key(|(_, seen)| seen.reached_ns.load(Ordering::Relaxed));
    parts.extend(behind.map(|(name, _)| format!("furthest behind: {name}")));
    parts.join(", ")
}

/// A number with two digits that count, so that it does not flicker.
fn two_digits(number: f64) -> String {
    if number < 1e-6 {
        return "0".into();
    }
    let unit = 10f64.powf(number.log10().floor() - 1.0);
    text::decimal((number / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_has_two_digits_that_count() {
        let shown = [0.0, 0.017_74, 0.177_4, 0.996, 3.111, 31.11, 3_111.0].map(two_digits);
        assert_eq!(shown, ["0", "0.018", "0.18", "1", "3.1", "31", "3,100"]);
    }
}
