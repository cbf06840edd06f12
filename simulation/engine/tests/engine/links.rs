//! What the report of a run of several processes says of messages and frames is what has passed between them.

use paceline_engine::{Link, Protocol, Simulation};
use paceline_transport::Memory;
use paceline_transport::marshal::{Marshalling, SizeLimit, TimeLimit};

use crate::facts::{Facts, assert_same, facts};
use crate::processes::{together, wide};

/// The links of a run of three processes with this limit, and what else its report says.
fn links(protocol: Protocol, size: SizeLimit) -> (Vec<Link>, Facts) {
    let mesh = wide();
    let marshalling = Marshalling { size, time: TimeLimit::default() };
    let run = || Simulation::new(mesh.clone()).until(mesh.until()).protocol(protocol).federates(6).threads(1);
    let runs = together(Memory::mesh(3), |_, end| run().marshalling(marshalling).join(end).run());
    let mut reports = runs.into_iter().map(|run| run.expect("the model keeps the rules"));
    let first = reports.next().expect("rank 0");
    let links = first.links.iter().cloned().chain(reports.flat_map(|report| report.links)).collect();
    (links, facts(first))
}

#[test]
fn frames_and_messages_are_those_that_passed() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let [(single, reference), (large, result)] =
            [SizeLimit::Off, SizeLimit::Bytes(1 << 16)].map(|size| links(protocol, size));
        assert_same(&result, &reference, protocol.name());
        for link in single.iter().chain(&large) {
            assert_eq!(link.sent.frames, link.path.frames_sent, "{protocol:?}: {link:?}");
            assert!(link.sent.records > 0, "{protocol:?}: {link:?}");
        }
        let peers: Vec<_> = single.iter().map(|link| link.path.peer).collect();
        assert_eq!(peers, [1, 2, 0, 2, 0, 1], "{protocol:?}: each process says how it reached all others");
        for link in &single {
            assert_eq!(link.sent.frames, link.sent.records, "{protocol:?}: a frame for each: {link:?}");
        }
        let sums = |links: &[Link]| {
            let sum = |count: fn(&Link) -> u64| links.iter().map(count).sum::<u64>();
            (sum(|link| link.sent.frames), sum(|link| link.sent.records))
        };
        let (frames, messages) = sums(&large);
        // Under windows what a process says of a round goes with its events. Elsewhere a message may find
        // nothing to wait for.
        let gathered = if protocol == Protocol::Window { frames < messages } else { frames <= messages };
        assert!(gathered, "{protocol:?}: {frames} frames for {messages} messages");
    }
}
