//! Interactions to an instance: who receives them, and as which class.

use paceline_hla::{
    Bytes, Callback, InteractionClassHandle, InteractionClassHandleSet, ObjectClassHandle, request,
};

use crate::harness::Harness;

fn set(interaction: Option<&InteractionClassHandle>) -> Option<InteractionClassHandleSet> {
    Some(InteractionClassHandleSet { interaction_class_handle: interaction.cloned().into_iter().collect() })
}

/// The classes as which a federate has received something.
fn received(harness: &mut Harness, federate: u32) -> Vec<Option<InteractionClassHandle>> {
    let received = harness.taken(federate).into_iter().filter_map(|callback| match callback {
        Callback::ReceiveDirectedInteraction(message) => {
            assert_eq!(message.user_supplied_tag, Bytes::from_static(b"tag"));
            Some(message.interaction_class)
        }
        _ => None,
    });
    received.collect()
}

#[test]
fn an_interaction_to_an_instance_reaches_its_owner_and_universal_subscribers() {
    let mut harness = Harness::joined(4);
    let [hit, hard] = ["Hit", "Hit.Hard"].map(|name| harness.interaction_class(name));
    let ship: Option<ObjectClassHandle> = Some(harness.object_class("Ship", &[]).0);
    harness.publish(1, "Ship.Tanker", &["Name"]);
    (2..=4).for_each(|federate| harness.subscribe(federate, "Ship", &["Name"]));
    let object = harness.register(1, "Ship.Tanker");
    let subscribe = |interaction| request::SubscribeObjectClassDirectedInteractions {
        object_class: ship.clone(),
        interaction_classes: set(interaction),
    };
    let universally = request::SubscribeObjectClassDirectedInteractionsUniversally {
        object_class: ship.clone(),
        interaction_classes: set(hard.as_ref()),
    };
    harness.ask(1, subscribe(hit.as_ref()));
    harness.ask(3, subscribe(hit.as_ref()));
    harness.ask(4, universally);
    let send = || request::SendDirectedInteraction {
        interaction_class: hard.clone(),
        object_instance: object.clone(),
        parameter_values: None,
        user_supplied_tag: Bytes::from_static(b"tag"),
    };
    harness.refused(2, send(), "InteractionClassNotPublished");
    let publish = request::PublishObjectClassDirectedInteractions {
        object_class: ship.clone(),
        interaction_classes: set(hard.as_ref()),
    };
    harness.ask(2, publish);
    harness.ask(2, send());
    assert_eq!(received(&mut harness, 1), [hit], "the owner, as the class that it subscribes to");
    assert_eq!(received(&mut harness, 4), std::slice::from_ref(&hard), "who subscribes universally");
    assert_eq!((received(&mut harness, 2), received(&mut harness, 3)), (vec![], vec![]), "nobody else");
    let unsubscribe = request::UnsubscribeObjectClassDirectedInteractionsWithSet {
        object_class: ship.clone(),
        interaction_classes: set(hard.as_ref()),
    };
    harness.ask(4, unsubscribe);
    harness.ask(2, send());
    assert_eq!((received(&mut harness, 1).len(), received(&mut harness, 4).len()), (1, 0));
    harness.ask(2, request::UnpublishObjectClassDirectedInteractions { object_class: ship });
    harness.refused(2, send(), "InteractionClassNotPublished");
}
