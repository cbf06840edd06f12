//! Linux's TCP in a guest beside our model on the same link: one flow of CUBIC or Reno, over latency, loss
//! and queue.

use paceline_packets::loss::LossModel;
use paceline_packets::queue::Share;
use paceline_packets::tcp::Algorithm;
use paceline_packets::{LinkSpec, Network};

use super::bench::{
    DATA, WIRE, cell, dumbbell, linux, near, refused, simulated, unless_skipped, with_guests,
};
use super::guests::Guests;
use super::transfers::{START, Span, Transfer, transfers};
use crate::parameters::kinds::{Unit, choice, count, span};
use crate::prelude::*;

/// The bottleneck, in bits a second.
const RATE: u64 = 10_000_000;
/// What is not counted at the beginning: slow start, in seconds.
const WARM_UP: u64 = 5;
/// How far apart the model and Linux may be, in per cent.
const TOLERANCE: f64 = 5.0;
const SOURCE: &str = "Linux in a guest";
/// The receive buffer of our model, 6 MiB, from the first segment on. By itself Linux begins with less and
/// lets it grow.
const BUFFER: &str = "echo 4096 6291456 6291456 >/proc/sys/net/ipv4/tcp_rmem";
/// The points of a window over time.
const POINTS: u64 = 300;

named! {
    /// Whose TCP sends through the bottleneck.
    enum Sender {
        Linux = "Linux in a guest",
        Ours = "our model",
    }
}

named! {
    /// A congestion control that both have.
    enum Control {
        Cubic = "CUBIC",
        Reno = "Reno",
    }
}

impl Control {
    /// Its name in Linux.
    const fn in_linux(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
        }
    }

    /// The segments that Mathis et al. call b: for so many the window grows by one part of a segment.
    const fn per_step(self) -> f64 {
        match self {
            // For each ACK, of which there is one for two segments.
            Self::Cubic => 2.0,
            // For what is acknowledged, however many ACKs say so (RFC 3465).
            Self::Reno => 1.0,
        }
    }

    const fn in_model(self) -> Algorithm {
        match self {
            Self::Cubic => Algorithm::Cubic,
            Self::Reno => Algorithm::NewReno,
        }
    }
}

/// A link with one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    control: Control,
    rtt_ms: u64,
    /// Packets lost in 1000, each way.
    loss: u64,
    /// How many packets the queue of the bottleneck has room for.
    queue: u32,
    /// Seconds after the start.
    seconds: u64,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let controls = parameters.distinct("controls", &choice(Control::ALL.map(|one| (one.name(), one))))?;
    let rtts = parameters.points("rtt_ms", &count(3..=1_000))?;
    let losses = parameters.points("loss_per_mille", &count(0..=100))?;
    let queues = parameters.points("queues", &count(1..=10_000))?;
    let seconds = parameters.one("horizon", &span(Unit::Secs, WARM_UP + 5..=10_000))?;
    let mut points = Vec::new();
    for &control in &controls {
        for &rtt_ms in &rtts {
            for &loss in &losses {
                let point = |&queue: &u32| Point { control, rtt_ms, loss, queue, seconds };
                points.extend(queues.iter().map(point));
            }
        }
    }
    let guests = Guests::new(&[]);
    let mut cells = Vec::new();
    for &point in &points {
        let guests = guests.clone();
        let run = move || Ok(measure(&point.guest(&guests)?, point));
        cells.push(cell(point.key(Sender::Linux), 10.0 * point.formula(), run));
        cells
            .push(cell(point.key(Sender::Ours), point.formula(), move || Ok(measure(&point.ours()?, point))));
    }
    Ok(Plan::new(cells, move |results| unless_skipped(judge(&points, results))))
}

impl Point {
    fn key(self, sender: Sender) -> String {
        let Self { control, rtt_ms, loss, queue, seconds } = self;
        format!("netwarp/tcp/{sender:?}/{control:?}/rtt{rtt_ms}/loss{loss}/queue{queue}/{seconds}s")
    }

    fn span(self) -> Span {
        Span::after_start(WARM_UP, self.seconds)
    }

    fn network(self) -> Found<Network> {
        let mut link = LinkSpec::new(RATE, 0).drop_tail(self.queue);
        if self.loss > 0 {
            let share = Share::ratio(self.loss, 1_000).ok_or_else(|| refused("no such share"))?;
            link = link.loss(LossModel::Random(share));
        }
        dumbbell(1, 1_000 * self.rtt_ms, link)
    }

    fn guest(self, guests: &Guests) -> Found<Transfer> {
        let model = with_guests(self.network()?)?;
        // Nobody reads the last bytes: the run ends before.
        let control = self.control.in_linux();
        let scripts = [
            format!("probe send 10.0.0.2 5001 1000000000000 {control}"),
            format!("{BUFFER}; probe sink 5001"),
        ];
        let ran = guests.run(&model, &scripts, START, self.span().end())?;
        let found = ran.captures.values().flat_map(|file| transfers(file)).next();
        found.ok_or_else(|| {
            CellError::Guests(format!("no connection was opened: {}", ran.consoles.join("\n")))
        })
    }

    fn ours(self) -> Found<Transfer> {
        let network = self.network()?;
        let found = simulated(network, &[(0, 1)], linux(self.control.in_model()), self.span().end())?;
        found.into_iter().next().ok_or_else(|| refused("no connection was opened"))
    }

    /// The goodput by Mathis et al. (1997), at most what the link has place for, in Mb/s.
    fn formula(self) -> f64 {
        let full = RATE as f64 * 1e-6 * DATA / WIRE;
        let (rtt, loss) = (self.rtt_ms as f64 * 1e-3, self.loss as f64 * 1e-3);
        let lossy = DATA * 8e-6 / rtt * (1.5 / (self.control.per_step() * loss)).sqrt();
        lossy.min(full)
    }
}

fn measure(transfer: &Transfer, point: Point) -> Measure {
    let span = point.span();
    let flight = transfer.flight(span, 100 * POINTS);
    let segments: Vec<f64> = flight.iter().map(|(_, bytes)| bytes / DATA).collect();
    let values = [
        ("mbps", transfer.goodput(span)),
        ("window", segments.iter().sum::<f64>() / segments.len() as f64),
        ("retransmissions", transfer.resent(span) as f64),
    ];
    let over_time = flight.iter().step_by(100).map(|(time, bytes)| (time - 5.0, bytes / DATA)).collect();
    Measure { values: values.into(), series: vec![over_time], ..Measure::default() }
}

fn judge(points: &[Point], results: &Results) -> Found<Finding> {
    let columns = [
        "control",
        "round trip (ms)",
        "loss",
        "queue",
        "Mathis",
        "Linux",
        "ours",
        "off",
        "window: Linux",
        "ours",
        "sent again: Linux",
        "ours",
    ];
    let mut table = Table::new("Goodput in Mb/s, mean window in segments", columns);
    let (mut claims, mut figures) = (Claims::default(), Vec::new());
    for &point in points {
        let of = |name: &str| -> Found<[f64; 2]> {
            let [linux, ours] = Sender::ALL.map(|sender| results.value(&point.key(sender), name));
            Ok([linux?, ours?])
        };
        let ([linux, ours], windows, resent) = (of("mbps")?, of("window")?, of("retransmissions")?);
        let numbers = [
            format!("{:.3}", point.formula()),
            format!("{linux:.3}"),
            format!("{ours:.3}"),
            format!("{:+.1} %", 100.0 * (ours / linux - 1.0)),
            format!("{:.1}", windows[0]),
            format!("{:.1}", windows[1]),
            format!("{:.0}", resent[0]),
            format!("{:.0}", resent[1]),
        ];
        let Point { control, rtt_ms, loss, queue, .. } = point;
        let loss = (loss as f64 / 1_000.0).to_string();
        let at = [control.name().to_owned(), rtt_ms.to_string(), loss.clone(), queue.to_string()];
        table.row([&at[..], &numbers].concat());
        let what = format!("{}, round trip {rtt_ms} ms, loss {loss}, queue {queue}", control.name());
        claims.add(format!("{what}: our goodput"), || Ok(near(ours, linux, TOLERANCE, "Mb/s", SOURCE)))?;
        claims.add(format!("{what}: our mean window"), || {
            Ok(near(windows[1], windows[0], TOLERANCE, "segments", SOURCE))
        })?;
        figures.push(figure(point, results)?);
    }
    let finding =
        Finding { about: about(), figures, tables: vec![table], notes: notes(), ..Finding::default() };
    Ok(claims.put_into(finding))
}

fn figure(point: Point, results: &Results) -> Found<Figure> {
    let series = Sender::ALL.map(|sender| -> Found<Series> {
        let points = results.get(&point.key(sender))?.series[0].clone();
        Ok(match sender {
            Sender::Linux => Series::published(sender.name(), Kind::Lines, points),
            Sender::Ours => Series::ours(sender.name(), Kind::Lines, points),
        })
    });
    let [linux, ours] = series;
    let Point { control, rtt_ms, loss, queue, .. } = point;
    let (control, loss) = (control.name(), loss as f64 / 1_000.0);
    let title = format!("Bytes under way: {control}, {rtt_ms} ms, loss {loss}, {queue} packets of queue");
    Ok(plot(
        title,
        "What has left and is not acknowledged, over the time since the flow began. Published: Linux.",
        [Axis::linear("time", "s"), Axis::linear("under way", "segments")],
        vec![linux?, ours?],
    ))
}

fn about() -> Vec<String> {
    vec![
        "One flow of CUBIC or Reno over a link of 10 Mb/s with a drop-tail queue, between hosts at 1 Gb/s. Once it goes from a guest to another one, with \
         Linux's TCP under simulated time; once between simulated hosts, with our TCP. Both lose the same packets: the nth on the link. Both are \
         measured in captures at the sender's link, from 5 s after the start on: goodput is what is acknowledged, the window what has left \
         and is not."
            .into(),
    ]
}

fn notes() -> Vec<String> {
    vec![
        "Mathis: MSS / RTT x sqrt(3 / (2 b p)), at most 1448 / 1538 of the link. For CUBIC b is 2, as there is an ACK for two segments; for Reno it is 1, \
         since Linux and our model count the segments that an ACK acknowledges. It leaves out queues and timeouts, and what CUBIC does beyond \
         Reno."
            .into(),
        "Ours is CUBIC as Linux computes it (`linux_windows`). As RFC 9438 has it, the window of Reno grows by a segment a round trip once it is past \
         the window before the last loss; in Linux it goes on at 8 / 15. At 40 ms and a loss of 0.01, where Reno decides, that alone is 9 % of the \
         goodput."
            .into(),
        "So is Reno: in Linux a window is whole segments, and half of 13 is 6. As RFC 5681 has it, it is 6.5, of which half a segment cannot leave, and \
         must be acknowledged for the window to grow: at 40 ms and a loss of 0.01 that is 3 % of the goodput."
            .into(),
        "An ACK that advances counts in Linux, and so in our Reno, for what it reports by SACK, too. The ACK of the segment before a loss reports the \
         one after it as well: the window often grows once more there, and the next round trip has a loss of its own. At 40 ms, a queue of 20 packets \
         and no random loss Reno sends two segments again in each cycle, not one. How many more are lost at a full queue depends on which segments leave \
         together, and Linux keeps the last of an odd number back for up to a millisecond, which our model does not."
            .into(),
        "The guest's receive buffer is that of our model, 6 MiB. By itself Linux lets it grow with the window: at 100 ms and a queue of 80 packets it \
         is then too small for what waits behind a hole in recovery, the sender stops, and goes on with bursts of which the queue drops a part. \
         Each loss then is two, and the mean window 115 segments instead of 145, though the goodput is only 0.7 % less."
            .into(),
    ]
}
