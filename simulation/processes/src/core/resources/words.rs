//! What processes wait for at resources, in words, and who holds it: for reports of deadlocks, and for
//! whoever asks why a process waits.

use super::super::ids::ProcessId;
use super::super::wants::{ResourceId, Want};
use super::Resources;
use super::claims::{Claim, NONE, Stage};
use super::kinds::{Kind, Resource};

/// What a process waits for, and who could give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsFor {
    /// What it waits for, in words.
    pub what: String,
    /// The processes that hold units of it, each once, by number.
    pub holders: Vec<ProcessId>,
}

impl Resources {
    /// What a process waits for, in the order in which it asked.
    pub(in super::super) fn waits_for(&self, process: ProcessId) -> Vec<WaitsFor> {
        let waits = |place: &u32| self.claims.get(*place).stage != Stage::Holds;
        let mut all: Vec<WaitsFor> = self
            .claims
            .of(process)
            .filter(waits)
            .map(|place| self.in_words(self.claims.get(place)))
            .collect();
        all.reverse();
        all
    }

    fn in_words(&self, claim: &Claim) -> WaitsFor {
        let resource = self.there.get(claim.resource as usize).and_then(Option::as_ref);
        let what = match (claim.stage, resource) {
            (Stage::Times, _) if claim.due == paceline_kernel::Time::MAX => "a time that never comes".into(),
            (Stage::Times, _) => format!("time {}", claim.due),
            (Stage::Serves, Some(resource)) => {
                format!("its service at {} until {}", resource.called(), claim.due)
            }
            (_, Some(resource)) => wanted(&claim.want, &resource.called()),
            (_, None) => "what is no more".into(),
        };
        let mut holders = Vec::new();
        if let Some(Resource { kind: Kind::Units(units), .. }) = resource
            && claim.stage == Stage::Waits
        {
            holders.extend(units.holding.iter(&self.claims).map(|place| self.claims.get(place).process));
            holders.sort_unstable();
            holders.dedup();
        }
        WaitsFor { what, holders }
    }

    /// What a process holds, in the order in which it got it.
    pub(in super::super) fn holds(&self, process: ProcessId) -> Vec<String> {
        let held = |place: &u32| {
            let claim = self.claims.get(*place);
            claim.stage == Stage::Holds && claim.resource != NONE
        };
        let mut all: Vec<String> = self
            .claims
            .of(process)
            .filter(held)
            .map(|place| {
                let claim = self.claims.get(place);
                let resource = self.there[claim.resource as usize].as_ref();
                let called = resource.map_or_else(String::new, Resource::called);
                format!("{} of {called}", counted(u64::from(claim.amount()), "unit"))
            })
            .collect();
        all.reverse();
        all
    }
}

impl Resource {
    /// Its kind and name, or who made it.
    fn called(&self) -> String {
        let kind = match self.kind {
            Kind::Units(_) => "resource",
            Kind::Store(_) => "store",
            Kind::Container(_) => "container",
            Kind::Event(_) => "event",
            Kind::State(_) => "state",
        };
        match (&self.name, self.id.owner) {
            (Some(name), _) => format!("{kind} `{name}`"),
            (None, ResourceId::SETUP) => format!("{kind} {}", self.id.number),
            (None, owner) => format!("{kind} {} of process {owner}", self.id.number),
        }
    }
}

fn wanted(want: &Want, called: &str) -> String {
    match want {
        Want::Seize(seizure) => format!("{} of {called}", counted(seizure.amount.into(), "unit")),
        Want::Put { .. } => format!("room in {called}"),
        Want::Get { test, least, .. } => {
            let which = if test.is_some() { " that it wants" } else { "" };
            format!("{}{which} in {called}", counted((*least).into(), "item"))
        }
        Want::Fill(amount) => format!("room for {amount} in {called}"),
        Want::Draw(amount) => format!("{amount} in {called}"),
        Want::Await | Want::Until(_) | Want::Look(_) => called.into(),
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
