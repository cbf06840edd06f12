//! The fat tree of UNISON's tests (NASA-NJU/UNISON-for-ns-3, `fat-tree-mtp` at 100 Mb/s) with its list of
//! flows.
//!
//! The list is not copied: it is drawn again by the rule of that program, from the same generator with the
//! same seed and streams. What the program says of its list (number, mean size, rate) is checked.

use paceline_kernel::Time;
use paceline_packets::queue::{Limit, QueueSettings, Threshold};
use paceline_packets::tcp::{Counters, Settings};
use paceline_packets::{Ecmp, Flow, LinkSpec, Packets, Tcp, topology};

use super::bench::{S, US, cell, near, refused, results as run};
use super::mrg32k3a::Mrg32k3a;
use crate::parameters::kinds::count;
use crate::prelude::*;

/// The seed: ns-3's hash of an empty text. The first of the three streams of the generator of flows, those of
/// sizes, of ends and of times: nodes and queues have those before it.
const SEED: u32 = 2_117_788_537;
const FIRST_STREAM: u64 = 154;
/// The web search workload of the DCTCP paper as the program has it: sizes and the share of flows that are
/// not greater.
const SIZES: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10_000.0, 0.15),
    (20_000.0, 0.20),
    (30_000.0, 0.30),
    (50_000.0, 0.40),
    (80_000.0, 0.53),
    (200_000.0, 0.60),
    (1_000_000.0, 0.70),
    (2_000_000.0, 0.80),
    (5_000_000.0, 0.90),
    (10_000_000.0, 0.97),
    (30_000_000.0, 1.0),
];
const HOSTS: u32 = 16;
/// 30 % of the bisection of 16 links of 100 Mb/s.
const RATE: f64 = 0.3 * 16.0 * 100e6;
/// The end of the run and of the list in seconds.
const END: u64 = 1;
/// The program has 10 ms, less than a full queue takes, and sends many a SYN twice. In ns-3 that changes
/// nothing; by RFC 5681, section 3.1, a connection whose SYN was sent again begins with one segment, whose
/// ACK is then delayed for 200 ms. The value of RFC 6298 lets no SYN be sent twice.
const INITIAL_RTO: Time = Time::secs(1);
/// What the reference log says: flows drawn (the last of them beyond the end), their mean size in MB and
/// their rate in Gb/s; flows seen, of which each connection has two, those of them done, and their mean time.
const DRAWN: (usize, f64, f64) = (34, 1.19742, 0.322_004);
const SEEN: (usize, usize) = (66, 64);
const MEAN_MS: f64 = 104.715;
/// In per cent.
const TOLERANCE: f64 = 10.0;
const SOURCE: &str = "reference log";

/// A flow of the list: start in seconds, sender, receiver, bytes.
type Drawn = (f64, u32, u32, u64);

/// The list, by the rule of the program, with the first flow that starts after the end.
fn draw() -> Vec<Drawn> {
    let [mut sizes, mut ends, mut times] =
        [0, 1, 2].map(|stream| Mrg32k3a::new(SEED, FIRST_STREAM + stream, 1));
    let expected: f64 =
        SIZES.windows(2).map(|pair| f64::midpoint(pair[0].0, pair[1].0) * (pair[1].1 - pair[0].1)).sum();
    let interval = expected * 8.0 / RATE;
    let (mut now, mut list) = (0.0, Vec::new());
    while now < END as f64 {
        // Whether the flow is one of an incast, of which there are none.
        ends.next();
        let mut host = || (ends.next() * f64::from(HOSTS)) as u32;
        let to = host();
        let from = loop {
            let from = host();
            if from != to {
                break from;
            }
        };
        let bytes = size(sizes.next());
        now -= interval * times.next().ln();
        list.push((now, from, to, bytes));
    }
    list
}

/// The size with this share of flows below it, on the line between two entries.
fn size(share: f64) -> u64 {
    let pair = SIZES.windows(2).find(|pair| share <= pair[1].1).unwrap_or(&SIZES[SIZES.len() - 2..]);
    let slope = (pair[1].0 - pair[0].0) / (pair[1].1 - pair[0].1);
    (pair[0].0 + slope * (share - pair[0].1)).round().max(1.0) as u64
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let mark = parameters.one("mark_packets", &count(1..=1_000))?;
    let key = format!("net/unison/mark{mark}");
    let cells = vec![cell(key.clone(), 1.0, move || measure(mark))];
    Ok(Plan::new(cells, move |results| judge(mark, &key, results)))
}

/// RED of the program marks from 50 bytes of its own queue on, but that gets what does not fit the device's
/// queue of 100 packets before it.
fn marking(mark: u32) -> QueueSettings {
    let (limit, mark) = (Limit::Bytes(4_150_000), Limit::Packets(mark));
    QueueSettings::Threshold(Threshold { limit, mark, drops_incapable: false })
}

fn network(mark: u32) -> Found<Packets> {
    let link = LinkSpec::new(100_000_000, 3 * US).queue(marking(mark));
    let network = topology::fat_tree(4, &link).map_err(refused)?;
    let hosts = network.hosts();
    let settings = Settings {
        receive_buffer: 1_073_725_440,
        initial_rto: INITIAL_RTO,
        min_rto: Time::millis(5),
        granularity: Time::micros(100),
        ..super::dctcp::settings()
    };
    let tcp = Tcp::new(settings);
    let listed = draw().into_iter().filter(|drawn| drawn.0 < END as f64);
    let flow = |(start, from, to, bytes): Drawn| {
        let start_ps = (start * S as f64) as u64;
        Flow::tcp(hosts[from as usize], hosts[to as usize], tcp.clone().bytes(bytes)).starting(start_ps)
    };
    let flows = listed.map(flow).collect();
    Ok(Packets::new(network, flows).map_err(refused)?.ecmp(Ecmp::Flow))
}

/// Flows as the program counts them: the data and the ACKs of a connection are one each. The series has
/// starts and times in seconds; a flow that is not done counts to the end.
fn measure(mark: u32) -> Found<Measure> {
    let model = network(mark)?;
    let found = run(&model, Time::secs(END))?;
    let of_flow = |(flow, result): (&Flow, &paceline_packets::FlowResult)| {
        let done = result.receiver.and_then(|receiver| receiver.done_ps);
        let start = flow.start_ps as f64 / S as f64;
        (start, done.unwrap_or(END * S) as f64 / S as f64 - start)
    };
    let times: Vec<(f64, f64)> = model.flows().iter().zip(&found.flows).map(of_flow).collect();
    let seconds: Vec<f64> = times.iter().map(|(_, seconds)| *seconds).collect();
    let senders = || found.flows.iter().filter_map(|flow| flow.sender);
    let count = |of: fn(&Counters) -> u32| senders().map(|end| f64::from(of(&end.counters))).sum();
    let list = draw();
    let bytes: u64 = list.iter().map(|drawn| drawn.3).sum();
    let values = [
        ("drawn", list.len() as f64),
        ("megabytes", bytes as f64 / list.len() as f64 * 1e-6),
        ("gigabits", bytes as f64 * 8e-9 / list.last().map_or(1.0, |drawn| drawn.0)),
        ("seen", 2.0 * times.len() as f64),
        ("done", 2.0 * found.flows_done as f64),
        ("mean_ms", 1e3 * mean(&seconds).mean),
        ("sent", found.packets_sent as f64),
        ("retransmissions", count(|end| end.retransmissions)),
        ("timeouts", count(|end| end.timeouts)),
    ];
    Ok(Measure { values: values.into(), series: vec![times], ..Measure::default() })
}

fn judge(mark: u32, key: &str, results: &Results) -> Found<Finding> {
    let list = draw();
    let mut claims = Claims::default();
    let value = |name| results.value(key, name);
    claims.add("flows drawn, their mean size in MB and their rate in Gb/s", || {
        // As many digits as the log has.
        let criterion = Criterion::each([DRAWN.0 as f64, DRAWN.1, DRAWN.2], Tolerance::Percent(1e-3));
        let drawn = ["drawn", "megabytes", "gigabits"].map(value).into_iter().collect::<Found<Vec<_>>>()?;
        Ok((criterion.saying(SOURCE), Ours::all(drawn, "")))
    })?;
    let (seen, done, mean_ms) = (value("seen")?, value("done")?, value("mean_ms")?);
    claims.add("flows done in 1 s, and flows seen", || {
        let criterion = Criterion::each([SEEN.1 as f64, SEEN.0 as f64], Tolerance::Exact).saying(SOURCE);
        Ok((criterion, Ours::all([done, seen], "")))
    })?;
    claims.add("mean completion, of all to the end of the run", || {
        Ok(near(mean_ms, MEAN_MS, TOLERANCE, "ms", SOURCE))
    })?;
    let times = results.get(key)?.series[0].clone();
    let points = times.iter().map(|(start, seconds)| (*start, 1e3 * seconds)).collect();
    let figure = plot(
        "Completion times",
        "Each connection by its start; one that is not done counts to the end of the run.",
        [Axis::linear("start", "s"), Axis::log("completion", "ms")],
        vec![Series::ours("a connection", Kind::Points, points)],
    );
    let mut packets = Table::new("Packets", ["", "ours", "reference log"]);
    for (what, name, theirs) in
        [("sent", "sent", "26704"), ("sent again", "retransmissions", "-"), ("timeouts", "timeouts", "-")]
    {
        packets.row([what.to_owned(), format!("{}", value(name)?), theirs.to_owned()]);
    }
    let mut table = Table::new("Connections", ["start (s)", "from", "to", "bytes", "time (ms)"]);
    for ((start, from, to, bytes), (_, seconds)) in list.iter().zip(&times) {
        let [start, time] = [format!("{start:.6}"), format!("{:.3}", 1e3 * seconds)];
        table.row([start, format!("{from}"), format!("{to}"), format!("{bytes}"), time]);
    }
    let finding = Finding {
        about: vec![
            "A fat tree of k = 4 with links of 100 Mb/s and 3 us and DCTCP: 33 connections of the web search workload at 30 % of the bisection, \
             for a second. Each connection takes one of the equal paths."
                .into(),
        ],
        figures: vec![figure],
        tables: vec![packets, table],
        notes: notes(mark),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn notes(mark: u32) -> Vec<String> {
    vec![
        "The list of flows is drawn by the rule of UNISON's program: MRG32k3a with its seed and streams gives the number, the mean size and the \
         rate that its log states."
            .into(),
        format!(
            "Ports in that program have a device queue of 100 packets and RED before it, which marks from 50 bytes on: here a port marks beyond \
             {mark} packets. Its hash of a flow picks other paths than ours."
        ),
        "The program waits 10 ms for the answer to a SYN, less than a full queue takes, and sends many twice. In ns-3 that changes nothing. By \
         RFC 5681 (section 3.1) such a connection begins with one segment, whose ACK is then delayed for 200 ms: with 10 ms here 58 are done, \
         and the mean is 140.0 ms. Here it waits a second (RFC 6298), and no SYN is sent twice."
            .into(),
    ]
}
