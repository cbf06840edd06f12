//! The objects of the management object model: who learns of them, and what they say.

use std::collections::BTreeMap;

use paceline_hla::{
    AttributeHandle, AttributeHandleSet, Callback, ObjectInstanceHandle, ResignAction, Response, request,
};
use paceline_rti::fom::{Fom, Module, STANDARD_MIM};

use crate::harness::Harness;

pub const FEDERATE: &str = "HLAmanager.HLAfederate";
const FEDERATION: &str = "HLAmanager.HLAfederation";

/// What has no value.
const NOT_KEPT: [&str; 1] = ["HLAprivilegeToDeleteObject"];

/// The attributes of a class of the model.
fn attributes(class: &str) -> Vec<String> {
    let mut fom = Fom::default();
    fom.merge(&Module::read(STANDARD_MIM).expect("ours")).expect("ours");
    let class = fom.objects.find(class).expect("it is there");
    let members = fom.objects.all_members(class).filter_map(|member| fom.objects.member(member));
    members.map(|member| member.name.clone()).collect()
}

pub struct World {
    pub harness: Harness,
    /// By the four bytes of their handles.
    names: BTreeMap<Vec<u8>, String>,
}

impl World {
    /// The first of some federates subscribes to all of the model.
    pub fn new(federates: u32) -> Self {
        let mut world = Self { harness: Harness::joined(federates), names: BTreeMap::new() };
        for class in [FEDERATION, FEDERATE] {
            let names = attributes(class);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for (name, handle) in
                names.iter().zip(world.harness.object_class(class, &names).1.attribute_handle)
            {
                world.names.insert(handle.data.to_vec(), (*name).to_owned());
            }
            world.harness.subscribe(1, class, &names);
        }
        world
    }

    fn set(&mut self, class: &str, names: &[&str]) -> Option<AttributeHandleSet> {
        Some(self.harness.object_class(class, names).1)
    }

    /// In words: what the first federate is called with, and the values that it gets.
    pub fn taken(&mut self) -> Vec<String> {
        let name = |handle: &AttributeHandle| self.names[&handle.data.to_vec()].clone();
        let mut words = Vec::new();
        for callback in self.harness.taken(1) {
            match callback {
                Callback::DiscoverObjectInstance(c) => words.push(c.object_instance_name),
                Callback::RemoveObjectInstance(c) => {
                    words.push(format!("removed {}", c.object_instance.expect("a handle").data[3]));
                }
                Callback::ReflectAttributeValues(c) => {
                    let object = c.object_instance.expect("a handle").data[3];
                    for value in c.attribute_values.unwrap_or_default().attribute_handle_value {
                        let name = name(&value.attribute_handle.expect("a handle"));
                        let bytes: Vec<String> = value.value.iter().map(|byte| format!("{byte:x}")).collect();
                        words.push(format!("{object} {name} {}", bytes.join(" ")));
                    }
                }
                Callback::AttributeIsOwnedByRTI(c) => {
                    words.push(format!(
                        "{} of the RTI",
                        c.attributes.unwrap_or_default().attribute_handle.len()
                    ));
                }
                Callback::AttributeOwnershipUnavailable(_) => words.push("no".to_owned()),
                Callback::TimeRegulationEnabled(_) | Callback::TimeAdvanceGrant(_) => {}
                other => panic!("{other:?}"),
            }
        }
        words
    }

    /// The object of a federate, or that of the federation for 0.
    fn object(federate: u8) -> Option<ObjectInstanceHandle> {
        Some(ObjectInstanceHandle { data: vec![0x80, 0, 0, federate].into() })
    }

    pub fn ask(&mut self, federate: u8, names: &[&str]) -> Vec<String> {
        let class = if federate == 0 { FEDERATION } else { FEDERATE };
        let (object_instance, attributes) = (Self::object(federate), self.set(class, names));
        let call = request::RequestInstanceAttributeValueUpdate {
            object_instance,
            attributes,
            ..Default::default()
        };
        self.harness.ask(1, call);
        self.taken()
    }
}

#[test]
fn objects_come_and_go_with_federates() {
    let mut world = World::new(2);
    assert_eq!(
        world.taken(),
        ["HLAmanager.HLAfederation", "HLAmanager.HLAfederate-1", "HLAmanager.HLAfederate-2"]
    );
    world.harness.ask(3, request::Connect {});
    let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
    world.harness.ask(3, request::JoinFederationExecution { federate_type, federation_name });
    let rows = world.taken();
    assert_eq!(rows.first().map(String::as_str), Some("HLAmanager.HLAfederate-3"));
    let members = |list: &str| format!("0 HLAfederatesInFederation {list}");
    let three = members("0 0 0 3 0 0 0 4 0 0 0 1 0 0 0 4 0 0 0 2 0 0 0 4 0 0 0 3");
    assert!(rows.contains(&three) && rows.contains(&"3 HLAfederateState 0 0 0 1".to_owned()), "{rows:?}");
    world.harness.lose(2);
    let two = members("0 0 0 2 0 0 0 4 0 0 0 1 0 0 0 4 0 0 0 3");
    assert_eq!(world.taken(), ["removed 2".to_owned(), two]);
    world.harness.publish(1, "Ship", &["Name"]);
    let ship = world.harness.register(1, "Ship").expect("a handle");
    assert_eq!(*ship.data, [0, 0, 0, 1], "instances of federates have the handles that they had");
}

#[test]
fn each_attribute_has_a_value_or_is_known_not_to_be_kept() {
    let mut world = World::new(2);
    world.taken();
    for (federate, class) in [(0, FEDERATION), (2, FEDERATE)] {
        for name in attributes(class) {
            if NOT_KEPT.contains(&name.as_str()) {
                let (object_instance, attributes) = (World::object(federate), world.set(class, &[&name]));
                let call = request::RequestInstanceAttributeValueUpdate {
                    object_instance,
                    attributes,
                    ..Default::default()
                };
                let details = world.harness.refused(1, call, "RTIinternalError");
                assert_eq!(details, format!("not yet: {name}"));
            } else {
                assert_eq!(world.ask(federate, &[&name]).len(), 1, "{name}");
            }
        }
    }
    let names = attributes(FEDERATE);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let kept = names.iter().filter(|name| !NOT_KEPT.contains(name)).count();
    assert_eq!(world.ask(2, &names).len(), kept, "those that are not kept are left out among others");
}

#[test]
fn values_are_those_of_the_federation() {
    let mut world = World::new(2);
    world.taken();
    assert_eq!(world.ask(0, &["HLAfederationName"]), ["0 HLAfederationName 0 0 0 1 0 46"]);
    assert_eq!(world.ask(0, &["HLAnextSaveTime"]), ["0 HLAnextSaveTime 0 0 0 0"], "there is none");
    assert_eq!(world.ask(2, &["HLAfederateName"]), ["2 HLAfederateName 0 0 0 2 0 66 0 32"]);
    assert_eq!(world.ask(2, &["HLAfederateHandle"]), ["2 HLAfederateHandle 0 0 0 4 0 0 0 2"]);
    world.harness.ask(2, request::SetAutomaticResignDirective { value: ResignAction::NoAction.into() });
    assert_eq!(world.taken(), ["2 HLAautomaticResignAction 0 0 0 6"]);
    // All federates are asked at once by their class.
    let (class, attributes) = world.harness.object_class(FEDERATE, &["HLAupdatesSent"]);
    let call = request::RequestClassAttributeValueUpdate {
        object_class: Some(class),
        attributes: Some(attributes),
        ..Default::default()
    };
    world.harness.ask(2, call);
    assert_eq!(world.taken(), ["1 HLAupdatesSent 0 0 0 0", "2 HLAupdatesSent 0 0 0 0"]);
}

#[test]
fn changes_of_time_are_sent_once() {
    let mut world = World::new(2);
    world.taken();
    let lookahead = Some(paceline_hla::LogicalTimeInterval { data: 1.0_f64.to_be_bytes().to_vec().into() });
    world.harness.ask(2, request::EnableTimeRegulation { lookahead });
    assert_eq!(world.taken(), ["2 HLAtimeRegulating 0 0 0 1"]);
    world.harness.ask(2, request::QueryGALT {});
    assert_eq!(world.taken(), [""; 0], "nothing has changed");
    world.harness.ask(2, request::EnableTimeConstrained {});
    assert_eq!(world.taken(), ["2 HLAtimeConstrained 0 0 0 1"]);
    let lookahead = Some(paceline_hla::LogicalTimeInterval { data: 2.0_f64.to_be_bytes().to_vec().into() });
    world.harness.ask(1, request::EnableTimeRegulation { lookahead });
    assert_eq!(world.taken(), ["1 HLAtimeRegulating 0 0 0 1"]);
    let time = |time: f64| Some(paceline_hla::LogicalTime { data: time.to_be_bytes().to_vec().into() });
    world.harness.ask(2, request::TimeAdvanceRequest { time: time(3.0) });
    assert_eq!(world.taken(), ["2 HLAtimeManagerState 0 0 0 1"]);
    assert_eq!(world.ask(2, &["HLAGALT"]), ["2 HLAGALT 0 0 0 8 40 0 0 0 0 0 0 0"]);
    assert_eq!(world.ask(2, &["HLAlookahead"]), ["2 HLAlookahead 0 0 0 8 3f f0 0 0 0 0 0 0"]);
    world.harness.ask(1, request::TimeAdvanceRequest { time: time(3.0) });
    assert_eq!(world.taken(), ["2 HLAtimeManagerState 0 0 0 0"], "it is granted; another one was at once");
    assert_eq!(world.ask(2, &["HLAlogicalTime"]), ["2 HLAlogicalTime 0 0 0 8 40 8 0 0 0 0 0 0"]);
    world.harness.ask(2, request::EnableAsynchronousDelivery {});
    world.harness.ask(2, request::SetAttributeScopeAdvisorySwitch { value: true });
    assert_eq!(world.taken(), ["2 HLAasynchronousDelivery 0 0 0 1", "2 HLAattributeScopeAdvisory 0 0 0 1"]);
}

#[test]
fn what_federates_send_and_receive_is_counted() {
    let mut world = World::new(3);
    world.taken();
    world.harness.publish(2, "Ship", &["Name"]);
    world.harness.subscribe(3, "Ship", &["Name"]);
    let ship = world.harness.register(2, "Ship");
    let set = world.set("Ship", &["Name"]).expect("a set");
    let value = paceline_hla::AttributeHandleValue {
        attribute_handle: set.attribute_handle.first().cloned(),
        value: b"Ann".to_vec().into(),
    };
    for _ in 0..2 {
        let attribute_values =
            Some(paceline_hla::AttributeHandleValueMap { attribute_handle_value: vec![value.clone()] });
        let object_instance = ship.clone();
        let call = request::UpdateAttributeValues { object_instance, attribute_values, ..Default::default() };
        world.harness.ask(2, call);
    }
    let unknown = request::UpdateAttributeValues::default();
    world.harness.refused(2, unknown, "ObjectInstanceNotKnown");
    let counts = [
        (2, "HLAobjectInstancesRegistered", 1),
        (2, "HLAupdatesSent", 2),
        (2, "HLAobjectInstancesUpdated", 1),
        (2, "HLAobjectInstancesThatCanBeDeleted", 1),
        (2, "HLAreflectionsReceived", 0),
        (3, "HLAobjectInstancesDiscovered", 1),
        (3, "HLAreflectionsReceived", 2),
        (3, "HLAobjectInstancesReflected", 1),
        (3, "HLAobjectInstancesThatCanBeDeleted", 0),
    ];
    for (federate, name, count) in counts {
        assert_eq!(world.ask(federate, &[name]), [format!("{federate} {name} 0 0 0 {count}")]);
    }
    world.harness.ask(2, request::DeleteObjectInstance { object_instance: ship, ..Default::default() });
    assert_eq!(world.ask(2, &["HLAobjectInstancesDeleted"]), ["2 HLAobjectInstancesDeleted 0 0 0 1"]);
    assert_eq!(world.ask(3, &["HLAobjectInstancesRemoved"]), ["3 HLAobjectInstancesRemoved 0 0 0 1"]);
}

#[test]
fn the_infrastructure_owns_them() {
    let mut world = World::new(1);
    world.taken();
    let names = ["HLAfederateName", "HLAprivilegeToDeleteObject"];
    let (object_instance, attributes) = (World::object(1), world.set(FEDERATE, &names));
    world.harness.ask(1, request::QueryAttributeOwnership { object_instance, attributes });
    assert_eq!(world.taken(), ["2 of the RTI"]);
    let delete = request::DeleteObjectInstance { object_instance: World::object(1), ..Default::default() };
    world.harness.refused(1, delete, "DeletePrivilegeNotHeld");
    world.harness.publish(1, FEDERATE, &["HLAfederateName"]);
    let (object_instance, desired_attributes) = (World::object(1), world.set(FEDERATE, &names));
    let call =
        request::AttributeOwnershipAcquisition { object_instance, desired_attributes, ..Default::default() };
    world.harness.ask(1, call);
    assert_eq!(world.taken(), ["no"]);
    let known =
        request::GetObjectInstanceHandle { object_instance_name: "HLAmanager.HLAfederate-1".to_owned() };
    let Response::GetObjectInstanceHandle(r) = world.harness.ask(1, known) else { panic!("its response") };
    assert_eq!(r.result, World::object(1));
    // Who forgets an object is told no more of it.
    world.harness.ask(1, request::LocalDeleteObjectInstance { object_instance: World::object(1) });
    world.harness.ask(1, request::EnableAsynchronousDelivery {});
    assert_eq!(world.taken(), [""; 0]);
}
