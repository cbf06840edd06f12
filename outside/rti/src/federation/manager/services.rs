//! Services that the management object model performs for a federate: another one asks for them by an
//! interaction. They are answered as calls of the federate itself.

use paceline_hla::{
    AttributeHandleSet, Bytes, Call, InteractionClassHandleSet, LogicalTime, LogicalTimeInterval, callback,
    request,
};

use super::super::Federation;
use super::encoding::{Read, read_boolean, read_handle, read_handles, read_integer, read_opaque, read_text};
use super::orders::{Failure, Parameters};
use crate::handles::{Handle, attribute_set};

fn interactions(handles: Vec<u32>) -> Option<InteractionClassHandleSet> {
    Some(InteractionClassHandleSet {
        interaction_class_handle: handles.into_iter().map(Handle::of).collect(),
    })
}

/// The parameters of a call.
struct Arguments<'a> {
    parameters: &'a Parameters,
    /// The transportation type that a parameter names, in 2010, or whose handle it has, in 2025.
    transportation: Option<u32>,
}

impl Arguments<'_> {
    fn handle<H: Handle>(&self, name: &str) -> Result<Option<H>, Failure> {
        self.parameters.get(name, read_handle).map(Handle::some)
    }

    fn attributes(&self) -> Result<Option<AttributeHandleSet>, Failure> {
        self.parameters.get("HLAattributeList", read_handles).map(attribute_set)
    }

    fn interactions(&self) -> Result<Option<InteractionClassHandleSet>, Failure> {
        self.parameters.get("HLAinteractionClassList", read_handles).map(interactions)
    }

    fn opaque(&self, name: &str) -> Result<Bytes, Failure> {
        self.parameters.get(name, read_opaque).map(Bytes::copy_from_slice)
    }

    fn time(&self) -> Result<Option<LogicalTime>, Failure> {
        Ok(Some(LogicalTime { data: self.opaque("HLAtimeStamp")? }))
    }

    fn lookahead(&self) -> Result<Option<LogicalTimeInterval>, Failure> {
        Ok(Some(LogicalTimeInterval { data: self.opaque("HLAlookahead")? }))
    }

    /// Subscriptions are active unless the parameter says otherwise.
    fn is_active(&self) -> Result<bool, Failure> {
        Ok(self.parameters.optional("HLAactive", read_boolean)?.unwrap_or(true))
    }

    fn transportation<H: Handle>(&self) -> Result<Option<H>, Failure> {
        let details = "it names no transportation type";
        let found = self.transportation.ok_or_else(|| Failure::of_parameter("HLAtransportation", details))?;
        Ok(Handle::some(found))
    }

    fn order(&self) -> Result<i32, Failure> {
        let read = |bytes| -> Read<i32> { read_integer(bytes).map(|order| order.cast_signed()) };
        self.parameters.get("HLAsendOrder", read)
    }

    fn delete(&self) -> Result<Call, Failure> {
        let object_instance = self.handle("HLAobjectInstance")?;
        let tag = self.parameters.optional("HLAtag", read_opaque)?.unwrap_or_default();
        let user_supplied_tag = Bytes::copy_from_slice(tag);
        // A time that is empty is none.
        let time = self.parameters.optional("HLAtimeStamp", read_opaque)?.filter(|time| !time.is_empty());
        Ok(match time {
            None => request::DeleteObjectInstance { object_instance, user_supplied_tag }.into(),
            Some(time) => {
                let time = Some(LogicalTime { data: Bytes::copy_from_slice(time) });
                request::DeleteObjectInstanceWithTime { object_instance, user_supplied_tag, time }.into()
            }
        })
    }

    /// Services that declare something.
    fn declaration(&self, what: &str) -> Result<Option<Call>, Failure> {
        Ok(Some(match what {
            "HLApublishObjectClassAttributes" => {
                let (object_class, attributes) = (self.handle("HLAobjectClass")?, self.attributes()?);
                request::PublishObjectClassAttributes { object_class, attributes }.into()
            }
            "HLAunpublishObjectClassAttributes" => {
                let (object_class, attributes) = (self.handle("HLAobjectClass")?, self.attributes()?);
                request::UnpublishObjectClassAttributes { object_class, attributes }.into()
            }
            "HLApublishInteractionClass" => {
                request::PublishInteractionClass { interaction_class: self.handle("HLAinteractionClass")? }
                    .into()
            }
            "HLAunpublishInteractionClass" => {
                request::UnpublishInteractionClass { interaction_class: self.handle("HLAinteractionClass")? }
                    .into()
            }
            "HLApublishObjectClassDirectedInteractions" => {
                let (object_class, interaction_classes) =
                    (self.handle("HLAobjectClass")?, self.interactions()?);
                request::PublishObjectClassDirectedInteractions { object_class, interaction_classes }.into()
            }
            "HLAsubscribeObjectClassDirectedInteractions" => {
                let (object_class, interaction_classes) =
                    (self.handle("HLAobjectClass")?, self.interactions()?);
                request::SubscribeObjectClassDirectedInteractions { object_class, interaction_classes }.into()
            }
            "HLAsubscribeObjectClassAttributes" => {
                let (object_class, attributes) = (self.handle("HLAobjectClass")?, self.attributes()?);
                if self.is_active()? {
                    request::SubscribeObjectClassAttributes { object_class, attributes }.into()
                } else {
                    request::SubscribeObjectClassAttributesPassively { object_class, attributes }.into()
                }
            }
            "HLAunsubscribeObjectClassAttributes" => {
                let (object_class, attributes) = (self.handle("HLAobjectClass")?, self.attributes()?);
                request::UnsubscribeObjectClassAttributes { object_class, attributes }.into()
            }
            "HLAsubscribeInteractionClass" => {
                let interaction_class = self.handle("HLAinteractionClass")?;
                if self.is_active()? {
                    request::SubscribeInteractionClass { interaction_class }.into()
                } else {
                    request::SubscribeInteractionClassPassively { interaction_class }.into()
                }
            }
            "HLAunsubscribeInteractionClass" => request::UnsubscribeInteractionClass {
                interaction_class: self.handle("HLAinteractionClass")?,
            }
            .into(),
            _ => return Ok(None),
        }))
    }

    /// Services of time management.
    fn timing(&self, what: &str) -> Result<Option<Call>, Failure> {
        Ok(Some(match what {
            "HLAenableTimeRegulation" => {
                request::EnableTimeRegulation { lookahead: self.lookahead()? }.into()
            }
            "HLAdisableTimeRegulation" => request::DisableTimeRegulation {}.into(),
            "HLAenableTimeConstrained" => request::EnableTimeConstrained {}.into(),
            "HLAdisableTimeConstrained" => request::DisableTimeConstrained {}.into(),
            "HLAtimeAdvanceRequest" => request::TimeAdvanceRequest { time: self.time()? }.into(),
            "HLAtimeAdvanceRequestAvailable" => {
                request::TimeAdvanceRequestAvailable { time: self.time()? }.into()
            }
            "HLAnextMessageRequest" => request::NextMessageRequest { time: self.time()? }.into(),
            "HLAnextMessageRequestAvailable" => {
                request::NextMessageRequestAvailable { time: self.time()? }.into()
            }
            "HLAflushQueueRequest" => request::FlushQueueRequest { time: self.time()? }.into(),
            "HLAenableAsynchronousDelivery" => request::EnableAsynchronousDelivery {}.into(),
            "HLAdisableAsynchronousDelivery" => request::DisableAsynchronousDelivery {}.into(),
            "HLAmodifyLookahead" => request::ModifyLookahead { lookahead: self.lookahead()? }.into(),
            _ => return Ok(None),
        }))
    }

    /// Services that handle instances, attributes and interactions.
    fn handling(&self, what: &str) -> Result<Option<Call>, Failure> {
        Ok(Some(match what {
            "HLAdeleteObjectInstance" => self.delete()?,
            "HLAlocalDeleteObjectInstance" => {
                request::LocalDeleteObjectInstance { object_instance: self.handle("HLAobjectInstance")? }
                    .into()
            }
            "HLArequestAttributeTransportationTypeChange" => {
                let (object_instance, attributes) = (self.handle("HLAobjectInstance")?, self.attributes()?);
                let transportation_type = self.transportation()?;
                request::RequestAttributeTransportationTypeChange {
                    object_instance,
                    attributes,
                    transportation_type,
                }
                .into()
            }
            "HLArequestInteractionTransportationTypeChange" => {
                let (interaction_class, transportation_type) =
                    (self.handle("HLAinteractionClass")?, self.transportation()?);
                request::RequestInteractionTransportationTypeChange { interaction_class, transportation_type }
                    .into()
            }
            "HLAunconditionalAttributeOwnershipDivestiture" => {
                let (object_instance, attributes) = (self.handle("HLAobjectInstance")?, self.attributes()?);
                let user_supplied_tag = Bytes::new();
                request::UnconditionalAttributeOwnershipDivestiture {
                    object_instance,
                    attributes,
                    user_supplied_tag,
                }
                .into()
            }
            "HLAchangeAttributeOrderType" => {
                let (object_instance, attributes) = (self.handle("HLAobjectInstance")?, self.attributes()?);
                let order_type = self.order()?;
                request::ChangeAttributeOrderType { object_instance, attributes, order_type }.into()
            }
            "HLAchangeInteractionOrderType" => {
                let (interaction_class, order_type) = (self.handle("HLAinteractionClass")?, self.order()?);
                request::ChangeInteractionOrderType { interaction_class, order_type }.into()
            }
            _ => return Ok(None),
        }))
    }

    fn call(&self, what: &str) -> Result<Option<Call>, Failure> {
        Ok(match what {
            "HLAresignFederationExecution" => {
                let action = self.parameters.get("HLAresignAction", read_integer)?;
                // The type begins with 1, the service's with 0.
                let resign_action = action.wrapping_sub(1).cast_signed();
                Some(request::ResignFederationExecution { resign_action }.into())
            }
            "HLAsynchronizationPointAchieved" => {
                let synchronization_point_label = self.parameters.get("HLAlabel", read_text)?;
                let successfully = true;
                let call =
                    request::SynchronizationPointAchieved { synchronization_point_label, successfully };
                Some(call.into())
            }
            what => match self.declaration(what)? {
                Some(call) => Some(call),
                None => match self.timing(what)? {
                    Some(call) => Some(call),
                    None => self.handling(what)?,
                },
            },
        })
    }
}

impl Federation {
    /// Calls a service for a federate, which hears of it if it has resigned by that.
    pub(super) fn serve_for(
        &mut self,
        about: u32,
        what: &str,
        parameters: &Parameters,
    ) -> Result<(), Failure> {
        let name = parameters.optional("HLAtransportation", read_text).ok().flatten();
        let transportation = match name {
            Some(name) => self.fom.transportation(&name),
            None => parameters.optional("HLAtransportation", read_handle).ok().flatten(),
        };
        let arguments = Arguments { parameters, transportation };
        let call = arguments.call(what)?.ok_or_else(|| Failure::of_service(format!("not yet: {what}")))?;
        let client = self.federates[&about].client;
        self.answer(about, call)?;
        if self.federates.contains_key(&about) {
            self.watch.mark(about);
        } else {
            let reason_for_resign_description = "another federate has asked for that".to_owned();
            let resigned = callback::FederateResigned { reason_for_resign_description };
            self.callbacks.push((client, resigned.into()));
            self.resigned.push(client);
        }
        Ok(())
    }
}
