//! `cargo bench -p paceline-engine --bench queues`: inserting and extracting a group of 1000 events in heaps
//! of many sizes, as in figure 8 of the ARTIS paper.
//!
//! *Burst*: 1000 events of one time, just before everything else. *Linear*: 1000 events of 1000 successive
//! times. Queues are filled with events of distinct, evenly spread times. *Hold*, which the paper has not:
//! 1000 times the least event is extracted, and one inserted that is later by a random time (Vaucher and
//! Duval, 1975), exponential with the mean of the queue's span: no order to make use of.

#[path = "common/mod.rs"]
mod common;

use comfy_table::{Table, presets};
use common::{Candidate, interleave, rounds};
use paceline_kernel::{
    BucketQueue, Context, Event, EventQueue, Federate, Heap, LpId, Model, Outbox, Partition, Rng, Settings,
    TieBreak, Time,
};

const GROUP: u64 = 1_000;
/// Groups inserted and extracted in one measurement.
const GROUPS: u64 = 20;

/// A model that only makes events: LP 0 sends them all to LP 1, in another federate, whose inbox we read.
struct Source {
    times: Vec<Time>,
}

impl Model for Source {
    type State = ();
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        2
    }
    fn lookahead(&self) -> Time {
        Time::nanos(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) {
        if lp == LpId(0) {
            self.times.iter().for_each(|time| cx.send(LpId(1), *time, ()));
        }
    }
    fn handle(&self, _state: &mut (), _event: &(), _cx: &mut Context<Self>) {}
}

/// Events at these times.
fn events(times: Vec<Time>) -> Vec<Event<()>> {
    let model = Source { times };
    let partition = Partition::runs(2, 2);
    let settings = Settings { seed: 1, ties: TieBreak::Fixed, window: Time::ZERO };
    let mut outbox = Outbox::new(2);
    Federate::<Source>::start(&model, &partition, settings, 0, &mut outbox)
        .expect("first events go anywhere");
    outbox.take(1, Vec::new())
}

/// Time from which a filled queue's events are, and their distance.
const FILL_START: u64 = 1 << 40;
const FILL_STEP: u64 = 1_000;

fn candidate<'a, Q: EventQueue<()> + 'a>(
    name: String,
    fill: &[Event<()>],
    group: &'a [Event<()>],
) -> Candidate<'a> {
    let mut queue = Q::with_window(Time::ZERO);
    fill.iter().for_each(|event| queue.push(event.clone()));
    // Settle what the queue defers, such as the order of its first bucket.
    queue.least_time();
    let run = move || {
        for _ in 0..GROUPS {
            group.iter().for_each(|event| queue.push(event.clone()));
            for _ in 0..GROUP {
                let least = queue.pop(Time::MAX).expect("what went in comes out");
                assert!(least.time() < Time::nanos(FILL_START), "the group comes first");
            }
        }
        GROUPS
    };
    Candidate { name, run: Box::new(run) }
}

/// Extracts the least and inserts a later one, again and again.
fn hold<'a, Q: EventQueue<()> + 'a>(name: String, fill: &[Event<()>]) -> Candidate<'a> {
    let mut queue = Q::with_window(Time::ZERO);
    fill.iter().for_each(|event| queue.push(event.clone()));
    let mut rng = Rng::new(1, 0);
    let span_ns = (fill.len() as u64 * FILL_STEP) as f64;
    let mut number = 0;
    let run = move || {
        for _ in 0..GROUPS * GROUP {
            let least = queue.pop(Time::MAX).expect("as many come in as go out");
            let at = least.time() + Time::nanos(rng.exponential(span_ns) as u64);
            queue.push(Event::from_outside(TieBreak::Fixed, number, at, LpId(0), ()));
            number += 1;
        }
        GROUPS
    };
    Candidate { name, run: Box::new(run) }
}

fn main() {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let burst = events(vec![Time::nanos(1_000); GROUP as usize]);
    let linear = events((1..=GROUP).map(|step| Time::nanos(step * 1_000)).collect());
    for exponent in 3..=7 {
        let size = 10u64.pow(exponent);
        // Scattered over the range, so that the heap is not filled in order.
        let scattered = (0..size).map(|i| Time::nanos(FILL_START + i * 7_919 % size * FILL_STEP));
        let fill = events(scattered.collect());
        let mut candidates = Vec::new();
        for (manner, group) in [("burst", &burst), ("linear", &linear)] {
            candidates.push(candidate::<Heap<()>>(format!("heap, {manner}"), &fill, group));
            candidates.push(candidate::<BucketQueue<()>>(format!("bucket, {manner}"), &fill, group));
        }
        candidates.push(hold::<Heap<()>>("heap, hold".into(), &fill));
        candidates.push(hold::<BucketQueue<()>>("bucket, hold".into(), &fill));
        let measured = interleave(candidates, rounds());
        let names = measured.iter().map(|row| row.name.clone());
        table.set_header(["us per group of 1000".to_string()].into_iter().chain(names));
        let cells =
            measured.iter().map(|row| format!("{:.1} (±{:.0} %)", 1e6 / row.median(), row.spread_percent()));
        table.add_row([format!("10^{exponent} pending")].into_iter().chain(cells));
    }
    println!("{table}");
}
