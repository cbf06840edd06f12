//! The long run: whether an optimistic run without lookahead is as fast in the end as in the beginning.
//!
//! A thread reads the run's monitor a hundred times a second; the rate of a tenth of the events is read off
//! what it saw.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_engine::{Monitor, Protocol, Simulation};
use paceline_kernel::Time;

use crate::groups::{LPS, MESSAGES};
use crate::results::Line;
use crate::row::setting;
use crate::yardstick;

const PERIOD: Duration = Duration::from_millis(10);
const PARTS: u32 = 10;
/// The line of the run as a whole.
pub const WHOLE: &str = "whole run";

/// When the run had committed `events`, between the samples before and after.
fn reached(samples: &[(f64, u64)], events: f64) -> f64 {
    let after = samples.partition_point(|(_, seen)| (*seen as f64) < events).clamp(1, samples.len() - 1);
    let ((from_s, from), (to_s, to)) = (samples[after - 1], samples[after]);
    from_s + (to_s - from_s) * (events - from as f64) / (to - from).max(1) as f64
}

/// A line for each tenth of the run.
pub fn lines() -> Vec<Line> {
    let wanted = setting("PACELINE_DRIFT_EVENTS", 1e7);
    let until = Time::from_secs_f64(wanted / f64::from(LPS * MESSAGES));
    let (monitor, ended, start) = (Monitor::new(), AtomicBool::new(false), Instant::now());
    let (report, samples) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut samples = vec![(0.0, 0)];
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(PERIOD);
                samples.push((start.elapsed().as_secs_f64(), monitor.events()));
            }
            samples
        });
        let run = Simulation::new(yardstick::model(LPS, MESSAGES, Time::ZERO))
            .protocol(Protocol::Optimistic)
            .trials(false)
            .federates(8)
            .threads(2);
        let report = run.until(until).monitor(&monitor).run();
        let end_s = start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        let mut samples: Vec<(f64, u64)> = watch.join().expect("looking at a run does not panic");
        let report = report.expect("PHOLD keeps the rules");
        // The last look was up to a period before the end, or after it.
        samples.retain(|(at_s, _)| *at_s < end_s);
        samples.push((end_s, report.events));
        (report, samples)
    });
    let part = report.events as f64 / f64::from(PARTS);
    let rate = |place: u32| {
        let end = f64::from(place + 1) * part;
        part / (reached(&samples, end) - reached(&samples, end - part)).max(1e-9)
    };
    let line = |place: u32| Line {
        group: "drift".into(),
        case: format!("{} events", wanted.round()),
        way: format!("tenth {}", place + 1),
        rounds: 1,
        rate: rate(place),
        slowest: rate(place),
        spread_percent: 0.0,
        ratio: rate(place) / rate(0),
        events: part as u64,
        efficiency: None,
        safe: None,
        rollbacks: None,
        gvt_rounds: None,
        digest: None,
    };
    let rollbacks = report.rollbacks.as_ref();
    let mean = report.events as f64 / report.wall.as_secs_f64();
    let whole = Line {
        way: WHOLE.into(),
        rate: mean,
        slowest: mean,
        ratio: mean / rate(0),
        events: report.events,
        efficiency: rollbacks.map(paceline_kernel::Rollbacks::efficiency),
        safe: rollbacks.map(paceline_kernel::Rollbacks::safe_share),
        rollbacks: rollbacks.map(|rollbacks| rollbacks.primary + rollbacks.secondary),
        gvt_rounds: Some(report.gvt_rounds),
        ..line(0)
    };
    (0..PARTS).map(line).chain([whole]).collect()
}
