//! The objects of the management object model: one for the federation, and one for each federate.
//!
//! They are instances like others, whose attributes the infrastructure owns. Their handles have the highest
//! bit set, so that those of federates' own instances are the same with and without them. Values are worked
//! out when somebody asks for them; those that the model calls conditional are sent when they have changed,
//! if anybody knows such an object, and those that it calls periodic at the period that a federate has set.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{AttributeHandleValue, AttributeHandleValueMap, Bytes, callback};

use super::Federation;
use super::message::Body;
use super::objects::Object;
use super::ownership::INFRASTRUCTURE;
use crate::exception::{Answer, CallError, Exception};
use crate::handles::Handle;

mod encoding;
mod orders;
pub(super) mod period;
mod reports;
mod services;
mod values;

/// The handle of the federation's object. That of a federate has this and the federate's handle.
const FIRST: u32 = 1 << 31;

const FEDERATION_CLASS: &str = "HLAmanager.HLAfederation";
const FEDERATE_CLASS: &str = "HLAmanager.HLAfederate";

/// Who looks at the objects of the management object model, and what was sent last.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Federates that have discovered such an object.
    pub(super) watchers: BTreeSet<u32>,
    /// Federates about which something may have changed, and 0 if it is the federation.
    changed: BTreeSet<u32>,
    /// The values of conditional attributes, by instance and attribute. Nothing while nobody watches.
    sent: Option<BTreeMap<(u32, u32), Bytes>>,
}

impl Watch {
    /// Something about a federate may have changed, or, for 0, about the federation.
    pub(super) fn mark(&mut self, federate: u32) {
        if !self.watchers.is_empty() {
            self.changed.insert(federate);
        }
    }
}

impl Federation {
    pub(super) fn is_managed(object: u32) -> bool {
        object >= FIRST
    }

    /// Adds the object of a federate, or that of the federation for 0.
    pub(super) fn add_managed(&mut self, federate: u32) {
        let name = if federate == 0 { FEDERATION_CLASS } else { FEDERATE_CLASS };
        // A module that replaces ours may leave the classes out.
        let Some(class) = self.fom.objects.find(name) else { return };
        let object = FIRST + federate;
        let name = if federate == 0 { name.to_owned() } else { format!("{name}-{federate}") };
        let owners =
            self.fom.objects.all_members(class).map(|attribute| (attribute, INFRASTRUCTURE)).collect();
        self.named.insert(name.clone(), object);
        self.objects.insert(object, Object { owners, ..Object::new(name, class, INFRASTRUCTURE) });
        let federates: Vec<u32> = self.federates.keys().copied().collect();
        federates.into_iter().for_each(|other| self.discover(other, object));
        self.watch.mark(federate);
        self.watch.mark(0);
    }

    /// Removes the object of a federate that has gone.
    pub(super) fn remove_managed(&mut self, federate: u32) {
        let object = FIRST + federate;
        self.delete(INFRASTRUCTURE, object, &Bytes::new());
        self.watch.watchers.remove(&federate);
        self.watch.changed.remove(&federate);
        if let Some(sent) = &mut self.watch.sent {
            sent.retain(|(known, _), _| *known != object);
        }
        self.watch.mark(0);
    }

    fn managed_value(&self, object: u32, attribute: u32) -> Option<Bytes> {
        let name = &self.fom.objects.member(attribute)?.name;
        match object - FIRST {
            0 => self.federation_value(name),
            federate => self.federate_value(federate, name),
        }
    }

    /// Sends the values of these attributes to all who subscribe to them, as an update would.
    pub(super) fn provide_managed(&mut self, object: u32, attributes: &BTreeSet<u32>) {
        let valued = attributes
            .iter()
            .filter_map(|attribute| Some((*attribute, self.managed_value(object, *attribute)?)));
        let values: Vec<(u32, Bytes)> = valued.collect();
        self.reflect_managed(object, &values);
        self.restart_times(object, attributes);
    }

    /// Refuses a request for values none of which is kept.
    pub(super) fn check_kept(&self, object: u32, attributes: &BTreeSet<u32>) -> Answer<()> {
        if attributes.is_empty() || attributes.iter().any(|one| self.managed_value(object, *one).is_some()) {
            return Ok(());
        }
        let names = attributes.iter().filter_map(|one| Some(self.fom.objects.member(*one)?.name.as_str()));
        let details = format!("not yet: {}", names.collect::<Vec<_>>().join(", "));
        Err(CallError::new(Exception::RTIinternalError, details))
    }

    fn reflect_managed(&mut self, object: u32, values: &[(u32, Bytes)]) {
        for federate in self.others_that_know(INFRASTRUCTURE, object) {
            let member = &self.federates[&federate];
            let Some(known) = member.known.get(&object) else { continue };
            let Some(class) = self.closest_subscribed(federate, *known) else { continue };
            let wanted = &member.declarations.subscribed[&class];
            let wanted = values.iter().filter(|(attribute, _)| wanted.contains(attribute));
            let attribute_handle_value: Vec<AttributeHandleValue> = wanted
                .map(|(attribute, value)| AttributeHandleValue {
                    attribute_handle: Handle::some(*attribute),
                    value: value.clone(),
                })
                .collect();
            if attribute_handle_value.is_empty() {
                continue;
            }
            let reflected = callback::ReflectAttributeValues {
                object_instance: Handle::some(object),
                attribute_values: Some(AttributeHandleValueMap { attribute_handle_value }),
                user_supplied_tag: Bytes::new(),
                transportation_type: Handle::some(1),
                producing_federate: Handle::some(INFRASTRUCTURE),
                optional_sent_regions: None,
            };
            self.deliver(federate, Body::Reflect(reflected), None);
        }
    }

    /// The values of an object's conditional attributes.
    fn conditional_values(&self, object: u32) -> Vec<(u32, Bytes)> {
        let Some(class) = self.objects.get(&object).map(|row| row.class) else { return Vec::new() };
        let names = values::conditional_attributes(object == FIRST);
        let valued = names.iter().filter_map(|name| {
            let attribute = self.fom.objects.member_of(class, name)?;
            Some((attribute, self.managed_value(object, attribute)?))
        });
        valued.collect()
    }

    /// Sends conditional attributes that have changed. Who begins to watch asks for the values of that time.
    pub(super) fn report_changes(&mut self) {
        if self.watch.watchers.is_empty() {
            self.watch.sent = None;
            return;
        }
        if self.watch.sent.is_none() {
            let managed: Vec<u32> = self.objects.range(FIRST..).map(|(object, _)| *object).collect();
            let values = managed.into_iter().flat_map(|object| {
                let values = self.conditional_values(object).into_iter();
                values.map(move |(attribute, value)| ((object, attribute), value))
            });
            self.watch.sent = Some(values.collect());
            self.watch.changed.clear();
            return;
        }
        for federate in std::mem::take(&mut self.watch.changed) {
            let object = FIRST + federate;
            let mut values = self.conditional_values(object);
            let sent = self.watch.sent.get_or_insert_default();
            values.retain(|(attribute, value)| {
                sent.insert((object, *attribute), value.clone()).as_ref() != Some(value)
            });
            if !values.is_empty() {
                self.reflect_managed(object, &values);
            }
        }
    }
}
