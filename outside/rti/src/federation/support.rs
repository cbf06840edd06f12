//! Support services that look something up: names and handles of federates, classes, attributes,
//! interactions, parameters, orders, transportations and dimensions.

use paceline_hla::{
    AttributeHandle, Call, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    OrderType, ParameterHandle, Response, ServiceGroup, TransportationTypeHandle, response,
};

use super::Federation;
use crate::exception::{Answer, CallError, Exception, not_yet};
use crate::fom::{Class, ClassTable};
use crate::handles::{Handle, number};

/// The exception `exception`, if there is nothing; `what` names what was looked for.
fn known<T>(found: Option<T>, exception: Exception, what: impl FnOnce() -> String) -> Answer<T> {
    found.ok_or_else(|| CallError::new(exception, format!("there is no {}", what())))
}

fn find_class(table: &ClassTable, name: &str, kind: &str) -> Answer<u32> {
    known(table.find(name), Exception::NameNotFound, || format!("{kind} class {name:?}"))
}

/// The class that a handle names.
fn class_of<'a, H: Handle>(table: &'a ClassTable, handle: Option<&H>) -> Answer<(u32, &'a Class)> {
    let class = number(handle)?;
    known(table.class(class), H::INVALID, || format!("class with the handle {class}")).map(|row| (class, row))
}

fn find_member(table: &ClassTable, class: u32, name: &str) -> Answer<u32> {
    known(table.member_of(class, name), Exception::NameNotFound, || {
        let class = table.class(class).map(|class| class.name.as_str());
        format!("{name:?} in {}", class.unwrap_or_default())
    })
}

/// The name of an attribute or parameter of a class. `foreign` is for one that another class has.
fn member_name<H: Handle>(
    table: &ClassTable,
    class: u32,
    handle: Option<&H>,
    foreign: Exception,
) -> Answer<String> {
    let member = number(handle)?;
    let row = known(table.member(member), H::INVALID, || format!("handle {member}"))?;
    known(table.has_member(class, member).then_some(()), foreign, || format!("{} in this class", row.name))?;
    Ok(row.name.clone())
}

fn order_name(order: OrderType) -> &'static str {
    match order {
        OrderType::Receive => "Receive",
        OrderType::Timestamp => "TimeStamp",
    }
}

impl Federation {
    pub(super) fn support_federates(&self, call: &Call) -> Answer<Response> {
        let named = |handle: Option<&FederateHandle>, exception| {
            let handle = number(handle)?;
            let federate = self.federates.get(&handle);
            known(federate, exception, || format!("federate with the handle {handle}"))
                .map(|row| (handle, row))
        };
        match call {
            Call::GetFederateHandle(r) => {
                let mut federates = self.federates.iter();
                let handle =
                    federates.find(|(_, row)| row.name == r.federate_name).map(|(handle, _)| *handle);
                let what = || format!("federate {:?}", r.federate_name);
                let handle = known(handle, Exception::NameNotFound, what)?;
                Ok(response::GetFederateHandle { result: Handle::some(handle) }.into())
            }
            Call::GetFederateName(r) => {
                let (_, row) = named(r.federate.as_ref(), Exception::FederateHandleNotKnown)?;
                Ok(response::GetFederateName { result: row.name.clone() }.into())
            }
            Call::NormalizeFederateHandle(r) => {
                let (result, _) = named(r.federate.as_ref(), Exception::InvalidFederateHandle)?;
                Ok(response::NormalizeFederateHandle { result }.into())
            }
            call => Err(not_yet(call)),
        }
    }

    /// The answer to a call that only looks at the object model; nothing if it is another call.
    pub(super) fn support_object_model(&self, call: &Call) -> Option<Answer<Response>> {
        Some(match call {
            Call::GetObjectClassHandle(_)
            | Call::GetObjectClassName(_)
            | Call::GetAttributeHandle(_)
            | Call::GetAttributeName(_)
            | Call::NormalizeObjectClassHandle(_) => self.support_objects(call),
            Call::GetInteractionClassHandle(_)
            | Call::GetInteractionClassName(_)
            | Call::GetParameterHandle(_)
            | Call::GetParameterName(_)
            | Call::NormalizeInteractionClassHandle(_) => self.support_interactions(call),
            Call::GetOrderType(_)
            | Call::GetOrderName(_)
            | Call::GetTransportationTypeHandle(_)
            | Call::GetTransportationTypeName(_)
            | Call::GetDimensionHandle(_)
            | Call::GetDimensionName(_)
            | Call::GetDimensionUpperBound(_)
            | Call::GetUpdateRateValue(_)
            | Call::NormalizeServiceGroup(_) => self.support_tables(call),
            _ => return None,
        })
    }

    fn support_objects(&self, call: &Call) -> Answer<Response> {
        let table = &self.fom.objects;
        match call {
            Call::GetObjectClassHandle(r) => {
                let class = find_class(table, &r.object_class_name, "object")?;
                Ok(response::GetObjectClassHandle { result: ObjectClassHandle::some(class) }.into())
            }
            Call::GetObjectClassName(r) => {
                let (_, class) = class_of(table, r.object_class.as_ref())?;
                Ok(response::GetObjectClassName { result: class.name.clone() }.into())
            }
            Call::GetAttributeHandle(r) => {
                let (class, _) = class_of(table, r.object_class.as_ref())?;
                let attribute = find_member(table, class, &r.attribute_name)?;
                Ok(response::GetAttributeHandle { result: AttributeHandle::some(attribute) }.into())
            }
            Call::GetAttributeName(r) => {
                let (class, _) = class_of(table, r.object_class.as_ref())?;
                let foreign = Exception::AttributeNotDefined;
                let result = member_name(table, class, r.attribute.as_ref(), foreign)?;
                Ok(response::GetAttributeName { result }.into())
            }
            Call::NormalizeObjectClassHandle(r) => {
                let (result, _) = class_of(table, r.object_class.as_ref())?;
                Ok(response::NormalizeObjectClassHandle { result }.into())
            }
            call => Err(not_yet(call)),
        }
    }

    fn support_interactions(&self, call: &Call) -> Answer<Response> {
        let table = &self.fom.interactions;
        match call {
            Call::GetInteractionClassHandle(r) => {
                let class = find_class(table, &r.interaction_class_name, "interaction")?;
                let result = InteractionClassHandle::some(class);
                Ok(response::GetInteractionClassHandle { result }.into())
            }
            Call::GetInteractionClassName(r) => {
                let (_, class) = class_of(table, r.interaction_class.as_ref())?;
                Ok(response::GetInteractionClassName { result: class.name.clone() }.into())
            }
            Call::GetParameterHandle(r) => {
                let (class, _) = class_of(table, r.interaction_class.as_ref())?;
                let parameter = find_member(table, class, &r.parameter_name)?;
                Ok(response::GetParameterHandle { result: ParameterHandle::some(parameter) }.into())
            }
            Call::GetParameterName(r) => {
                let (class, _) = class_of(table, r.interaction_class.as_ref())?;
                let foreign = Exception::InteractionParameterNotDefined;
                let result = member_name(table, class, r.parameter.as_ref(), foreign)?;
                Ok(response::GetParameterName { result }.into())
            }
            Call::NormalizeInteractionClassHandle(r) => {
                let (result, _) = class_of(table, r.interaction_class.as_ref())?;
                Ok(response::NormalizeInteractionClassHandle { result }.into())
            }
            call => Err(not_yet(call)),
        }
    }

    fn support_tables(&self, call: &Call) -> Answer<Response> {
        match call {
            Call::GetOrderType(r) => {
                let orders = [OrderType::Receive, OrderType::Timestamp];
                let name = &r.order_type_name;
                let order = orders.into_iter().find(|order| order_name(*order) == name);
                let what = || format!("order {name:?}; Receive and TimeStamp are known");
                let order = known(order, Exception::InvalidOrderName, what)?;
                Ok(response::GetOrderType { result: order.into() }.into())
            }
            Call::GetOrderName(r) => {
                let order = OrderType::try_from(r.order_type).ok();
                let order = known(order, Exception::InvalidOrderType, || format!("order {}", r.order_type))?;
                Ok(response::GetOrderName { result: order_name(order).to_owned() }.into())
            }
            Call::GetTransportationTypeHandle(r) => {
                let name = &r.transportation_type_name;
                let found = self.fom.transportation(name);
                let what = || format!("transportation {name:?}");
                let result =
                    TransportationTypeHandle::some(known(found, Exception::InvalidTransportationName, what)?);
                Ok(response::GetTransportationTypeHandle { result }.into())
            }
            Call::GetTransportationTypeName(r) => {
                let handle = number(r.transportation_type.as_ref())?;
                let name = self.fom.transportation_name(handle);
                let what = || format!("transportation with the handle {handle}");
                let name = known(name, Exception::InvalidTransportationTypeHandle, what)?;
                Ok(response::GetTransportationTypeName { result: name.to_owned() }.into())
            }
            Call::GetDimensionHandle(r) => {
                let found = self.fom.dimension(&r.dimension_name);
                let what = || format!("dimension {:?}", r.dimension_name);
                let result = DimensionHandle::some(known(found, Exception::NameNotFound, what)?);
                Ok(response::GetDimensionHandle { result }.into())
            }
            Call::GetDimensionName(r) => {
                let (name, _) = self.dimension_row(r.dimension.as_ref())?;
                Ok(response::GetDimensionName { result: name.to_owned() }.into())
            }
            Call::GetDimensionUpperBound(r) => {
                let (_, result) = self.dimension_row(r.dimension.as_ref())?;
                Ok(response::GetDimensionUpperBound { result }.into())
            }
            Call::GetUpdateRateValue(r) => {
                let rate = self.fom.update_rate(&r.update_rate_designator).and_then(|rate| rate.parse().ok());
                let what = || format!("update rate {:?} with a number", r.update_rate_designator);
                let result = known(rate, Exception::InvalidUpdateRateDesignator, what)?;
                Ok(response::GetUpdateRateValue { result }.into())
            }
            Call::NormalizeServiceGroup(r) => {
                let group = ServiceGroup::try_from(r.service_group).ok();
                let what = || format!("service group {}", r.service_group);
                let group = known(group, Exception::InvalidServiceGroup, what)?;
                Ok(response::NormalizeServiceGroup { result: group as u32 }.into())
            }
            call => Err(not_yet(call)),
        }
    }

    fn dimension_row(&self, handle: Option<&DimensionHandle>) -> Answer<(&str, u32)> {
        let handle = number(handle)?;
        let what = || format!("dimension with the handle {handle}");
        known(self.fom.dimension_row(handle), Exception::InvalidDimensionHandle, what)
    }
}
