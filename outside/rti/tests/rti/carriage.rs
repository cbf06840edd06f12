//! Orders and transportation types: what a federate changes, for how long, and who sees it.

use paceline_hla::{
    AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, Callback, LogicalTime,
    LogicalTimeInterval, ObjectInstanceHandle, OrderType, Response, TransportationTypeHandle, request,
};

use crate::harness::Harness;

fn transportation(harness: &mut Harness, name: &str) -> Option<TransportationTypeHandle> {
    let call = request::GetTransportationTypeHandle { transportation_type_name: name.to_owned() };
    match harness.ask(1, call) {
        Response::GetTransportationTypeHandle(found) => found.result,
        response => panic!("{response:?}"),
    }
}

fn time(time: f64) -> Option<LogicalTime> {
    Some(LogicalTime { data: time.to_be_bytes().to_vec().into() })
}

/// Sends an attribute's value at a time, and returns the transportation type and the order in which the
/// second federate gets it.
fn carried(
    harness: &mut Harness,
    from: u32,
    object: Option<&ObjectInstanceHandle>,
    set: &AttributeHandleSet,
) -> (Option<TransportationTypeHandle>, bool) {
    let attribute_handle = set.attribute_handle.first().cloned();
    let value = AttributeHandleValue { attribute_handle, ..Default::default() };
    let call = request::UpdateAttributeValuesWithTime {
        object_instance: object.cloned(),
        attribute_values: Some(AttributeHandleValueMap { attribute_handle_value: vec![value] }),
        time: time(5.0),
        ..Default::default()
    };
    harness.ask(from, call);
    let mut reflected = harness.taken(2).into_iter().filter_map(|callback| match callback {
        Callback::ReflectAttributeValuesWithTime(c) => {
            Some((c.transportation_type, c.sent_order_type == i32::from(OrderType::Timestamp)))
        }
        _ => None,
    });
    reflected.next().expect("it arrives")
}

/// Federates 1 and 3 regulate and publish ships, 2 subscribes; a ship of 1.
fn fleet() -> (Harness, Option<ObjectInstanceHandle>, AttributeHandleSet) {
    let mut harness = Harness::joined(3);
    for federate in [1, 3] {
        harness.publish(federate, "Ship", &["Name", "Position"]);
        let lookahead = Some(LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
        harness.ask(federate, request::EnableTimeRegulation { lookahead });
    }
    harness.subscribe(2, "Ship", &["Name", "Position"]);
    harness.subscribe(3, "Ship", &["Name"]);
    let ship = harness.register(1, "Ship");
    let name = harness.object_class("Ship", &["Name"]).1;
    (harness, ship, name)
}

#[test]
fn an_owner_changes_how_its_attribute_is_carried_until_it_gives_it_away() {
    let (mut harness, ship, name) = fleet();
    let (reliable, best) = ("HLAreliable", "HLAbestEffort");
    let (reliable, best) = (transportation(&mut harness, reliable), transportation(&mut harness, best));
    assert_eq!(carried(&mut harness, 1, ship.as_ref(), &name), (reliable.clone(), false));
    let order = |order: OrderType| request::ChangeAttributeOrderType {
        object_instance: ship.clone(),
        attributes: Some(name.clone()),
        order_type: order.into(),
    };
    harness.refused(3, order(OrderType::Timestamp), "AttributeNotOwned");
    harness.ask(1, order(OrderType::Timestamp));
    assert_eq!(carried(&mut harness, 1, ship.as_ref(), &name), (reliable.clone(), true));
    let change = request::RequestAttributeTransportationTypeChange {
        object_instance: ship.clone(),
        attributes: Some(name.clone()),
        transportation_type: best.clone(),
    };
    harness.refused(3, change.clone(), "AttributeNotOwned");
    harness.taken(1);
    harness.ask(1, change);
    let callbacks = harness.taken(1);
    assert!(matches!(&callbacks[..], [Callback::ConfirmAttributeTransportationTypeChange(c)]
        if c.transportation_type == best && c.attributes.as_ref() == Some(&name)));
    assert_eq!(carried(&mut harness, 1, ship.as_ref(), &name), (best.clone(), true));
    let query = request::QueryAttributeTransportationType {
        object_instance: ship.clone(),
        attribute: name.attribute_handle.first().cloned(),
    };
    harness.taken(2);
    harness.ask(2, query);
    assert!(matches!(&harness.taken(2)[..], [Callback::ReportAttributeTransportationType(c)]
        if c.transportation_type == best));
    let divest = request::UnconditionalAttributeOwnershipDivestiture {
        object_instance: ship.clone(),
        attributes: Some(name.clone()),
        ..Default::default()
    };
    harness.ask(1, divest);
    let acquire = request::AttributeOwnershipAcquisition {
        object_instance: ship.clone(),
        desired_attributes: Some(name.clone()),
        ..Default::default()
    };
    harness.ask(3, acquire);
    assert_eq!(carried(&mut harness, 3, ship.as_ref(), &name), (reliable, false), "as the modules say");
}

#[test]
fn defaults_hold_for_what_is_registered_or_acquired_afterwards() {
    let (mut harness, old, name) = fleet();
    let best = transportation(&mut harness, "HLAbestEffort");
    let object_class = Some(harness.object_class("Ship", &[]).0);
    for federate in [1, 3] {
        let (object_class, attributes) = (object_class.clone(), Some(name.clone()));
        let order_type = OrderType::Timestamp.into();
        let the_object_class = object_class.clone();
        let order = request::ChangeDefaultAttributeOrderType { the_object_class, attributes, order_type };
        harness.ask(federate, order);
        let (attributes, transportation_type) = (Some(name.clone()), best.clone());
        let call = request::ChangeDefaultAttributeTransportationType {
            object_class,
            attributes,
            transportation_type,
        };
        harness.ask(federate, call);
    }
    assert!(!carried(&mut harness, 1, old.as_ref(), &name).1, "it was there before");
    let new = harness.register(1, "Ship");
    assert_eq!(carried(&mut harness, 1, new.as_ref(), &name), (best.clone(), true));
    let acquire = request::AttributeOwnershipAcquisition {
        object_instance: old.clone(),
        desired_attributes: Some(name.clone()),
        ..Default::default()
    };
    harness.ask(3, acquire);
    let wanted = request::AttributeOwnershipDivestitureIfWanted {
        object_instance: old.clone(),
        attributes: Some(name.clone()),
        ..Default::default()
    };
    harness.ask(1, wanted);
    assert_eq!(carried(&mut harness, 3, old.as_ref(), &name), (best, true));
    let bad = request::ChangeDefaultAttributeOrderType {
        the_object_class: object_class,
        attributes: Some(name),
        order_type: 2,
    };
    harness.refused(1, bad, "InvalidOrderType");
}

#[test]
fn a_sender_changes_how_its_interactions_are_carried() {
    let mut harness = Harness::joined(3);
    let class = harness.interaction_class("Hit");
    let best = transportation(&mut harness, "HLAbestEffort");
    harness.ask(2, request::SubscribeInteractionClass { interaction_class: class.clone() });
    let change = request::RequestInteractionTransportationTypeChange {
        interaction_class: class.clone(),
        transportation_type: best.clone(),
    };
    let order = request::ChangeInteractionOrderType {
        interaction_class: class.clone(),
        order_type: OrderType::Timestamp.into(),
    };
    harness.refused(1, change.clone(), "InteractionClassNotPublished");
    harness.refused(1, order.clone(), "InteractionClassNotPublished");
    for federate in [1, 3] {
        harness.ask(federate, request::PublishInteractionClass { interaction_class: class.clone() });
        let lookahead = Some(LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
        harness.ask(federate, request::EnableTimeRegulation { lookahead });
    }
    let unknown =
        request::RequestInteractionTransportationTypeChange { transportation_type: None, ..change.clone() };
    harness.refused(1, unknown, "InvalidTransportationTypeHandle");
    harness.taken(1);
    harness.ask(1, change);
    harness.ask(1, order);
    assert!(matches!(&harness.taken(1)[..], [Callback::ConfirmInteractionTransportationTypeChange(c)]
        if c.transportation_type == best));
    for (federate, is_changed) in [(1, true), (3, false)] {
        let call = request::SendInteractionWithTime {
            interaction_class: class.clone(),
            time: time(5.0),
            ..Default::default()
        };
        harness.ask(federate, call);
        let received = harness.taken(2);
        assert!(matches!(&received[..], [Callback::ReceiveInteractionWithTime(c)]
            if (c.transportation_type == best, c.sent_order_type == 1) == (is_changed, is_changed)));
        let handle = request::GetFederateHandle { federate_name: format!("f{federate}") };
        let Response::GetFederateHandle(found) = harness.ask(2, handle) else { panic!("its response") };
        let interaction_class = class.clone();
        let query = request::QueryInteractionTransportationType { federate: found.result, interaction_class };
        harness.ask(2, query);
        assert!(matches!(&harness.taken(2)[..], [Callback::ReportInteractionTransportationType(c)]
            if (c.transportation_type == best) == is_changed));
    }
}
