//! The workload `federate`: the scenario's model, a federate for each process of a group.
//!
//! Invariant: the results of a group (digest, events, the model's own results) depend on model, seed and
//! number of federates alone, never on the machine.

use std::sync::Arc;

use paceline_kernel::{Cancellation, Digest, Model, Optimism, Saving, Settings, TieBreak, Time};
use paceline_machine::guests::federate::{
    FederatesError, GuestSettings, OutcomeError, Protocol, Reduction, Reported, collect, federates,
};
use paceline_machine::{ProcessId, Program};
use paceline_models::phold::Phold;
use paceline_models::traffic::Traffic;
use paceline_results::{Results, RunFacts, Summary};
use paceline_scenario::{Scenario, ScenarioError, Section};

use super::hosts::{count, nanos};

/// The results of federates that are done.
pub(super) struct Simulated {
    pub digest: Digest,
    pub summary: Summary,
}

/// A model, shared by all runs of the scenario.
#[derive(Clone)]
pub(super) enum AnyModel {
    Phold(Arc<Phold>),
    Traffic(Arc<Traffic>),
}

#[derive(Clone)]
pub(super) struct Federates {
    model: AnyModel,
    guests: GuestSettings,
}

impl AnyModel {
    /// The model of the section `[model]`, if there is one.
    pub fn read(scenario: &mut Scenario, seed: u64) -> Result<Option<Self>, ScenarioError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Kind {
            Phold,
            Traffic,
        }
        if !scenario.has("model") {
            return Ok(None);
        }
        let mut section = scenario.section("model")?;
        let kinds = [("phold", Kind::Phold), ("traffic", Kind::Traffic)];
        let model = match section.choice("kind", &kinds, None)? {
            Kind::Phold => Self::Phold(Arc::new(Phold::from_section(&mut section)?)),
            Kind::Traffic => Self::Traffic(Arc::new(Traffic::from_section(&mut section, seed)?)),
        };
        section.finish()?;
        Ok(Some(model))
    }
}

impl Federates {
    /// Reads the keys of a group of federates.
    pub fn read(
        section: &mut Section,
        model: Option<&AnyModel>,
        wait: paceline_machine::Wait,
    ) -> Result<Self, ScenarioError> {
        let Some(model) = model.cloned() else {
            let problem = "federates without a model";
            return Err(section.refuse("workload", problem, "a section [model], or another workload"));
        };
        let usual = GuestSettings::default();
        let sync = match section.choice(
            "protocol",
            &[("conservative", false), ("optimistic", true)],
            Some(false),
        )? {
            false => Protocol::Conservative,
            true => Protocol::Optimistic(optimism(section)?),
        };
        let most = 1 << 20;
        let guests = GuestSettings {
            sync,
            until: section.or("horizon", usual.until)?,
            wait,
            event_ns: nanos(section, "event", usual.event_ns)?,
            undo_ns: nanos(section, "undo", usual.undo_ns)?,
            poll_ns: nanos(section, "poll", usual.poll_ns)?,
            reduce_ns: nanos(section, "reduce", usual.reduce_ns)?,
            batch: count(section, "batch", usual.batch, 1, most)?,
            message_bytes: count(section, "message_bytes", usual.message_bytes, 1, most)?,
            per_packet: count(section, "per_packet", usual.per_packet, 1, most)?,
            reduction: reduction(section)?,
            gvt_period: count(section, "gvt_period", usual.gvt_period, 1, u32::MAX)?,
            reports: section.or("reports", true)?,
            reported: section.choice("reported", &REPORTED, Some(usual.reported))?,
            reports_per_lookahead: count(
                section,
                "reports_per_lookahead",
                usual.reports_per_lookahead,
                1,
                most,
            )?,
            flags_waiting: section.or("flags_waiting", false)?,
        };
        Ok(Self { model, guests })
    }

    /// The programs of `processes` federates, numbered from `first`.
    pub fn programs(
        &self,
        section: &Section,
        processes: u32,
        first: ProcessId,
        seed: u64,
    ) -> Result<Vec<Box<dyn Program>>, ScenarioError> {
        match &self.model {
            AnyModel::Phold(model) => self.programs_of(model, section, processes, first, seed),
            AnyModel::Traffic(model) => self.programs_of(model, section, processes, first, seed),
        }
    }

    fn programs_of<M: Model + 'static>(
        &self,
        model: &Arc<M>,
        section: &Section,
        processes: u32,
        first: ProcessId,
        seed: u64,
    ) -> Result<Vec<Box<dyn Program>>, ScenarioError> {
        let lps = model.lps();
        let partition = Arc::new(model.partition(processes.min(lps)));
        if partition.federates() != processes {
            let problem = format!("{lps} LPs cannot be dealt to {processes} federates");
            return Err(section.refuse("count", problem, format!("at most {}", partition.federates())));
        }
        let window = model.lookahead();
        let settings = Settings { seed, ties: TieBreak::Fixed, window };
        federates(Arc::clone(model), partition, settings, self.guests.clone(), first).map_err(|error| {
            let (key, allowed) = match &error {
                FederatesError::NoLookahead => {
                    ("protocol", "\"optimistic\", or a model with a lookahead above zero")
                }
                FederatesError::NoUndo => ("saving", "\"periodic\" or \"copy\""),
                _ => ("workload", "a model that keeps its rules"),
            };
            section.refuse(key, error.to_string(), allowed)
        })
    }

    /// The results of the programs of a group; `None` if they are not done.
    pub fn finish(&self, programs: Vec<Box<dyn Program>>) -> Result<Option<Simulated>, String> {
        match &self.model {
            AnyModel::Phold(model) => self.finish_of(&**model, programs),
            AnyModel::Traffic(model) => self.finish_of(&**model, programs),
        }
    }

    fn finish_of<M: Results + 'static>(
        &self,
        model: &M,
        programs: Vec<Box<dyn Program>>,
    ) -> Result<Option<Simulated>, String> {
        let outcome = match collect::<M>(programs) {
            Ok(outcome) => outcome,
            Err(OutcomeError::Unfinished { .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let end_time = if self.guests.until == Time::MAX { outcome.last } else { self.guests.until };
        let mut summary = Summary::default();
        summary.line("events", outcome.events);
        summary.line("rounds", outcome.rounds);
        summary.line("packets", outcome.packets);
        summary.line("reduction_messages", outcome.notes);
        summary.line("lvt_reports", outcome.reports);
        if let Some(rollbacks) = &outcome.rollbacks {
            summary.line("rollbacks", rollbacks.primary + rollbacks.secondary);
            summary.line("events_undone", rollbacks.undone);
        }
        let facts = RunFacts { events: outcome.events, end_time };
        let model_summary = model.results(outcome.outputs, &facts)?;
        summary.lines.extend(model_summary.lines);
        summary.files.extend(model_summary.files);
        Ok(Some(Simulated { digest: outcome.digest, summary }))
    }
}

const REPORTED: [(&str, Reported); 2] =
    [("committable", Reported::Committable), ("processable", Reported::Processable)];

fn optimism(section: &mut Section) -> Result<Optimism, ScenarioError> {
    let savings = [("periodic", Saving::Periodic), ("copy", Saving::Copy), ("undo", Saving::Undo)];
    let cancellations = [("aggressive", Cancellation::Aggressive), ("lazy", Cancellation::Lazy)];
    Ok(Optimism {
        saving: section.choice("saving", &savings, Some(Saving::default()))?,
        cancellation: section.choice("cancellation", &cancellations, Some(Cancellation::default()))?,
        ..Optimism::default()
    })
}

fn reduction(section: &mut Section) -> Result<Reduction, ScenarioError> {
    let ways = [
        ("tree", Reduction::Tree { fan_in: 2 }),
        ("butterfly", Reduction::Butterfly),
        ("central", Reduction::Central),
    ];
    match section.choice("reduction", &ways, Some(ways[0].1))? {
        Reduction::Tree { fan_in } => {
            Ok(Reduction::Tree { fan_in: count(section, "fan_in", fan_in, 1, 1 << 16)? })
        }
        other => Ok(other),
    }
}
