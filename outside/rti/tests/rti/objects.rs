//! Instances: registration, discovery, names, deletion, and what becomes of them when federates resign.

use paceline_hla::{Callback, ObjectClassHandle, ObjectInstanceHandle, ResignAction, Response, request};

use crate::harness::Harness;

/// In words: what a federate is called with.
fn taken(harness: &mut Harness, federate: u32) -> Vec<String> {
    let words = |callback| match callback {
        Callback::DiscoverObjectInstance(c) => format!("discovered {}", c.object_instance_name),
        Callback::RemoveObjectInstance(_) => "removed".to_owned(),
        Callback::ObjectInstanceNameReservationSucceeded(c) => format!("reserved {}", c.object_instance_name),
        Callback::ObjectInstanceNameReservationFailed(c) => {
            format!("not reserved {}", c.object_instance_name)
        }
        Callback::MultipleObjectInstanceNameReservationSucceeded(c) => {
            format!("reserved {}", c.object_instance_names.join(" and "))
        }
        Callback::MultipleObjectInstanceNameReservationFailed(c) => {
            format!("not reserved {}", c.object_instance_names.join(" and "))
        }
        other => panic!("{other:?}"),
    };
    harness.taken(federate).into_iter().map(words).collect()
}

fn delete(object_instance: Option<ObjectInstanceHandle>) -> request::DeleteObjectInstance {
    request::DeleteObjectInstance { object_instance, ..Default::default() }
}

fn resign(action: ResignAction) -> request::ResignFederationExecution {
    request::ResignFederationExecution { resign_action: action.into() }
}

fn known_class(
    harness: &mut Harness,
    federate: u32,
    object: Option<&ObjectInstanceHandle>,
) -> Option<ObjectClassHandle> {
    match harness.call(federate, request::GetKnownObjectClassHandle { object_instance: object.cloned() }) {
        Response::GetKnownObjectClassHandle(known) => known.result,
        _ => None,
    }
}

#[test]
fn an_instance_is_discovered_as_the_closest_class_subscribed_to() {
    let mut harness = Harness::joined(4);
    harness.publish(1, "Ship.Tanker", &["Name", "Load"]);
    harness.subscribe(2, "Ship", &["Name"]);
    harness.subscribe(3, "Ship", &["Position"]);
    let object = harness.register(1, "Ship.Tanker");
    assert_eq!(taken(&mut harness, 2), ["discovered Tanker-1"]);
    assert_eq!(known_class(&mut harness, 2, object.as_ref()), Some(harness.object_class("Ship", &[]).0));
    assert_eq!(
        known_class(&mut harness, 1, object.as_ref()),
        Some(harness.object_class("Ship.Tanker", &[]).0)
    );
    assert_eq!(taken(&mut harness, 3), [""; 0], "nobody owns what it subscribes to");
    harness.subscribe(4, "Ship.Tanker", &["Load"]);
    harness.subscribe(4, "Ship", &["Name"]);
    assert_eq!(taken(&mut harness, 4), ["discovered Tanker-1"], "who subscribes later learns of it, once");
    harness.subscribe(2, "Ship.Tanker", &["Load"]);
    assert_eq!(taken(&mut harness, 2), [""; 0]);
    assert_eq!(taken(&mut harness, 1), [""; 0], "its own it has registered");
}

#[test]
fn a_class_has_to_be_published() {
    let mut harness = Harness::joined(1);
    harness.publish(1, "Ship", &["Name"]);
    let object_class = Some(harness.object_class("Ship.Tanker", &[]).0);
    harness.refused(1, request::RegisterObjectInstance { object_class }, "ObjectClassNotPublished");
    let (_, attributes) = harness.object_class("Ship.Tanker", &["Load"]);
    let foreign = request::PublishObjectClassAttributes {
        object_class: Some(harness.object_class("Ship", &[]).0),
        attributes: Some(attributes),
    };
    harness.refused(1, foreign, "AttributeNotDefined");
    let unknown = Some(ObjectClassHandle { data: vec![0, 0, 1, 0].into() });
    harness.refused(1, request::RegisterObjectInstance { object_class: unknown }, "ObjectClassNotDefined");
    let object_class = Some(harness.object_class("Ship", &[]).0);
    harness.ask(1, request::UnpublishObjectClass { object_class: object_class.clone() });
    harness.refused(1, request::RegisterObjectInstance { object_class }, "ObjectClassNotPublished");
}

#[test]
fn a_name_is_reserved_before_it_is_used() {
    let mut harness = Harness::joined(2);
    harness.publish(1, "Ship", &["Name"]);
    let name = |text: &str| text.to_owned();
    let reserve = |text: &str| request::ReserveObjectInstanceName { object_instance_name: name(text) };
    let object_class = Some(harness.object_class("Ship", &[]).0);
    let register = |text: &str| request::RegisterObjectInstanceWithName {
        object_class: object_class.clone(),
        object_instance_name: name(text),
    };
    harness.refused(1, reserve("HLAx"), "IllegalName");
    harness.refused(1, register("A"), "ObjectInstanceNameNotReserved");
    harness.ask(2, reserve("A"));
    harness.ask(1, reserve("A"));
    assert_eq!(
        (taken(&mut harness, 1), taken(&mut harness, 2)),
        (vec![name("not reserved A")], vec![name("reserved A")])
    );
    harness.refused(1, register("A"), "ObjectInstanceNameNotReserved");
    harness.refused(
        1,
        request::ReleaseObjectInstanceName { object_instance_name: name("A") },
        "ObjectInstanceNameNotReserved",
    );
    harness.ask(2, request::ReleaseObjectInstanceName { object_instance_name: name("A") });
    let several = |names: &[&str]| request::ReserveMultipleObjectInstanceNames {
        object_instance_names: names.iter().copied().map(name).collect(),
    };
    harness.refused(1, several(&[]), "NameSetWasEmpty");
    harness.ask(1, several(&["A", "B"]));
    harness.ask(2, several(&["B", "C"]));
    harness.ask(2, reserve("C"));
    assert_eq!(taken(&mut harness, 1), ["reserved A and B"]);
    assert_eq!(
        taken(&mut harness, 2),
        ["not reserved B and C", "reserved C"],
        "none of a set that is not free"
    );
    harness.ask(1, register("A"));
    harness.refused(1, register("A"), "ObjectInstanceNameInUse");
    let called = harness.ask(1, request::GetObjectInstanceHandle { object_instance_name: name("A") });
    let Response::GetObjectInstanceHandle(found) = called else { panic!("its response") };
    harness.ask(1, delete(found.result));
    harness.ask(2, reserve("A"));
    assert_eq!(taken(&mut harness, 2), ["reserved A"], "a name is free once its instance is deleted");
}

#[test]
fn who_holds_the_privilege_deletes_and_others_forget() {
    let mut harness = Harness::joined(3);
    harness.publish(1, "Ship", &["Name"]);
    harness.subscribe(2, "Ship", &["Name"]);
    let object = harness.register(1, "Ship");
    taken(&mut harness, 2);
    harness.refused(2, delete(object.clone()), "DeletePrivilegeNotHeld");
    harness.refused(3, delete(object.clone()), "ObjectInstanceNotKnown");
    let local = || request::LocalDeleteObjectInstance { object_instance: object.clone() };
    harness.refused(1, local(), "FederateOwnsAttributes");
    harness.ask(2, local());
    harness.refused(2, local(), "ObjectInstanceNotKnown");
    harness.subscribe(2, "Ship", &["Position"]);
    assert_eq!(taken(&mut harness, 2), ["discovered Ship-1"], "it may be discovered again");
    harness.ask(1, delete(object.clone()));
    harness.refused(1, delete(object.clone()), "ObjectInstanceNotKnown");
    assert_eq!((taken(&mut harness, 1), taken(&mut harness, 2)), (vec![], vec!["removed".to_owned()]));
    harness.register(1, "Ship");
    assert_eq!(taken(&mut harness, 2), ["discovered Ship-2"], "handles are not used again");
}

#[test]
fn instances_go_or_stay_as_the_resign_action_says() {
    for (action, is_allowed, is_deleted) in [
        (ResignAction::NoAction, false, false),
        (ResignAction::CancelPendingOwnershipAcquisitions, false, false),
        (ResignAction::DeleteObjects, true, true),
        (ResignAction::DeleteObjectsThenDivest, true, true),
        (ResignAction::CancelThenDeleteThenDivest, true, true),
        (ResignAction::UnconditionallyDivestAttributes, true, false),
    ] {
        let mut harness = Harness::joined(3);
        harness.publish(1, "Ship", &["Name"]);
        harness.subscribe(2, "Ship", &["Name"]);
        let object = harness.register(1, "Ship");
        taken(&mut harness, 2);
        if is_allowed {
            harness.ask(1, resign(action));
        } else {
            harness.refused(1, resign(action), "FederateOwnsAttributes");
        }
        assert_eq!(taken(&mut harness, 2).len(), usize::from(is_deleted), "{action:?}");
        assert_eq!(known_class(&mut harness, 2, object.as_ref()).is_some(), !is_deleted, "{action:?}");
        if action == ResignAction::UnconditionallyDivestAttributes {
            harness.refused(2, delete(object), "DeletePrivilegeNotHeld");
        }
    }
    let mut harness = Harness::joined(2);
    harness.publish(1, "Ship", &["Name"]);
    harness.subscribe(2, "Ship", &["Name"]);
    harness.register(1, "Ship");
    harness.lose(1);
    assert_eq!(taken(&mut harness, 2), ["discovered Ship-1", "removed"], "by its automatic directive");
}
