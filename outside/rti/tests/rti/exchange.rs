//! Values, interactions and requests: who receives what, and that nobody receives what makes no sense.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{
    AttributeHandle, AttributeHandleValue, AttributeHandleValueMap, Bytes, Call, Callback,
    ObjectInstanceHandle, ParameterHandle, ParameterHandleValue, ParameterHandleValueMap, ResignAction,
    Response, request,
};
use proptest::prelude::*;

use crate::harness::Harness;

const TAG: Bytes = Bytes::from_static(b"tag");

fn values(attributes: &[AttributeHandle]) -> Option<AttributeHandleValueMap> {
    let value = |handle: &AttributeHandle| AttributeHandleValue {
        attribute_handle: Some(handle.clone()),
        value: handle.data.clone(),
    };
    Some(AttributeHandleValueMap { attribute_handle_value: attributes.iter().map(value).collect() })
}

fn update(
    object: Option<&ObjectInstanceHandle>,
    attributes: &[AttributeHandle],
) -> request::UpdateAttributeValues {
    let (object_instance, attribute_values) = (object.cloned(), values(attributes));
    request::UpdateAttributeValues { object_instance, attribute_values, user_supplied_tag: TAG }
}

/// The attributes of each message with values, in order.
fn reflected(harness: &mut Harness, federate: u32) -> Vec<Vec<AttributeHandle>> {
    let callbacks = harness.taken(federate).into_iter().filter_map(|callback| match callback {
        Callback::ReflectAttributeValues(message) => Some(message),
        _ => None,
    });
    let attributes = callbacks.map(|message| {
        assert_eq!(message.user_supplied_tag, TAG);
        let values = message.attribute_values.expect("there are some").attribute_handle_value;
        assert!(values.iter().all(|row| row.value == row.attribute_handle.as_ref().unwrap().data));
        values.into_iter().filter_map(|row| row.attribute_handle).collect()
    });
    attributes.collect()
}

#[test]
fn a_federate_receives_the_attributes_that_it_subscribes_to() {
    let mut harness = Harness::joined(4);
    let all = harness.object_class("Ship.Tanker", &["Position", "Name", "Load"]).1.attribute_handle;
    let [position, name, load] = &*all else { panic!("three") };
    harness.publish(1, "Ship.Tanker", &["Position", "Name", "Load"]);
    harness.subscribe(2, "Ship", &["Name"]);
    harness.subscribe(3, "Ship.Tanker", &["Position", "Load"]);
    let object = harness.register(1, "Ship.Tanker");
    harness.ask(1, update(object.as_ref(), &all));
    assert_eq!(reflected(&mut harness, 2), [vec![name.clone()]]);
    assert_eq!(
        reflected(&mut harness, 3),
        [vec![position.clone()], vec![load.clone()]],
        "what is carried differently comes apart"
    );
    harness.ask(1, update(object.as_ref(), std::slice::from_ref(position)));
    assert_eq!((reflected(&mut harness, 2), reflected(&mut harness, 3).len()), (vec![], 1));
    assert_eq!((reflected(&mut harness, 1), reflected(&mut harness, 4)), (vec![], vec![]));
    let details =
        harness.refused(2, update(object.as_ref(), std::slice::from_ref(name)), "AttributeNotOwned");
    assert_eq!(details, "Name of \"Tanker-1\" is not its own");
    harness.refused(4, update(object.as_ref(), &[]), "ObjectInstanceNotKnown");
    let object_class = Some(harness.object_class("Ship.Tanker", &[]).0);
    harness.ask(3, request::UnsubscribeObjectClass { object_class });
    harness.ask(1, update(object.as_ref(), &all));
    assert_eq!(reflected(&mut harness, 3), [[]; 0]);
}

#[test]
fn an_interaction_is_received_as_the_closest_class_subscribed_to() {
    let mut harness = Harness::joined(4);
    let [hit, hard] = ["Hit", "Hit.Hard"].map(|name| harness.interaction_class(name));
    let parameter = |harness: &mut Harness, name: &str| {
        let (interaction_class, parameter_name) = (hard.clone(), name.to_owned());
        let call = request::GetParameterHandle { interaction_class, parameter_name };
        let Response::GetParameterHandle(found) = harness.ask(1, call) else { panic!("its response") };
        found.result.expect("a handle")
    };
    let [place, damage] = ["Where", "Damage"].map(|name| parameter(&mut harness, name));
    let send = |parameters: &[&ParameterHandle]| {
        let value = |handle: &&ParameterHandle| ParameterHandleValue {
            parameter_handle: Some((*handle).clone()),
            value: Bytes::new(),
        };
        let parameter_handle_value = parameters.iter().map(value).collect();
        let parameter_values = Some(ParameterHandleValueMap { parameter_handle_value });
        request::SendInteraction { interaction_class: hard.clone(), parameter_values, user_supplied_tag: TAG }
    };
    harness.refused(1, send(&[]), "InteractionClassNotPublished");
    harness.ask(1, request::PublishInteractionClass { interaction_class: hard.clone() });
    harness.ask(2, request::SubscribeInteractionClass { interaction_class: hit.clone() });
    harness.ask(3, request::SubscribeInteractionClassPassively { interaction_class: hard.clone() });
    harness.ask(3, request::SubscribeInteractionClass { interaction_class: hit.clone() });
    harness.ask(1, request::SubscribeInteractionClass { interaction_class: hit.clone() });
    harness.ask(1, send(&[&place, &damage]));
    for (federate, class, count) in [(2, &hit, 1), (3, &hard, 2)] {
        let [Callback::ReceiveInteraction(message)] = &*harness.taken(federate) else {
            panic!("one message")
        };
        assert_eq!(message.interaction_class, *class);
        assert_eq!(message.parameter_values.as_ref().unwrap().parameter_handle_value.len(), count);
        assert_eq!(message.producing_federate.as_ref().unwrap().data, &[0, 0, 0, 1][..]);
    }
    assert_eq!((harness.taken(1).len(), harness.taken(4).len()), (0, 0));
    let foreign = ParameterHandle { data: Bytes::from_static(&[0, 0, 1, 0]) };
    harness.refused(1, send(&[&foreign]), "InteractionParameterNotDefined");
    harness.ask(2, request::UnsubscribeInteractionClass { interaction_class: hit });
    harness.ask(1, send(&[]));
    assert_eq!((harness.taken(2).len(), harness.taken(3).len()), (0, 1));
}

#[test]
fn owners_are_asked_for_values() {
    let mut harness = Harness::joined(3);
    let (class, attributes) = harness.object_class("Ship", &["Name", "Position"]);
    harness.publish(1, "Ship", &["Name"]);
    harness.publish(2, "Ship.Tanker", &["Position"]);
    harness.subscribe(3, "Ship", &["Name", "Position"]);
    let first = harness.register(1, "Ship");
    let second = harness.register(2, "Ship.Tanker");
    let request = request::RequestClassAttributeValueUpdate {
        object_class: Some(class),
        attributes: Some(attributes.clone()),
        user_supplied_tag: TAG,
    };
    harness.ask(3, request);
    for (federate, object, attribute) in [(1, &first, 0), (2, &second, 1)] {
        let [Callback::ProvideAttributeValueUpdate(asked)] = &*harness.taken(federate) else { panic!("one") };
        assert_eq!((&asked.object_instance, &asked.user_supplied_tag), (object, &TAG));
        let wanted = [attributes.attribute_handle[attribute].clone()];
        assert_eq!(asked.attributes.as_ref().unwrap().attribute_handle, wanted);
    }
    let request = |object: &Option<ObjectInstanceHandle>| request::RequestInstanceAttributeValueUpdate {
        object_instance: object.clone(),
        attributes: Some(attributes.clone()),
        user_supplied_tag: TAG,
    };
    harness.ask(3, request(&second));
    assert_eq!((harness.taken(1).len(), harness.taken(2).len()), (0, 1));
    harness.refused(2, request(&first), "ObjectInstanceNotKnown");
    harness.ask(1, request(&first));
    assert_eq!(harness.taken(1).len(), 0, "nobody is asked for its own values");
}

/// One of the things that federates do in the test below.
#[derive(Clone, Debug)]
enum Step {
    Publish(usize, bool),
    Subscribe(usize, bool),
    Register(usize),
    Update(usize),
    Delete(usize),
    Forget(usize),
    Resign,
}

fn any_step() -> impl Strategy<Value = (u32, Step)> {
    let step = prop_oneof![
        (0..2_usize, any::<bool>()).prop_map(|(class, does)| Step::Publish(class, does)),
        (0..2_usize, any::<bool>()).prop_map(|(class, does)| Step::Subscribe(class, does)),
        (0..2_usize).prop_map(Step::Register),
        (0..4_usize).prop_map(Step::Update),
        (0..4_usize).prop_map(Step::Update),
        (0..4_usize).prop_map(Step::Delete),
        (0..4_usize).prop_map(Step::Forget),
        Just(Step::Resign),
    ];
    (1..5_u32, step)
}

/// The call of a step. Nothing says whether it is allowed.
fn call_of(
    step: &Step,
    classes: &[(Option<paceline_hla::ObjectClassHandle>, paceline_hla::AttributeHandleSet)],
) -> Call {
    let class = |number: &usize| (classes[*number].0.clone(), Some(classes[*number].1.clone()));
    let object = |number: &usize| {
        Some(ObjectInstanceHandle { data: (*number as u32 + 1).to_be_bytes().to_vec().into() })
    };
    match step {
        Step::Publish(number, true) => {
            let (object_class, attributes) = class(number);
            request::PublishObjectClassAttributes { object_class, attributes }.into()
        }
        Step::Publish(number, false) => {
            request::UnpublishObjectClass { object_class: class(number).0 }.into()
        }
        Step::Subscribe(number, true) => {
            let (object_class, attributes) = class(number);
            request::SubscribeObjectClassAttributes { object_class, attributes }.into()
        }
        Step::Subscribe(number, false) => {
            request::UnsubscribeObjectClass { object_class: class(number).0 }.into()
        }
        Step::Register(number) => request::RegisterObjectInstance { object_class: class(number).0 }.into(),
        Step::Update(number) => update(object(number).as_ref(), &classes[0].1.attribute_handle).into(),
        Step::Delete(number) => {
            request::DeleteObjectInstance { object_instance: object(number), user_supplied_tag: TAG }.into()
        }
        Step::Forget(number) => request::LocalDeleteObjectInstance { object_instance: object(number) }.into(),
        Step::Resign => {
            let resign_action = ResignAction::DeleteObjectsThenDivest.into();
            request::ResignFederationExecution { resign_action }.into()
        }
    }
}

proptest! {
    /// Whatever federates do: an instance is discovered before anything else comes of it, once, and nothing
    /// comes of it after it is removed.
    #[test]
    fn callbacks_make_sense(steps in prop::collection::vec(any_step(), 0..80)) {
        let mut harness = Harness::joined(4);
        let classes = ["Ship", "Ship.Tanker"].map(|name| {
            let (class, attributes) = harness.object_class(name, &["Position", "Name"]);
            (Some(class), attributes)
        });
        let mut known: BTreeMap<u32, BTreeSet<Bytes>> = BTreeMap::new();
        for (federate, step) in steps {
            let response = harness.call(federate, call_of(&step, &classes));
            let instances = known.entry(federate).or_default();
            match (&step, response) {
                (_, Response::RegisterObjectInstance(registered)) => {
                    prop_assert!(instances.insert(registered.result.unwrap().data), "a handle is used again");
                }
                (Step::Delete(object) | Step::Forget(object), response) if !matches!(response, Response::Exception(_)) => {
                    instances.remove(&Bytes::from((*object as u32 + 1).to_be_bytes().to_vec()));
                }
                _ => {}
            }
            for other in 1..5 {
                for callback in harness.taken(other) {
                    let known = known.entry(other).or_default();
                    match callback {
                        Callback::DiscoverObjectInstance(found) => {
                            prop_assert!(known.insert(found.object_instance.unwrap().data));
                        }
                        Callback::ReflectAttributeValues(message) => {
                            prop_assert!(known.contains(&message.object_instance.unwrap().data));
                            prop_assert!(other != federate);
                        }
                        Callback::RemoveObjectInstance(removed) => {
                            prop_assert!(known.remove(&removed.object_instance.unwrap().data));
                        }
                        // What is not published any more is offered.
                        Callback::RequestAttributeOwnershipAssumption(offered) => {
                            prop_assert!(known.contains(&offered.object_instance.unwrap().data));
                        }
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
            }
        }
    }
}
