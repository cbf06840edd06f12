//! A federation: who has joined, its object model, and which service answers which call.
//!
//! Invariants: handles of federates rise and are not used again; every call is answered once; a call that is
//! refused changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use paceline_hla::{Call, Callback, ResignAction, Response, request, response};
use paceline_kernel::SendBounds;

use crate::client::Client;
use crate::exception::{Answer, CallError, Exception};
use crate::fom::Fom;
use crate::limits::RtiLimits;
use crate::time::{LogicalTime, TimeKind};

mod advance;
mod advisories;
mod carriage;
mod clock;
mod counts;
mod declaration;
mod deletion;
mod directed;
pub(crate) mod documents;
mod exchange;
mod grants;
mod manager;
mod message;
mod names;
mod objects;
mod ownership;
mod retraction;
pub(crate) mod status;
mod support;
mod switches;
mod synchronization;

use advisories::Advised;
use carriage::Carriages;
use clock::Clock;
use counts::{Counted, Counts};
use declaration::Declarations;
use deletion::Doom;
use documents::Documents;
use grants::Waiting;
use manager::Watch;
use manager::period::Timing;
use objects::Object;
use switches::Switch;
use switches::is_on;
use synchronization::Point;

/// Who joins.
pub(crate) struct Newcomer {
    pub(crate) client: Client,
    /// The type that it names.
    pub(crate) kind: String,
    /// Empty if it wants any.
    pub(crate) name: String,
    /// From where it is connected.
    pub(crate) host: String,
    /// The places of the modules that it brings.
    pub(crate) modules: Vec<usize>,
    /// It is a program for HLA Evolved.
    pub(crate) is_evolved: bool,
}

#[derive(Debug)]
struct Federate {
    client: Client,
    name: String,
    kind: String,
    host: String,
    modules: Vec<usize>,
    is_evolved: bool,
    timing: Timing,
    /// How it resigns if it is lost.
    directive: ResignAction,
    declarations: Declarations,
    /// Those that are on.
    switches: BTreeSet<Switch>,
    /// The instances that it knows, and the class that it knows each as.
    known: BTreeMap<u32, u32>,
    clock: Clock,
    counts: Counts,
    advised: Advised,
    carriages: Carriages,
}

#[derive(Debug)]
pub(crate) struct Federation {
    pub(crate) name: String,
    pub(crate) fom: Fom,
    pub(crate) time: TimeKind,
    /// What calls have caused, until the caller takes it.
    pub(crate) callbacks: Vec<(Client, Callback)>,
    federates: BTreeMap<u32, Federate>,
    /// The greatest handle that a federate has had.
    last_federate: u32,
    points: BTreeMap<String, Point>,
    /// Who subscribes to an interaction class.
    receivers: BTreeMap<u32, BTreeSet<u32>>,
    objects: BTreeMap<u32, Object>,
    /// Who knows an instance: the federates whose `known` has it.
    knowers: BTreeMap<u32, BTreeSet<u32>>,
    /// Instances whose deletion at a time is on its way to some, or can still be retracted.
    doomed: BTreeMap<u32, Doom>,
    /// The greatest handle that an instance has had.
    last_object: u32,
    /// The names of instances.
    named: BTreeMap<String, u32>,
    /// Names that are kept for a federate.
    reserved: BTreeMap<String, u32>,
    /// Federates that wait for a time, or to be constrained, by the bound that each needs.
    waiting: Waiting,
    /// What those that regulate may still send.
    bounds: SendBounds<LogicalTime>,
    /// Constrained federates go on where no other one regulates, as the modules say of the non-regulated
    /// grant.
    grants_non_regulated: bool,
    watch: Watch,
    /// Set by an interaction, and otherwise as the modules say.
    auto_provide: Option<bool>,
    limits: RtiLimits,
    pub(crate) documents: Documents,
    /// The latest time of the host, by [`Rti::pass`](crate::Rti::pass).
    now: Duration,
    /// Those that another federate has made resign, until the caller takes them.
    pub(crate) resigned: Vec<Client>,
}

impl Federation {
    pub(crate) fn new(
        name: String,
        fom: Fom,
        time: TimeKind,
        (limits, documents): (RtiLimits, Documents),
    ) -> Self {
        // Modules of 2010 do not have the switch, and their federates do go on.
        let grants_non_regulated = fom.switch("nonRegulatedGrant").is_none_or(is_on);
        let mut federation = Self {
            name,
            fom,
            time,
            callbacks: Vec::new(),
            federates: BTreeMap::new(),
            last_federate: 0,
            points: BTreeMap::new(),
            receivers: BTreeMap::new(),
            objects: BTreeMap::new(),
            knowers: BTreeMap::new(),
            doomed: BTreeMap::new(),
            last_object: 0,
            named: BTreeMap::new(),
            reserved: BTreeMap::new(),
            waiting: Waiting::new(),
            bounds: SendBounds::default(),
            grants_non_regulated,
            watch: Watch::default(),
            auto_provide: None,
            limits,
            documents,
            now: Duration::ZERO,
            resigned: Vec::new(),
        };
        federation.add_managed(0);
        federation
    }

    /// Names and types of federates, by handle.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.federates.values().map(|federate| (federate.name.as_str(), federate.kind.as_str()))
    }

    pub(crate) fn federate_name(&self, federate: u32) -> Option<&str> {
        self.federates.get(&federate).map(|federate| federate.name.as_str())
    }

    pub(crate) fn check_federate_name(&self, name: &str) -> Answer<()> {
        if !name.is_empty() && self.members().any(|(known, _)| known == name) {
            let details = format!("a federate of {:?} is called {name:?} already", self.name);
            return Err(CallError::new(Exception::FederateNameAlreadyInUse, details));
        }
        Ok(())
    }

    /// Takes in a federate whose name is free, and returns its handle.
    pub(crate) fn join(&mut self, newcomer: Newcomer) -> u32 {
        let Newcomer { client, kind, mut name, host, modules, is_evolved } = newcomer;
        self.last_federate += 1;
        let handle = self.last_federate;
        if name.is_empty() {
            // Somebody may have chosen such a name.
            let names = (0..).map(|more| match more {
                0 => format!("{kind}-{handle}"),
                more => format!("{kind}-{handle}-{more}"),
            });
            let mut free = names.filter(|name| self.check_federate_name(name).is_ok());
            name = free.next().expect("there are more names than federates");
        }
        let federate = Federate {
            client,
            name,
            kind,
            host,
            modules,
            is_evolved,
            timing: Timing::default(),
            directive: self.first_directive(),
            declarations: Declarations::default(),
            switches: self.first_switches(),
            known: BTreeMap::new(),
            clock: Clock::new(self.time),
            counts: Counts::default(),
            advised: Advised::default(),
            carriages: Carriages::default(),
        };
        self.federates.insert(handle, federate);
        self.announce_to(handle);
        self.add_managed(handle);
        self.advise();
        self.report_changes();
        handle
    }

    /// What the modules say of how a lost federate resigns.
    fn first_directive(&self) -> ResignAction {
        match self.fom.switch("automaticResignAction") {
            Some("UnconditionallyDivestAttributes") => ResignAction::UnconditionallyDivestAttributes,
            Some("DeleteObjects") => ResignAction::DeleteObjects,
            Some("CancelPendingOwnershipAcquisitions") => ResignAction::CancelPendingOwnershipAcquisitions,
            Some("DeleteObjectsThenDivest") => ResignAction::DeleteObjectsThenDivest,
            Some("NoAction") => ResignAction::NoAction,
            _ => ResignAction::CancelThenDeleteThenDivest,
        }
    }

    /// The federate is lost, and resigns as its directive says.
    pub(crate) fn leave(&mut self, federate: u32) {
        let Federate { directive, .. } = self.federates[&federate];
        self.report_loss(federate);
        self.go(federate, directive);
        self.advise();
        self.report_changes();
    }

    fn go(&mut self, federate: u32, action: ResignAction) {
        self.give_up_objects(federate, action);
        self.forget_in_time(federate);
        self.receivers.values_mut().for_each(|receivers| {
            receivers.remove(&federate);
        });
        self.unlearn_all(federate);
        self.federates.remove(&federate);
        self.remove_managed(federate);
        self.remove_doomed();
        self.forget_in_points(federate);
        self.grant_all();
    }

    fn resign(&mut self, federate: u32, request: &request::ResignFederationExecution) -> Answer<Response> {
        let action = ResignAction::try_from(request.resign_action).map_err(|_| {
            let details = format!("{} is no resign action, 0 to 5 are", request.resign_action);
            CallError::new(Exception::InvalidResignAction, details)
        })?;
        self.check_resignation(federate, action)?;
        self.go(federate, action);
        Ok(response::ResignFederationExecution {}.into())
    }

    /// Adds a callback.
    fn tell(&mut self, federate: u32, callback: impl Into<Callback>) {
        let callback = callback.into();
        if !self.meets_its_end(federate, &callback) {
            return;
        }
        if let Some(member) = self.federates.get_mut(&federate) {
            member.counts.receive(&callback, &member.known);
            if matches!(
                callback,
                Callback::TimeAdvanceGrant(_)
                    | Callback::FlushQueueGrant(_)
                    | Callback::TimeRegulationEnabled(_)
                    | Callback::TimeConstrainedEnabled(_)
            ) {
                self.watch.mark(federate);
            }
            self.callbacks.push((member.client, callback));
        }
    }

    /// Answers a call of a federate that has joined.
    pub(crate) fn call(&mut self, federate: u32, call: Call) -> Answer<Response> {
        let (counted, is_relevant) = (Counted::of(&call), !advisories::is_irrelevant(&call));
        let name = call.name();
        let response = match self.answer(federate, call) {
            Ok(response) => response,
            Err(error) => {
                self.report_exception(federate, name, &error);
                return Err(error);
            }
        };
        self.count(federate, counted);
        if self.federates.contains_key(&federate) {
            self.watch.mark(federate);
        }
        // A deletion may have become final.
        self.remove_doomed();
        if is_relevant {
            self.advise();
        }
        self.report_changes();
        Ok(response)
    }

    /// Each group of services hands on what is none of its calls.
    fn answer(&mut self, federate: u32, call: Call) -> Answer<Response> {
        match call {
            Call::SendInteraction(request::SendInteraction { ref interaction_class, .. })
            | Call::SendInteractionWithTime(request::SendInteractionWithTime {
                ref interaction_class, ..
            }) if self.is_order(interaction_class.as_ref()) => self.take_order(federate, call),
            Call::ResignFederationExecution(r) => self.resign(federate, &r),
            Call::RegisterFederationSynchronizationPoint(r) => {
                self.register_point(federate, r.synchronization_point_label, r.user_supplied_tag, None)?;
                Ok(response::RegisterFederationSynchronizationPoint {}.into())
            }
            Call::RegisterFederationSynchronizationPointWithSet(r) => {
                let set = r.synchronization_set;
                self.register_point(federate, r.synchronization_point_label, r.user_supplied_tag, set)?;
                Ok(response::RegisterFederationSynchronizationPointWithSet {}.into())
            }
            Call::SynchronizationPointAchieved(r) => self.achieve_point(federate, &r),
            Call::GetAutomaticResignDirective(_) => {
                let result = self.federates[&federate].directive.into();
                Ok(response::GetAutomaticResignDirective { result }.into())
            }
            Call::SetAutomaticResignDirective(r) => self.set_directive(federate, r.value),
            Call::GetFederateHandle(_) | Call::GetFederateName(_) | Call::NormalizeFederateHandle(_) => {
                self.support_federates(&call)
            }
            call => self.manage_ownership(federate, call),
        }
    }

    fn set_directive(&mut self, federate: u32, value: i32) -> Answer<Response> {
        let directive = ResignAction::try_from(value).map_err(|_| {
            let details = format!("{value} is no resign action, 0 to 5 are");
            CallError::new(Exception::InvalidResignAction, details)
        })?;
        self.federates.get_mut(&federate).expect("who calls has joined").directive = directive;
        Ok(response::SetAutomaticResignDirective {}.into())
    }
}
