//! What the attributes of the management object model say.

use std::time::Duration;

use paceline_hla::ResignAction;

use super::super::Federation;
use super::super::declaration::PRIVILEGE;
use super::super::switches::Switch;
use super::encoding::{boolean, count, handle, handles, integer, text, texts, time};

const VERSION: &str = concat!("Paceline ", env!("CARGO_PKG_VERSION"));

/// The attributes that are sent when they have changed.
pub(super) fn conditional_attributes(is_federation: bool) -> &'static [&'static str] {
    if is_federation {
        &["HLAfederatesInFederation", "HLAFOMmoduleDesignatorList", "HLAautoProvide"]
    } else {
        &[
            "HLAtimeConstrained",
            "HLAtimeRegulating",
            "HLAasynchronousDelivery",
            "HLAfederateState",
            "HLAtimeManagerState",
            "HLAconveyRegionDesignatorSets",
            "HLAconveyProducingFederate",
            "HLAobjectClassRelevanceAdvisory",
            "HLAattributeRelevanceAdvisory",
            "HLAattributeScopeAdvisory",
            "HLAinteractionRelevanceAdvisory",
            "HLAautomaticResignAction",
            "HLAexceptionReporting",
        ]
    }
}

/// The attributes that are sent at the period of reports.
pub(super) fn periodic_attributes() -> &'static [&'static str] {
    &[
        "HLAlogicalTime",
        "HLAlookahead",
        "HLAGALT",
        "HLALITS",
        "HLAROlength",
        "HLATSOlength",
        "HLAreflectionsReceived",
        "HLAupdatesSent",
        "HLAinteractionsReceived",
        "HLAinteractionsSent",
        "HLAobjectInstancesThatCanBeDeleted",
        "HLAobjectInstancesUpdated",
        "HLAobjectInstancesReflected",
        "HLAobjectInstancesDeleted",
        "HLAobjectInstancesRemoved",
        "HLAobjectInstancesRegistered",
        "HLAobjectInstancesDiscovered",
        "HLAtimeGrantedTime",
        "HLAtimeAdvancingTime",
        "HLAdirectedInteractionsReceived",
        "HLAdirectedInteractionsSent",
    ]
}

/// HLAresignAction, which begins with 1.
fn resign_action(action: ResignAction) -> u32 {
    action as u32 + 1
}

/// HLAmsec.
fn milliseconds(time: Duration) -> paceline_hla::Bytes {
    integer(u32::try_from(time.as_millis()).unwrap_or(i32::MAX as u32))
}

impl Federation {
    /// The value of an attribute of the federation's object; nothing if it is not kept.
    pub(super) fn federation_value(&self, name: &str) -> Option<paceline_hla::Bytes> {
        Some(match name {
            "HLAfederationName" => text(&self.name),
            "HLAfederatesInFederation" => handles(self.federates.keys().copied()),
            "HLARTIversion" => text(VERSION),
            "HLAMIMdesignator" => text(self.documents.mim_name()),
            "HLAFOMmoduleDesignatorList" => {
                let names: Vec<&str> = self.documents.modules().map(|(name, _)| name).collect();
                texts(names.into_iter())
            }
            "HLAcurrentFDD" => text(&self.fom.write()),
            "HLAtimeImplementationName" => text(self.time.name()),
            // Nothing is saved.
            "HLAlastSaveName" | "HLAnextSaveName" => text(""),
            "HLAlastSaveTime" | "HLAnextSaveTime" => time(None),
            "HLAautoProvide" => boolean(self.provides_automatically()),
            "HLAadvisoriesUseKnownClass" => boolean(self.is_on_by_modules("advisoriesUseKnownClass")),
            "HLAdelaySubscriptionEvaluation" => boolean(self.is_on_by_modules("delaySubscriptionEvaluation")),
            "HLAallowRelaxedDDM" => boolean(self.is_on_by_modules("allowRelaxedDDM")),
            "HLAnonRegulatedGrant" => boolean(self.grants_non_regulated),
            _ => return None,
        })
    }

    /// The value of an attribute of a federate's object; nothing if it is not kept.
    pub(super) fn federate_value(&self, federate: u32, name: &str) -> Option<paceline_hla::Bytes> {
        let member = self.federates.get(&federate)?;
        let switch = |switch| boolean(member.switches.contains(&switch));
        Some(match name {
            "HLAfederateHandle" => handle(federate),
            "HLAfederateName" => text(&member.name),
            "HLAfederateType" => text(&member.kind),
            "HLAfederateHost" => text(&member.host),
            "HLAFOMmoduleDesignatorList" => {
                let names: Vec<&str> = self.documents.modules().map(|(name, _)| name).collect();
                let known = member.modules.iter().filter_map(|place| names.get(*place).copied());
                texts(known.collect::<Vec<_>>().into_iter())
            }
            "HLARTIversion" => text(VERSION),
            // It is active, since nothing is saved and restored.
            "HLAfederateState" => integer(1),
            "HLAconveyRegionDesignatorSets" => switch(Switch::ConveyRegions),
            // That of HLA 4 is always conveyed.
            "HLAconveyProducingFederate" => boolean(true),
            "HLAobjectClassRelevanceAdvisory" => switch(Switch::ObjectClassRelevance),
            "HLAattributeRelevanceAdvisory" => switch(Switch::AttributeRelevance),
            "HLAattributeScopeAdvisory" => switch(Switch::AttributeScope),
            "HLAinteractionRelevanceAdvisory" => switch(Switch::InteractionRelevance),
            "HLAautomaticResignAction" => integer(resign_action(member.directive)),
            "HLAexceptionReporting" => switch(Switch::ExceptionReporting),
            "HLAserviceReporting" | "HLAsendServiceReportsToFile" => boolean(false),
            "HLAreportServiceFile" => text(""),
            name => return self.time_value(federate, name).or_else(|| self.count_value(federate, name)),
        })
    }

    fn time_value(&self, federate: u32, name: &str) -> Option<paceline_hla::Bytes> {
        let clock = &self.federates.get(&federate)?.clock;
        Some(match name {
            "HLAtimeConstrained" => boolean(clock.is_constrained),
            "HLAtimeRegulating" => boolean(clock.lookahead.is_some()),
            "HLAasynchronousDelivery" => boolean(clock.is_asynchronous),
            "HLAtimeManagerState" => integer(clock.pending.is_some().into()),
            "HLAtimeGrantedTime" => milliseconds(self.federates[&federate].timing.granted),
            "HLAtimeAdvancingTime" => milliseconds(self.federates[&federate].timing.advancing),
            "HLAlogicalTime" => time(Some(clock.now)),
            "HLAlookahead" => time(clock.actual_lookahead()),
            "HLAGALT" => time(self.galt(federate)),
            "HLALITS" => time(self.lits(federate)),
            "HLAROlength" => count(clock.held.len()),
            "HLATSOlength" => count(clock.queue.len()),
            _ => return None,
        })
    }

    fn count_value(&self, federate: u32, name: &str) -> Option<paceline_hla::Bytes> {
        let counts = &self.federates.get(&federate)?.counts;
        Some(integer(match name {
            "HLAreflectionsReceived" => counts.reflections_received.total(),
            "HLAupdatesSent" => counts.updates_sent.total(),
            "HLAinteractionsReceived" => counts.interactions_received.total(),
            "HLAinteractionsSent" => counts.interactions_sent.total(),
            "HLAdirectedInteractionsReceived" => counts.directed_received.total(),
            "HLAdirectedInteractionsSent" => counts.directed_sent.total(),
            "HLAobjectInstancesDeleted" => counts.deleted,
            "HLAobjectInstancesRemoved" => counts.removed,
            "HLAobjectInstancesRegistered" => counts.registered,
            "HLAobjectInstancesDiscovered" => counts.discovered,
            "HLAobjectInstancesUpdated" => return Some(count(counts.updated.len())),
            "HLAobjectInstancesReflected" => return Some(count(counts.reflected.len())),
            "HLAobjectInstancesThatCanBeDeleted" => {
                let is_deletable = |instance: &&super::super::objects::Object| {
                    let privilege = self.fom.objects.member_of(instance.class, PRIVILEGE);
                    privilege.and_then(|privilege| instance.owners.get(&privilege)) == Some(&federate)
                };
                return Some(count(self.objects.values().filter(is_deletable).count()));
            }
            _ => return None,
        }))
    }
}
