//! What runs in the domains of a group: the key `workload` of `[[domain]]`, and the other keys of each kind.
//!
//! Invariant: the keys of a workload are in the first section of its group only.

use std::fmt;

use paceline_machine::guests::class::Class;
use paceline_machine::guests::hog::Hog;
use paceline_machine::guests::mpi::Mpi;
use paceline_machine::guests::{ep, lu, rounds};
use paceline_machine::{MachineError, ProcessId, Program, Wait};
use paceline_scenario::{ScenarioError, Section};

use super::federates::{AnyModel, Federates};
use super::hosts::{count, nanos};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hog,
    Rounds,
    Ep,
    Lu,
    Federates,
}

/// The names of the workloads, with descriptions.
pub const WORKLOADS: &[(&str, &str)] = &[
    ("hog", "competing load: computes for a while, sleeps for a while, without end"),
    ("rounds", "three processes send each other messages in rounds; does a detour overtake?"),
    ("ep", "EP of the NAS Parallel Benchmarks: independent work, one reduction at the end"),
    ("lu", "LU of the NAS Parallel Benchmarks: waves through a grid, with their messages"),
    ("federate", "a federate of the simulation in [model], in step with those of the other domains"),
];

const KINDS: [Kind; 5] = [Kind::Hog, Kind::Rounds, Kind::Ep, Kind::Lu, Kind::Federates];

/// What the processes of a group do.
#[derive(Clone)]
pub(super) enum Workload {
    Hog { busy_ns: u64, idle_ns: u64 },
    Rounds(rounds::Settings),
    Ep(ep::Settings),
    Lu(lu::Settings),
    Federates(Box<Federates>),
}

impl Kind {
    pub fn name(self) -> &'static str {
        let found = KINDS.iter().zip(WORKLOADS).find(|(kind, _)| **kind == self);
        found.expect("every kind is listed").1.0
    }

    fn read(section: &mut Section, default: Option<Self>) -> Result<Self, ScenarioError> {
        let choices: Vec<_> = WORKLOADS.iter().zip(KINDS).map(|((name, _), kind)| (*name, kind)).collect();
        section.choice("workload", &choices, default)
    }
}

/// How processes wait: a word, or a table with how long they poll first.
fn wait(section: &mut Section) -> Result<Wait, ScenarioError> {
    if !section.is_table("wait") {
        return section.choice("wait", &[("poll", Wait::Poll), ("block", Wait::Block)], Some(Wait::Poll));
    }
    let mut table = section.table("wait")?;
    table.required::<paceline_kernel::Time>("poll")?;
    let span_ns = nanos(&mut table, "poll", 0)?;
    let then = [("yield", Wait::PollThenYield(span_ns)), ("block", Wait::PollThenBlock(span_ns))];
    let wait = table.choice("then", &then, None)?;
    table.finish()?;
    Ok(wait)
}

fn mpi(section: &mut Section) -> Result<Mpi, ScenarioError> {
    let segment_bytes = count(section, "segment_bytes", Mpi::default().segment_bytes, 1, u32::MAX)?;
    let acknowledges = section.or("acknowledges", Mpi::default().acknowledges)?;
    Ok(Mpi { wait: wait(section)?, segment_bytes, acknowledges, ..Mpi::default() })
}

fn class(section: &mut Section) -> Result<Class, ScenarioError> {
    section.choice("class", &Class::ALL.map(|class| (class.name(), class)), None)
}

fn message_rounds(section: &mut Section) -> Result<rounds::Settings, ScenarioError> {
    let usual = rounds::Settings::default();
    let spread = section.or("spread", usual.spread_permille as f64 / 1e3)?;
    if !(0.0..=1.0).contains(&spread) {
        return Err(section.refuse("spread", format!("`spread` cannot be {spread}"), "a number from 0 to 1"));
    }
    let pacings = rounds::Pacing::ALL.map(|pacing| (pacing.name(), pacing));
    Ok(rounds::Settings {
        rounds: count(section, "rounds", usual.rounds, 1, u32::MAX)?,
        pacing: section.choice("pacing", &pacings, Some(usual.pacing))?,
        bytes: section.or("bytes", usual.bytes)?,
        call_ns: nanos(section, "call", usual.call_ns)?,
        spread_permille: (spread * 1e3).round() as u64,
        start_ns: nanos(section, "start", usual.start_ns)?.max(1),
        mpi: mpi(section)?,
        ..usual
    })
}

impl Workload {
    /// Reads the keys of the workload in the first section of a group.
    pub fn read(section: &mut Section, model: Option<&AnyModel>) -> Result<Self, ScenarioError> {
        const PS: u64 = 1_000;
        match Kind::read(section, None)? {
            Kind::Hog => {
                let busy_ns = nanos(section, "busy", 10_000_000)?;
                if busy_ns == 0 {
                    return Err(section.refuse("busy", "a load that does nothing", "a duration above zero"));
                }
                Ok(Self::Hog { busy_ns, idle_ns: nanos(section, "idle", 0)? })
            }
            Kind::Rounds => Ok(Self::Rounds(message_rounds(section)?)),
            Kind::Ep => {
                let usual = ep::Settings::new(class(section)?, 0);
                let pair_ps = nanos(section, "pair", usual.pair_ps / PS)?.saturating_mul(PS);
                Ok(Self::Ep(ep::Settings { pair_ps, mpi: mpi(section)?, ..usual }))
            }
            Kind::Lu => {
                let usual = lu::Settings::new(class(section)?, 0);
                Ok(Self::Lu(lu::Settings {
                    iterations: count(section, "iterations", usual.iterations, 1, u32::MAX)?,
                    norm_every: section.or("norm_every", usual.norm_every)?,
                    point_ps: nanos(section, "point", usual.point_ps / PS)?.saturating_mul(PS),
                    mpi: mpi(section)?,
                    ..usual
                }))
            }
            Kind::Federates => {
                let wait = wait(section)?;
                Ok(Self::Federates(Box::new(Federates::read(section, model, wait)?)))
            }
        }
    }

    /// Checks that another section of the group does not contradict.
    pub fn same(&self, section: &mut Section) -> Result<(), ScenarioError> {
        let (first_kind, other) = (self.kind(), Kind::read(section, Some(self.kind()))?);
        if first_kind == other {
            return Ok(());
        }
        let problem = format!("the group's workload is {:?}, not {:?}", first_kind.name(), other.name());
        Err(section.refuse("workload", problem, format!("{:?}, or another group", first_kind.name())))
    }

    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Hog { .. } => Kind::Hog,
            Self::Rounds(_) => Kind::Rounds,
            Self::Ep(_) => Kind::Ep,
            Self::Lu(_) => Kind::Lu,
            Self::Federates(_) => Kind::Federates,
        }
    }

    /// Whether it never ends.
    pub fn is_endless(&self) -> bool {
        self.kind() == Kind::Hog
    }

    /// Its processes: `processes` of them, numbered from `first`. An error names its place in `section`.
    pub fn programs(
        &self,
        section: &Section,
        processes: u32,
        first: ProcessId,
        seed: u64,
    ) -> Result<Vec<Box<dyn Program>>, ScenarioError> {
        let refused = |error: MachineError| match error {
            MachineError::BadSpec { what, value, allowed } => {
                section.refuse("count", format!("{what} cannot be {value}"), allowed)
            }
            other => section.refuse("workload", other.to_string(), "another workload"),
        };
        match self {
            Self::Hog { busy_ns, idle_ns } => Ok((0..processes)
                .map(|_| Box::new(Hog::new(*busy_ns, *idle_ns)) as Box<dyn Program>)
                .collect()),
            Self::Rounds(settings) if processes == 3 => {
                Ok(rounds::programs(&rounds::Settings { seed, ..*settings }, first))
            }
            Self::Rounds(_) => {
                let problem = format!("message rounds among {processes} processes");
                Err(section.refuse("count", problem, "3 processes, such as `count = 3`"))
            }
            Self::Ep(settings) => {
                ep::programs(&ep::Settings { processes, ..*settings }, first).map_err(refused)
            }
            Self::Lu(settings) => {
                lu::programs(&lu::Settings { processes, ..*settings }, first).map_err(refused)
            }
            Self::Federates(federates) => federates.programs(section, processes, first, seed),
        }
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())
    }
}
