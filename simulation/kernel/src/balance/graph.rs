//! Messages between nodes, as a graph: the neighbours of each node, and how many messages go to each.
//!
//! Invariants: every edge stands at both of its ends; no node is its own neighbour.

/// Nodes with weighted edges.
#[derive(Debug)]
pub(super) struct Graph {
    /// Where each node's neighbours begin, and one more.
    first: Vec<usize>,
    /// Node by node: a neighbour, and the messages between the two in both directions.
    neighbours: Vec<(u32, u64)>,
}

impl Graph {
    pub(super) fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32, u64)> + Clone) -> Self {
        // Counted first: then each node has its stretch of one list, which is filled in a second pass.
        let mut first = vec![0; nodes + 1];
        let real = edges.filter(|(one, other, _)| one != other);
        for (one, other, _) in real.clone() {
            first[one as usize + 1] += 1;
            first[other as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut neighbours = vec![(0, 0); first[nodes]];
        for (one, other, weight) in real {
            for (from, to) in [(one, other), (other, one)] {
                neighbours[next[from as usize]] = (to, weight);
                next[from as usize] += 1;
            }
        }
        Self { first, neighbours }
    }

    pub(super) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// The neighbours of `node`, with the messages between them.
    pub(super) fn of(&self, node: usize) -> &[(u32, u64)] {
        &self.neighbours[self.first[node]..self.first[node + 1]]
    }

    /// The graph between the groups that the nodes are in: `group[i]`, of `groups`, is that of node `i`.
    pub(super) fn coarse(&self, group: &[u32], groups: u32) -> Self {
        let mut edges = Vec::new();
        for node in 0..self.nodes() {
            // Each edge stands at both of its ends, and counts once.
            for (other, weight) in self.of(node).iter().filter(|(other, _)| node < *other as usize) {
                let (one, other) = (group[node], group[*other as usize]);
                if one != other {
                    edges.push((one.min(other), one.max(other), *weight));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if same { next.2 } else { 0 };
            same
        });
        Self::new(groups as usize, edges.into_iter())
    }
}

/// The messages of a node to each of many places; reading it empties it.
#[derive(Debug)]
pub(super) struct Tally {
    /// By place; zero where `places` does not list it, since all edges weigh more than zero.
    messages: Vec<u64>,
    places: Vec<u32>,
}

impl Tally {
    pub(super) fn new(places: usize) -> Self {
        Self { messages: vec![0; places], places: Vec::new() }
    }

    /// Adds up the messages of `node` to the places of its neighbours.
    pub(super) fn count(&mut self, graph: &Graph, node: usize, place: &[u32]) {
        for (other, weight) in graph.of(node) {
            let place = place[*other as usize];
            if self.messages[place as usize] == 0 {
                self.places.push(place);
            }
            self.messages[place as usize] += weight;
        }
    }

    /// The messages to `place`.
    pub(super) fn to(&self, place: u32) -> u64 {
        self.messages[place as usize]
    }

    /// Gives out (place, messages to it), and forgets them.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u32, u64)> {
        let messages = &mut self.messages;
        self.places.drain(..).map(move |place| (place, std::mem::take(&mut messages[place as usize])))
    }
}
