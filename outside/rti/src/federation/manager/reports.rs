//! Reports on request: interactions that say what a federate has declared, sent, received or owns, and how
//! far the federation's synchronization points are.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{Bytes, ParameterHandleValue, ParameterHandleValueMap, callback};

use super::super::counts::{Counts, Traffic};
use super::super::declaration::{Declarations, PRIVILEGE};
use super::super::message::Body;
use super::super::ownership::INFRASTRUCTURE;
use super::super::{Federate, Federation};
use super::encoding::{
    boolean, count, handle, handles, integer, numbered, read_handle, read_integer, read_text, text, texts,
};
use super::orders::{Failure, MANAGER, Parameters};
use crate::handles::Handle;

/// What of a federate's traffic is asked for, how the report is called, and which parameter has the counts.
type Asked = (fn(&Counts) -> &Traffic, &'static str, &'static str);

fn traffic(what: &str) -> Option<Asked> {
    Some(match what {
        "HLArequestUpdatesSent" => (|it| &it.updates_sent, "HLAreportUpdatesSent", "HLAupdateCounts"),
        "HLArequestReflectionsReceived" => {
            (|it| &it.reflections_received, "HLAreportReflectionsReceived", "HLAreflectCounts")
        }
        "HLArequestInteractionsSent" => {
            (|it| &it.interactions_sent, "HLAreportInteractionsSent", "HLAinteractionCounts")
        }
        "HLArequestInteractionsReceived" => {
            (|it| &it.interactions_received, "HLAreportInteractionsReceived", "HLAinteractionCounts")
        }
        "HLArequestDirectedInteractionsSent" => {
            (|it| &it.directed_sent, "HLAreportDirectedInteractionsSent", "HLAinteractionCounts")
        }
        "HLArequestDirectedInteractionsReceived" => {
            (|it| &it.directed_received, "HLAreportDirectedInteractionsReceived", "HLAinteractionCounts")
        }
        _ => return None,
    })
}

/// Interaction classes by object class.
fn by_class(pairs: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut classes: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (class, interaction) in pairs {
        classes.entry(class).or_default().insert(interaction);
    }
    classes
}

fn counted(classes: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut counts = BTreeMap::new();
    classes.for_each(|class| *counts.entry(class).or_default() += 1);
    counts.into_iter().collect()
}

impl Federation {
    /// Sends a report about a federate to those who subscribe to it.
    pub(super) fn report(&mut self, about: u32, name: &str, values: &[(&str, Bytes)]) {
        let mut all = vec![("HLAfederate", handle(about))];
        all.extend_from_slice(values);
        self.send_report(&format!("{MANAGER}HLAfederate.HLAreport.{name}"), &all);
    }

    /// The infrastructure sends an interaction. A module that replaces ours may leave out its class.
    fn send_report(&mut self, name: &str, values: &[(&str, Bytes)]) {
        let Some(class) = self.fom.interactions.find(name) else { return };
        for (receiver, received) in self.receivers_of(INFRASTRUCTURE, class) {
            let transportation = self.fom.transportation("HLAreliable").unwrap_or(1);
            let is_evolved = self.federates[&receiver].is_evolved;
            let rows = values.iter().filter_map(|(name, value)| {
                let parameter = self.fom.interactions.member_of(received, name)?;
                let value = match *name {
                    // In 2010 it is named, in 2025 it has a handle.
                    "HLAtransportation" if is_evolved => {
                        let of = read_handle(value).ok()?;
                        text(self.fom.transportation_name(of).unwrap_or_default())
                    }
                    _ => value.clone(),
                };
                Some(ParameterHandleValue { parameter_handle: Handle::some(parameter), value })
            });
            let message = callback::ReceiveInteraction {
                interaction_class: Handle::some(received),
                parameter_values: Some(ParameterHandleValueMap { parameter_handle_value: rows.collect() }),
                user_supplied_tag: Bytes::new(),
                transportation_type: Handle::some(transportation),
                producing_federate: Handle::some(INFRASTRUCTURE),
                optional_sent_regions: None,
            };
            self.deliver(receiver, Body::Receive(message), None);
        }
    }

    /// Answers a request for something about the federation.
    pub(super) fn report_federation(&mut self, what: &str, parameters: &Parameters) -> Result<(), Failure> {
        let report = |name: &str| format!("{MANAGER}HLAfederation.HLAreport.{name}");
        match what {
            "HLArequestSynchronizationPoints" => {
                let labels = texts(self.points.keys().map(String::as_str));
                self.send_report(&report("HLAreportSynchronizationPoints"), &[("HLAsyncPoints", labels)]);
            }
            "HLArequestSynchronizationPointStatus" => {
                // That of 2010 is for all points.
                let wanted = parameters.optional("HLAsyncPointName", read_text)?;
                for (label, states) in self.point_states(wanted.as_deref()) {
                    let values =
                        [("HLAsyncPointName", text(&label)), ("HLAsyncPointFederates", numbered(&states))];
                    self.send_report(&report("HLAreportSynchronizationPointStatus"), &values);
                }
            }
            "HLArequestFOMmoduleData" => {
                let place = parameters.get("HLAFOMmoduleIndicator", read_integer)?;
                let values = self.module_data(self.documents.modules().nth(place as usize), place)?;
                self.send_report(&report("HLAreportFOMmoduleData"), &values);
            }
            "HLArequestMIMdata" => {
                let data = text(&self.documents.mim_text());
                self.send_report(&report("HLAreportMIMdata"), &[("HLAMIMdata", data)]);
            }
            what => return Err(Failure::of_service(format!("not yet: {what}"))),
        }
        Ok(())
    }

    fn module_data(
        &self,
        module: Option<(&str, &[u8])>,
        place: u32,
    ) -> Result<[(&'static str, Bytes); 2], Failure> {
        let (_, data) = module.ok_or_else(|| {
            Failure::of_parameter("HLAFOMmoduleIndicator", "there are fewer modules; the first one is 0")
        })?;
        let data = text(&String::from_utf8_lossy(data));
        Ok([("HLAFOMmoduleIndicator", integer(place)), ("HLAFOMmoduleData", data)])
    }

    /// Answers a request for something about a federate.
    pub(super) fn report_federate(
        &mut self,
        about: u32,
        what: &str,
        parameters: &Parameters,
    ) -> Result<(), Failure> {
        if let Some((counts, report, parameter)) = traffic(what) {
            // One for each transportation type, those without any too.
            let kinds = (1..).take_while(|one| self.fom.transportation_name(*one).is_some());
            for transportation in kinds.collect::<Vec<u32>>() {
                let rows: Vec<_> = counts(&self.federates[&about].counts).by_class(transportation).collect();
                let values = [("HLAtransportation", handle(transportation)), (parameter, numbered(&rows))];
                self.report(about, report, &values);
            }
            return Ok(());
        }
        let counts = &self.federates[&about].counts;
        let (report, rows) = match what {
            "HLArequestPublications" => {
                self.report_publications(about);
                return Ok(());
            }
            "HLArequestSubscriptions" => {
                self.report_subscriptions(about);
                return Ok(());
            }
            "HLArequestObjectInstanceInformation" => {
                let object = parameters.get("HLAobjectInstance", read_handle)?;
                return self.report_instance(about, object);
            }
            "HLArequestFOMmoduleData" => {
                let place = parameters.get("HLAFOMmoduleIndicator", read_integer)?;
                let names = &self.federates[&about].modules;
                let module = names.get(place as usize).and_then(|at| self.documents.modules().nth(*at));
                let values = self.module_data(module, place)?;
                self.report(about, "HLAreportFOMmoduleData", &values);
                return Ok(());
            }
            "HLArequestObjectInstancesThatCanBeDeleted" => {
                let deletable = self.objects.values().filter(|instance| {
                    let privilege = self.fom.objects.member_of(instance.class, PRIVILEGE);
                    privilege.and_then(|privilege| instance.owners.get(&privilege)) == Some(&about)
                });
                let rows = counted(deletable.map(|instance| instance.class));
                ("HLAreportObjectInstancesThatCanBeDeleted", rows)
            }
            "HLArequestObjectInstancesUpdated" => {
                ("HLAreportObjectInstancesUpdated", counted(counts.updated.values().copied()))
            }
            "HLArequestObjectInstancesReflected" => {
                ("HLAreportObjectInstancesReflected", counted(counts.reflected.values().copied()))
            }
            what => return Err(Failure::of_service(format!("not yet: {what}"))),
        };
        self.report(about, report, &[("HLAobjectInstanceCounts", numbered(&rows))]);
        Ok(())
    }

    fn report_instance(&mut self, about: u32, object: u32) -> Result<(), Failure> {
        let known = self.federates[&about].known.get(&object).copied();
        let (Some(instance), Some(known)) = (self.objects.get(&object), known) else {
            return Err(Failure::of_parameter("HLAobjectInstance", "the federate knows no such instance"));
        };
        let owned =
            instance.owners.iter().filter(|(_, owner)| **owner == about).map(|(attribute, _)| *attribute);
        let values = [
            ("HLAobjectInstance", handle(object)),
            ("HLAownedInstanceAttributeList", handles(owned.collect::<Vec<_>>().into_iter())),
            ("HLAregisteredClass", handle(instance.class)),
            ("HLAknownClass", handle(known)),
        ];
        self.report(about, "HLAreportObjectInstanceInformation", &values);
        Ok(())
    }

    /// One report for each class; if there is none, one that says so.
    fn report_classes(&mut self, about: u32, name: &str, classes: Vec<Vec<(&str, Bytes)>>) {
        let number = ("HLAnumberOfClasses", count(classes.len()));
        if classes.is_empty() {
            self.report(about, name, std::slice::from_ref(&number));
        }
        for mut values in classes {
            values.insert(0, number.clone());
            self.report(about, name, &values);
        }
    }

    fn report_publications(&mut self, about: u32) {
        let Federate { declarations, .. } = &self.federates[&about];
        let listed = |name, table: &BTreeMap<u32, BTreeSet<u32>>| -> Vec<Vec<(&str, Bytes)>> {
            let row = |(class, members): (&u32, &BTreeSet<u32>)| {
                let members = members.iter().copied().collect::<Vec<_>>().into_iter();
                vec![("HLAobjectClass", handle(*class)), (name, handles(members))]
            };
            table.iter().map(row).collect()
        };
        let interactions: Vec<u32> = declarations.published_interactions.iter().copied().collect();
        let objects = listed("HLAattributeList", &declarations.published);
        let directed = by_class(declarations.directed_published.iter().copied());
        let directed = listed("HLAinteractionClassList", &directed);
        let interactions = ("HLAinteractionClassList", handles(interactions.into_iter()));
        self.report(about, "HLAreportInteractionPublication", &[interactions]);
        self.report_classes(about, "HLAreportObjectClassPublication", objects);
        self.report_classes(about, "HLAreportDirectedInteractionPublication", directed);
    }

    fn report_subscriptions(&mut self, about: u32) {
        let Federate { declarations, .. } = &self.federates[&about];
        let interactions: Vec<(u32, u32)> = declarations
            .subscribed_interactions
            .iter()
            .map(|class| (*class, (!declarations.passive_interactions.contains(class)).into()))
            .collect();
        let objects = subscribed_classes(declarations);
        let directed = by_class(declarations.directed_subscribed.keys().copied());
        let directed = directed.into_iter().map(|(class, interactions)| {
            let interactions = interactions.into_iter().collect::<Vec<_>>().into_iter();
            vec![("HLAobjectClass", handle(class)), ("HLAinteractionClassList", handles(interactions))]
        });
        let directed = directed.collect();
        let interactions = ("HLAinteractionClassList", numbered(&interactions));
        self.report(about, "HLAreportInteractionSubscription", &[interactions]);
        self.report_classes(about, "HLAreportObjectClassSubscription", objects);
        self.report_classes(about, "HLAreportDirectedInteractionSubscription", directed);
    }
}

/// A row for all attributes of a class that are subscribed to in one way: actively or not, at some rate.
fn subscribed_classes(declarations: &Declarations) -> Vec<Vec<(&'static str, Bytes)>> {
    let mut ways: BTreeMap<(u32, bool, &str), Vec<u32>> = BTreeMap::new();
    for (class, attributes) in &declarations.subscribed {
        for attribute in attributes {
            let is_active = !declarations.passive.contains(&(*class, *attribute));
            let rate = declarations.rates.get(&(*class, *attribute)).map_or("HLAdefault", String::as_str);
            ways.entry((*class, is_active, rate)).or_default().push(*attribute);
        }
    }
    let row = |((class, is_active, rate), attributes): ((u32, bool, &str), Vec<u32>)| {
        vec![
            ("HLAobjectClass", handle(class)),
            ("HLAactive", boolean(is_active)),
            ("HLAmaxUpdateRate", text(rate)),
            ("HLAattributeList", handles(attributes.into_iter())),
        ]
    };
    ways.into_iter().map(row).collect()
}
