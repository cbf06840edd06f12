//! Switches, and what a federate may ask about its own declarations.

use paceline_hla::{
    AttributeHandleSet, Call, DimensionHandleSet, FomModuleSet, ObjectInstanceHandle, Response, request,
};

use crate::harness::{Harness, module};

/// A federation of a module with switches, dimensions and update rates.
fn switched() -> Harness {
    let tables = "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ship</name>\
        <attribute><name>Position</name><dimensions><dimension>Lat</dimension></dimensions></attribute>\
        <attribute><name>Name</name><dimensions><dimension>NA</dimension></dimensions></attribute>\
        <objectClass><name>Tanker</name><attribute><name>Load</name>\
        <dimensions><dimension>Lat</dimension><dimension>Lon</dimension></dimensions></attribute></objectClass>\
        </objectClass></objectClass></objects>\
        <interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Hit</name>\
        <dimensions><dimension>Lon</dimension></dimensions></interactionClass></interactionClass></interactions>\
        <dimensions><dimension><name>Lat</name></dimension><dimension><name>Lon</name></dimension></dimensions>\
        <updateRates><updateRate><name>Slow</name><rate>0.5</rate></updateRate></updateRates>\
        <switches><autoProvide isEnabled=\"true\"/><attributeScopeAdvisory isEnabled=\"1\"/>\
        <advisoriesUseKnownClass isEnabled=\"true\"/><serviceReporting isEnabled=\"true\"/></switches>";
    let mut harness = Harness::default();
    for number in 1..=2 {
        harness.ask(number, request::Connect {});
        if number == 1 {
            let fom_modules = Some(FomModuleSet { fom_module: vec![module("2025", tables)] });
            let federation_name = "F".to_owned();
            harness.ask(1, request::CreateFederationExecutionWithModules { federation_name, fom_modules });
        }
        let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
        harness.ask(number, request::JoinFederationExecution { federate_type, federation_name });
    }
    harness
}

/// The value of a switch.
macro_rules! get {
    ($harness:expr, $federate:expr, $name:ident) => {
        match $harness.ask($federate, request::$name {}) {
            Response::$name(r) => r.result,
            response => panic!("{response:?}"),
        }
    };
}

#[test]
fn switches_are_as_the_modules_say_and_then_as_federates_set_them() {
    let mut harness = switched();
    assert!(get!(harness, 1, GetAutoProvideSwitch) && get!(harness, 1, GetAdvisoriesUseKnownClassSwitch));
    assert!(!get!(harness, 1, GetAllowRelaxedDDMSwitch));
    assert!(!get!(harness, 1, GetDelaySubscriptionEvaluationSwitch));
    assert!(get!(harness, 1, GetAttributeScopeAdvisorySwitch));
    macro_rules! check {
        ($($get:ident $set:ident)*) => {$(
            for value in [true, false, false, true] {
                harness.ask(1, request::$set { value });
                assert_eq!(get!(harness, 1, $get), value, stringify!($get));
            }
            assert_eq!(get!(harness, 2, $get), stringify!($get).contains("Scope"), "another one's stays");
        )*};
    }
    check! {
        GetObjectClassRelevanceAdvisorySwitch SetObjectClassRelevanceAdvisorySwitch
        GetAttributeRelevanceAdvisorySwitch SetAttributeRelevanceAdvisorySwitch
        GetAttributeScopeAdvisorySwitch SetAttributeScopeAdvisorySwitch
        GetInteractionRelevanceAdvisorySwitch SetInteractionRelevanceAdvisorySwitch
        GetConveyRegionDesignatorSetsSwitch SetConveyRegionDesignatorSetsSwitch
        GetExceptionReportingSwitch SetExceptionReportingSwitch
    }
}

#[test]
fn services_are_not_reported_and_nobody_is_told_otherwise() {
    let mut harness = switched();
    let on: [Call; 2] = [
        request::SetServiceReportingSwitch { value: true }.into(),
        request::SetSendServiceReportsToFileSwitch { value: true }.into(),
    ];
    for call in on {
        let name = call.name();
        assert_eq!(harness.refused(1, call, "RTIinternalError"), format!("not yet: {name}"));
    }
    harness.ask(1, request::SetServiceReportingSwitch { value: false });
    assert!(!get!(harness, 1, GetServiceReportingSwitch));
    assert!(!get!(harness, 1, GetSendServiceReportsToFileSwitch));
}

fn dimensions(harness: &mut Harness, set: Option<DimensionHandleSet>) -> Vec<String> {
    let handles = set.unwrap_or_default().dimension_handle.into_iter();
    let name = |dimension| match harness.ask(1, request::GetDimensionName { dimension: Some(dimension) }) {
        Response::GetDimensionName(r) => r.result,
        response => panic!("{response:?}"),
    };
    handles.map(name).collect()
}

#[test]
fn dimensions_of_classes_are_those_of_the_modules() {
    let mut harness = switched();
    for (class, expected) in [("Ship", &["Lat"][..]), ("Ship.Tanker", &["Lat", "Lon"])] {
        let object_class = Some(harness.object_class(class, &[]).0);
        let response = harness.ask(1, request::GetAvailableDimensionsForObjectClass { object_class });
        let Response::GetAvailableDimensionsForObjectClass(r) = response else { panic!("its response") };
        assert_eq!(dimensions(&mut harness, r.result), expected);
    }
    let interaction_class = harness.interaction_class("Hit");
    let response = harness.ask(1, request::GetAvailableDimensionsForInteractionClass { interaction_class });
    let Response::GetAvailableDimensionsForInteractionClass(r) = response else { panic!("its response") };
    assert_eq!(dimensions(&mut harness, r.result), ["Lon"]);
    let call = request::GetAvailableDimensionsForObjectClass { object_class: None };
    harness.refused(1, call, "InvalidObjectClassHandle");
    let call = request::GetAvailableDimensionsForInteractionClass { interaction_class: None };
    harness.refused(1, call, "InvalidInteractionClassHandle");
}

fn rate(
    harness: &mut Harness,
    object_instance: Option<ObjectInstanceHandle>,
    set: &AttributeHandleSet,
) -> f64 {
    let attribute = set.attribute_handle.first().cloned();
    match harness.ask(2, request::GetUpdateRateValueForAttribute { object_instance, attribute }) {
        Response::GetUpdateRateValueForAttribute(r) => r.result,
        response => panic!("{response:?}"),
    }
}

#[test]
fn an_instance_has_a_number_and_an_attribute_the_rate_that_was_asked_for() {
    let mut harness = switched();
    let (class, position) = harness.object_class("Ship", &["Position"]);
    let subscribe = request::SubscribeObjectClassAttributesWithRate {
        object_class: Some(class),
        attributes: Some(position.clone()),
        update_rate_designator: "Slow".to_owned(),
    };
    harness.ask(2, subscribe);
    harness.publish(1, "Ship", &["Position"]);
    let ship = harness.register(1, "Ship");
    assert_eq!(rate(&mut harness, ship.clone(), &position), 0.5);
    harness.subscribe(2, "Ship", &["Position"]);
    assert_eq!(rate(&mut harness, ship.clone(), &position), 0.0, "it wants all now");
    let (_, load) = harness.object_class("Ship.Tanker", &["Load"]);
    let call = request::GetUpdateRateValueForAttribute {
        object_instance: ship.clone(),
        attribute: load.attribute_handle.first().cloned(),
    };
    harness.refused(2, call, "AttributeNotDefined");
    let normal = harness.ask(2, request::NormalizeObjectInstanceHandle { object_instance: ship.clone() });
    assert!(matches!(normal, Response::NormalizeObjectInstanceHandle(r) if r.result == 1));
    let unknown = request::NormalizeObjectInstanceHandle { object_instance: None };
    harness.refused(2, unknown, "InvalidObjectInstanceHandle");
}
