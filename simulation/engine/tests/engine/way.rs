//! How a random run of several processes is executed: drawn, and none of it may matter.

use crate::mesh::Mesh;
use paceline_engine::{Optimistic, Protocol, Simulation, Speculation};
use paceline_kernel::{Cancellation, GvtKind, Model, Rng, Saving, Time};
use paceline_transport::Memory;
use paceline_transport::marshal::{Marshalling, SizeLimit, TimeLimit};

/// How a run is executed: everything that must not matter.
pub struct Way {
    pub protocol: Protocol,
    pub processes: u32,
    pub federates: u32,
    /// Federates are merged as usual, rather than left as they are.
    pub merges: bool,
    pub threads: Vec<u32>,
    pub leg_events: Option<u64>,
    pub cuts: Vec<Time>,
    pub network: Option<u64>,
    pub marshalling: Marshalling,
}

impl Way {
    pub fn draw(protocol: Protocol, mesh: &Mesh, rng: &mut Rng) -> Self {
        let processes = 1 + rng.below(u64::from(mesh.lps().min(4))) as u32;
        let most = u64::from(mesh.lps().min(12) - processes);
        let mut cuts: Vec<Time> =
            (0..rng.below(4)).map(|_| Time::nanos(mesh.grain().as_nanos() * rng.below(60))).collect();
        cuts.sort_unstable();
        Self {
            protocol,
            processes,
            federates: processes + rng.below(1 + most) as u32,
            threads: (0..processes).map(|_| 1 + rng.below(3) as u32).collect(),
            leg_events: rng.chance(0.3).then(|| 1 + rng.below(30)),
            cuts,
            network: rng.chance(0.7).then(|| rng.u64()),
            marshalling: marshalling(rng),
            merges: rng.chance(0.5),
        }
    }

    pub fn ends(&self) -> Vec<Memory> {
        match self.network {
            Some(seed) => Memory::simulated(self.processes, seed),
            None => Memory::mesh(self.processes),
        }
    }

    pub fn simulation(&self, plain: Simulation<Mesh>, rank: u32) -> Simulation<Mesh> {
        let run = plain
            .protocol(self.protocol)
            .federates(self.federates)
            .threads(self.threads[rank as usize])
            .marshalling(self.marshalling);
        let run = if self.merges { run } else { run.groups(self.federates) };
        match self.leg_events {
            Some(events) => run.leg_events(events),
            None => run,
        }
    }

    pub fn what(&self, seed: u64) -> String {
        let Self { protocol, processes, federates, merges, threads, .. } = self;
        let Self { leg_events, cuts, network, marshalling, .. } = self;
        format!(
            "case {seed}: {protocol:?}, {processes} processes, {federates} federates, merged {merges}, {threads:?} threads, \
             legs {leg_events:?}, cuts {cuts:?}, network {network:?}, {marshalling:?}"
        )
    }
}

/// Frames that are sent soon, late, or only where somebody asks or waits.
fn marshalling(rng: &mut Rng) -> Marshalling {
    let (late, soon) = (TimeLimit::Fixed { ns: u64::MAX }, TimeLimit::Fixed { ns: 0 });
    let size = [SizeLimit::Off, SizeLimit::Bytes(1 << rng.below(12)), SizeLimit::Adaptive];
    let (size, time) =
        (size[rng.below(3) as usize], [late, soon, TimeLimit::default()][rng.below(3) as usize]);
    Marshalling { size, time }
}

/// Any way to speculate with so many LPs, whose states take so many bytes each.
pub fn speculation(rng: &mut Rng, lps: u32, state_bytes: usize) -> Speculation {
    Speculation {
        saving: [Saving::Copy, Saving::Periodic, Saving::Undo][rng.below(3) as usize],
        cancellation: [Cancellation::Aggressive, Cancellation::Lazy][rng.below(2) as usize],
        gvt: [GvtKind::Synchronous, GvtKind::Asynchronous][rng.below(2) as usize],
        // The least budget that is allowed, and some more.
        memory_bytes: rng.chance(0.3).then(|| state_bytes * lps as usize + rng.below(20_000) as usize),
        optimistic: match rng.below(3) {
            0 => None,
            1 => Some(Optimistic::Share(rng.unit())),
            _ => Some(Optimistic::Ranges(vec![0..1, 0..1 + rng.below(u64::from(lps)) as u32])),
        },
        check_rollback: rng.chance(0.1),
        chaos: rng.chance(0.7).then(|| rng.u64()),
    }
}
