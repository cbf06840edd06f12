//! Progress of an emulation on stderr: simulated time against real time, and the guest that is furthest
//! behind.

use std::sync::atomic::Ordering;
use std::time::Instant;

use paceline_app::progress::Progress;
use paceline_app::text;
use paceline_emulate::scenario::Watched;
use paceline_engine::Monitor;
use paceline_kernel::Time;

/// Shows it in place of the progress of any run, if that is shown.
pub fn show(instead_of: &Progress, monitor: &Monitor, until: Option<Time>, watched: &Watched) -> Progress {
    let (start, looked, watched) = (Instant::now(), monitor.clone(), watched.clone());
    let look = move || (looked.time().as_ticks(), words(&looked, until, &watched, start));
    Progress::show(until.map(Time::as_ticks), instead_of.is_shown(), look, || {})
}

fn words(monitor: &Monitor, until: Option<Time>, watched: &Watched, start: Instant) -> String {
    if monitor.stopped() {
        return "stopping".into();
    }
    let now = monitor.time();
    let mut parts = match until {
        Some(until) => vec![format!("{} of {}", text::seconds(now.as_secs_f64()), text::time(until))],
        None => vec![text::seconds(now.as_secs_f64())],
    };
    let real = start.elapsed().as_secs_f64();
    parts.push(format!("{} times real time", text::decimal(now.as_secs_f64() / real.max(1e-3))));
    let running = watched.guests.iter().filter(|(_, seen)| seen.is_running.load(Ordering::Relaxed));
    let behind = running.min_by_key(|(_, seen)| seen.reached_ns.load(Ordering::Relaxed));
    parts.extend(behind.map(|(name, _)| format!("furthest behind: {name}")));
    parts.join(", ")
}
