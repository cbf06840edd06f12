//! Figure 8: inserting and extracting a group of 1000 events, in the Enhanced Heap and in a binary heap, over
//! the size of the queue.
//!
//! *Burst*: 1000 events of one time. *Linear*: 1000 events of 1000 successive times. Queues are filled with
//! events of distinct, evenly spread times, all later than those of the group.

use std::hint::black_box;
use std::time::Instant;

use paceline_kernel::{BucketQueue, Event, EventQueue, Heap, LpId, TieBreak, Time};

use super::enhanced_heap::EnhancedHeap;
use crate::parameters::kinds::count;
use crate::prelude::*;
use crate::turns::{Times, order};

const GROUP: u64 = 1_000;
/// Groups of one measurement, of which the median counts: other programs disturb only a few of them.
const GROUPS: usize = 21;
/// The first of the times with which a queue is filled, and their distance.
const FILL_START_NS: u64 = 1 << 40;
const FILL_STEP_NS: u64 = 1_000;
const QUEUES: [&str; 3] = ["base heap", "Enhanced Heap", "buckets"];
const MANNERS: [&str; 2] = ["burst", "linear"];
/// What linear insertion into the Enhanced Heap saves of the time of a burst into the base heap, in per cent.
const PUBLISHED: f64 = 50.0;
/// Times that differ by a smaller factor count as constant.
const CONSTANT: f64 = 1.25;

/// What is run: the sizes of queues, and how often each.
#[derive(Clone, Debug)]
struct Runs {
    sizes: Vec<u64>,
    turns: u32,
}

impl Runs {
    fn key(&self, size: u64) -> String {
        format!("artis/heaps/{size}/{}turns", self.turns)
    }
}

/// A size in words: 10^3.
fn power(size: u64) -> String {
    let exponent = size.ilog10();
    if 10u64.pow(exponent) == size { format!("10^{exponent}") } else { size.to_string() }
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let sizes = parameters.points("sizes", &count(1_000..=20_000_000))?;
    let runs = Runs { sizes, turns: parameters.one("turns", &super::turns())? };
    let turns = runs.turns as usize;
    let cell = |size: &u64| {
        let size = *size;
        Cell {
            key: runs.key(size),
            weight: size as f64,
            alone: true,
            job: Box::new(move || Ok(measure(size, turns))),
        }
    };
    let cells = runs.sizes.iter().map(cell).collect();
    Ok(Plan::new(cells, move |results| judge(&runs, results)))
}

fn event(number: u64, at_ns: u64) -> Event<()> {
    Event::from_outside(TieBreak::Fixed, number, Time::nanos(at_ns), LpId(0), ())
}

/// Seconds that a filled queue takes to insert a group of times so far apart in nanoseconds, and to extract
/// it.
type Timed<'a> = Box<dyn FnMut(u64) -> [f64; 2] + 'a>;

fn filled<'a, Q: EventQueue<()> + 'a>(size: u64) -> Timed<'a> {
    let mut queue = Q::with_window(Time::ZERO);
    // Scattered over the range, so that it is not filled in order.
    let times = (0..size).map(|number| FILL_START_NS + number * 7_919 % size * FILL_STEP_NS);
    (0..).zip(times).for_each(|(number, at_ns)| queue.push(event(number, at_ns)));
    // This makes the queue do the work that it has deferred.
    queue.least_time();
    Box::new(move |step_ns| {
        let mut spans = [const { Vec::new() }; 2];
        for _ in 0..GROUPS {
            let start = Instant::now();
            (0..GROUP).for_each(|number| queue.push(event(number, FILL_STEP_NS + number * step_ns)));
            let between = Instant::now();
            (0..GROUP).for_each(|_| {
                black_box(queue.pop(Time::MAX));
            });
            spans[0].push((between - start).as_secs_f64());
            spans[1].push(between.elapsed().as_secs_f64());
        }
        spans.map(|seconds| median(&seconds))
    })
}

/// The series are, by queue and manner, insertion and extraction.
fn measure(size: u64, turns: usize) -> Measure {
    let mut queues =
        [filled::<Heap<()>>(size), filled::<EnhancedHeap<()>>(size), filled::<BucketQueue<()>>(size)];
    let steps_ns = [0, FILL_STEP_NS];
    let ways = QUEUES.len() * MANNERS.len();
    let mut series = vec![Vec::new(); 2 * ways];
    // The first turn does not count, because caches are cold.
    for turn in 0..=turns {
        for way in order(turn, ways) {
            let spans = queues[way / MANNERS.len()](steps_ns[way % MANNERS.len()]);
            if turn > 0 {
                for (part, seconds) in spans.into_iter().enumerate() {
                    series[2 * way + part].push((turn as f64, seconds));
                }
            }
        }
    }
    Measure { series, ..Measure::default() }
}

/// Insertion, extraction and both, of a queue and a manner.
fn times(measure: &Measure, queue: usize, manner: usize) -> [Times; 3] {
    let way = queue * MANNERS.len() + manner;
    let [insert, extract] = [0, 1].map(|part| Times::of(&measure.series[2 * way + part]));
    let both = insert.plus(&extract);
    [insert, extract, both]
}

fn judge(runs: &Runs, results: &Results) -> Found<Finding> {
    let mut finding = Finding {
        about: vec![
            "A group of 1000 events is inserted into a queue of the size on the x axis and extracted again, on one thread of this \
             machine, all queues and manners in turn; medians with the least and the most in brackets, ratios are medians of \
             ratios within a turn. Insertion and extraction together, as in the paper."
                .into(),
        ],
        ..Finding::default()
    };
    let (table, curves) = table_and_curves(runs, results)?;
    let mut claims = Claims::default();
    claim(&mut claims, runs, results, &curves)?;
    let names = QUEUES.iter().flat_map(|queue| MANNERS.map(|manner| format!("{queue}, {manner}")));
    let series = names.zip(curves).map(|(name, points)| Series::ours(name, Kind::Lines, points)).collect();
    finding.figures.push(plot(
        "Figure 8: a group of 1000 events inserted and extracted",
        "The paper's curves are plots; its text says how they lie to each other.",
        [Axis::log("events in the queue", ""), Axis::linear("time for a group", "us")],
        series,
    ));
    finding.tables.push(table);
    finding.notes = vec![
        "Ours differs from the paper's in what a node of the heap holds: not one list of simultaneous events but a run of such \
         lists with ascending times. A time later than the end of a run used lately is appended to it, without a look at the \
         heap; and the heap orders runs by their first times. With a node for each time, as the paper has it and ours had until \
         now, linear insertion took twice the time of a binary heap: it does all that a heap does, and finds and makes a list for \
         each event besides."
            .into(),
        "The Enhanced Heap's burst differs between sizes by up to a third, 9 to 14 ns for an insertion, from one build or run to the next at other sizes, \
         and not with the size; the cause is not known."
            .into(),
        "\"Buckets\" is the queue that Paceline takes where nothing is said; the paper has no such curve.".into(),
    ];
    Ok(claims.put_into(finding))
}

/// Microseconds over the size, by queue and manner.
type Curves = Vec<Vec<(f64, f64)>>;

fn table_and_curves(runs: &Runs, results: &Results) -> Found<(Table, Curves)> {
    let columns =
        ["queue, group", "size", "insert (us)", "extract (us)", "both (us)", "of base heap, same group"];
    let mut table = Table::new("Microseconds for a group of 1000", columns);
    let mut curves = vec![Vec::new(); QUEUES.len() * MANNERS.len()];
    for size in runs.sizes.iter().copied() {
        let measure = results.get(&runs.key(size))?;
        for (queue, name) in QUEUES.iter().enumerate() {
            for (manner, group) in MANNERS.iter().enumerate() {
                let [insert, extract, both] = times(measure, queue, manner);
                curves[queue * MANNERS.len() + manner].push((size as f64, 1e6 * both.median()));
                let texts = [&insert, &extract, &both].map(|times| times.text(1e6));
                let mut row = vec![format!("{name}, {group}"), power(size)];
                row.extend(texts);
                row.push(format!("{:.2}", both.ratio(&times(measure, 0, manner)[2])));
                table.row(row);
            }
        }
    }
    Ok((table, curves))
}

/// What the paper says of the curves.
fn claim(claims: &mut Claims, runs: &Runs, results: &Results, curves: &Curves) -> Found<()> {
    let (mut of_burst, mut of_linear) = (Vec::new(), Vec::new());
    for size in &runs.sizes {
        let measure = results.get(&runs.key(*size))?;
        let linear = &times(measure, 1, 1)[2];
        let saved =
            |manner: usize| linear.compared(&times(measure, 0, manner)[2]).map(|part| 100.0 * (1.0 - part));
        of_burst.push(saved(0));
        of_linear.push(saved(1));
    }
    let names: Vec<_> = runs.sizes.iter().map(|size| power(*size)).collect();
    let sizes = several(&names).map_or(names[0].clone(), |(least, most)| format!("{least} to {most}"));
    claims.add(
        format!("time that the Enhanced Heap, linear, saves of the base heap's burst, sizes {sizes}"),
        || {
            let criterion = Criterion::published(PUBLISHED, Tolerance::PERCENTAGES).or(Shape::Above(0.0));
            Ok((criterion, Ours::all(of_burst.iter().copied(), "%")))
        },
    )?;
    claims.add(
        format!("time that the Enhanced Heap, linear, saves of the base heap's linear, sizes {sizes}"),
        || {
            let words = "the base heap's linear is only a little better than its burst";
            let criterion = Criterion::stated(Statement::Order, words, Shape::Above(0.0));
            Ok((criterion, Ours::all(of_linear, "%")))
        },
    )?;
    claims.add("Enhanced Heap, burst: the slowest size, times the fastest", || {
        several(&runs.sizes)?;
        let burst = || curves[MANNERS.len()].iter().map(|(_, micros)| *micros);
        let least = burst().fold(f64::INFINITY, f64::min);
        let criterion = Criterion::stated(Statement::Order, "almost constant", Shape::at_most(CONSTANT));
        let ours = Ours::one(burst().fold(0.0, f64::max) / least, "times");
        Ok((criterion, ours.with(format!("{least:.1} us at the fastest"))))
    })?;
    let worst = |size: &usize| {
        let at = |queue: usize, manner: usize| curves[queue * MANNERS.len() + manner][*size].1;
        at(0, 0) >= at(0, 1) && at(0, 0) >= at(1, 0) && at(0, 0) >= at(1, 1)
    };
    claims.add("sizes at which the base heap's burst is the slowest of the four", || {
        let (slowest, all) = ((0..of_burst.len()).filter(worst).count(), of_burst.len());
        let criterion =
            Criterion::stated(Statement::Order, "the worst performance", Shape::exactly(all as f64));
        Ok((criterion, Ours::one(slowest as f64, "").with(format!("of {all}"))))
    })?;
    Ok(())
}
