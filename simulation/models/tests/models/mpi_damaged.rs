//! Damaged MPI traces are read, or refused with a line; what is read can be replayed to its end or to a typed
//! error.

use paceline_kernel::Rng;
use paceline_models::mpi_trace::{MpiTrace, TraceError};
use paceline_network::{FlowModel, Flows, read};
use paceline_processes::Simulation;

const VERSIONS: u64 = 6000;
/// A trace with more ranks than this is not replayed.
const RANKS_MAX: u32 = 64;

const SEED: &str = "0 init\n1 init\n2 init 0\n# a remark\n0 compute 2e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n1 isend 2 3 100 1\n\
    2 irecv 1 3 100 1\n2 wait 1 2 3\n1 waitall\n0 barrier\n1 barrier\n2 barrier\n0 bcast 5e5 1 0\n1 bcast 5e5 1 0\n\
    2 bcast 5e5 1 0\n0 reduce 10 1e6 2\n1 reduce 10 1e6 2\n2 reduce 10 1e6 2\n0 allreduce 8 0\n1 allreduce 8 0\n\
    2 allreduce 8 0\n0 alltoall 100 100\n1 alltoall 100 100\n2 alltoall 100 100\n0 sleep 0.1\n1 irecv any 5 8\n\
    1 test any 1 5\n0 isend 1 5 8 26\n0 wait 0 1 5\n0 gatherv 1 1 2 3 0 1 1\n1 gatherv 2 1 2 3 0 1 1\n2 gatherv 3 1 2 3 0 1 1\n\
    0 allgatherv 1 1 2 3\n1 allgatherv 2 1 2 3\n2 allgatherv 3 1 2 3\n0 scatterv 1 2 3 1 1\n1 scatterv 1 2 3 2 1\n\
    2 scatterv 1 2 3 3 1\n0 reducescatter 1 2 3 9\n1 reducescatter 1 2 3 9\n2 reducescatter 1 2 3 9\n\
    0 alltoallv 9 1 2 3 9 1 2 3\n1 alltoallv 9 1 2 3 9 1 2 3\n2 alltoallv 9 1 2 3 9 1 2 3\n0 scan 5 7\n1 scan 5 7\n2 scan 5 7\n\
    0 sendRecv 8 1 8 2\n1 sendRecv 8 2 8 0\n2 sendRecv 8 0 8 1\n0 finalize\n1 finalize\n2 finalize\n";

/// Words of traces, to replace others; with blanks between them.
const WORDS: &str = "0 2 3 65535 65536 4294967294 4294967295 1e308 1e-320 -1 -0 nan inf 0.5 wait irecv compute \
    bcast \n # any -555 59 test gatherv";

const PLATFORM: &str = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\
    <host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>\
    <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route><route src=\"a\" dst=\"a\"><link_ctn id=\"l\"/></route>\
    <route src=\"b\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";

/// An intact trace with some words, lines and bytes changed.
fn damaged(rng: &mut Rng) -> String {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut lines: Vec<Vec<&str>> = SEED.lines().map(|line| line.split(' ').collect()).collect();
    for _ in 0..=rng.below(3) {
        let (line, other) = (rng.below(lines.len() as u64) as usize, rng.below(lines.len() as u64) as usize);
        let word = rng.below(lines[line].len() as u64) as usize;
        let new = words[rng.below(words.len() as u64) as usize];
        match rng.below(6) {
            0 => drop(lines[line].remove(word)),
            1 => lines[line].insert(word, new),
            2 => lines.swap(line, other),
            3 if lines.len() > 2 => drop(lines.remove(line)),
            _ => lines[line][word] = new,
        }
        lines.iter_mut().filter(|line| line.is_empty()).for_each(|line| line.push(""));
    }
    let text = lines.iter().map(|line| line.join(" ")).collect::<Vec<_>>().join("\n");
    let mut bytes = text.into_bytes();
    if rng.chance(0.3) {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = rng.u64() as u8;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn look(mistake: &TraceError, text: &str) {
    assert_eq!(mistake.to_string().lines().count(), 1, "{mistake}");
    assert!(mistake.line >= 1 && mistake.line <= text.lines().count().max(1), "{mistake}");
    assert!(!mistake.problem.is_empty() && !mistake.allowed.is_empty(), "{mistake}");
}

#[test]
fn damaged_traces_are_refused_or_replayed() {
    let platform = read("two.xml", PLATFORM, &mut |_| Err("no".into())).expect("a sound platform");
    let [mut replayed, mut stopped, mut refused] = [0u64; 3];
    for version in 0..VERSIONS {
        let text = damaged(&mut Rng::new(version, 1));
        let trace = match MpiTrace::read("damaged.txt", &text, &mut |_| Err("there is none".into())) {
            Ok(trace) => trace,
            Err(mistake) => {
                look(&mistake, &text);
                refused += 1;
                continue;
            }
        };
        if trace.ranks() > RANKS_MAX {
            continue;
        }
        let network = Flows::new(&platform, FlowModel::LV08);
        let mut simulation = Simulation::new(network, &[(1e9, 1); 2]);
        trace.spawn(&mut simulation, 2);
        match simulation.run() {
            Ok(_) => replayed += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty(), "{text}");
                stopped += 1;
            }
        }
    }
    let least = VERSIONS / 20;
    assert!(
        replayed.min(stopped).min(refused) > least,
        "{replayed} {stopped} {refused}: such damage tests little"
    );
}
