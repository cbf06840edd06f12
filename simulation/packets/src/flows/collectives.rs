//! Collectives of parallel programs: all-reduce and all-to-all.

use super::{FlowDemand, Workload, WorkloadError};

/// How a collective goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// All-reduce in a ring (Patarasuk and Yuan, 2009): the data is cut into as many chunks as there are
    /// hosts; in 2 (n - 1) steps each host sends a chunk to the next one.
    RingAllReduce,
    /// All-reduce in a binary tree: all data goes up to the first host, and back down.
    TreeAllReduce,
    /// All-reduce by halving and doubling (Thakur, Rabenseifner and Gropp, 2005, section 4.5): 2 log n steps
    /// between pairs of hosts that are half the hosts apart, then a quarter and so on, with half of the data,
    /// then a quarter; and the same way back. The hosts are a power of two.
    HalvingAllReduce,
    /// All-to-all, everything at once.
    AllToAll,
    /// All-to-all in n - 1 rounds, in each of which a host sends to one other: the next round when what was
    /// sent to it in this one has arrived.
    AllToAllInRounds,
}

impl CollectiveKind {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RingAllReduce => "ring-all-reduce",
            Self::TreeAllReduce => "tree-all-reduce",
            Self::HalvingAllReduce => "halving-all-reduce",
            Self::AllToAll => "all-to-all",
            Self::AllToAllInRounds => "all-to-all-in-rounds",
        }
    }
}

/// A collective that hosts do again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// How it goes.
    pub kind: CollectiveKind,
    /// All-reduce: the bytes that each host has. All-to-all: those that each host has for each other one.
    pub bytes: u64,
    /// How many there are.
    pub rounds: u32,
    /// How long a host computes after its part in one before it begins the next (ps).
    pub compute_ps: u64,
    /// In a ring: what a host sends in a step goes in pieces of at most so many bytes, each of which is
    /// passed on when it is there; without a number in one.
    pub piece_bytes: Option<u64>,
}

/// The most transfers of a collective: each is kept in memory, with what it waits for.
const TRANSFERS_MAX: u64 = 16_000_000;

/// What a host waits for before its next part, for each of the hosts.
type Waits = Vec<Vec<u32>>;

impl Workload {
    /// Adds collectives of `hosts`, the first at `start_ps`. A host begins the next one when all has arrived
    /// that others sent it in this one.
    ///
    /// # Errors
    /// As for [`Workload::bulk`]; or there are fewer than two hosts, or for a ring fewer bytes than hosts.
    pub fn collective(
        &mut self,
        hosts: &[u32],
        start_ps: u64,
        settings: &Collective,
    ) -> Result<(), WorkloadError> {
        if hosts.len() < 2 {
            let what = format!("a collective of {} hosts", hosts.len());
            return Err(WorkloadError { what, allowed: "2 hosts or more" });
        }
        if settings.kind == CollectiveKind::RingAllReduce && settings.bytes < hosts.len() as u64 {
            let what = format!("a ring of {} hosts for {} bytes", hosts.len(), settings.bytes);
            return Err(WorkloadError { what, allowed: "a byte or more for each host" });
        }
        if settings.kind == CollectiveKind::HalvingAllReduce && !hosts.len().is_power_of_two() {
            let what = format!("halving and doubling of {} hosts", hosts.len());
            return Err(WorkloadError { what, allowed: "a power of two" });
        }
        if settings.bytes == 0 || settings.rounds == 0 || settings.piece_bytes == Some(0) {
            let what = format!("{} rounds of {} bytes", settings.rounds, settings.bytes);
            return Err(WorkloadError { what, allowed: "1 or more of each, and pieces of 1 byte or more" });
        }
        let count = settings.transfers(hosts.len() as u64);
        if count > TRANSFERS_MAX {
            let what = format!("a collective of {count} transfers, or waits for them");
            return Err(WorkloadError {
                what,
                allowed: "16,000,000 or fewer: fewer hosts, rounds or pieces",
            });
        }
        let mut waits: Waits = vec![Vec::new(); hosts.len()];
        for round in 0..settings.rounds {
            let pause_ps = if round == 0 { 0 } else { settings.compute_ps };
            let mut one = One { workload: self, hosts, start_ps, pause_ps, waits };
            waits = match settings.kind {
                CollectiveKind::RingAllReduce => one.ring(settings.bytes, settings.piece_bytes),
                CollectiveKind::HalvingAllReduce => one.halving(settings.bytes),
                CollectiveKind::TreeAllReduce => one.tree(settings.bytes),
                CollectiveKind::AllToAll => one.all_to_all(settings.bytes, false),
                CollectiveKind::AllToAllInRounds => one.all_to_all(settings.bytes, true),
            }?;
        }
        Ok(())
    }
}

impl Collective {
    /// How many transfers there are, or waits for them, whichever are more.
    fn transfers(&self, hosts: u64) -> u64 {
        let of_round = match self.kind {
            CollectiveKind::RingAllReduce => {
                let chunk = self.bytes.div_ceil(hosts);
                let pieces = self.piece_bytes.map_or(1, |bytes| chunk.div_ceil(bytes));
                // A host begins a round when all pieces of the last step are there.
                (2 * hosts * (hosts - 1))
                    .saturating_mul(pieces)
                    .saturating_add(hosts.saturating_mul(pieces * pieces))
            }
            CollectiveKind::TreeAllReduce => 4 * hosts,
            CollectiveKind::HalvingAllReduce => 4 * hosts * u64::from(hosts.ilog2().pow(2)),
            CollectiveKind::AllToAllInRounds => 2 * hosts * (hosts - 1),
            // A host sends to each in a round when it has something from each of the one before.
            CollectiveKind::AllToAll if self.rounds > 1 => hosts * (hosts - 1) * (hosts - 1),
            CollectiveKind::AllToAll => hosts * (hosts - 1),
        };
        of_round.saturating_mul(u64::from(self.rounds))
    }
}

/// One collective: what its hosts wait for before they begin.
struct One<'a> {
    workload: &'a mut Workload,
    hosts: &'a [u32],
    start_ps: u64,
    pause_ps: u64,
    waits: Waits,
}

impl One<'_> {
    /// A flow between two places, after what the first one waits for to begin.
    fn first(&mut self, from: usize, to: usize, bytes: u64) -> Result<u32, WorkloadError> {
        let after = self.waits[from].as_slice().into();
        let (from, to) = (self.hosts[from], self.hosts[to]);
        let (start_ps, pause_ps) = (self.start_ps, self.pause_ps);
        self.workload.push(FlowDemand { from, to, bytes, start_ps, after, pause_ps })
    }

    /// A flow between two places, after flows of this collective.
    fn then(&mut self, from: usize, to: usize, bytes: u64, after: &[u32]) -> Result<u32, WorkloadError> {
        let (from, to) = (self.hosts[from], self.hosts[to]);
        self.workload.push(FlowDemand { from, to, bytes, start_ps: 0, after: after.into(), pause_ps: 0 })
    }

    fn ring(&mut self, bytes: u64, piece_bytes: Option<u64>) -> Result<Waits, WorkloadError> {
        let hosts = self.hosts.len();
        // Chunks differ by a byte at most, and are all bytes together.
        let edge = |chunk: usize| (u128::from(bytes) * chunk as u128 / hosts as u128) as u64;
        // The shortest chunk has as many pieces as the others, each of a byte or more.
        let shortest = bytes / hosts as u64;
        let longest = bytes.div_ceil(hosts as u64);
        let pieces = piece_bytes.map_or(1, |bytes| longest.div_ceil(bytes).min(shortest));
        let mut arrived: Waits = vec![Vec::new(); hosts];
        for step in 0..2 * (hosts - 1) {
            let mut next: Waits = vec![Vec::new(); hosts];
            for (place, before) in arrived.iter().enumerate() {
                // The chunk that came in the last step: reduced in the first half, complete in the second.
                let chunk = (place + 2 * hosts - step) % hosts;
                let (to, bytes) = ((place + 1) % hosts, edge(chunk + 1) - edge(chunk));
                let cut = |piece: u64| (u128::from(bytes) * u128::from(piece) / u128::from(pieces)) as u64;
                for piece in 0..pieces {
                    let bytes = cut(piece + 1) - cut(piece);
                    let flow = match before.get(piece as usize) {
                        None => self.first(place, to, bytes)?,
                        Some(before) => self.then(place, to, bytes, &[*before])?,
                    };
                    next[to].push(flow);
                }
            }
            arrived = next;
        }
        Ok(arrived)
    }

    fn halving(&mut self, bytes: u64) -> Result<Waits, WorkloadError> {
        let hosts = self.hosts.len();
        let steps = hosts.ilog2();
        // Halves on the way there, and the same parts, backwards, on the way back. Halves that do not divide
        // are rounded up.
        let apart = (1..=steps).chain((1..=steps).rev());
        let mut arrived: Waits = vec![Vec::new(); hosts];
        for step in apart {
            let bytes = bytes.div_ceil(1 << step);
            let mut next = vec![0; hosts];
            for (place, before) in arrived.iter().enumerate() {
                let to = place ^ (hosts >> step);
                // What is sent is the sum of all that has come, also in steps before the last one.
                next[to] = match before.as_slice() {
                    [] => self.first(place, to, bytes)?,
                    before => self.then(place, to, bytes, before)?,
                };
            }
            arrived.iter_mut().zip(next).for_each(|(arrived, flow)| arrived.push(flow));
        }
        Ok(arrived)
    }

    fn tree(&mut self, bytes: u64) -> Result<Waits, WorkloadError> {
        let hosts = self.hosts.len();
        let mut up: Waits = vec![Vec::new(); hosts];
        for place in (1..hosts).rev() {
            let parent = (place - 1) / 2;
            // Children end a collective later than their parent: what they send up comes when it has
            // computed.
            let number = match up[place].clone() {
                children if children.is_empty() => self.first(place, parent, bytes)?,
                children => self.then(place, parent, bytes, &children)?,
            };
            up[parent].push(number);
        }
        let mut down: Waits = vec![Vec::new(); hosts];
        down[0].clone_from(&up[0]);
        for place in 1..hosts {
            let parent = (place - 1) / 2;
            let after = down[parent].clone();
            let number = self.then(parent, place, bytes, &after)?;
            down[place].push(number);
        }
        Ok(down)
    }

    fn all_to_all(&mut self, bytes: u64, in_rounds: bool) -> Result<Waits, WorkloadError> {
        let hosts = self.hosts.len();
        let mut arrived: Waits = vec![Vec::new(); hosts];
        for round in 1..hosts {
            let mut next = vec![0; hosts];
            for (place, before) in arrived.iter().enumerate() {
                let to = (place + round) % hosts;
                next[to] = match before.last() {
                    Some(before) if in_rounds => self.then(place, to, bytes, &[*before])?,
                    _ => self.first(place, to, bytes)?,
                };
            }
            for (place, flow) in next.into_iter().enumerate() {
                arrived[place].push(flow);
            }
        }
        Ok(arrived)
    }
}
