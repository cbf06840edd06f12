//! Flows that follow a trace: what is sent when, in every mode, and what is refused.

use std::sync::Arc;

use paceline_kernel::{Model, Time};
use paceline_packets::{
    Drive, Flow, LinkSpec, Network, NetworkBuilder, NodeKind, PacketError, Packets, Trace, Udp, files, pairs,
    topology,
};

use crate::digests::agree_in_every_way;
use crate::networks::sequential;

/// Two hosts, on whose link a byte takes 80 ps.
fn two_hosts() -> (Network, u32, u32) {
    let mut builder = NetworkBuilder::new();
    let (from, to) = (builder.node("a", NodeKind::Host).unwrap(), builder.node("b", NodeKind::Host).unwrap());
    builder.link(from, to, &LinkSpec::new(100_000_000_000, 5_000_000)).unwrap();
    (builder.build().unwrap(), from, to)
}

fn traced(trace: Trace, start_ps: u64) -> Packets {
    let (network, from, to) = two_hosts();
    Packets::new(network, vec![Flow::trace(from, to, Arc::new(trace)).starting(start_ps)]).unwrap()
}

/// Each packet is at the other end when it would be if the trace were played by hand, to the picosecond.
#[test]
fn packets_are_sent_when_the_trace_says() {
    let packets = [(3, 30), (1_000_001, 1_230), (1_000_001, 47), (7_777_777, 9_000)];
    let (network, from, to) = two_hosts();
    let last = |count: usize| {
        let trace = Trace::new(packets[..count].to_vec()).unwrap();
        let flow = Flow::trace(from, to, Arc::new(trace)).starting(500_000_000);
        let (results, _) = sequential(&Packets::new(network.clone(), vec![flow]).unwrap(), Time::MAX);
        let arrivals = &results.flows[0].arrivals;
        (arrivals.packets, arrivals.bytes, arrivals.last_ps)
    };
    // By hand: the link is free from then on.
    let mut free_ps = 0;
    for count in 1..=packets.len() {
        let (at_ps, bytes) = packets[count - 1];
        free_ps = free_ps.max(500_000_000 + at_ps) + u64::from(bytes) * 80;
        let sum = packets[..count].iter().map(|packet| u64::from(packet.1)).sum();
        assert_eq!(last(count), (count as u64, sum, free_ps + 5_000_000));
    }
}

/// A trace of 3 packets that begins again after 10 us, for 95 us: ten rounds, of which the last is cut short.
#[test]
fn a_repeated_trace_begins_again_after_its_period() {
    let trace = Trace::new(vec![(0, 100), (2_000_000, 200), (6_000_000, 300)]).unwrap();
    let model = traced(trace.repeated(10_000_000).unwrap(), 0);
    let (results, _) = sequential(&model, Time::micros(95));
    assert_eq!(results.packets_sent, 9 * 3 + 2);
    assert_eq!(results.flows[0].sending.packets, 29);
}

/// A source that sends evenly, written down as a trace, has the same results.
#[test]
fn a_source_and_its_trace_are_alike() {
    let udp = Udp { rate: 3_000_000_007, wire_bytes: 777, drive: Drive::Constant, packets: Some(500) };
    let (network, from, to) = two_hosts();
    let by_rate = Packets::new(network, vec![Flow::udp(from, to, udp)]).unwrap();
    let moment = |number: u128| (number * 777 * 8 * 1_000_000_000_000 / u128::from(udp.rate)) as u64;
    let trace = Trace::new((0..500).map(|number| (moment(number), 777)).collect()).unwrap();
    let ((by_rate, _), (by_trace, _)) =
        (sequential(&by_rate, Time::MAX), sequential(&traced(trace, 0), Time::MAX));
    assert_eq!(by_rate.flows[0].arrivals, by_trace.flows[0].arrivals);
}

/// What a Poisson source puts on its link, written down packet by packet, arrives as that source's packets.
#[test]
fn a_poisson_source_and_its_trace_are_alike() {
    let (bytes, count) = (777, 60);
    let (network, from, to) = two_hosts();
    let arrivals = |flow: Flow| {
        let (results, _) = sequential(&Packets::new(network.clone(), vec![flow]).unwrap(), Time::MAX);
        results.flows[0].arrivals.clone()
    };
    let drawn = |packets: u32| {
        let udp =
            Udp { rate: 60_000_000_000, wire_bytes: bytes, drive: Drive::Poisson, packets: Some(packets) };
        arrivals(Flow::udp(from, to, udp)).last_ps
    };
    // A packet enters its link by its length and the latency before it arrives.
    let way_ps = u64::from(bytes) * 80 + 5_000_000;
    let recorded: Vec<_> = (1..=count).map(|packets| (drawn(packets) - way_ps, bytes)).collect();
    let even = recorded.windows(3).all(|three| three[1].0 - three[0].0 == three[2].0 - three[1].0);
    assert!(!even, "nothing was drawn");
    for packets in 1..=count {
        let trace = Trace::new(recorded[..packets as usize].to_vec()).unwrap();
        let replayed = arrivals(Flow::trace(from, to, Arc::new(trace)));
        assert_eq!((replayed.packets, replayed.last_ps), (u64::from(packets), drawn(packets)));
    }
}

#[test]
fn traces_through_a_bottleneck_agree_in_every_way() {
    let access = LinkSpec::new(1_000_000_000, 10_000_000);
    let bottleneck = LinkSpec::new(400_000_000, 50_000_000).drop_tail(10);
    let network = topology::dumbbell(3, &access, &bottleneck).unwrap();
    let packets = (0u64..200).map(|number| (number * 7_000_001, 100 + (number * number % 1_400) as u32));
    let once = Arc::new(Trace::new(packets.collect()).unwrap());
    let again = Arc::new(Trace::clone(&once).repeated(1_400_000_000).unwrap());
    let ends = pairs(&network, "left-*", "right-*").unwrap();
    let traces = [again.clone(), once, again];
    let flows = ends.into_iter().zip(traces).map(|((from, to), trace)| Flow::trace(from, to, trace));
    let model = Packets::new(network, flows.collect()).unwrap();
    let (results, _) = sequential(&model, Time::millis(5));
    assert!(results.packets_dropped > 50, "{} packets dropped", results.packets_dropped);
    agree_in_every_way(&model, Time::millis(5));
}

/// A run is not resumed with another trace, and what tells them apart is short however long they are.
#[test]
fn parameters_tell_traces_apart() {
    let trace = |last: u32| {
        let packets = (0..50_000).map(|number| (number, if number == 49_999 { last } else { 99 }));
        Trace::new(packets.collect()).unwrap()
    };
    let parameters = |trace: Trace| traced(trace, 0).parameters();
    let texts =
        [parameters(trace(99)), parameters(trace(98)), parameters(trace(99).repeated(50_000).unwrap())];
    assert!(texts[0] != texts[1] && texts[0] != texts[2] && texts[1] != texts[2], "{texts:?}");
    assert_eq!(texts[0], parameters(trace(99)));
    assert!(format!("{:?}", trace(99)).len() < 100);
}

#[test]
fn traces_that_cannot_be_sent_are_refused() {
    let refused = |result: Result<Trace, PacketError>, words: &[&str]| {
        let text = result.unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    refused(Trace::new(vec![]), &["packet 1", "is not there", "at least one"]);
    refused(Trace::new(vec![(5, 99), (4, 99)]), &["packet 2", "4 ps", "after one at 5 ps"]);
    refused(Trace::new(vec![(5, 29)]), &["packet 1", "29 bytes", "from 30"]);
    refused(Trace::new(vec![(5, 1_000_001)]), &["1000001 bytes", "1,000,000"]);
    refused(Trace::new(vec![(u64::MAX, 99)]), &["at most 10^18 ps"]);
    let trace = Trace::new(vec![(5, 99), (6, 99)]).unwrap();
    refused(trace.clone().repeated(5), &["packet 2", "6 ps", "again after 5 ps"]);
    refused(Trace::new(vec![(0, 99)]).unwrap().repeated(0), &["period above 0"]);
}

#[test]
fn files_that_are_no_traces_are_refused_with_their_line() {
    for (text, words) in [
        ("", "trace.csv:1: a file without a header; allowed: a header of time,bytes"),
        ("time,bytes\n", "trace.csv:1: packet 1 is not there; allowed: a trace of at least one packet"),
        ("time,bytes\n# none\n\n1,100\n0.5,100\n", "trace.csv:5: packet 2 is sent at 500000000000 ps"),
        ("time,bytes\n1,100,5\n", "trace.csv:2: 3 values in a table of 2 columns"),
        ("time,length\n1,100\n", "trace.csv:1: a column \"length\""),
        ("time,bytes\n-1,100\n", "trace.csv:2: a time of \"-1\"; allowed: a time up to 11 days"),
        ("time,bytes\n1,10.5\n", "trace.csv:2: \"10.5\" bytes; allowed: a whole number from 30"),
        ("time,bytes\n1,20\n", "trace.csv:2: packet 1 has 20 bytes; allowed: from 30"),
        ("time,bytes\n1,5000000000\n", "trace.csv:2: \"5000000000\" bytes"),
    ] {
        let error = files::trace("trace.csv", text).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
}
