//! Names and handles: each leads to the other, and what is not there is refused.

use paceline_hla::{AttributeHandle, Bytes, ObjectClassHandle, Response, request};

use crate::harness::Harness;

fn name(text: &str) -> String {
    text.to_owned()
}

#[test]
fn names_and_handles_lead_to_each_other() {
    let mut harness = Harness::joined(2);
    let Response::GetObjectClassHandle(class) =
        harness.ask(1, request::GetObjectClassHandle { object_class_name: name("Ship") })
    else {
        panic!("it is answered by its response")
    };
    let object_class = class.result;
    let full = harness.ask(2, request::GetObjectClassName { object_class: object_class.clone() });
    assert!(matches!(full, Response::GetObjectClassName(r) if r.result == "HLAobjectRoot.Ship"));
    let handle =
        request::GetAttributeHandle { object_class: object_class.clone(), attribute_name: name("Name") };
    let Response::GetAttributeHandle(attribute) = harness.ask(1, handle) else { panic!("as above") };
    let call = request::GetAttributeName { object_class: object_class.clone(), attribute: attribute.result };
    assert!(matches!(harness.ask(1, call), Response::GetAttributeName(r) if r.result == "Name"));
    let inherited = name("HLAprivilegeToDeleteObject");
    harness.ask(
        1,
        request::GetAttributeHandle { object_class: object_class.clone(), attribute_name: inherited },
    );

    let details = harness.refused(
        1,
        request::GetAttributeHandle { object_class: object_class.clone(), attribute_name: name("Crew") },
        "NameNotFound",
    );
    assert_eq!(details, "there is no \"Crew\" in HLAobjectRoot.Ship");
    // The first attribute of the management object model is none of ships.
    let foreign = Some(AttributeHandle { data: Bytes::from_static(&[0, 0, 0, 2]) });
    harness.refused(1, request::GetAttributeName { object_class, attribute: foreign }, "AttributeNotDefined");
    for data in [&[0, 0, 0, 0][..], &[0, 0, 1, 0], &[1], &[]] {
        let object_class = Some(ObjectClassHandle { data: Bytes::from_static(data) });
        harness.refused(1, request::GetObjectClassName { object_class }, "InvalidObjectClassHandle");
    }
}

#[test]
fn federates_are_found_while_they_are_joined() {
    let mut harness = Harness::joined(2);
    let Response::GetFederateHandle(found) =
        harness.ask(1, request::GetFederateHandle { federate_name: name("f2") })
    else {
        panic!("it is answered by its response")
    };
    let federate = found.result;
    let called = harness.ask(1, request::GetFederateName { federate: federate.clone() });
    assert!(matches!(called, Response::GetFederateName(r) if r.result == "f2"));
    let normal = harness.ask(1, request::NormalizeFederateHandle { federate: federate.clone() });
    assert!(matches!(normal, Response::NormalizeFederateHandle(r) if r.result == 2));
    harness.lose(2);
    harness.refused(1, request::GetFederateHandle { federate_name: name("f2") }, "NameNotFound");
    harness.refused(1, request::GetFederateName { federate: federate.clone() }, "FederateHandleNotKnown");
    harness.refused(1, request::NormalizeFederateHandle { federate }, "InvalidFederateHandle");
}

#[test]
fn tables_of_the_model_are_found() {
    let mut harness = Harness::joined(1);
    let order = harness.ask(1, request::GetOrderType { order_type_name: name("TimeStamp") });
    assert!(matches!(order, Response::GetOrderType(r) if r.result == 1));
    harness.refused(1, request::GetOrderType { order_type_name: name("timestamp") }, "InvalidOrderName");
    harness.refused(1, request::GetOrderName { order_type: 2 }, "InvalidOrderType");
    let call = request::GetTransportationTypeHandle { transportation_type_name: name("HLAbestEffort") };
    let Response::GetTransportationTypeHandle(found) = harness.ask(1, call) else { panic!("its response") };
    let called = harness.ask(1, request::GetTransportationTypeName { transportation_type: found.result });
    assert!(matches!(called, Response::GetTransportationTypeName(r) if r.result == "HLAbestEffort"));
    let call = request::GetDimensionHandle { dimension_name: name("HLAserviceGroup") };
    let Response::GetDimensionHandle(found) = harness.ask(1, call) else { panic!("its response") };
    let bound = harness.ask(1, request::GetDimensionUpperBound { dimension: found.result });
    assert!(matches!(bound, Response::GetDimensionUpperBound(r) if r.result == 7));
    harness.refused(
        1,
        request::GetUpdateRateValue { update_rate_designator: name("Fast") },
        "InvalidUpdateRateDesignator",
    );
}
