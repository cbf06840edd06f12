//! What a run of a queueing network leaves behind, gathered when events are committed.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Queueing, QueueingEvent};
use crate::measured::{Bins, Level, Times};

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// By kind of station and class, one row after the other.
    pub(super) cells: Vec<Cell>,
    /// By class.
    pub(super) flows: Vec<Flow>,
    /// How long customers waited at a station.
    pub(super) waits: Bins,
    /// By how much the number of those who wait or are served has changed.
    pub(super) present: Bins,
}

/// What customers of a class did at a kind of station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cell {
    /// In line.
    pub waits: Times,
    /// In line, or served.
    pub present: Level,
    pub served: Level,
}

/// Where customers of a class came from, and where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Flow {
    /// Who has come from outside, and who has left since then.
    pub entered: u64,
    pub left: u64,
    /// How long those were in the network who left after the warm-up.
    pub stays: Times,
    /// Arrivals that were still to come at the end, and services of those who go on to them.
    pub to_arrive: u64,
    pub to_go_on: u64,
}

impl Output {
    fn cell(&mut self, model: &Queueing, kind: usize, class: u16) -> &mut Cell {
        self.cells.resize(model.kinds.len() * model.classes.len(), Cell::default());
        &mut self.cells[kind * model.classes.len() + usize::from(class)]
    }

    fn flow(&mut self, model: &Queueing, class: u16) -> &mut Flow {
        self.flows.resize(model.classes.len(), Flow::default());
        &mut self.flows[usize::from(class)]
    }

    pub(super) fn note(&mut self, model: &Queueing, kind: usize, at: Time, event: &QueueingEvent) {
        let (class, measured) = (event.class(), at.max(model.warm_up));
        match *event {
            QueueingEvent::Outside { .. } => self.flow(model, class).entered += 1,
            QueueingEvent::Arrive(_) => {}
            QueueingEvent::Done { customer, came, begun, leaves } => {
                let cell = self.cell(model, kind, class);
                cell.served.change(begun.max(model.warm_up), 1);
                cell.served.change(measured, -1);
                cell.present.change(measured, -1);
                self.present.add(at, -1);
                if at >= model.warm_up {
                    let wait = begun.saturating_sub(came);
                    self.cell(model, kind, class).waits.add(wait);
                    self.waits.add(wait, 1);
                }
                let flow = self.flow(model, class);
                flow.left += u64::from(leaves);
                if leaves && at >= model.warm_up {
                    flow.stays.add(at.saturating_sub(customer.entered));
                }
                return;
            }
        }
        self.cell(model, kind, class).present.change(measured, 1);
        self.present.add(at, 1);
    }

    /// Notes who is being served when the run ends, and who is on its way.
    pub(super) fn note_left_over(&mut self, model: &Queueing, kind: usize, event: &QueueingEvent) {
        let class = event.class();
        match *event {
            QueueingEvent::Outside { .. } => {}
            QueueingEvent::Arrive(_) => self.flow(model, class).to_arrive += 1,
            QueueingEvent::Done { begun, leaves, .. } => {
                self.flow(model, class).to_go_on += u64::from(!leaves);
                self.cell(model, kind, class).served.change(begun.max(model.warm_up), 1);
            }
        }
    }

    /// Whether a run can have left this, if it has been read from somewhere.
    pub(super) fn can_be(&self, kinds: usize, classes: usize) -> bool {
        self.cells.len() <= kinds * classes
            && self.flows.len() <= classes
            && self.waits.can_be()
            && self.present.can_be()
            && self.flows.iter().all(|flow| flow.counts().iter().all(|count| *count < 1 << 62))
    }

    /// What all federates have gathered; as many cells and flows as there are kinds and classes.
    pub(super) fn joined(outputs: &[Self], kinds: usize, classes: usize) -> Self {
        let mut all = Self::default();
        all.cells.resize(kinds * classes, Cell::default());
        all.flows.resize(classes, Flow::default());
        for output in outputs {
            for (cell, other) in all.cells.iter_mut().zip(&output.cells) {
                cell.join(other);
            }
            for (flow, other) in all.flows.iter_mut().zip(&output.flows) {
                flow.join(other);
            }
            all.waits.join(&output.waits);
            all.present.join(&output.present);
        }
        all
    }
}

impl Cell {
    pub fn join(&mut self, other: &Self) {
        self.waits.join(&other.waits);
        self.present.join(&other.present);
        self.served.join(&other.served);
    }
}

impl Flow {
    fn counts(&self) -> [u64; 4] {
        [self.entered, self.left, self.to_arrive, self.to_go_on]
    }

    fn join(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.entered, other.entered),
            (&mut self.left, other.left),
            (&mut self.to_arrive, other.to_arrive),
            (&mut self.to_go_on, other.to_go_on),
        ] {
            *sum = sum.wrapping_add(more);
        }
        self.stays.join(&other.stays);
    }
}
