//! How a federate behaves in its guest, and what its work costs there.
//!
//! Invariant: nothing here changes what the simulation computes, only when.

use paceline_kernel::{Optimism, RuleError, Time};
use thiserror::Error;

use crate::Wait;

/// How federates are kept in step.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// What is before LBTS plus lookahead, with a reduction for LBTS now and then.
    Conservative,
    /// Time Warp, with a reduction for GVT now and then.
    Optimistic(Optimism),
}

/// The way a reduction takes through the federates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Up a tree and back down; every federate has at most `fan_in` children.
    Tree {
        /// Children of a federate.
        fan_in: u32,
    },
    /// Pairs exchange what they have, at distances 1, 2, 4, ... (recursive doubling); every federate ends
    /// with the result.
    Butterfly,
    /// Every federate sends its value to federate 0, which sends the result to all.
    Central,
}

/// Which of its times a federate reports as its LVT (the four times; PSX paper, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reported {
    /// The earliest event that is not final: best under PSX, says the PSX paper.
    #[default]
    Committable,
    /// The earliest event that is to be run: it moves with everything that an optimistic federate runs, and
    /// falls when it rolls back. For a conservative federate both are the same.
    Processable,
}

/// How federates run in their guests. CPU times are those on a core that is not shared.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestSettings {
    /// How they are kept in step.
    pub sync: Protocol,
    /// The horizon: events at or after it do not happen.
    pub until: Time,
    /// How a federate that cannot continue waits.
    pub wait: Wait,
    /// CPU time of an event, each time that it is handled.
    pub event_ns: u64,
    /// CPU time of taking back an event.
    pub undo_ns: u64,
    /// CPU time of looking into the inbox before a batch.
    pub poll_ns: u64,
    /// CPU time of a message of a reduction, in the federate that gets it.
    pub reduce_ns: u64,
    /// Events between two looks into the inbox. A conservative federate handles at most so many, an
    /// optimistic one about so many.
    pub batch: u32,
    /// Bytes of an event, an anti-message, or a message of a reduction.
    pub message_bytes: u32,
    /// Events of one batch to the same federate that may share a packet.
    pub per_packet: u32,
    /// The way of the reductions.
    pub reduction: Reduction,
    /// A federate takes part in the next reduction, for LBTS or GVT, after so many events, or when it has
    /// nothing to do.
    pub gvt_period: u32,
    /// Whether it reports its LVT, and that it simulates, to the hypervisor (PSX paper, section 3.1).
    pub reports: bool,
    /// What it reports as its LVT.
    pub reported: Reported,
    /// By more than what part of the lookahead the LVT must have changed to be reported again: one divided
    /// by this number. The PSX paper has 1; finer reports let the hypervisor keep federates abreast
    /// within a window.
    pub reports_per_lookahead: u32,
    /// Whether it flags to the hypervisor that it only waits for others.
    pub flags_waiting: bool,
}

impl Default for GuestSettings {
    /// Conservative, polling, without reports: the unmodified engine of the PSX paper, as far as the paper
    /// describes it.
    fn default() -> Self {
        Self {
            sync: Protocol::Conservative,
            until: Time::MAX,
            wait: Wait::Poll,
            event_ns: 10_000,
            undo_ns: 2_000,
            poll_ns: 1_000,
            reduce_ns: 2_000,
            batch: 32,
            message_bytes: 100,
            per_packet: 1,
            reduction: Reduction::Tree { fan_in: 2 },
            gvt_period: 256,
            reports: false,
            reported: Reported::Committable,
            reports_per_lookahead: 1,
            flags_waiting: false,
        }
    }
}

/// Why federates could not be made. No run has begun.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum FederatesError {
    /// The model broke a rule while its LPs were initialised.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Conservative federates need lookahead.
    #[error("conservative federates need a lookahead above zero, and the model declares none")]
    NoLookahead,
    /// States are to be brought back by `undo`, and the model has none.
    #[error(
        "state saving by undo requires a model with undo, and this model has none; periodic and copy work with every model"
    )]
    NoUndo,
    /// A number that must be at least 1 is 0.
    #[error("{what} must be at least 1")]
    Zero { what: &'static str },
    /// The partition is not one of this model.
    #[error("the partition deals {partition} LPs, and the model has {model}")]
    Partition { partition: u32, model: u32 },
    /// The table of LPs that may run ahead is not one of this model.
    #[error("the table of optimistic LPs has {table} entries, and the model has {model} LPs")]
    Table { table: usize, model: u32 },
}
