//! The road network: nodes, directed roads between them, and the light group of each approach. Nothing of it
//! changes in a run: no road is closed or opened.
//!
//! Invariants: roads are sorted by (tail, head, order given), so the roads that leave a node are a run of
//! road numbers (its *exits*, counted from 0); the roads that reach a node are its *approaches*, in the order
//! of their numbers.

use paceline_kernel::Time;

/// The most roads that may leave or reach one node.
pub(crate) const MAX_DEGREE: usize = 65_000;

/// A road as an input describes it; nodes count from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoadSpec {
    pub from: u32,
    pub to: u32,
    pub free_flow: Time,
    pub length_mm: u64,
    pub lanes: u32,
    /// The light group of its head that it belongs to; `None` to alternate in the order of road numbers.
    pub group: Option<u8>,
}

/// When vehicles may leave an approach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// No light is needed: all approaches of the node are in one group.
    None,
    /// Green at the start of the cycle.
    First,
    /// Green while the first group has red.
    Second,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Road {
    pub from: u32,
    pub to: u32,
    /// The time from the tail to the stop line at the head on an empty road.
    pub free_flow: Time,
    pub length_mm: u64,
    pub lanes: u32,
    /// Its place among the approaches of `to`.
    pub approach: u16,
    /// Its place among the exits of `from`.
    pub exit: u16,
    pub signal: Signal,
}

/// The numbers of nodes in results and messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// One after the other, from this one on.
    From(u32),
    /// These, ascending: one for each node.
    Listed(Vec<u32>),
}

impl Numbering {
    /// The number of a node, which counts from 0.
    pub fn number(&self, node: u32) -> u32 {
        match self {
            Self::From(first) => first + node,
            Self::Listed(numbers) => numbers[node as usize],
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Network {
    roads: Vec<Road>,
    first_exit: Vec<u32>,
    approaches: Vec<u32>,
    first_approach: Vec<u32>,
    first_through: u32,
    numbering: Numbering,
}

impl Network {
    /// A network of `nodes` nodes; routes do not pass through those below `first_through`. The error is a
    /// node with more than [`MAX_DEGREE`] exits or approaches.
    pub fn new(nodes: u32, first_through: u32, mut specs: Vec<RoadSpec>) -> Result<Self, u32> {
        specs.sort_by_key(|road| (road.from, road.to)); // stable: parallel roads keep their order
        let first_exit = starts(nodes, specs.iter().map(|road| road.from));
        let first_approach = starts(nodes, specs.iter().map(|road| road.to));
        for node in 0..nodes as usize {
            let degree = |first: &[u32]| (first[node + 1] - first[node]) as usize;
            if degree(&first_exit).max(degree(&first_approach)) > MAX_DEGREE {
                return Err(node as u32);
            }
        }
        let mut next_free = first_approach.clone();
        let mut approaches = vec![0; specs.len()];
        let mut roads = Vec::with_capacity(specs.len());
        for (number, road) in specs.iter().enumerate() {
            let slot = &mut next_free[road.to as usize];
            let approach = (*slot - first_approach[road.to as usize]) as u16;
            approaches[*slot as usize] = number as u32;
            *slot += 1;
            let group = road.group.unwrap_or((approach % 2) as u8);
            roads.push(Road {
                from: road.from,
                to: road.to,
                free_flow: road.free_flow,
                length_mm: road.length_mm,
                lanes: road.lanes,
                approach,
                exit: (number as u32 - first_exit[road.from as usize]) as u16,
                signal: if group == 0 { Signal::First } else { Signal::Second },
            });
        }
        let numbering = Numbering::From(0);
        let mut network = Self { roads, first_exit, approaches, first_approach, first_through, numbering };
        network.drop_needless_lights();
        Ok(network)
    }

    /// Removes lights from nodes where only one group has approaches.
    fn drop_needless_lights(&mut self) {
        for node in 0..self.nodes() {
            let numbers = self.approaches(node).to_vec();
            let has = |signal| numbers.iter().any(|road| self.roads[*road as usize].signal == signal);
            if !(has(Signal::First) && has(Signal::Second)) {
                for road in numbers {
                    self.roads[road as usize].signal = Signal::None;
                }
            }
        }
    }

    /// This network, with these numbers of nodes in results.
    pub fn numbered(self, numbering: Numbering) -> Self {
        Self { numbering, ..self }
    }

    /// The numbers of nodes in results.
    pub fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// The number of a node in results.
    pub fn number(&self, node: u32) -> u32 {
        self.numbering.number(node)
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.first_exit.len() as u32 - 1
    }

    /// All roads by number.
    pub fn roads(&self) -> &[Road] {
        &self.roads
    }

    /// The road of this number, which must exist.
    #[inline]
    pub fn road(&self, number: u32) -> &Road {
        &self.roads[number as usize]
    }

    /// The number of the first road that leaves `node`.
    #[inline]
    pub fn first_exit(&self, node: u32) -> u32 {
        self.first_exit[node as usize]
    }

    /// The roads that leave `node`.
    pub fn exits(&self, node: u32) -> &[Road] {
        &self.roads[self.first_exit[node as usize] as usize..self.first_exit[node as usize + 1] as usize]
    }

    /// The numbers of the roads that reach `node`.
    pub fn approaches(&self, node: u32) -> &[u32] {
        let run =
            self.first_approach[node as usize] as usize..self.first_approach[node as usize + 1] as usize;
        &self.approaches[run]
    }

    /// Whether a route may pass through `node` on its way elsewhere.
    pub fn driven_through(&self, node: u32) -> bool {
        node >= self.first_through
    }
}

/// For each of `nodes` groups the number of items in the groups before it; at the end the total.
fn starts(nodes: u32, items: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut first = vec![0; nodes as usize + 1];
    for node in items {
        first[node as usize + 1] += 1;
    }
    for node in 0..nodes as usize {
        first[node + 1] += first[node];
    }
    first
}
