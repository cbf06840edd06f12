//! Deletion of instances at a logical time.

use paceline_hla::{
    AttributeHandleValue, AttributeHandleValueMap, Callback, LogicalTime, LogicalTimeInterval, Response,
    request,
};

use crate::harness::Harness;

fn time(time: f64) -> Option<LogicalTime> {
    Some(LogicalTime { data: time.to_be_bytes().to_vec().into() })
}

fn names(harness: &mut Harness, federate: u32) -> Vec<&'static str> {
    harness.taken(federate).iter().map(Callback::name).collect()
}

/// Federate 1 regulates and registers a ship; 2 is constrained, 3 is not. All but 1 subscribe.
#[test]
fn an_instance_is_there_until_its_time_has_come() {
    let mut harness = Harness::joined(4);
    for federate in [1, 4] {
        let lookahead = Some(LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
        harness.ask(federate, request::EnableTimeRegulation { lookahead });
    }
    harness.ask(2, request::EnableTimeConstrained {});
    harness.publish(1, "Ship", &["Name"]);
    harness.publish(2, "Ship", &["Position"]);
    (2..4).for_each(|federate| harness.subscribe(federate, "Ship", &["Name"]));
    let ship = harness.register(1, "Ship");
    let (_, position) = harness.object_class("Ship", &["Position"]);
    let acquire = request::AttributeOwnershipAcquisition {
        object_instance: ship.clone(),
        desired_attributes: Some(position.clone()),
        ..Default::default()
    };
    harness.ask(2, acquire);
    (1..5).for_each(|federate| drop(harness.taken(federate)));
    let delete = |at: f64| request::DeleteObjectInstanceWithTime {
        object_instance: ship.clone(),
        time: time(at),
        ..Default::default()
    };
    harness.refused(2, delete(5.0), "DeletePrivilegeNotHeld");
    harness.refused(1, delete(0.5), "InvalidLogicalTime");
    let Response::DeleteObjectInstanceWithTime(answer) = harness.ask(1, delete(5.0)) else {
        panic!("its response")
    };
    assert!(answer.result.expect("an answer").retraction_handle_is_valid);
    harness.refused(1, delete(5.0), "ObjectInstanceNotKnown");
    assert_eq!(
        names(&mut harness, 3),
        ["RemoveObjectInstanceWithTime"],
        "who is not constrained learns it at once"
    );
    assert_eq!(names(&mut harness, 2), [""; 0]);
    let named = request::GetObjectInstanceName { object_instance: ship.clone() };
    harness.ask(2, named.clone());
    harness.refused(3, named.clone(), "ObjectInstanceNotKnown");
    harness.subscribe(4, "Ship", &["Position"]);
    assert_eq!(names(&mut harness, 4), [""; 0], "nobody learns of it any more");
    let (_, attributes) = harness.object_class("Ship", &["Name", "HLAprivilegeToDeleteObject"]);
    let (object_instance, attributes) = (ship.clone(), Some(attributes));
    harness.ask(2, request::QueryAttributeOwnership { object_instance, attributes });
    assert_eq!(names(&mut harness, 2), ["AttributeIsNotOwned"]);
    // An owner of something else goes on until it is told.
    let value = AttributeHandleValue {
        attribute_handle: position.attribute_handle.first().cloned(),
        ..Default::default()
    };
    let update = request::UpdateAttributeValues {
        object_instance: ship.clone(),
        attribute_values: Some(AttributeHandleValueMap { attribute_handle_value: vec![value] }),
        ..Default::default()
    };
    harness.ask(2, update.clone());
    for federate in [1, 4] {
        harness.ask(federate, request::TimeAdvanceRequest { time: time(4.5) });
    }
    harness.ask(2, request::TimeAdvanceRequest { time: time(5.0) });
    assert_eq!(names(&mut harness, 2), ["RemoveObjectInstanceWithTime", "TimeAdvanceGrant"]);
    harness.refused(2, named, "ObjectInstanceNotKnown");
    harness.refused(2, update, "ObjectInstanceNotKnown");
}

#[test]
fn who_has_forgotten_an_instance_is_not_told_and_its_name_is_free() {
    let mut harness = Harness::joined(2);
    let lookahead = Some(LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
    harness.ask(1, request::EnableTimeRegulation { lookahead });
    harness.ask(2, request::EnableTimeConstrained {});
    harness.publish(1, "Ship", &["Name"]);
    harness.subscribe(2, "Ship", &["Name"]);
    let object_instance_name = "Ann".to_owned();
    harness.ask(1, request::ReserveObjectInstanceName { object_instance_name: object_instance_name.clone() });
    let object_class = Some(harness.object_class("Ship", &[]).0);
    let call = request::RegisterObjectInstanceWithName { object_class, object_instance_name };
    let Response::RegisterObjectInstanceWithName(ship) = harness.ask(1, call) else { panic!("its response") };
    let object_instance = ship.result;
    let delete = request::DeleteObjectInstanceWithTime {
        object_instance: object_instance.clone(),
        time: time(5.0),
        ..Default::default()
    };
    harness.ask(1, delete);
    (1..3).for_each(|federate| drop(harness.taken(federate)));
    let reserve = request::ReserveObjectInstanceName { object_instance_name: "Ann".to_owned() };
    harness.ask(1, reserve.clone());
    assert_eq!(names(&mut harness, 1), ["ObjectInstanceNameReservationFailed"], "one still knows it");
    harness.ask(2, request::LocalDeleteObjectInstance { object_instance });
    harness.ask(1, reserve.clone());
    assert_eq!(names(&mut harness, 1), ["ObjectInstanceNameReservationFailed"], "it may still come back");
    harness.ask(1, request::TimeAdvanceRequest { time: time(4.5) });
    names(&mut harness, 1);
    harness.ask(1, reserve);
    assert_eq!(names(&mut harness, 1), ["ObjectInstanceNameReservationSucceeded"]);
    harness.ask(1, request::TimeAdvanceRequest { time: time(9.0) });
    harness.ask(2, request::TimeAdvanceRequest { time: time(6.0) });
    assert_eq!(names(&mut harness, 2), ["TimeAdvanceGrant"]);
}

/// Federate 1 regulates and registers a ship, 2 is constrained and owns its position, 3 is not constrained.
fn with_ship() -> (Harness, Option<paceline_hla::ObjectInstanceHandle>) {
    let mut harness = Harness::joined(4);
    let lookahead = Some(LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
    harness.ask(1, request::EnableTimeRegulation { lookahead });
    harness.ask(2, request::EnableTimeConstrained {});
    harness.publish(1, "Ship", &["Name"]);
    (2..4).for_each(|federate| harness.publish(federate, "Ship", &["Position", "Name"]));
    (2..4).for_each(|federate| harness.subscribe(federate, "Ship", &["Name"]));
    let ship = harness.register(1, "Ship");
    let (object_instance, desired_attributes) =
        (ship.clone(), Some(harness.object_class("Ship", &["Position"]).1));
    let acquire =
        request::AttributeOwnershipAcquisition { object_instance, desired_attributes, ..Default::default() };
    harness.ask(3, acquire);
    (1..5).for_each(|federate| drop(harness.taken(federate)));
    (harness, ship)
}

#[test]
fn a_deletion_is_retracted_until_it_is_final() {
    let (mut harness, ship) = with_ship();
    let delete = |harness: &mut Harness, at: f64| {
        let (object_instance, time) = (ship.clone(), time(at));
        let call = request::DeleteObjectInstanceWithTime { object_instance, time, ..Default::default() };
        let Response::DeleteObjectInstanceWithTime(answer) = harness.ask(1, call) else {
            panic!("its response")
        };
        request::Retract { retraction: answer.result.expect("an answer").message_retraction_handle }
    };
    let owned = |harness: &mut Harness, federate: u32, name: &str| {
        let call = request::IsAttributeOwnedByFederate {
            object_instance: ship.clone(),
            attribute: harness.object_class("Ship", &[name]).1.attribute_handle.first().cloned(),
        };
        matches!(harness.ask(federate, call), Response::IsAttributeOwnedByFederate(r) if r.result)
    };
    let retract = delete(&mut harness, 5.0);
    assert_eq!(names(&mut harness, 3), ["RemoveObjectInstanceWithTime"]);
    harness.subscribe(4, "Ship", &["Name"]);
    assert_eq!(names(&mut harness, 4), [""; 0]);
    harness.ask(1, retract.clone());
    assert_eq!(names(&mut harness, 3), ["RequestRetraction"], "it had been told");
    assert_eq!(names(&mut harness, 2), [""; 0], "it had not");
    assert_eq!(names(&mut harness, 4), ["DiscoverObjectInstance"]);
    assert!(owned(&mut harness, 1, "Name") && owned(&mut harness, 1, "HLAprivilegeToDeleteObject"));
    assert!(owned(&mut harness, 3, "Position"));
    harness.refused(1, retract, "MessageCanNoLongerBeRetracted");
    // Nobody is told any more at that time.
    harness.ask(1, request::TimeAdvanceRequest { time: time(5.5) });
    harness.ask(2, request::TimeAdvanceRequest { time: time(6.0) });
    assert_eq!(names(&mut harness, 2), ["TimeAdvanceGrant"]);
    // The instance can be deleted again; once that is final it does not come back.
    let retract = delete(&mut harness, 8.0);
    harness.ask(1, request::TimeAdvanceRequest { time: time(7.0) });
    harness.refused(1, retract, "MessageCanNoLongerBeRetracted");
}

#[test]
fn what_was_acquired_meanwhile_stays_with_its_new_owner() {
    let (mut harness, ship) = with_ship();
    let (object_instance, time) = (ship.clone(), time(5.0));
    let call = request::DeleteObjectInstanceWithTime { object_instance, time, ..Default::default() };
    let Response::DeleteObjectInstanceWithTime(answer) = harness.ask(1, call) else { panic!("its response") };
    let acquire = request::AttributeOwnershipAcquisitionIfAvailable {
        object_instance: ship.clone(),
        desired_attributes: Some(harness.object_class("Ship", &["Name"]).1),
        ..Default::default()
    };
    let acquired = harness.call(2, acquire);
    let retraction = answer.result.expect("an answer").message_retraction_handle;
    harness.ask(1, request::Retract { retraction });
    let attribute = harness.object_class("Ship", &["Name"]).1.attribute_handle.first().cloned();
    let mut owners = Vec::new();
    for federate in 1..3 {
        let (object_instance, attribute) = (ship.clone(), attribute.clone());
        let call = request::IsAttributeOwnedByFederate { object_instance, attribute };
        let Response::IsAttributeOwnedByFederate(answer) = harness.ask(federate, call) else {
            panic!("its response")
        };
        owners.extend(answer.result.then_some(federate));
    }
    assert_eq!(owners.len(), 1, "it has one owner: {owners:?}, {acquired:?}");
}
