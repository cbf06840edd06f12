//! Interactions that are sent to an instance instead of to all who subscribe to the class.
//!
//! A federate publishes and subscribes to them for a class of objects. It receives those to instances of
//! which it owns something; if it has subscribed universally, those to all instances that it knows.

use std::collections::BTreeSet;

use paceline_hla::{
    Call, InteractionClassHandleSet, LogicalTime, ObjectClassHandle, ParameterHandleValueMap, Response,
    callback, request, response,
};

use super::Federation;
use super::declaration::Declarations;
use super::message::{Body, Stamp};
use crate::exception::{Answer, CallError, Exception};
use crate::handles::{Handle, number};

impl Federation {
    fn directed_set(
        &self,
        class: Option<&ObjectClassHandle>,
        set: Option<&InteractionClassHandleSet>,
    ) -> Answer<(u32, BTreeSet<u32>)> {
        let class = self.object_class(class)?;
        let handles = set.into_iter().flat_map(|set| &set.interaction_class_handle);
        let interactions =
            handles.map(|handle| self.interaction_class(Some(handle))).collect::<Answer<_>>()?;
        Ok((class, interactions))
    }

    fn declare_directed(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&InteractionClassHandleSet>,
        declare: impl Fn(&mut Declarations, u32, u32),
    ) -> Answer<()> {
        let (class, interactions) = self.directed_set(class, set)?;
        let declared = self.declarations(federate);
        interactions.into_iter().for_each(|interaction| declare(declared, class, interaction));
        Ok(())
    }

    /// Whether, and as which class, a federate receives an interaction to an instance.
    fn received_as(&self, federate: u32, object: u32, interaction: u32) -> Option<u32> {
        let member = &self.federates[&federate];
        let known = *member.known.get(&object)?;
        let owns = self.objects[&object].owners.values().any(|owner| *owner == federate);
        let subscribed = &member.declarations.directed_subscribed;
        let is_received = |class: &u32, interaction: u32| {
            subscribed.get(&(*class, interaction)).is_some_and(|is_universal| *is_universal || owns)
        };
        let mut classes = self.fom.interactions.lineage(interaction);
        classes.find(|above| self.fom.objects.lineage(known).any(|class| is_received(&class, *above)))
    }

    fn send_directed(
        &mut self,
        federate: u32,
        request: request::SendDirectedInteraction,
        time: Option<&LogicalTime>,
    ) -> Answer<Option<Stamp>> {
        let (object, known) = self.known_object(federate, request.object_instance.as_ref())?;
        let interaction = self.interaction_class(request.interaction_class.as_ref())?;
        let published = &self.federates[&federate].declarations.directed_published;
        if !self.fom.objects.lineage(known).any(|class| published.contains(&(class, interaction))) {
            let details = "this federate does not publish it for the class of the instance".to_owned();
            return Err(CallError::new(Exception::InteractionClassNotPublished, details));
        }
        let values = request.parameter_values.unwrap_or_default().parameter_handle_value;
        self.check_parameters(interaction, &values)?;
        let (transportation, is_timestamped) = self.interaction_carriage(federate, interaction);
        let stamp = time.map(|time| self.check_stamp(federate, time, is_timestamped)).transpose()?;
        for other in self.others_that_know(federate, object) {
            let Some(received) = self.received_as(other, object, interaction) else { continue };
            let has = |value: &&paceline_hla::ParameterHandleValue| {
                let parameter = number(value.parameter_handle.as_ref());
                parameter.is_ok_and(|parameter| self.fom.interactions.has_member(received, parameter))
            };
            let parameter_handle_value = values.iter().filter(has).cloned().collect();
            let message = callback::ReceiveDirectedInteraction {
                interaction_class: Handle::some(received),
                object_instance: Handle::some(object),
                parameter_values: Some(ParameterHandleValueMap { parameter_handle_value }),
                user_supplied_tag: request.user_supplied_tag.clone(),
                transportation_type: Handle::some(transportation),
                producing_federate: Handle::some(federate),
            };
            self.transmit(other, Body::Direct(message), stamp);
        }
        let counts = &mut self.federates.get_mut(&federate).expect("who calls has joined").counts;
        counts.interactions_sent.add(transportation, interaction);
        counts.directed_sent.add(transportation, interaction);
        self.grant_all();
        Ok(stamp)
    }

    /// Answers a call about directed interactions; others go on to the next group of services.
    pub(super) fn direct(&mut self, federate: u32, call: Call) -> Answer<Response> {
        Ok(match call {
            Call::PublishObjectClassDirectedInteractions(r) => {
                let (class, set) = (r.object_class.as_ref(), r.interaction_classes.as_ref());
                self.declare_directed(federate, class, set, |declared, class, interaction| {
                    declared.directed_published.insert((class, interaction));
                })?;
                response::PublishObjectClassDirectedInteractions {}.into()
            }
            Call::UnpublishObjectClassDirectedInteractions(r) => {
                let class = self.object_class(r.object_class.as_ref())?;
                self.declarations(federate).directed_published.retain(|(known, _)| *known != class);
                response::UnpublishObjectClassDirectedInteractions {}.into()
            }
            Call::UnpublishObjectClassDirectedInteractionsWithSet(r) => {
                let (class, set) = (r.object_class.as_ref(), r.interaction_classes.as_ref());
                self.declare_directed(federate, class, set, |declared, class, interaction| {
                    declared.directed_published.remove(&(class, interaction));
                })?;
                response::UnpublishObjectClassDirectedInteractionsWithSet {}.into()
            }
            Call::SubscribeObjectClassDirectedInteractions(r) => {
                let (class, set) = (r.object_class.as_ref(), r.interaction_classes.as_ref());
                self.declare_directed(federate, class, set, |declared, class, interaction| {
                    declared.directed_subscribed.insert((class, interaction), false);
                })?;
                response::SubscribeObjectClassDirectedInteractions {}.into()
            }
            Call::SubscribeObjectClassDirectedInteractionsUniversally(r) => {
                let (class, set) = (r.object_class.as_ref(), r.interaction_classes.as_ref());
                self.declare_directed(federate, class, set, |declared, class, interaction| {
                    declared.directed_subscribed.insert((class, interaction), true);
                })?;
                response::SubscribeObjectClassDirectedInteractionsUniversally {}.into()
            }
            Call::UnsubscribeObjectClassDirectedInteractions(r) => {
                let class = self.object_class(r.object_class.as_ref())?;
                self.declarations(federate).directed_subscribed.retain(|(known, _), _| *known != class);
                response::UnsubscribeObjectClassDirectedInteractions {}.into()
            }
            Call::UnsubscribeObjectClassDirectedInteractionsWithSet(r) => {
                let (class, set) = (r.object_class.as_ref(), r.interaction_classes.as_ref());
                self.declare_directed(federate, class, set, |declared, class, interaction| {
                    declared.directed_subscribed.remove(&(class, interaction));
                })?;
                response::UnsubscribeObjectClassDirectedInteractionsWithSet {}.into()
            }
            Call::SendDirectedInteraction(r) => {
                self.send_directed(federate, r, None)?;
                response::SendDirectedInteraction {}.into()
            }
            Call::SendDirectedInteractionWithTime(r) => {
                let time = r.time.unwrap_or_default();
                let sent = request::SendDirectedInteraction {
                    interaction_class: r.interaction_class,
                    object_instance: r.object_instance,
                    parameter_values: r.parameter_values,
                    user_supplied_tag: r.user_supplied_tag,
                };
                let stamp = self.send_directed(federate, sent, Some(&time))?;
                response::SendDirectedInteractionWithTime { result: Stamp::retraction_return(stamp) }.into()
            }
            call => return self.manage_time(federate, call),
        })
    }
}
