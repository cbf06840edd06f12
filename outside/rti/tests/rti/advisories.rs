//! Advisories: what is told to whom as subscriptions, instances and owners come and go.

use paceline_hla::{Call, Callback, ObjectInstanceHandle, request};
use proptest::prelude::*;

use crate::harness::Harness;

/// The number of a handle.
fn number(bytes: &[u8]) -> u8 {
    bytes[3]
}

/// In words: the advisories for a federate.
fn taken(harness: &mut Harness, federate: u32) -> String {
    let classes = ["Ship", "Ship.Tanker"].map(|class| harness.object_class(class, &[]).0);
    let interactions = ["Hit", "Hit.Hard"].map(|class| harness.interaction_class(class));
    let mut words = Vec::new();
    for callback in harness.taken(federate) {
        let count =
            |set: Option<paceline_hla::AttributeHandleSet>| set.unwrap_or_default().attribute_handle.len();
        let object = |object: Option<ObjectInstanceHandle>| number(&object.expect("a handle").data);
        words.push(match callback {
            Callback::StartRegistrationForObjectClass(c) => {
                format!("start {:?}", classes.iter().position(|class| Some(class) == c.object_class.as_ref()))
            }
            Callback::StopRegistrationForObjectClass(c) => {
                format!("stop {:?}", classes.iter().position(|class| Some(class) == c.object_class.as_ref()))
            }
            Callback::TurnInteractionsOn(c) => {
                format!("on {:?}", interactions.iter().position(|class| *class == c.interaction_class))
            }
            Callback::TurnInteractionsOff(c) => {
                format!("off {:?}", interactions.iter().position(|class| *class == c.interaction_class))
            }
            Callback::TurnUpdatesOnForObjectInstance(c) => {
                format!("updates {} of {}", count(c.attributes), object(c.object_instance))
            }
            Callback::TurnUpdatesOffForObjectInstance(c) => {
                format!("no updates {} of {}", count(c.attributes), object(c.object_instance))
            }
            Callback::AttributesInScope(c) => {
                format!("in {} of {}", count(c.attributes), object(c.object_instance))
            }
            Callback::AttributesOutOfScope(c) => {
                format!("out {} of {}", count(c.attributes), object(c.object_instance))
            }
            Callback::DiscoverObjectInstance(_) => "discovered".to_owned(),
            Callback::RemoveObjectInstance(_) => "removed".to_owned(),
            Callback::ProvideAttributeValueUpdate(_) => "provide".to_owned(),
            other => panic!("{other:?}"),
        });
    }
    words.join(", ").replace("Some(0)", "0").replace("Some(1)", "1")
}

fn unsubscribe(harness: &mut Harness, federate: u32, class: &str) {
    let object_class = Some(harness.object_class(class, &[]).0);
    harness.ask(federate, request::UnsubscribeObjectClass { object_class });
}

#[test]
fn who_publishes_a_class_is_told_whether_instances_are_wanted() {
    let mut harness = Harness::joined(3);
    harness.ask(1, request::SetObjectClassRelevanceAdvisorySwitch { value: true });
    harness.publish(1, "Ship.Tanker", &["Name", "Load"]);
    harness.publish(3, "Ship", &["Name"]);
    assert_eq!(taken(&mut harness, 1), "");
    harness.subscribe(1, "Ship", &["Name"]);
    assert_eq!(taken(&mut harness, 1), "", "its own subscription does not count");
    harness.subscribe(2, "Ship", &["Position"]);
    assert_eq!(taken(&mut harness, 1), "", "it does not publish that");
    let (class, attributes) = harness.object_class("Ship", &["Name"]);
    let (object_class, attributes) = (Some(class), Some(attributes));
    harness.ask(2, request::SubscribeObjectClassAttributesPassively { object_class, attributes });
    assert_eq!(taken(&mut harness, 1), "", "a passive subscription does not count");
    harness.subscribe(2, "Ship", &["Name"]);
    assert_eq!(taken(&mut harness, 1), "start 1");
    harness.publish(1, "Ship", &["Name"]);
    assert_eq!(taken(&mut harness, 1), "start 0");
    unsubscribe(&mut harness, 2, "Ship");
    assert_eq!(taken(&mut harness, 1), "stop 0, stop 1");
    harness.ask(1, request::SetObjectClassRelevanceAdvisorySwitch { value: false });
    harness.subscribe(2, "Ship", &["Name"]);
    assert_eq!((taken(&mut harness, 1), taken(&mut harness, 3)), (String::new(), String::new()));
    harness.ask(1, request::SetObjectClassRelevanceAdvisorySwitch { value: true });
    assert_eq!(taken(&mut harness, 1), "start 0, start 1", "what is wanted by then");
    harness.lose(2);
    assert_eq!(taken(&mut harness, 1), "stop 0, stop 1");
}

#[test]
fn who_publishes_interactions_is_told_whether_they_are_wanted() {
    let mut harness = Harness::joined(2);
    harness.ask(1, request::SetInteractionRelevanceAdvisorySwitch { value: true });
    let (hit, hard) = (harness.interaction_class("Hit"), harness.interaction_class("Hit.Hard"));
    harness.ask(1, request::PublishInteractionClass { interaction_class: hard.clone() });
    harness.ask(2, request::SubscribeInteractionClassPassively { interaction_class: hit.clone() });
    assert_eq!(taken(&mut harness, 1), "");
    harness.ask(2, request::SubscribeInteractionClass { interaction_class: hit.clone() });
    assert_eq!(taken(&mut harness, 1), "on 1", "who subscribes to a class wants those below it");
    harness.ask(1, request::PublishInteractionClass { interaction_class: hit.clone() });
    assert_eq!(taken(&mut harness, 1), "on 0");
    harness.ask(1, request::UnpublishInteractionClass { interaction_class: hit.clone() });
    harness.ask(2, request::UnsubscribeInteractionClass { interaction_class: hit });
    assert_eq!(taken(&mut harness, 1), "off 1", "not of what it does not publish");
}

#[test]
fn owners_and_receivers_are_told_of_attributes() {
    let mut harness = Harness::joined(3);
    harness.ask(1, request::SetAttributeRelevanceAdvisorySwitch { value: true });
    harness.ask(2, request::SetAttributeScopeAdvisorySwitch { value: true });
    for federate in [1, 3] {
        harness.publish(federate, "Ship", &["Name", "Position"]);
    }
    harness.subscribe(2, "Ship", &["Name"]);
    let ship = harness.register(1, "Ship");
    assert_eq!(
        (taken(&mut harness, 1), taken(&mut harness, 2)),
        ("updates 1 of 1".into(), "discovered, in 1 of 1".into())
    );
    harness.subscribe(3, "Ship", &["Position", "Name"]);
    assert_eq!((taken(&mut harness, 1), taken(&mut harness, 2)), ("updates 1 of 1".into(), String::new()));
    let (_, name) = harness.object_class("Ship", &["Name"]);
    let divest = request::UnconditionalAttributeOwnershipDivestiture {
        object_instance: ship.clone(),
        attributes: Some(name.clone()),
        ..Default::default()
    };
    harness.ask(1, divest);
    assert_eq!((taken(&mut harness, 1), taken(&mut harness, 2)), (String::new(), "out 1 of 1".into()));
    harness.taken(3);
    let acquire = request::AttributeOwnershipAcquisition {
        object_instance: ship.clone(),
        desired_attributes: Some(name),
        ..Default::default()
    };
    harness.ask(3, acquire);
    assert_eq!((taken(&mut harness, 1), taken(&mut harness, 2)), (String::new(), "in 1 of 1".into()));
    unsubscribe(&mut harness, 3, "Ship");
    assert_eq!(taken(&mut harness, 1), "no updates 1 of 1");
    harness.ask(1, request::DeleteObjectInstance { object_instance: ship, ..Default::default() });
    assert_eq!((taken(&mut harness, 1), taken(&mut harness, 2)), (String::new(), "removed".into()));
}

/// Steps that change who wants what: federate 1 owns and is advised, the others subscribe.
#[derive(Clone, Debug)]
enum Step {
    Subscribe(u32, bool, usize),
    Unsubscribe(u32),
    Register,
    Delete,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (2..4_u32, any::<bool>(), 0..2_usize)
            .prop_map(|(federate, passive, name)| Step::Subscribe(federate, passive, name)),
        (2..4_u32).prop_map(Step::Unsubscribe),
        Just(Step::Register),
        Just(Step::Delete),
    ]
}

proptest! {
    /// An owner that believes its advisories knows of each update whether anybody who is active gets it.
    #[test]
    fn updates_are_on_just_where_somebody_active_receives_them(steps in prop::collection::vec(any_step(), 1..30)) {
        let mut harness = Harness::joined(3);
        let names = ["Name", "Position"];
        harness.ask(1, request::SetAttributeRelevanceAdvisorySwitch { value: true });
        harness.publish(1, "Ship", &names);
        let (class, both) = harness.object_class("Ship", &names);
        let (mut ships, mut on) = (Vec::new(), std::collections::BTreeSet::new());
        let mut passive = std::collections::BTreeSet::new();
        for step in steps {
            let object_class = Some(class.clone());
            match step {
                Step::Subscribe(federate, is_passive, name) => {
                    let attributes = Some(harness.object_class("Ship", &[names[name]]).1);
                    let call: Call = if is_passive {
                        passive.insert((federate, name));
                        request::SubscribeObjectClassAttributesPassively { object_class, attributes }.into()
                    } else {
                        passive.remove(&(federate, name));
                        request::SubscribeObjectClassAttributes { object_class, attributes }.into()
                    };
                    harness.ask(federate, call);
                }
                Step::Unsubscribe(federate) => {
                    harness.ask(federate, request::UnsubscribeObjectClass { object_class });
                }
                Step::Register => ships.extend(harness.register(1, "Ship")),
                Step::Delete => {
                    if let Some(ship) = ships.pop() {
                        on.retain(|(object, _)| *object != ship.data);
                        harness.ask(1, request::DeleteObjectInstance { object_instance: Some(ship), ..Default::default() });
                    }
                }
            }
            for callback in harness.taken(1) {
                let (object, attributes, is_on) = match callback {
                    Callback::TurnUpdatesOnForObjectInstance(c) => (c.object_instance, c.attributes, true),
                    Callback::TurnUpdatesOffForObjectInstance(c) => (c.object_instance, c.attributes, false),
                    other => panic!("{other:?}"),
                };
                let object = object.expect("a handle").data;
                for attribute in attributes.unwrap_or_default().attribute_handle {
                    let changed = (object.clone(), attribute.data);
                    prop_assert!(if is_on { on.insert(changed) } else { on.remove(&changed) }, "it was told before");
                }
            }
            for ship in &ships {
                for (name, attribute) in both.attribute_handle.iter().enumerate() {
                    (2..4).for_each(|federate| drop(harness.taken(federate)));
                    let attribute_handle = Some(attribute.clone());
                    let value = paceline_hla::AttributeHandleValue { attribute_handle, ..Default::default() };
                    let attribute_values = Some(paceline_hla::AttributeHandleValueMap { attribute_handle_value: vec![value] });
                    let object_instance = Some(ship.clone());
                    harness.ask(1, request::UpdateAttributeValues { object_instance, attribute_values, ..Default::default() });
                    let receives = |federate: u32| !harness.taken(federate).is_empty() && !passive.contains(&(federate, name));
                    let received = (2..4).map(receives).filter(|one| *one).count() > 0;
                    prop_assert_eq!(on.contains(&(ship.data.clone(), attribute.data.clone())), received);
                }
            }
        }
    }
}
