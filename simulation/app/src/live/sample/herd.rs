//! The herd: where all federates are in simulated time, who had which and what they have done since the last
//! frame.
//!
//! Times are relative to GVT, in seconds, since differences are small beside the times. Many federates are
//! shown as counts.

use std::time::Instant;

use paceline_engine::Gauge;
use paceline_kernel::Time;
use serde_json::{Value, json};

use crate::sampling::OutsideFederate;

/// Federates that are shown one by one.
const FEDERATES_MAX: usize = 256;
/// Parts of the span that many federates are counted in.
const BINS: usize = 64;

/// What was shown in the last frame.
#[derive(Debug, Default)]
pub(super) struct Herd {
    at: Option<Instant>,
    /// By federate: real time spent on it, and how often it was rolled back.
    before: Vec<(u64, u64)>,
    waited_ns: Vec<u64>,
}

/// A time after another in seconds, negative if it is before.
fn since(gvt: Time, time: Time) -> f64 {
    let [gvt, time] = [gvt, time].map(Time::as_ticks);
    let (least, most) = (gvt.min(time), gvt.max(time));
    let span = Time::ticks(most - least).as_secs_f64();
    if time < gvt { -span } else { span }
}

impl Herd {
    /// The herd as it is sent, where `pending` are the events waiting by federate, if they are known.
    pub(super) fn shown(
        &mut self,
        gvt: Time,
        until: Option<Time>,
        gauges: &[Gauge],
        pending: &[usize],
        waited_ns: &[u64],
    ) -> Value {
        let end = until.unwrap_or(Time::MAX);
        // One that has no event left is at the end.
        let at = |time: Time| (time < Time::MAX || until.is_some()).then(|| since(gvt, time.min(end)));
        let span_ns =
            self.at.replace(Instant::now()).map_or(0, |before| before.elapsed().as_nanos() as u64).max(1);
        let part = |ns: u64| (100 * ns / span_ns).min(100);
        let idle = waited_ns.iter().enumerate().map(|(worker, waited)| {
            part(waited.saturating_sub(self.waited_ns.get(worker).copied().unwrap_or(*waited)))
        });
        let idle: Vec<_> = idle.collect();
        self.waited_ns = waited_ns.to_vec();
        if gauges.len() > FEDERATES_MAX {
            let places: Vec<_> = gauges.iter().filter_map(|gauge| at(gauge.lvt)).collect();
            let (width, counts) = counted(&places);
            return json!({ "federates": gauges.len(), "idle": idle, "width": width, "counts": counts });
        }
        let known = |federate: usize| self.before.get(federate).copied();
        let busy = gauges.iter().enumerate().map(|(federate, gauge)| {
            known(federate).map_or(0, |(busy, _)| part(gauge.busy_ns.saturating_sub(busy)))
        });
        let back = gauges.iter().enumerate().map(|(federate, gauge)| {
            known(federate).map_or(0, |(_, rollbacks)| gauge.rollbacks.saturating_sub(rollbacks))
        });
        let shown = json!({
            "federates": gauges.len(),
            "idle": idle,
            "lvt": gauges.iter().map(|gauge| at(gauge.lvt)).collect::<Vec<_>>(),
            "front": gauges.iter().map(|gauge| at(gauge.front)).collect::<Vec<_>>(),
            "worker": gauges.iter().map(|gauge| gauge.worker).collect::<Vec<_>>(),
            "busy": busy.collect::<Vec<_>>(),
            "back": back.collect::<Vec<_>>(),
            "pending": if pending.len() == gauges.len() { pending } else { &[] },
        });
        self.before = gauges.iter().map(|gauge| (gauge.busy_ns, gauge.rollbacks)).collect();
        shown
    }
}

/// Gives federates that other programs run their names, and the times that those programs have reached:
/// workers hand over to them, and know no more.
pub(super) fn name_outside(herd: &mut Value, gvt: Time, outside: &[OutsideFederate]) {
    let count = herd["federates"].as_u64().unwrap_or_default() as usize;
    // As counts they have no names.
    if herd["lvt"].is_null() {
        return;
    }
    herd["names"] = (0..count).map(|federate| Value::from(format!("federate {federate}"))).collect();
    for OutsideFederate { federate, name, reached } in outside {
        let federate = *federate as usize;
        if federate >= count {
            continue;
        }
        let (time, is_running) = reached();
        herd["names"][federate] = name.clone().into();
        herd["lvt"][federate] = since(gvt, time).into();
        herd["busy"][federate] = if is_running { 100 } else { 0 }.into();
    }
}

/// How many of these places are in each part of the span from zero to the farthest, and the length of a part.
pub(in crate::live) fn counted(places: &[f64]) -> (f64, Vec<u32>) {
    let most = places.iter().copied().fold(0.0, f64::max);
    let width = if most > 0.0 { most / BINS as f64 } else { 1.0 };
    let mut counts = vec![0; BINS];
    for place in places {
        counts[((place.max(0.0) / width) as usize).min(BINS - 1)] += 1;
    }
    (width, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(lvt: Time, rollbacks: u64) -> Gauge {
        Gauge { lvt, front: lvt, events: 5, undone: 0, rollbacks, busy_ns: 0, worker: Some(0) }
    }

    #[test]
    fn places_are_relative_to_gvt_and_rollbacks_to_the_last_frame() {
        let mut herd = Herd::default();
        let gauges =
            |rollbacks| [gauge(Time::secs(3), rollbacks), gauge(Time::secs(1), 0), gauge(Time::MAX, 0)];
        let mut shown = |rollbacks| herd.shown(Time::secs(2), None, &gauges(rollbacks), &[], &[]);
        assert_eq!(shown(4)["back"], json!([0, 0, 0]), "what was before the first frame is not new");
        let later = shown(7);
        assert_eq!(later["lvt"], json!([1.0, -1.0, null]));
        assert_eq!(later["back"], json!([3, 0, 0]));
    }

    #[test]
    fn federates_that_are_outside_are_where_their_programs_are() {
        let gauges = [gauge(Time::secs(3), 0), gauge(Time::secs(1), 0)];
        let mut shown = Herd::default().shown(Time::secs(1), None, &gauges, &[], &[]);
        let guest = |federate| OutsideFederate {
            federate,
            name: "alice".into(),
            reached: Box::new(|| (Time::secs(5), true)),
        };
        // One that is no more, since federates were merged, is left out.
        name_outside(&mut shown, Time::secs(1), &[guest(1), guest(2)]);
        assert_eq!((&shown["names"], &shown["lvt"]), (&json!(["federate 0", "alice"]), &json!([2.0, 4.0])));
    }

    #[test]
    fn a_great_many_federates_are_counted() {
        let gauges: Vec<_> = (0..100_000).map(|number| gauge(Time::millis(number), 0)).collect();
        let shown = Herd::default().shown(Time::ZERO, None, &gauges, &[], &[]);
        assert!(shown.to_string().len() < 2000);
        let counts: u64 =
            shown["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counts, 100_000);
    }
}
