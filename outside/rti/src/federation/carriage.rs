//! How values and interactions are carried: their transportation types, and whether in the order of
//! timestamps.
//!
//! The modules say how, until a federate changes it: for an attribute of an instance that it owns, for the
//! instances of a class that it registers or comes to own afterwards, or for the interactions of a class that
//! it sends.
//!
//! Invariant: what one owner has changed for an attribute of an instance does not hold for the next one.

use std::collections::BTreeMap;

use paceline_hla::{
    AttributeHandleSet, Call, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, Response, TransportationTypeHandle, callback, response,
};

use super::Federation;
use crate::exception::{Answer, CallError, Exception};
use crate::fom::{Class, Member};
use crate::handles::{Handle, number};

/// What a federate has changed; the modules say the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carriage {
    transportation: Option<u32>,
    is_timestamped: Option<bool>,
}

impl Carriage {
    fn or(self, (transportation, is_timestamped): (u32, bool)) -> (u32, bool) {
        (self.transportation.unwrap_or(transportation), self.is_timestamped.unwrap_or(is_timestamped))
    }

    /// Takes what `change` says.
    fn change(&mut self, change: Self) {
        self.transportation = change.transportation.or(self.transportation);
        self.is_timestamped = change.is_timestamped.or(self.is_timestamped);
    }
}

/// Changes that a federate has made for the attributes that it owns and the interactions that it sends.
#[derive(Debug, Default)]
pub(super) struct Carriages {
    /// For instances that it comes to own, by object class and attribute.
    attributes: BTreeMap<(u32, u32), Carriage>,
    /// By interaction class.
    interactions: BTreeMap<u32, Carriage>,
}

impl Federation {
    /// An attribute's transportation type, and whether its order is that of timestamps.
    pub(super) fn carriage_of(&self, object: u32, attribute: u32) -> (u32, bool) {
        let row = self.fom.objects.member(attribute);
        let transportation = row.and_then(|row| self.fom.transportation(row.transportation()));
        let by_modules = (transportation.unwrap_or(1), row.is_some_and(Member::is_timestamped));
        let changed = self.objects.get(&object).and_then(|instance| instance.carriages.get(&attribute));
        changed.copied().unwrap_or_default().or(by_modules)
    }

    /// The transportation type of the interactions that a federate sends, and whether their order is that of
    /// timestamps.
    pub(super) fn interaction_carriage(&self, federate: u32, class: u32) -> (u32, bool) {
        let row = self.fom.interactions.class(class);
        let transportation = row.and_then(|row| self.fom.transportation(row.transportation()));
        let by_modules = (transportation.unwrap_or(1), row.is_some_and(Class::is_timestamped));
        let member = self.federates.get(&federate);
        let changed = member.and_then(|member| member.carriages.interactions.get(&class));
        changed.copied().unwrap_or_default().or(by_modules)
    }

    /// A federate owns an attribute from now on, which is carried as it has said for the class.
    pub(super) fn set_owner(&mut self, federate: u32, object: u32, attribute: u32) {
        let member = &self.federates[&federate];
        let class = member.known.get(&object).copied();
        let carriage = class.and_then(|class| member.carriages.attributes.get(&(class, attribute))).copied();
        let Some(instance) = self.objects.get_mut(&object) else { return };
        instance.owners.insert(attribute, federate);
        match carriage {
            Some(carriage) => instance.carriages.insert(attribute, carriage),
            None => instance.carriages.remove(&attribute),
        };
    }

    fn read_transportation(&self, handle: Option<&TransportationTypeHandle>) -> Answer<(u32, Carriage)> {
        let transportation = number(handle)?;
        let details = || format!("no transportation type has the handle {transportation}");
        let known = self.fom.transportation_name(transportation);
        known.ok_or_else(|| CallError::new(Exception::InvalidTransportationTypeHandle, details())).map(|_| {
            (transportation, Carriage { transportation: Some(transportation), is_timestamped: None })
        })
    }

    fn change_owned(
        &mut self,
        federate: u32,
        object: Option<&ObjectInstanceHandle>,
        set: Option<&AttributeHandleSet>,
        change: Carriage,
    ) -> Answer<()> {
        let (object, attributes) = self.owned_attributes(federate, object, set, |_, _| None)?;
        let instance = self.objects.get_mut(&object).expect("the instance was looked up");
        for attribute in attributes {
            instance.carriages.entry(attribute).or_default().change(change);
        }
        Ok(())
    }

    fn change_default(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&AttributeHandleSet>,
        change: Carriage,
    ) -> Answer<()> {
        let class = self.object_class(class)?;
        let attributes = self.attributes_of(class, set)?;
        let carriages = &mut self.federates.get_mut(&federate).expect("who calls has joined").carriages;
        for attribute in attributes {
            carriages.attributes.entry((class, attribute)).or_default().change(change);
        }
        Ok(())
    }

    fn change_interaction(
        &mut self,
        federate: u32,
        class: Option<&InteractionClassHandle>,
        change: Carriage,
    ) -> Answer<()> {
        let class = self.interaction_class(class)?;
        let member = self.federates.get_mut(&federate).expect("who calls has joined");
        if !member.declarations.published_interactions.contains(&class) {
            let details = "this federate does not publish the class".to_owned();
            return Err(CallError::new(Exception::InteractionClassNotPublished, details));
        }
        member.carriages.interactions.entry(class).or_default().change(change);
        Ok(())
    }

    /// Answers a call that changes orders or transportation types, or asks for one; others go on to the next
    /// group of services.
    pub(super) fn change_carriage(&mut self, federate: u32, call: Call) -> Answer<Response> {
        Ok(match call {
            Call::ChangeAttributeOrderType(r) => {
                let change = read_order(r.order_type)?;
                let (object, set) = (r.object_instance.as_ref(), r.attributes.as_ref());
                self.change_owned(federate, object, set, change)?;
                response::ChangeAttributeOrderType {}.into()
            }
            Call::ChangeDefaultAttributeOrderType(r) => {
                let change = read_order(r.order_type)?;
                let (class, set) = (r.the_object_class.as_ref(), r.attributes.as_ref());
                self.change_default(federate, class, set, change)?;
                response::ChangeDefaultAttributeOrderType {}.into()
            }
            Call::ChangeInteractionOrderType(r) => {
                let change = read_order(r.order_type)?;
                self.change_interaction(federate, r.interaction_class.as_ref(), change)?;
                response::ChangeInteractionOrderType {}.into()
            }
            call => return self.change_transportation(federate, call),
        })
    }

    fn change_transportation(&mut self, federate: u32, call: Call) -> Answer<Response> {
        Ok(match call {
            Call::RequestAttributeTransportationTypeChange(r) => {
                let (transportation, change) = self.read_transportation(r.transportation_type.as_ref())?;
                let (object_instance, attributes) = (r.object_instance, r.attributes);
                self.change_owned(federate, object_instance.as_ref(), attributes.as_ref(), change)?;
                let transportation_type = Handle::some(transportation);
                self.tell(
                    federate,
                    callback::ConfirmAttributeTransportationTypeChange {
                        object_instance,
                        attributes,
                        transportation_type,
                    },
                );
                response::RequestAttributeTransportationTypeChange {}.into()
            }
            Call::ChangeDefaultAttributeTransportationType(r) => {
                let (_, change) = self.read_transportation(r.transportation_type.as_ref())?;
                let (class, set) = (r.object_class.as_ref(), r.attributes.as_ref());
                self.change_default(federate, class, set, change)?;
                response::ChangeDefaultAttributeTransportationType {}.into()
            }
            Call::QueryAttributeTransportationType(r) => {
                let set = AttributeHandleSet { attribute_handle: r.attribute.clone().into_iter().collect() };
                let (object, class) = self.known_object(federate, r.object_instance.as_ref())?;
                let attribute = self.attributes_of(class, Some(&set))?.first().copied();
                let details = "an attribute is to be named";
                let attribute =
                    attribute.ok_or_else(|| CallError::new(Exception::AttributeNotDefined, details))?;
                let transportation_type = Handle::some(self.carriage_of(object, attribute).0);
                let (object_instance, attribute) = (r.object_instance, Handle::some(attribute));
                self.tell(
                    federate,
                    callback::ReportAttributeTransportationType {
                        object_instance,
                        attribute,
                        transportation_type,
                    },
                );
                response::QueryAttributeTransportationType {}.into()
            }
            Call::RequestInteractionTransportationTypeChange(r) => {
                let (transportation, change) = self.read_transportation(r.transportation_type.as_ref())?;
                self.change_interaction(federate, r.interaction_class.as_ref(), change)?;
                let (interaction_class, transportation_type) =
                    (r.interaction_class, Handle::some(transportation));
                self.tell(
                    federate,
                    callback::ConfirmInteractionTransportationTypeChange {
                        interaction_class,
                        transportation_type,
                    },
                );
                response::RequestInteractionTransportationTypeChange {}.into()
            }
            Call::QueryInteractionTransportationType(r) => {
                self.report_interaction(federate, r.federate, r.interaction_class)?;
                response::QueryInteractionTransportationType {}.into()
            }
            call => return self.exchange(federate, call),
        })
    }

    fn report_interaction(
        &mut self,
        federate: u32,
        sender: Option<FederateHandle>,
        interaction_class: Option<InteractionClassHandle>,
    ) -> Answer<()> {
        let class = self.interaction_class(interaction_class.as_ref())?;
        let transportation_type = Handle::some(self.interaction_carriage(number(sender.as_ref())?, class).0);
        self.tell(
            federate,
            callback::ReportInteractionTransportationType {
                federate: sender,
                interaction_class,
                transportation_type,
            },
        );
        Ok(())
    }
}

fn read_order(order: i32) -> Answer<Carriage> {
    let order = OrderType::try_from(order).map_err(|_| {
        CallError::new(Exception::InvalidOrderType, format!("{order} is no order type, 0 and 1 are"))
    })?;
    Ok(Carriage { transportation: None, is_timestamped: Some(order == OrderType::Timestamp) })
}
