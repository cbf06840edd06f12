//! The lines of `flows.csv` and `links.csv`: columns, and the values of a row in the same order. Tests and
//! `docs/packets.md` find columns by their place, some from the left and some from the right.

use paceline_results::Column;

use crate::clock::PS_PER_SECOND;
use crate::results::{FlowResult, LinkResult};
use crate::tcp::State;
use crate::{Flow, Network, Rdma, Tcp, Trace, Transport, UDP_HEADER_BYTES, Udp};

/// The TCP header, and what timestamps add to it (RFC 7323, section 3.2, with two bytes of padding).
const TCP_HEADER: u64 = 20;
const TIMESTAMPS: u64 = 12;

/// A field of CSV (RFC 4180, section 2): between quotation marks where it would be read otherwise.
pub fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Seconds with as many decimals as needed.
pub fn seconds(ps: u64) -> String {
    let (whole, rest) = (ps / PS_PER_SECOND, ps % PS_PER_SECOND);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{rest:012}").trim_end_matches('0'))
}

/// The columns of `flows.csv`.
pub const FLOWS: [Column; 17] = [
    Column::integers("flow"),
    Column::texts("from"),
    Column::texts("to"),
    Column::texts("transport"),
    Column::reals("start_s"),
    Column::reals("end_s"),
    Column::reals("completion_s"),
    Column::reals("slowdown"),
    Column::integers("bytes"),
    Column::integers("packets_sent"),
    Column::integers("packets_arrived"),
    Column::reals("mean_delay_s"),
    Column::integers("reordered"),
    Column::integers("retransmissions"),
    Column::integers("timeouts"),
    Column::integers("duplicate_acks"),
    Column::integers("marks"),
];

/// A line of `flows.csv`.
#[derive(Debug)]
pub struct FlowRow {
    pub from: u32,
    pub to: u32,
    transport: &'static str,
    start_ps: u64,
    /// When all of it had arrived, where it has an end and all has.
    end_ps: Option<u64>,
    /// How long a flow that has an end would take if it sent without a pause and met nobody.
    ideal_ps: Option<u64>,
    /// What the applications at its ends got.
    pub bytes: u64,
    pub result: FlowResult,
}

impl FlowRow {
    pub fn new(network: &Network, flow: &Flow, result: &FlowResult) -> Self {
        let (&Flow { from, to, .. }, start_ps) = (flow, result.start_ps(flow));
        let row = Self {
            from,
            to,
            transport: flow.transport.name(),
            start_ps,
            end_ps: None,
            ideal_ps: None,
            bytes: 0,
            result: result.clone(),
        };
        match &flow.transport {
            Transport::Udp(udp) => row.udp(udp),
            Transport::Trace(trace) => row.trace(trace),
            Transport::Tcp(tcp) => row.tcp(network, tcp),
            Transport::Rdma(rdma) => row.rdma(network, rdma),
        }
    }

    fn udp(self, udp: &Udp) -> Self {
        let arrivals = &self.result.arrivals;
        let is_done = udp.packets.is_some_and(|packets| u64::from(packets) == arrivals.packets);
        let header = u64::from(UDP_HEADER_BYTES.min(udp.wire_bytes));
        // A flow of no packets has ended when it begins.
        let end_ps = is_done.then_some(arrivals.last_ps.max(self.start_ps));
        Self { end_ps, bytes: arrivals.bytes - arrivals.packets * header, ..self }
    }

    fn trace(self, trace: &Trace) -> Self {
        let arrivals = &self.result.arrivals;
        let is_done = trace.count() == Some(arrivals.packets);
        let end_ps = is_done.then_some(arrivals.last_ps.max(self.start_ps));
        let header = arrivals.packets * u64::from(UDP_HEADER_BYTES);
        Self { end_ps, bytes: arrivals.bytes - header, ..self }
    }

    fn tcp(self, network: &Network, tcp: &Tcp) -> Self {
        let options = if tcp.sender.timestamps && tcp.receiver.timestamps { TIMESTAMPS } else { 0 };
        let data = (u64::from(tcp.sender.mss.min(tcp.receiver.mss)).saturating_sub(options)).max(1);
        let header = u64::from(tcp.below_bytes) + TCP_HEADER + options;
        self.stream(network, tcp.bytes, data, header)
    }

    fn rdma(self, network: &Network, rdma: &Rdma) -> Self {
        self.stream(network, rdma.bytes, u64::from(rdma.mtu), u64::from(rdma.header_bytes))
    }

    /// A stream of so many bytes in packets of so much data behind headers.
    fn stream(self, network: &Network, bytes: Option<u64>, data: u64, header: u64) -> Self {
        let ideal_ps = bytes.map(|bytes| ideal_ps(network, self.from, self.to, bytes, data, header));
        let receiver = self.result.receiver;
        Self {
            end_ps: receiver.and_then(|receiver| receiver.done_ps),
            ideal_ps,
            bytes: self.result.delivered(),
            ..self
        }
    }

    pub fn completion_ps(&self) -> Option<u64> {
        Some(self.end_ps? - self.start_ps)
    }

    /// Whether an end of its connection has given up.
    pub fn is_given_up(&self) -> bool {
        self.result.ends().any(|end| end.state == State::Aborted)
    }

    pub fn line(&self, number: u64, names: &[String]) -> String {
        let (arrivals, sending) = (&self.result.arrivals, &self.result.sending);
        let ends = || self.result.ends();
        let optional = |ps: Option<u64>| ps.map_or(String::new(), seconds);
        let sent = sending.packets + ends().map(|end| end.sent).sum::<u64>();
        let arrived = arrivals.packets + ends().map(|end| end.arrived).sum::<u64>();
        let delay_ps = arrivals.delay_sum_ps + ends().map(|end| end.delay_sum_ps).sum::<u128>();
        let mean_ps = delay_ps.checked_div(u128::from(arrived)).map(|ps| ps as u64);
        let slowdown = self.completion_ps().zip(self.ideal_ps);
        let slowdown =
            slowdown.map_or(String::new(), |(took, ideal)| format!("{:.6}", took as f64 / ideal as f64));
        let counted = ends().fold([0u64; 4], |[sent_again, timeouts, duplicates, marks], end| {
            let counters = &end.counters;
            [
                sent_again + u64::from(counters.retransmissions),
                timeouts + u64::from(counters.timeouts),
                duplicates + u64::from(counters.duplicate_acks),
                marks + u64::from(counters.marks_received),
            ]
        });
        let [retransmissions, timeouts, duplicate_acks, marks] = counted;
        format!(
            "{number},{},{},{},{},{},{},{slowdown},{},{sent},{arrived},{},{},{retransmissions},{timeouts},{duplicate_acks},{marks}\n",
            names[self.from as usize],
            names[self.to as usize],
            self.transport,
            seconds(self.start_ps),
            optional(self.end_ps),
            optional(self.completion_ps()),
            self.bytes,
            optional(mean_ps),
            arrivals.reordered,
        )
    }
}

/// How long `bytes` take in full segments one behind the other on a shortest way on which nobody else sends,
/// without a handshake: the first segment link by link, the others behind it through the slowest link.
fn ideal_ps(network: &Network, from: u32, to: u32, bytes: u64, data: u64, header: u64) -> u64 {
    let first = u128::from(bytes.min(data) + header);
    let others = u128::from(bytes) + u128::from(bytes.div_ceil(data)) * u128::from(header) - first;
    let time_ps = |bytes: u128, rate: u64| bytes * 8 * u128::from(PS_PER_SECOND) / u128::from(rate);
    let (mut node, mut sum_ps, mut slowest) = (from, 0, u64::MAX);
    while node != to {
        let port = network.next_port(node, to, 0);
        let link = network.link(node, port);
        sum_ps += u128::from(link.latency_ps) + time_ps(first, link.rate);
        slowest = slowest.min(link.rate);
        node = network.peer(node, port);
    }
    u64::try_from(sum_ps + time_ps(others, slowest)).unwrap_or(u64::MAX)
}

/// The columns of `links.csv`.
pub const LINKS: [Column; 10] = [
    Column::texts("from"),
    Column::texts("to"),
    Column::integers("rate_bps"),
    Column::integers("packets"),
    Column::integers("bytes"),
    Column::integers("dropped"),
    Column::integers("lost"),
    Column::integers("marked"),
    Column::integers("most_waiting"),
    Column::reals("utilisation"),
];

/// A line of `links.csv`: one direction of a link.
#[derive(Debug)]
pub struct LinkRow {
    from: u32,
    to: u32,
    rate: u64,
    /// The share of the run in which it was sending.
    utilisation: f64,
    result: LinkResult,
}

impl LinkRow {
    pub fn new(network: &Network, result: &LinkResult, run_s: f64) -> Self {
        let rate = network.link(result.node, result.port).rate;
        let utilisation =
            if run_s > 0.0 { result.sent_bytes as f64 * 8.0 / (rate as f64 * run_s) } else { 0.0 };
        // What a FIFO port has taken may still wait when the run ends.
        let utilisation = utilisation.min(1.0);
        let to = network.peer(result.node, result.port);
        Self { from: result.node, to, rate, utilisation, result: result.clone() }
    }

    pub fn line(&self, names: &[String]) -> String {
        let LinkResult { sent, sent_bytes, dropped, lost, marked, most_waiting, .. } = self.result;
        let (from, to) = (&names[self.from as usize], &names[self.to as usize]);
        let (rate, utilisation) = (self.rate, self.utilisation);
        format!(
            "{from},{to},{rate},{sent},{sent_bytes},{dropped},{lost},{marked},{most_waiting},{utilisation:.6}\n"
        )
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::{LinkSpec, topology};

    #[test]
    fn fields_and_times_are_read_back() {
        assert_eq!((quoted("a b"), quoted("a,\"b\"")), ("a b".to_owned(), "\"a,\"\"b\"\"\"".to_owned()));
        assert_eq!((seconds(0), seconds(1_500_000_000_001)), ("0".to_owned(), "1.500000000001".to_owned()));
    }

    /// 1448 bytes are 1502 on the wire: 8 x 1502 bits at 1 Gb/s, then 10 Mb/s, then 1 Gb/s, and 20.2 ms of
    /// latency; each further segment takes its time at 10 Mb/s alone.
    #[test]
    fn the_ideal_time_is_that_of_the_slowest_link() {
        let access = LinkSpec::new(1_000_000_000, 100_000_000);
        let network = topology::dumbbell(1, &access, &LinkSpec::new(10_000_000, 20_000_000_000)).unwrap();
        let (from, to) = (network.node("left-0").unwrap(), network.node("right-0").unwrap());
        let one_ps = 20_200_000_000 + 1502 * 8 * (1_000 + 100_000 + 1_000);
        assert_eq!(ideal_ps(&network, from, to, 1448, 1448, 54), one_ps);
        assert_eq!(ideal_ps(&network, from, to, 3 * 1448, 1448, 54), one_ps + 2 * 1502 * 8 * 100_000);
    }
}
