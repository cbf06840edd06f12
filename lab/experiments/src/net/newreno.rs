//! NewReno at a bottleneck of 10 Mb/s and 20 ms with a drop-tail queue, as ns-3's program of the comparison
//! has it.

use paceline_kernel::Time;
use paceline_packets::{FlowResult, LinkSpec, Packets, Tcp};

use super::bench::{
    DATA, MS, S, US, WIRE, cell, classic, dumbbell, flows, goodput, jain, near, results as run, value,
};
use crate::parameters::kinds::{Unit, count, span};
use crate::prelude::*;

/// What ns-3 3.37 delivers with a queue of so many packets, in Mb/s.
const SHORT_QUEUES: [(f64, f64); 4] = [(4.0, 7.597), (8.0, 8.200), (16.0, 9.016), (34.0, 9.625)];
/// In per cent.
const SHORT_TOLERANCE: f64 = 6.0;
/// The queue of all other runs.
const QUEUE: u32 = 50;
/// How far off the goodput of a full link may be, in per cent.
const FULL_TOLERANCE: f64 = 0.1;
/// What each of the many flows has to send, and when the median of them is done in ns-3 3.37.
const BYTES: u64 = 1_448_000;
const MEDIAN_S: f64 = 17.813;
/// The same in ns-3 3.37 with starts so many milliseconds apart.
const MEDIANS: [(u64, f64); 11] = [
    (5, 17.948),
    (6, 17.264),
    (7, 17.835),
    (8, 16.626),
    (9, 18.551),
    (10, 17.813),
    (11, 16.822),
    (12, 18.238),
    (13, 18.065),
    (14, 17.929),
    (15, 18.167),
];
/// In per cent.
const MEDIAN_TOLERANCE: f64 = 5.0;
/// The fairness of the many flows in ns-3 3.37, and how far off ours may be, in per cent.
const JAIN: f64 = 0.960;
const JAIN_TOLERANCE: f64 = 3.0;
/// The flows that share the bottleneck.
const MANY: u32 = 16;

/// What is run.
#[derive(Clone, Debug)]
struct Runs {
    queues: Vec<u32>,
    apart_ms: Vec<u64>,
    seconds: u64,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        queues: parameters.points("queues", &count(1..=1_000))?,
        apart_ms: parameters.points("apart_ms", &count(1..=1_000))?,
        seconds: parameters.one("horizon", &span(Unit::Secs, 30..=3_600))?,
    };
    let seconds = runs.seconds;
    let mut cells: Vec<Cell> = runs
        .queues
        .iter()
        .map(|&queue| {
            cell(runs.of_queue(queue), seconds as f64, move || {
                let rates = goodput(network(1, queue, None, 0)?, Time::secs(20), Time::secs(seconds))?;
                Ok(value("mbps", rates[0]))
            })
        })
        .collect();
    cells.push(cell("net/newreno/one".into(), 60.0, || {
        let rates = goodput(network(1, QUEUE, None, 0)?, Time::secs(10), Time::secs(60))?;
        Ok(value("mbps", rates[0]))
    }));
    cells.push(cell("net/newreno/many".into(), 60.0, || {
        let rates = goodput(network(MANY, QUEUE, None, 10)?, Time::secs(10), Time::secs(60))?;
        let values = [("jain", jain(&rates)), ("mbps", rates.iter().sum())];
        Ok(Measure { values: values.into(), ..Measure::default() })
    }));
    let completion = |&ms: &u64| cell(of_spacing(ms), 30.0, move || completions(ms));
    cells.extend(runs.apart_ms.iter().map(completion));
    Ok(Plan::new(cells, move |results| judge(&runs, results)))
}

impl Runs {
    fn of_queue(&self, queue: u32) -> String {
        format!("net/newreno/queue{queue}/{}s", self.seconds)
    }
}

fn of_spacing(ms: u64) -> String {
    format!("net/newreno/completions/{ms}ms")
}

fn network(count: u32, queue: u32, bytes: Option<u64>, apart_ms: u64) -> Found<Packets> {
    let bottleneck = LinkSpec::new(10_000_000, 20 * MS).drop_tail(queue);
    let tcp = Tcp { bytes, ..Tcp::new(classic()) };
    flows(dumbbell(count, 100 * US, &bottleneck)?, &tcp, apart_ms * MS)
}

/// When each of the flows is done, in ascending order.
fn completions(apart_ms: u64) -> Found<Measure> {
    let found = run(&network(MANY, QUEUE, Some(BYTES), apart_ms)?, Time::secs(120))?;
    let done = |flow: &FlowResult| flow.receiver.and_then(|receiver| receiver.done_ps);
    let times = found.flows.iter().map(|flow| done(flow).map(|ps| ps as f64 / S as f64));
    let Some(mut times) = times.collect::<Option<Vec<f64>>>() else {
        return Err(CellError::Network(format!("{} of {MANY} flows are done in 120 s", found.flows_done)));
    };
    times.sort_by(f64::total_cmp);
    let series = vec![times.iter().enumerate().map(|(place, time)| (place as f64, *time)).collect()];
    let values = [("median", times[times.len() / 2])];
    Ok(Measure { values: values.into(), series, ..Measure::default() })
}

fn judge(runs: &Runs, results: &Results) -> Found<Finding> {
    let full = 10.0 * DATA / WIRE;
    let mut claims = Claims::default();
    let one = results.value("net/newreno/one", "mbps")?;
    claims.add(format!("one flow, a queue of {QUEUE} packets: goodput"), || {
        Ok(near(one, full, FULL_TOLERANCE, "Mb/s", "10 x 1448 / 1502; 9.6404 in ns-3 3.37"))
    })?;
    let mut ours = Vec::new();
    for &queue in &runs.queues {
        ours.push((f64::from(queue), results.value(&runs.of_queue(queue), "mbps")?));
    }
    for (queue, right) in SHORT_QUEUES {
        claims.add(format!("one flow, a queue of {queue} packets: goodput"), || {
            let found = results.value(&runs.of_queue(queue as u32), "mbps")?;
            Ok(near(found, right, SHORT_TOLERANCE, "Mb/s", "ns-3 3.37"))
        })?;
    }
    let jain = results.value("net/newreno/many", "jain")?;
    claims.add(format!("{MANY} long flows: Jain's index"), || {
        Ok(near(jain, JAIN, JAIN_TOLERANCE, "", "ns-3 3.37"))
    })?;
    let medians = runs.apart_ms.iter().map(|&ms| results.value(&of_spacing(ms), "median"));
    let medians: Vec<f64> = medians.collect::<Found<_>>()?;
    claims.add(
        format!("{MANY} flows of {BYTES} bytes: median completion, the mean over spacings of starts"),
        || Ok(near(mean(&medians).mean, MEDIAN_S, MEDIAN_TOLERANCE, "s", "ns-3 3.37, starts 10 ms apart")),
    )?;
    let finding = Finding {
        about: vec![
            "Hosts at 1 Gb/s and 100 us at both ends of a link of 10 Mb/s and 20 ms with a drop-tail queue. NewReno without SACK, an ACK for \
             every second segment; segments of 1448 bytes, 1502 on the wire. Goodput is counted after the first seconds."
                .into(),
        ],
        figures: vec![queue_figure(ours, full)],
        tables: vec![spacing_table(runs, results)?],
        notes: notes(),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn queue_figure(ours: Vec<(f64, f64)>, full: f64) -> Figure {
    let name = "one NewReno flow";
    let bound = vec![(ours[0].0, full), (ours[ours.len() - 1].0, full)];
    plot(
        "Goodput over the queue",
        "A flow halves its window when the queue overflows: a short queue runs empty then. Published: ns-3 3.37.",
        [Axis::linear("queue", "packets"), Axis::linear("goodput", "Mb/s")],
        vec![
            Series::ours(name, Kind::Lines, ours),
            Series::published(name, Kind::Points, SHORT_QUEUES.to_vec()),
            Series::ours("a full link", Kind::Steps, bound),
        ],
    )
}

fn spacing_table(runs: &Runs, results: &Results) -> Found<Table> {
    let columns = ["starts apart (ms)", "first (s)", "median (s)", "last (s)", "median in ns-3 (s)"];
    let mut table = Table::new(format!("Completion of {MANY} flows of {BYTES} bytes"), columns);
    for &ms in &runs.apart_ms {
        let measure = results.get(&of_spacing(ms))?;
        let times: Vec<f64> = measure.series[0].iter().map(|(_, time)| *time).collect();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { continue };
        let cells = [*first, measure.values["median"], *last].map(|time| format!("{time:.3}"));
        let known = MEDIANS.iter().find(|(apart, _)| *apart == ms);
        let theirs = known.map_or("-".to_owned(), |(_, median)| format!("{median}"));
        table.row([vec![format!("{ms}")], cells.to_vec(), vec![theirs]].concat());
    }
    Ok(table)
}

fn notes() -> Vec<String> {
    vec![
        "Which of 16 flows loses a packet when is chaotic: for starts 5 to 15 ms apart the median completion is from 16.6 to 18.6 s in ns-3, \
         17.751 s in the mean. The mean over spacings does not depend on one draw; the table has each."
            .into(),
    ]
}
