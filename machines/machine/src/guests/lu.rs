//! LU of the NAS Parallel Benchmarks: SSOR iterations on a cube, whose two sweeps run through the processes
//! as waves.
//!
//! Processes divide x and y; each has a column of all z planes. One iteration (NPB 2.4, `ssor.f`):
//! - lower sweep, plane by plane upwards: form the Jacobian, receive the edge of that plane from north and
//!   west, solve, send the edge on to south and east (`exchange_1`: 5 numbers a point);
//! - upper sweep, plane by plane downwards, from south and east to north and west;
//! - right-hand side: two layers of all planes each way in x, then in y (`exchange_3`: 10 numbers a point);
//! - every `norm_every` iterations and after the last one, norms over all processes (5 numbers).
//!
//! Before the first iteration comes a right-hand side with its norm, and after the last one the longest time
//! is found. The rest of what NPB does before and after its clock runs is left out.
//!
//! Invariant: what an iteration sends depends on the grid and the processes alone, and all CPU time together
//! on the grid.

use std::collections::VecDeque;

use super::class::Class;
use super::mpi::{Mpi, Rank, Script, Step, Tag, allreduce};
use crate::{MachineError, ProcessId, Program};

/// Bytes of the five unknowns of a point.
const POINT_BYTES: u64 = 40;
/// Layers that the right-hand side needs of a neighbour.
const LAYERS: u64 = 2;
/// Fewest points a side of a process (`subdomain.f`).
const SIDE_MIN: u32 = 3;

// Floating-point operations of a point in an iteration: 1985 in all, as NPB counts (`applu.f`). The solves
// and the right-hand side are counted in the source, multiplications with constants taken as one; the
// Jacobians are the rest.
const JACOBIAN: u64 = 466;
const SOLVE: u64 = 279;
const RHS_DIRECTION: u64 = 160;
const SCALE: u64 = 5;
const UPDATE: u64 = 10;
const OPERATIONS: u64 = SCALE + 2 * (JACOBIAN + SOLVE) + UPDATE + 3 * RHS_DIRECTION;

/// What LU is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// It says how many points the grid has.
    pub class: Class,
    /// How many times the grid is swept, there and back.
    pub iterations: u32,
    /// Norms are taken after so many iterations; 0 for after the last one only.
    pub norm_every: u32,
    /// On how many processes: a power of two.
    pub processes: u32,
    /// CPU time of a point in one iteration, in picoseconds.
    pub point_ps: u64,
    /// What the MPI library does.
    pub mpi: Mpi,
}

impl Settings {
    /// As many iterations as the class says, norms after the last one (NPB's own setting), 3 us a point:
    /// co-scheduling thesis, table 4 comes to 2.7 to 3.6 us on four processes, with messages.
    pub fn new(class: Class, processes: u32) -> Self {
        let (_, iterations) = class.lu_size();
        Self { class, iterations, norm_every: 0, processes, point_ps: 3_000_000, mpi: Mpi::default() }
    }
}

/// The processes of LU, by rank: `first` and those after it. Fails where their number is no power of two, or
/// so large that one would have fewer than 3 points a side.
///
/// ```
/// use paceline_machine::guests::{class::Class, lu};
/// use paceline_machine::ProcessId;
///
/// assert_eq!(lu::programs(&lu::Settings::new(Class::B, 4), ProcessId(0))?.len(), 4);
/// assert!(lu::programs(&lu::Settings::new(Class::B, 6), ProcessId(0)).is_err());
/// # Ok::<(), paceline_machine::MachineError>(())
/// ```
pub fn programs(settings: &Settings, first: ProcessId) -> Result<Vec<Box<dyn Program>>, MachineError> {
    let &Settings { class, processes, mpi, .. } = settings;
    let (side, _) = class.lu_size();
    // Half of the powers, rounded down, goes to y (`proc_grid.f`).
    let across = processes.checked_ilog2().map_or(1, |log| 1 << (log / 2));
    let along = processes / across;
    if !processes.is_power_of_two() || side / along < SIDE_MIN {
        let most = |log: &u32| side >> log.div_ceil(2) >= SIDE_MIN;
        return Err(MachineError::BadSpec {
            what: format!("the number of processes of LU class {}", class.name()),
            value: processes.to_string(),
            allowed: format!("a power of two up to {}", 1u32 << (0..=31).filter(most).max().unwrap_or(0)),
        });
    }
    let script = |rank| -> Box<dyn Script> { Box::new(Lu::new(settings, rank, [along, across])) };
    Ok(Rank::all(mpi, first, (0..processes).map(script)))
}

/// One process's part of the grid, along one axis.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Points, those on the surface of the cube among them.
    points: u64,
    /// Points inside the cube, which are computed.
    inner: u64,
    /// The neighbour towards the origin: north or west.
    before: Option<u32>,
    /// The other neighbour: south or east.
    after: Option<u32>,
}

impl Part {
    /// Part `place` of `parts` of `side` points; the first ones are larger where it does not divide
    /// (`subdomain.f`). Ranks of neighbours are `stride` apart.
    fn new(side: u32, parts: u32, place: u32, rank: u32, stride: u32) -> Self {
        let points = side / parts + u32::from(place < side % parts);
        let before = (place > 0).then(|| rank - stride);
        let after = (place + 1 < parts).then(|| rank + stride);
        let surface = u32::from(before.is_none()) + u32::from(after.is_none());
        Self { points: points.into(), inner: (points - surface).into(), before, after }
    }
}

#[derive(Debug)]
struct Lu {
    rank: u32,
    ranks: u32,
    /// North to south.
    x: Part,
    /// West to east.
    y: Part,
    /// Points from bottom to top.
    side: u64,
    point_ps: u64,
    iterations: u32,
    norm_every: u32,
    /// The iteration that comes next, from 1 on; 0 for what comes before.
    iteration: u32,
}

impl Lu {
    /// Ranks go along x first (`proc_grid.f`).
    fn new(settings: &Settings, rank: u32, [along, across]: [u32; 2]) -> Self {
        let &Settings { class, processes, point_ps, iterations, norm_every, .. } = settings;
        let (side, _) = class.lu_size();
        Self {
            rank,
            ranks: processes,
            x: Part::new(side, along, rank % along, rank, 1),
            y: Part::new(side, across, rank / along, rank, along),
            side: side.into(),
            point_ps,
            iterations,
            norm_every,
            iteration: 0,
        }
    }

    /// CPU time of `operations` at each inner point of so many planes.
    fn compute(&self, planes: u64, operations: u64) -> Step {
        let points = u128::from(planes * self.x.inner * self.y.inner);
        let ps = points * u128::from(self.point_ps) * u128::from(operations) / u128::from(OPERATIONS);
        Step::Compute { ps: u64::try_from(ps).unwrap_or(u64::MAX) }
    }

    fn planes(&self) -> u64 {
        self.side - 2
    }

    /// A sweep: the edges come from `from` and go on to `to`, each north or south first.
    fn sweep(&self, steps: &mut VecDeque<Step>, from: [Option<u32>; 2], to: [Option<u32>; 2]) {
        let tag = Tag::Data;
        let edges = [self.y.inner, self.x.inner].map(|points| points * POINT_BYTES);
        for _ in 0..self.planes() {
            steps.push_back(self.compute(1, JACOBIAN));
            for (from, bytes) in from.into_iter().zip(edges) {
                steps.extend(from.map(|from| Step::Receive { from: Some(from), tag, bytes }));
            }
            steps.push_back(self.compute(1, SOLVE));
            for (to, bytes) in to.into_iter().zip(edges) {
                steps.extend(to.map(|to| Step::Send { to, tag, bytes }));
            }
        }
    }

    /// The right-hand side.
    fn rhs(&self, steps: &mut VecDeque<Step>) {
        let tag = Tag::Data;
        for (part, other) in [(self.x, self.y), (self.y, self.x)] {
            let bytes = LAYERS * other.points * self.side * POINT_BYTES;
            for (to, from) in [(part.after, part.before), (part.before, part.after)] {
                steps.extend(to.map(|to| Step::Send { to, tag, bytes }));
                steps.extend(from.map(|from| Step::Receive { from: Some(from), tag, bytes }));
            }
            steps.push_back(self.compute(self.planes(), RHS_DIRECTION));
        }
        // The third direction needs no neighbour, since each process has all planes.
        steps.push_back(self.compute(self.planes(), RHS_DIRECTION));
    }

    fn norm(&self, steps: &mut VecDeque<Step>) {
        allreduce(steps, self.rank, self.ranks, POINT_BYTES);
    }

    fn iterate(&self, steps: &mut VecDeque<Step>) {
        let every = if self.norm_every == 0 { self.iterations } else { self.norm_every };
        let with_norms = self.iteration.is_multiple_of(every);
        let (low, high) = ([self.x.before, self.y.before], [self.x.after, self.y.after]);
        steps.push_back(self.compute(self.planes(), SCALE));
        self.sweep(steps, low, high);
        self.sweep(steps, high, low);
        steps.push_back(self.compute(self.planes(), UPDATE));
        if with_norms {
            // The norm of the corrections; that of the residuals follows the right-hand side (`ssor.f`).
            self.norm(steps);
        }
        self.rhs(steps);
        if with_norms || self.iteration == self.iterations {
            self.norm(steps);
        }
    }
}

impl Script for Lu {
    fn refill(&mut self, steps: &mut VecDeque<Step>) {
        if self.iteration > self.iterations {
            return;
        }
        if self.iteration == 0 {
            self.rhs(steps);
            self.norm(steps);
        } else {
            self.iterate(steps);
        }
        if self.iteration == self.iterations {
            allreduce(steps, self.rank, self.ranks, 8);
        }
        self.iteration += 1;
    }
}
