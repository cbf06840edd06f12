//! One bottleneck against formulas: a full link carries its rate less headers, and random loss gives the
//! window of Mathis et al. (1997).

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, Connection, Segment, Settings};

use super::network::{Network, Path, mix};

/// A link: bits a second, latency, and how many packets wait at most.
#[derive(Clone)]
struct Link {
    rate: u64,
    latency: Time,
    limit: usize,
    free: Time,
    starts: std::collections::VecDeque<Time>,
    drops: u64,
}

impl Link {
    fn new(rate: u64, latency: Time, limit: usize) -> Self {
        Self { rate, latency, limit, free: Time::ZERO, starts: Default::default(), drops: 0 }
    }

    /// When a packet that comes at `now` is at the other end.
    fn send(&mut self, now: Time, bytes: u64) -> Option<Time> {
        while self.starts.front().is_some_and(|&start| start <= now) {
            self.starts.pop_front();
        }
        let start = self.free.max(now);
        if start > now {
            if self.starts.len() >= self.limit {
                self.drops += 1;
                return None;
            }
            self.starts.push_back(start);
        }
        self.free = start + Time::ticks(bytes * 8 * Time::TICKS_PER_SECOND / self.rate);
        Some(self.free + self.latency)
    }
}

/// Two access links a flow with a bottleneck between them, both ways, and random loss of data behind it.
struct Dumbbell {
    /// For each flow: left and right, for each direction.
    access: Vec<[[Link; 2]; 2]>,
    middle: [Link; 2],
    /// Of a million packets with data.
    loss: u64,
    count: u64,
}

impl Dumbbell {
    fn new(flows: usize, rate: u64, latency: Time, queue: usize) -> Self {
        let access = Link::new(1_000_000_000, Time::micros(100), usize::MAX);
        let access = [[access.clone(), access.clone()], [access.clone(), access]];
        let middle = [Link::new(rate, latency, queue), Link::new(rate, latency, queue)];
        Self { access: vec![access; flows], middle, loss: 0, count: 0 }
    }
}

impl Path for Dumbbell {
    fn send(&mut self, now: Time, flow: usize, from: usize, segment: &Segment) -> Vec<(Time, bool)> {
        // IP and PPP: 22 bytes.
        let bytes = u64::from(segment.header_bytes()) + u64::from(segment.length) + 22;
        self.count += 1;
        let [first, last] = &mut self.access[flow][from];
        let arrival = first.send(now, bytes).and_then(|time| self.middle[from].send(time, bytes));
        if segment.length > 0 && mix(self.count) % 1_000_000 < self.loss {
            return vec![];
        }
        arrival.and_then(|time| last.send(time, bytes)).map(|time| (time, false)).into_iter().collect()
    }
}

/// As ns-3's program of the comparison has it: no SACK, ACKs for every second segment, at most 200 ms late.
fn classic() -> Settings {
    Settings {
        receive_buffer: 1 << 26,
        ack_delay: Time::millis(200),
        sack: false,
        abc: 0,
        ..Settings::default()
    }
}

/// Bits a second delivered to each flow between two times.
fn goodput(network: &mut Network<Dumbbell>, from: Time, until: Time) -> Vec<f64> {
    network.run(from);
    let before = network.delivered();
    network.run(until);
    let seconds = (until - from).as_secs_f64();
    let rates = network.delivered().into_iter().zip(before);
    rates.map(|(after, before)| (after - before) as f64 * 8.0 / seconds).collect()
}

fn one_flow(settings: &Settings, path: Dumbbell, from: Time, until: Time) -> f64 {
    let flows = [(Time::ZERO, Connection::ENDLESS)];
    let mut network = Network::new(path, [settings.clone(), settings.clone()], &flows);
    let rate = goodput(&mut network, from, until)[0];
    println!("{:?} drops {}", network.flows[0].ends[0].counters(), network.path.middle[0].drops);
    rate
}

const MBPS: f64 = 1e6;

fn assert_near(what: &str, found: f64, expected: f64, part: f64) {
    println!("{what}: {found:.4}, expected {expected:.4}");
    assert!((found / expected - 1.0).abs() <= part, "{what}: {found}, expected {expected} within {part}");
}

#[test]
fn one_flow_fills_the_link() {
    for sack in [false, true] {
        for abc in [0, 2] {
            let settings = Settings { sack, abc, ..classic() };
            let path = Dumbbell::new(1, 10_000_000, Time::millis(20), 50);
            let rate = one_flow(&settings, path, Time::secs(10), Time::secs(60));
            assert_near("SACK, ABC", rate / MBPS, 10.0 * 1448.0 / 1502.0, 0.001);
        }
    }
}

#[test]
fn short_queues_cost_what_the_sawtooth_says() {
    for (queue, expected) in [(4, 7.6), (8, 8.2), (16, 9.0), (34, 9.63)] {
        for settings in [classic(), Settings { sack: true, ..classic() }] {
            let path = Dumbbell::new(1, 10_000_000, Time::millis(20), queue);
            let rate = one_flow(&settings, path, Time::secs(20), Time::secs(200));
            assert_near(&format!("queue {queue}"), rate / MBPS, expected, 0.06);
        }
    }
}

#[test]
fn random_loss_gives_the_window_of_mathis() {
    // The last one counts the bytes of an ACK (RFC 3465): every second ACK is worth every one.
    let rows = [
        (1000, 1, 0, 4.469),
        (1000, 2, 0, 3.160),
        (3000, 1, 0, 2.580),
        (3000, 2, 0, 1.824),
        (1000, 2, 2, 4.469),
    ];
    for (loss, ack_every, abc, expected) in rows {
        for sack in [false, true] {
            let settings = Settings { sack, ack_every, abc, min_rto: Time::millis(200), ..classic() };
            let path = Dumbbell { loss, ..Dumbbell::new(1, 1_000_000_000, Time::millis(50), usize::MAX) };
            let rate = one_flow(&settings, path, Time::secs(100), Time::secs(2000));
            assert_near(&format!("loss {loss}, ACKs {ack_every}, L {abc}"), rate / MBPS, expected, 0.07);
        }
    }
}

/// BBR fills a link but for one percent that pacing leaves and half of the pipe in ProbeRTT, for 200 ms and a
/// round trip every five seconds; and whatever the queue, it keeps the round trip within a quarter of the
/// path's.
#[test]
fn bbr_fills_the_link_and_not_the_queue() {
    for (rate, latency, queue, ack_every) in
        [(10, 20, 1000, 2), (100, 10, 1000, 2), (10, 100, 1000, 1), (10, 20, 25, 1)]
    {
        let settings = Settings { algorithm: Algorithm::Bbr, ack_every, ..Settings::default() };
        let path = Dumbbell::new(1, rate * 1_000_000, Time::millis(latency), queue);
        let flows = [(Time::ZERO, Connection::ENDLESS)];
        let mut network = Network::new(path, [settings.clone(), settings], &flows);
        let found = goodput(&mut network, Time::secs(10), Time::secs(60))[0];
        let sender = &network.flows[0].ends[0];
        println!(
            "{:?} {:?} drops {}",
            sender.smoothed_rtt(),
            sender.counters(),
            network.path.middle[0].drops
        );
        let round_trip = 2.0 * latency as f64 / 1e3;
        let share = 0.99 - (0.2 + round_trip) / 10.0;
        assert_near(&format!("{rate} Mb/s"), found / MBPS, rate as f64 * 1448.0 / 1502.0 * share, 0.02);
        let smoothed = sender.smoothed_rtt().expect("it has measured").as_secs_f64();
        assert!(smoothed < 1.25 * round_trip + 0.002, "{smoothed} s of {round_trip} s");
    }
}

/// draft-ietf-ccwg-bbr, section "Design Considerations for Choosing Constant Parameters": a loss of one
/// percent is to be tolerated. NewReno has a third of the link there, by Mathis.
#[test]
fn bbr_does_not_mind_random_loss() {
    let lossy = || Dumbbell { loss: 10_000, ..Dumbbell::new(1, 10_000_000, Time::millis(20), 100) };
    let settings = Settings { algorithm: Algorithm::Bbr, ..Settings::default() };
    let bbr = one_flow(&settings, lossy(), Time::secs(10), Time::secs(100));
    let settings = Settings { algorithm: Algorithm::NewReno, ..settings };
    let newreno = one_flow(&settings, lossy(), Time::secs(10), Time::secs(100));
    println!("BBR {bbr:.0}, NewReno {newreno:.0}");
    assert!(bbr > 0.8 * 9.31 * MBPS, "{bbr}");
    assert!(newreno < 0.4 * 9.64 * MBPS, "{newreno}");
}
