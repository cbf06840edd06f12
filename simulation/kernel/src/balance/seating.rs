//! Which federate's LPs go to which process: federates that exchange many messages share one.
//!
//! Every process keeps its number of federates, and federates have about equal loads, so two of them can
//! change places freely. Pairs change places while that saves messages between processes: the exchanges of
//! Kernighan and Lin (1970), the best first, without their look ahead. Invariant: each exchange saves
//! messages, so they come to an end.

use super::Edge;
use super::graph::{Graph, Tally};

/// The share of all messages that an exchange must keep within a process: the LPs of two federates move for
/// it.
const WORTH_SEAT: f64 = 0.01;

/// Gives the federates of `owner` other numbers, so that fewer messages pass between processes:
/// `processes[i]` has federate `i`.
///
/// ```
/// use paceline_kernel::{Edge, LpId, seat};
/// // Federates 0 and 2 exchange messages, but are in different processes.
/// let edges = [Edge::new(LpId(0), LpId(2), 5), Edge::new(LpId(1), LpId(3), 5)];
/// let owner = seat(&[0, 1, 2, 3], &edges, &[0, 0, 1, 1]);
/// assert_eq!(owner, [3, 1, 2, 0]);
/// ```
pub fn seat(owner: &[u32], edges: &[Edge], processes: &[u32]) -> Vec<u32> {
    let federates = processes.len();
    let lps = Graph::new(owner.len(), edges.iter().map(|edge| (edge.low.0, edge.high.0, edge.weight)));
    let graph = lps.coarse(owner, federates as u32);
    let all: u64 = edges.iter().map(|edge| edge.weight).sum();
    let least = ((all as f64 * WORTH_SEAT) as u64).max(1);
    // Processes of the run.
    let ranks = processes.iter().max().map_or(0, |last| *last as usize + 1);
    // Of each federate by its first number: the process it is in now, and its number there.
    let mut place = processes.to_vec();
    let mut number: Vec<u32> = (0..federates as u32).collect();
    let mut messages = messages_by_process(&graph, &place, ranks);
    while let Some((one, other)) = best(&graph, &place, &messages, least) {
        let (from, to) = (place[one], place[other]);
        for (federate, from, to) in [(one, from, to), (other, to, from)] {
            for (neighbour, weight) in graph.of(federate) {
                let row = &mut messages[*neighbour as usize];
                row[from as usize] -= weight;
                row[to as usize] += weight;
            }
        }
        place.swap(one, other);
        number.swap(one, other);
    }
    owner.iter().map(|federate| number[*federate as usize]).collect()
}

/// By federate: its messages to each process.
fn messages_by_process(graph: &Graph, place: &[u32], ranks: usize) -> Vec<Vec<u64>> {
    let mut tally = Tally::new(ranks);
    let row = |federate| {
        let mut row = vec![0; ranks];
        tally.count(graph, federate, place);
        tally.drain().for_each(|(rank, count)| row[rank as usize] = count);
        row
    };
    (0..graph.nodes()).map(row).collect()
}

/// The exchange of two federates that saves most, and at least `least`; of equal ones the first.
fn best(graph: &Graph, place: &[u32], messages: &[Vec<u64>], least: u64) -> Option<(usize, usize)> {
    let mut best = None;
    for one in 0..place.len() {
        for other in one + 1..place.len() {
            let (from, to) = (place[one] as usize, place[other] as usize);
            if from == to {
                continue;
            }
            let gained = messages[one][to] + messages[other][from];
            // Messages between the two cross before and after.
            let lost = messages[one][from] + messages[other][to];
            if gained <= lost {
                continue;
            }
            let mutual = graph.of(one).iter().find(|(to, _)| *to as usize == other).map_or(0, |(_, w)| *w);
            let saved = (gained - lost).saturating_sub(2 * mutual);
            if saved >= least && best.is_none_or(|(most, _)| saved > most) {
                best = Some((saved, (one, other)));
            }
        }
    }
    best.map(|(_, pair)| pair)
}
