//! iperf3 through a bottleneck with several flows, in guests and in our model: shares, fairness, utilisation.

use paceline_packets::tcp::Algorithm;
use paceline_packets::{LinkSpec, Network};

use super::bench::{DATA, WIRE, cell, dumbbell, linux, near, simulated, unless_skipped, with_guests};
use super::guests::Guests;
use super::transfers::{START, Span, Transfer, transfers};
use crate::parameters::kinds::{Unit, count, span};
use crate::prelude::*;

/// The bottleneck, in bits a second.
const RATE: u64 = 10_000_000;
const RTT_US: u64 = 40_000;
/// What is not counted at the beginning, in seconds.
const WARM_UP: u64 = 5;
/// How far apart the sums of the model and of the guests may be, and their indices of fairness, in per cent.
const TOLERANCE: f64 = 5.0;
const FAIRNESS_TOLERANCE: f64 = 10.0;
/// A connection that sent less than this is not of a flow but the one by which iperf3 agrees on the test.
const LEAST_BYTES: u64 = 20_000;

named! {
    /// Whose TCP sends through the bottleneck.
    enum Sender {
        Linux = "iperf3 in a guest",
        Ours = "our model",
    }
}

/// Flows that share the bottleneck.
#[derive(Clone, Copy, Debug)]
struct Point {
    flows: u32,
    /// How many packets the queue of the bottleneck has room for.
    queue: u32,
    /// Seconds after the start.
    seconds: u64,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let flows = parameters.points("flows", &count(1..=64))?;
    let queue = parameters.one("queue", &count(1..=10_000))?;
    let seconds = parameters.one("horizon", &span(Unit::Secs, WARM_UP + 5..=10_000))?;
    let points: Vec<Point> = flows.iter().map(|&flows| Point { flows, queue, seconds }).collect();
    let guests = Guests::new(&["iperf3"]);
    let mut cells = Vec::new();
    for &point in &points {
        let guests = guests.clone();
        cells.push(cell(point.key(Sender::Linux), 10.0, move || point.measure(&point.guest(&guests)?)));
        cells.push(cell(point.key(Sender::Ours), 1.0, move || point.measure(&point.ours()?)));
    }
    Ok(Plan::new(cells, move |results| unless_skipped(judge(&points, results))))
}

impl Point {
    fn key(self, sender: Sender) -> String {
        let Self { flows, queue, seconds } = self;
        format!("netwarp/flows/{sender:?}/{flows}/queue{queue}/{seconds}s")
    }

    fn span(self) -> Span {
        Span::after_start(WARM_UP, self.seconds)
    }

    fn network(self) -> Found<Network> {
        dumbbell(1, RTT_US, LinkSpec::new(RATE, 0).drop_tail(self.queue))
    }

    fn guest(self, guests: &Guests) -> Found<Vec<Transfer>> {
        let model = with_guests(self.network()?)?;
        // The server is up when the client begins. The run ends before iperf3 does.
        let client = format!("sleep 1; iperf3 -c 10.0.0.2 -P {} -t {} -i 0", self.flows, 2 * self.seconds);
        let ran = guests.run(&model, &[client, "iperf3 -s".into()], START, self.span().end())?;
        let mut found: Vec<Transfer> = ran.captures.values().flat_map(|file| transfers(file)).collect();
        found.retain(|transfer| transfer.bytes() >= LEAST_BYTES);
        if found.len() != self.flows as usize {
            let (found, consoles) = (found.len(), ran.consoles.join("\n"));
            return Err(CellError::Guests(format!("{found} flows of {}: {consoles}", self.flows)));
        }
        Ok(found)
    }

    fn ours(self) -> Found<Vec<Transfer>> {
        let ends = vec![(0, 1); self.flows as usize];
        simulated(self.network()?, &ends, linux(Algorithm::Cubic), self.span().end())
    }

    fn measure(self, transfers: &[Transfer]) -> Found<Measure> {
        let span = self.span();
        let mut rates: Vec<f64> = transfers.iter().map(|transfer| transfer.goodput(span)).collect();
        rates.sort_by(f64::total_cmp);
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        let resent: usize = transfers.iter().map(|transfer| transfer.resent(span)).sum();
        let values = [
            ("mbps", sum),
            ("jain", sum * sum / (rates.len() as f64 * squares)),
            ("retransmissions", resent as f64),
        ];
        let shares = (1..).zip(&rates).map(|(number, rate)| (f64::from(number), *rate)).collect();
        Ok(Measure { values: values.into(), series: vec![shares], ..Measure::default() })
    }
}

fn judge(points: &[Point], results: &Results) -> Found<Finding> {
    let columns = ["flows", "sender", "sum (Mb/s)", "of the link", "least", "most", "Jain", "sent again"];
    let mut table = Table::new("Goodput through a bottleneck of 10 Mb/s", columns);
    let (mut claims, mut figures) = (Claims::default(), Vec::new());
    let full = RATE as f64 * 1e-6 * DATA / WIRE;
    for &point in points {
        let mut series = Vec::new();
        for sender in Sender::ALL {
            let key = point.key(sender);
            let (sum, shares) = (results.value(&key, "mbps")?, results.get(&key)?.series[0].clone());
            let ends = [shares.first(), shares.last()];
            let [least, most] = ends.map(|share| share.map_or(0.0, |(_, rate)| *rate));
            table.row([
                point.flows.to_string(),
                sender.name().to_owned(),
                format!("{sum:.3}"),
                format!("{:.1} %", 100.0 * sum / full),
                format!("{least:.3}"),
                format!("{most:.3}"),
                format!("{:.3}", results.value(&key, "jain")?),
                format!("{:.0}", results.value(&key, "retransmissions")?),
            ]);
            series.push(match sender {
                Sender::Linux => Series::published(sender.name(), Kind::Points, shares),
                Sender::Ours => Series::ours(sender.name(), Kind::Points, shares),
            });
        }
        let of = |sender: Sender, name: &str| results.value(&point.key(sender), name);
        for (name, what, percent, unit) in
            [("mbps", "goodput", TOLERANCE, "Mb/s"), ("jain", "Jain's index", FAIRNESS_TOLERANCE, "")]
        {
            let right = of(Sender::Linux, name)?;
            claims.add(format!("{} flows: {what}", point.flows), || {
                Ok(near(of(Sender::Ours, name)?, right, percent, unit, "iperf3 in guests"))
            })?;
        }
        figures.push(plot(
            format!("Shares of {} flows", point.flows),
            "Goodput of each flow in ascending order. Published: iperf3 in guests.",
            [Axis::linear("flow", ""), Axis::linear("goodput", "Mb/s")],
            series,
        ));
    }
    let finding =
        Finding { about: about(), figures, tables: vec![table], notes: notes(), ..Finding::default() };
    Ok(claims.put_into(finding))
}

fn about() -> Vec<String> {
    vec![
        "iperf3 of Debian, unmodified, sends over several connections from one guest to another one through a bottleneck of 10 Mb/s with a round trip \
         of 40 ms and a drop-tail queue. Beside it the same number of flows of our CUBIC between simulated hosts. Goodput is what is acknowledged \
         at the sender's link from 5 s after the start on."
            .into(),
    ]
}

fn notes() -> Vec<String> {
    vec![
        "iperf3 opens its connections a round trip after another one, and a moment later than our flows, which all begin at once. The link has place \
         for 1448 / 1538 of its rate."
            .into(),
    ]
}
