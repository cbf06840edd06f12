//! The real infrastructure, asked by steps, with what it calls put into words.

use std::collections::BTreeMap;

use paceline_hla::{
    AttributeHandle, AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, Bytes, Call,
    Callback, InteractionClassHandle, LogicalTime, MessageRetractionHandle, MessageRetractionReturn,
    ObjectClassHandle, ObjectInstanceHandle, Response, TimeQueryReturn, request,
};

use super::reference::ATTRIBUTES;
use super::{CLIENTS, Step, federation_of};
use crate::harness::{Harness, module};
use crate::time::{interval, number, time};

pub struct World {
    harness: Harness,
    classes: Vec<Option<ObjectClassHandle>>,
    interactions: Vec<Option<InteractionClassHandle>>,
    attributes: Vec<AttributeHandle>,
    /// By federation.
    objects: [Vec<Option<ObjectInstanceHandle>>; 2],
    retractions: [Vec<Option<MessageRetractionHandle>>; 2],
    /// The time that each client was granted last.
    granted: BTreeMap<u32, i64>,
}

fn federation_name(number: usize) -> String {
    format!("F{number}")
}

fn create(number: usize) -> request::CreateFederationExecutionWithTime {
    let attribute =
        |name: &str, order: &str| format!("<attribute><name>{name}</name><order>{order}</order></attribute>");
    let (first, second, third) =
        (attribute("a1", "TimeStamp"), attribute("a2", "Receive"), attribute("b1", "TimeStamp"));
    let interaction = |name: &str, order: &str, below: &str| {
        format!("<interactionClass><name>{name}</name><order>{order}</order>{below}</interactionClass>")
    };
    let below = interaction("X", "TimeStamp", &interaction("Y", "TimeStamp", ""));
    let below = format!("{below}{}", interaction("Z", "Receive", ""));
    let tables = format!(
        "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>A</name>{first}{second}<objectClass>\
         <name>B</name>{third}</objectClass></objectClass></objectClass></objects><interactions>\
         <interactionClass><name>HLAinteractionRoot</name>{below}</interactionClass></interactions>"
    );
    request::CreateFederationExecutionWithTime {
        federation_name: federation_name(number),
        fom_module: Some(module("2025", &tables)),
        logical_time_implementation_name: "HLAinteger64Time".to_owned(),
    }
}

fn join(number: usize) -> request::JoinFederationExecution {
    let (federate_type, federation_name) = ("test".to_owned(), federation_name(number));
    request::JoinFederationExecution { federate_type, federation_name }
}

fn query(result: Option<TimeQueryReturn>) -> Option<i64> {
    let result = result.expect("there is one");
    result.logical_time_is_valid.then(|| number(result.logical_time.as_ref()))
}

fn position<H: PartialEq>(handles: &[Option<H>], handle: Option<&H>) -> usize {
    handles.iter().position(|known| known.as_ref() == handle).expect("it was handed out")
}

fn handle(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("4 bytes"))
}

impl World {
    pub fn new() -> Self {
        let mut harness = Harness::default();
        (1..=CLIENTS).for_each(|client| drop(harness.ask(client, request::Connect {})));
        // Handles are looked up once: both federations have the same model.
        harness.ask(1, create(0));
        harness.ask(1, join(0));
        let (first, found) = harness.object_class("A.B", &ATTRIBUTES);
        let classes = vec![Some(harness.object_class("A", &[]).0), Some(first)];
        let interactions = ["X", "X.Y", "Z"].map(|class| harness.interaction_class(class)).to_vec();
        harness.ask(1, request::ResignFederationExecution { resign_action: 5 });
        harness.ask(1, request::DestroyFederationExecution { federation_name: federation_name(0) });
        let (objects, retractions, granted) = Default::default();
        Self {
            harness,
            classes,
            interactions,
            attributes: found.attribute_handle,
            objects,
            retractions,
            granted,
        }
    }

    fn set(&self, mask: u8) -> AttributeHandleSet {
        let handles = self.attributes.iter().enumerate().filter(|(bit, _)| mask & 1 << bit != 0);
        AttributeHandleSet { attribute_handle: handles.map(|(_, handle)| handle.clone()).collect() }
    }

    fn values(&self, mask: u8) -> Option<AttributeHandleValueMap> {
        let handles = self.set(mask).attribute_handle.into_iter();
        let value = |handle| AttributeHandleValue { attribute_handle: Some(handle), value: Bytes::new() };
        Some(AttributeHandleValueMap { attribute_handle_value: handles.map(value).collect() })
    }

    fn object(&self, client: u32, number: usize) -> Option<ObjectInstanceHandle> {
        let unknown = || Some(ObjectInstanceHandle { data: Bytes::from_static(b"\xff\0\0\0") });
        self.objects[federation_of(client)].get(number).cloned().unwrap_or_else(unknown)
    }

    /// Asks for a step; says whether it was allowed.
    pub fn take(&mut self, client: u32, step: Step) -> bool {
        if step == Step::Lose {
            self.harness.lose(client);
            self.harness.ask(client, request::Connect {});
            return true;
        }
        let call = self.membership_call(client, step).or_else(|| self.exchange_call(client, step));
        let call = call.or_else(|| time_call(step));
        match self.harness.call(client, call.expect("each step has a call")) {
            Response::Exception(exception) => {
                assert_ne!(exception.exception_name, "RTIinternalError", "{step:?}: {exception:?}");
                false
            }
            Response::RegisterObjectInstance(registered) => {
                self.objects[federation_of(client)].push(registered.result);
                true
            }
            Response::UpdateAttributeValuesWithTime(sent) => self.keep_retraction(client, sent.result),
            Response::SendInteractionWithTime(sent) => self.keep_retraction(client, sent.result),
            Response::DestroyFederationExecution(_) => {
                self.objects[federation_of(client)].clear();
                self.retractions[federation_of(client)].clear();
                true
            }
            Response::JoinFederationExecution(_) => {
                self.granted.insert(client, 0);
                true
            }
            _ => true,
        }
    }

    fn keep_retraction(&mut self, client: u32, result: Option<MessageRetractionReturn>) -> bool {
        let result = result.expect("there is one");
        assert_eq!(result.retraction_handle_is_valid, result.message_retraction_handle.is_some());
        if result.retraction_handle_is_valid {
            self.retractions[federation_of(client)].push(result.message_retraction_handle);
        }
        true
    }

    fn membership_call(&self, client: u32, step: Step) -> Option<Call> {
        let class = |class: u8| self.classes[usize::from(class)].clone();
        let interaction = |class: u8| self.interactions[usize::from(class)].clone();
        let federation = federation_of(client);
        Some(match step {
            Step::Create => create(federation).into(),
            Step::Destroy => {
                request::DestroyFederationExecution { federation_name: federation_name(federation) }.into()
            }
            Step::Join => join(federation).into(),
            Step::Resign(resign_action) => request::ResignFederationExecution { resign_action }.into(),
            Step::Publish(number, mask) => request::PublishObjectClassAttributes {
                object_class: class(number),
                attributes: Some(self.set(mask)),
            }
            .into(),
            Step::Unpublish(number) => request::UnpublishObjectClass { object_class: class(number) }.into(),
            Step::Subscribe(number, mask) => request::SubscribeObjectClassAttributes {
                object_class: class(number),
                attributes: Some(self.set(mask)),
            }
            .into(),
            Step::Unsubscribe(number) => {
                request::UnsubscribeObjectClass { object_class: class(number) }.into()
            }
            Step::PublishInteraction(number) => {
                request::PublishInteractionClass { interaction_class: interaction(number) }.into()
            }
            Step::UnpublishInteraction(number) => {
                request::UnpublishInteractionClass { interaction_class: interaction(number) }.into()
            }
            Step::SubscribeInteraction(number) => {
                request::SubscribeInteractionClass { interaction_class: interaction(number) }.into()
            }
            Step::UnsubscribeInteraction(number) => {
                request::UnsubscribeInteractionClass { interaction_class: interaction(number) }.into()
            }
            Step::Register(number) => request::RegisterObjectInstance { object_class: class(number) }.into(),
            _ => return None,
        })
    }

    fn exchange_call(&self, client: u32, step: Step) -> Option<Call> {
        let user_supplied_tag = Bytes::new();
        Some(match step {
            Step::Update { object, mask, at } => {
                let (object_instance, attribute_values) = (self.object(client, object), self.values(mask));
                match at.map(time) {
                    None => request::UpdateAttributeValues {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                    }
                    .into(),
                    Some(time) => request::UpdateAttributeValuesWithTime {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                        time,
                    }
                    .into(),
                }
            }
            Step::Send { interaction, at } => {
                let interaction_class = self.interactions[usize::from(interaction)].clone();
                let parameter_values = None;
                match at.map(time) {
                    None => {
                        request::SendInteraction { interaction_class, parameter_values, user_supplied_tag }
                            .into()
                    }
                    Some(time) => request::SendInteractionWithTime {
                        interaction_class,
                        parameter_values,
                        user_supplied_tag,
                        time,
                    }
                    .into(),
                }
            }
            Step::Delete(number) => {
                let object_instance = self.object(client, number);
                request::DeleteObjectInstance { object_instance, user_supplied_tag }.into()
            }
            Step::Forget(number) => {
                request::LocalDeleteObjectInstance { object_instance: self.object(client, number) }.into()
            }
            Step::Retract(number) => {
                let retraction = self.retractions[federation_of(client)].get(number).cloned().flatten();
                request::Retract { retraction }.into()
            }
            _ => return None,
        })
    }

    /// What a client was called with since the last look.
    pub fn words(&mut self, client: u32) -> Vec<String> {
        let callbacks = self.harness.taken(client);
        callbacks.into_iter().filter_map(|callback| self.word(client, callback)).collect()
    }

    fn word(&mut self, client: u32, callback: Callback) -> Option<String> {
        let federation = federation_of(client);
        Some(match callback {
            Callback::DiscoverObjectInstance(c) => {
                // The one that is being registered has no number yet.
                let objects = &self.objects[federation];
                let number =
                    objects.iter().position(|known| *known == c.object_instance).unwrap_or(objects.len());
                let by = handle(&c.producing_federate?.data);
                format!("discover {number} as {} by {by}", position(&self.classes, c.object_class.as_ref()))
            }
            Callback::ReflectAttributeValues(c) => self.reflected(
                federation,
                c.object_instance.as_ref(),
                c.attribute_values,
                handle(&c.producing_federate?.data),
            ),
            Callback::ReflectAttributeValuesWithTime(c) => {
                let by = handle(&c.producing_federate?.data);
                let text = self.reflected(federation, c.object_instance.as_ref(), c.attribute_values, by);
                self.stamped(client, text, c.time, c.received_order_type, c.optional_retraction)
            }
            Callback::ReceiveInteraction(c) => {
                let class = position(&self.interactions, c.interaction_class.as_ref());
                format!("receive {class} by {}", handle(&c.producing_federate?.data))
            }
            Callback::ReceiveInteractionWithTime(c) => {
                let class = position(&self.interactions, c.interaction_class.as_ref());
                let text = format!("receive {class} by {}", handle(&c.producing_federate?.data));
                self.stamped(client, text, c.time, c.received_order_type, c.optional_retraction)
            }
            Callback::RemoveObjectInstance(c) => {
                let number = position(&self.objects[federation], c.object_instance.as_ref());
                format!("remove {number} by {}", handle(&c.producing_federate?.data))
            }
            Callback::TimeRegulationEnabled(c) => format!("regulates at {}", self.arrived(client, c.time)),
            Callback::TimeConstrainedEnabled(c) => format!("constrained at {}", self.arrived(client, c.time)),
            Callback::TimeAdvanceGrant(c) => format!("granted {}", self.arrived(client, c.time)),
            Callback::FlushQueueGrant(c) => {
                let safe = self.arrived(client, c.time);
                format!("flushed at {safe} optimistic {}", number(c.optimistic_time.as_ref()))
            }
            Callback::RequestRetraction(c) => {
                format!("retract #{}", position(&self.retractions[federation], c.retraction.as_ref()))
            }
            // Offers of what nobody owns are no part of the comparison.
            Callback::RequestAttributeOwnershipAssumption(_) => return None,
            other => panic!("{other:?}"),
        })
    }

    fn reflected(
        &self,
        federation: usize,
        object: Option<&ObjectInstanceHandle>,
        values: Option<AttributeHandleValueMap>,
        by: u32,
    ) -> String {
        let attribute = |value: AttributeHandleValue| {
            let place =
                self.attributes.iter().position(|known| Some(known) == value.attribute_handle.as_ref());
            ATTRIBUTES[place.expect("one of ours")]
        };
        let values = values.unwrap_or_default().attribute_handle_value.into_iter();
        let names: Vec<_> = values.map(attribute).collect();
        format!("reflect {} {} by {by}", position(&self.objects[federation], object), names.join(" "))
    }

    fn stamped(
        &self,
        client: u32,
        text: String,
        time: Option<LogicalTime>,
        order: i32,
        retraction: Option<MessageRetractionHandle>,
    ) -> String {
        let at = number(time.as_ref());
        if order == 1 {
            assert!(at >= self.granted[&client], "{text} at {at} is below the time of {client}");
        }
        let retractions = &self.retractions[federation_of(client)];
        // The one that is being sent has no number yet.
        let number = retraction.map(|retraction| {
            let known = retractions.iter().position(|known| known.as_ref() == Some(&retraction));
            format!(" #{}", known.unwrap_or(retractions.len()))
        });
        let order = if order == 1 { " in order" } else { "" };
        format!("{text} at {at}{}{order}", number.unwrap_or_default())
    }

    fn arrived(&mut self, client: u32, time: Option<LogicalTime>) -> i64 {
        let now = number(time.as_ref());
        let before = self.granted.insert(client, now);
        assert!(before.is_some_and(|before| before <= now), "time of {client} goes back to {now}");
        now
    }

    /// GALT, LITS, time and lookahead of a client, in words.
    pub fn queried(&mut self, client: u32) -> String {
        let Response::QueryGALT(galt) = self.harness.ask(client, request::QueryGALT {}) else { panic!() };
        let Response::QueryLITS(lits) = self.harness.ask(client, request::QueryLITS {}) else { panic!() };
        let Response::QueryLogicalTime(now) = self.harness.ask(client, request::QueryLogicalTime {}) else {
            panic!()
        };
        let lookahead = match self.harness.call(client, request::QueryLookahead {}) {
            Response::QueryLookahead(found) => {
                let data = found.result.expect("there is one").data;
                Some(number(Some(&LogicalTime { data })))
            }
            _ => None,
        };
        let (galt, lits, now) = (query(galt.result), query(lits.result), number(now.result.as_ref()));
        format!("GALT {galt:?} LITS {lits:?} time {now} lookahead {lookahead:?}")
    }
}

fn time_call(step: Step) -> Option<Call> {
    Some(match step {
        Step::Regulate(lookahead) => request::EnableTimeRegulation { lookahead: interval(lookahead) }.into(),
        Step::StopRegulating => request::DisableTimeRegulation {}.into(),
        Step::Constrain => request::EnableTimeConstrained {}.into(),
        Step::StopBeingConstrained => request::DisableTimeConstrained {}.into(),
        Step::Advance { to, is_to_next: false, is_available: false } => {
            request::TimeAdvanceRequest { time: time(to) }.into()
        }
        Step::Advance { to, is_to_next: false, .. } => {
            request::TimeAdvanceRequestAvailable { time: time(to) }.into()
        }
        Step::Advance { to, is_available: false, .. } => {
            request::NextMessageRequest { time: time(to) }.into()
        }
        Step::Advance { to, .. } => request::NextMessageRequestAvailable { time: time(to) }.into(),
        Step::Flush(to) => request::FlushQueueRequest { time: time(to) }.into(),
        Step::Lookahead(lookahead) => request::ModifyLookahead { lookahead: interval(lookahead) }.into(),
        Step::Asynchronous(true) => request::EnableAsynchronousDelivery {}.into(),
        Step::Asynchronous(false) => request::DisableAsynchronousDelivery {}.into(),
        _ => return None,
    })
}
