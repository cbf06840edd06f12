//! Values and interactions on their way from one federate to others, and requests for values.
//!
//! Invariants: nobody receives what it has sent, an attribute that it does not subscribe to, or a parameter
//! of a class below the one that it subscribes to; attributes that are carried differently come apart.

use std::collections::BTreeMap;

use paceline_hla::{
    AttributeHandleValue, AttributeHandleValueMap, Call, LogicalTime, ParameterHandleValue,
    ParameterHandleValueMap, Response, callback, request, response,
};

use super::Federation;
use super::message::{Body, Stamp};
use crate::exception::{Answer, CallError, Exception};
use crate::handles::{Handle, number};

impl Federation {
    /// The values by attribute, all of which the federate owns.
    fn owned_values(
        &self,
        federate: u32,
        object: u32,
        values: Option<AttributeHandleValueMap>,
    ) -> Answer<Vec<(u32, AttributeHandleValue)>> {
        let instance = &self.objects[&object];
        let values = values.unwrap_or_default().attribute_handle_value.into_iter().map(|value| {
            let attribute = number(value.attribute_handle.as_ref())?;
            if !self.fom.objects.has_member(instance.class, attribute) {
                let details = format!("{:?} has no attribute with the handle {attribute}", instance.name);
                return Err(CallError::new(Exception::AttributeNotDefined, details));
            }
            if instance.owners.get(&attribute) != Some(&federate) {
                let name =
                    self.fom.objects.member(attribute).map(|row| row.name.as_str()).unwrap_or_default();
                let details = format!("{name} of {:?} is not its own", instance.name);
                return Err(CallError::new(Exception::AttributeNotOwned, details));
            }
            Ok((attribute, value))
        });
        values.collect()
    }

    fn update(
        &mut self,
        federate: u32,
        request: request::UpdateAttributeValues,
        time: Option<&LogicalTime>,
    ) -> Answer<Option<Stamp>> {
        let (object, class) = self.known_object(federate, request.object_instance.as_ref())?;
        let values = self.owned_values(federate, object, request.attribute_values)?;
        let has_order = values.iter().any(|(attribute, _)| self.carriage_of(object, *attribute).1);
        let stamp = time.map(|time| self.check_stamp(federate, time, has_order)).transpose()?;
        for other in self.others_that_know(federate, object) {
            let Some(known) = self.federates[&other].known.get(&object) else { continue };
            let Some(class) = self.closest_subscribed(other, *known) else { continue };
            let wanted = &self.federates[&other].declarations.subscribed[&class];
            // What is carried alike goes in one callback; by a map, so that their order is always the same.
            let mut passels: BTreeMap<(u32, bool), Vec<AttributeHandleValue>> = BTreeMap::new();
            for (attribute, value) in values.iter().filter(|(attribute, _)| wanted.contains(attribute)) {
                passels.entry(self.carriage_of(object, *attribute)).or_default().push(value.clone());
            }
            for ((transportation, is_timestamped), attribute_handle_value) in passels {
                let reflected = callback::ReflectAttributeValues {
                    object_instance: Handle::some(object),
                    attribute_values: Some(AttributeHandleValueMap { attribute_handle_value }),
                    user_supplied_tag: request.user_supplied_tag.clone(),
                    transportation_type: Handle::some(transportation),
                    producing_federate: Handle::some(federate),
                    optional_sent_regions: None,
                };
                let stamp = stamp.map(|stamp| stamp.in_order(is_timestamped));
                self.transmit(other, Body::Reflect(reflected), stamp);
            }
        }
        let mut used: Vec<u32> =
            values.iter().map(|(attribute, _)| self.carriage_of(object, *attribute).0).collect();
        used.sort_unstable();
        used.dedup();
        let counts = &mut self.federates.get_mut(&federate).expect("who calls has joined").counts;
        used.into_iter().for_each(|transportation| counts.updates_sent.add(transportation, class));
        counts.updated.insert(object, class);
        self.grant_all();
        Ok(stamp)
    }

    pub(super) fn check_parameters(&self, class: u32, values: &[ParameterHandleValue]) -> Answer<()> {
        let table = &self.fom.interactions;
        values.iter().try_for_each(|value| {
            let parameter = number(value.parameter_handle.as_ref())?;
            if table.has_member(class, parameter) {
                return Ok(());
            }
            let class = table.class(class).map(|class| class.name.as_str()).unwrap_or_default();
            let details = format!("{class} has no parameter with the handle {parameter}");
            Err(CallError::new(Exception::InteractionParameterNotDefined, details))
        })
    }

    /// The others that receive an interaction, and the class as which each does: the closest that it
    /// subscribes to.
    pub(super) fn receivers_of(&self, federate: u32, class: u32) -> BTreeMap<u32, u32> {
        let mut received = BTreeMap::new();
        for above in self.fom.interactions.lineage(class) {
            let receivers = self.receivers.get(&above).into_iter().flatten();
            for receiver in receivers.filter(|receiver| **receiver != federate) {
                received.entry(*receiver).or_insert(above);
            }
        }
        received
    }

    pub(super) fn send(
        &mut self,
        federate: u32,
        request: request::SendInteraction,
        time: Option<&LogicalTime>,
    ) -> Answer<Option<Stamp>> {
        let class = self.interaction_class(request.interaction_class.as_ref())?;
        if !self.federates[&federate].declarations.published_interactions.contains(&class) {
            let details = "this federate does not publish the class".to_owned();
            return Err(CallError::new(Exception::InteractionClassNotPublished, details));
        }
        let values = request.parameter_values.unwrap_or_default().parameter_handle_value;
        self.check_parameters(class, &values)?;
        let (transportation, is_timestamped) = self.interaction_carriage(federate, class);
        let stamp = time.map(|time| self.check_stamp(federate, time, is_timestamped)).transpose()?;
        for (other, received) in self.receivers_of(federate, class) {
            let is_there = |value: &&ParameterHandleValue| {
                let parameter = number(value.parameter_handle.as_ref());
                parameter.is_ok_and(|parameter| self.fom.interactions.has_member(received, parameter))
            };
            let parameter_handle_value = values.iter().filter(is_there).cloned().collect();
            let message = callback::ReceiveInteraction {
                interaction_class: Handle::some(received),
                parameter_values: Some(ParameterHandleValueMap { parameter_handle_value }),
                user_supplied_tag: request.user_supplied_tag.clone(),
                transportation_type: Handle::some(transportation),
                producing_federate: Handle::some(federate),
                optional_sent_regions: None,
            };
            self.transmit(other, Body::Receive(message), stamp);
        }
        let member = self.federates.get_mut(&federate).expect("who calls has joined");
        member.counts.interactions_sent.add(transportation, class);
        self.grant_all();
        Ok(stamp)
    }

    fn request_instance(
        &mut self,
        federate: u32,
        request: &request::RequestInstanceAttributeValueUpdate,
    ) -> Answer<Response> {
        let (object, class) = self.known_object(federate, request.object_instance.as_ref())?;
        let attributes = self.attributes_of(class, request.attributes.as_ref())?;
        if Self::is_managed(object) {
            self.check_kept(object, &attributes)?;
        }
        self.ask_owners(federate, object, &attributes, &request.user_supplied_tag);
        Ok(response::RequestInstanceAttributeValueUpdate {}.into())
    }

    /// For all instances of the class and of those below it, whether the federate knows them or not.
    fn request_class(
        &mut self,
        federate: u32,
        request: &request::RequestClassAttributeValueUpdate,
    ) -> Answer<Response> {
        let class = self.object_class(request.object_class.as_ref())?;
        let attributes = self.attributes_of(class, request.attributes.as_ref())?;
        let of_class = self.objects.iter().filter(|(_, row)| self.fom.objects.is_a(row.class, class));
        let objects: Vec<u32> = of_class.map(|(object, _)| *object).collect();
        for object in objects {
            self.ask_owners(federate, object, &attributes, &request.user_supplied_tag);
        }
        Ok(response::RequestClassAttributeValueUpdate {}.into())
    }

    /// Answers a call that sends something; others go on to the next group of services.
    pub(super) fn exchange(&mut self, federate: u32, call: Call) -> Answer<Response> {
        match call {
            Call::UpdateAttributeValues(r) => {
                self.update(federate, r, None).map(|_| response::UpdateAttributeValues {}.into())
            }
            Call::UpdateAttributeValuesWithTime(r) => {
                let (object_instance, attribute_values) = (r.object_instance, r.attribute_values);
                let user_supplied_tag = r.user_supplied_tag;
                let sent =
                    request::UpdateAttributeValues { object_instance, attribute_values, user_supplied_tag };
                let stamp = self.update(federate, sent, Some(&r.time.unwrap_or_default()))?;
                Ok(response::UpdateAttributeValuesWithTime { result: Stamp::retraction_return(stamp) }.into())
            }
            Call::SendInteraction(r) => {
                self.send(federate, r, None).map(|_| response::SendInteraction {}.into())
            }
            Call::SendInteractionWithTime(r) => {
                let (interaction_class, parameter_values) = (r.interaction_class, r.parameter_values);
                let user_supplied_tag = r.user_supplied_tag;
                let sent =
                    request::SendInteraction { interaction_class, parameter_values, user_supplied_tag };
                let stamp = self.send(federate, sent, Some(&r.time.unwrap_or_default()))?;
                Ok(response::SendInteractionWithTime { result: Stamp::retraction_return(stamp) }.into())
            }
            Call::RequestInstanceAttributeValueUpdate(r) => self.request_instance(federate, &r),
            Call::RequestClassAttributeValueUpdate(r) => self.request_class(federate, &r),
            call => self.direct(federate, call),
        }
    }
}
