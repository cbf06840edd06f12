//! Digests: equal for messages in timestamp order whoever comes first, and for all callbacks only if calls
//! come in the same order.

use std::collections::BTreeMap;

use paceline_hla::{
    AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, Bytes, Call, FomModuleSet,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandleValueMap, Response, request,
};
use paceline_rti::{Client, Digests, FederateDigest, Rti};

use crate::harness::{module, small_module};
use crate::time::{interval, time};

#[derive(Default)]
struct Run {
    rti: Rti,
    digests: Digests,
}

impl Run {
    fn ask(&mut self, client: u32, call: impl Into<Call>) -> Response {
        let mut callbacks = Vec::new();
        let response = self.rti.call(Client(client), call.into(), &mut callbacks);
        self.digests.take_in(&self.rti, Client(client), &callbacks);
        assert!(!matches!(response, Response::Exception(_)), "{response:?}");
        response
    }

    fn join(&mut self, client: u32, name: &str) {
        self.ask(client, request::Connect {});
        if client == 1 {
            let car = "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Car</name>\
                       <attribute><name>Place</name><order>TimeStamp</order></attribute></objectClass>\
                       </objectClass></objects>";
            let fom_modules = Some(FomModuleSet { fom_module: vec![small_module(), module("2025", car)] });
            self.ask(
                1,
                request::CreateFederationExecutionWithModulesAndTime {
                    federation_name: "F".to_owned(),
                    fom_modules,
                    logical_time_implementation_name: "HLAinteger64Time".to_owned(),
                },
            );
        }
        let (federate_name, federate_type, federation_name) =
            (name.to_owned(), "test".to_owned(), "F".to_owned());
        self.ask(
            client,
            request::JoinFederationExecutionWithName { federate_name, federate_type, federation_name },
        );
    }

    fn car(&mut self) -> (ObjectClassHandle, AttributeHandleSet) {
        let call = request::GetObjectClassHandle { object_class_name: "Car".to_owned() };
        let Response::GetObjectClassHandle(found) = self.ask(1, call) else { panic!("its response") };
        let car = found.result.expect("a handle");
        let (object_class, attribute_name) = (Some(car.clone()), "Place".to_owned());
        let call = request::GetAttributeHandle { object_class, attribute_name };
        let Response::GetAttributeHandle(found) = self.ask(1, call) else { panic!("its response") };
        (car, AttributeHandleSet { attribute_handle: found.result.into_iter().collect() })
    }

    fn register(&mut self, client: u32, class: &ObjectClassHandle) -> Option<ObjectInstanceHandle> {
        let response =
            self.ask(client, request::RegisterObjectInstance { object_class: Some(class.clone()) });
        let Response::RegisterObjectInstance(registered) = response else { panic!("its response") };
        registered.result
    }
}

/// Federates of these names, in the order in which they come, send each other messages at each of some times;
/// `late` is one that is slower than the others, but sends the same. What they send begins with `word`.
fn exchanged(names: &[&str], late: usize, word: &str) -> BTreeMap<String, FederateDigest> {
    let mut run = Run::default();
    let clients = || (1..).zip(names.iter().copied());
    clients().for_each(|(client, name)| run.join(client, name));
    let call = request::GetInteractionClassHandle { interaction_class_name: "Hit.Hard".to_owned() };
    let Response::GetInteractionClassHandle(found) = run.ask(1, call) else { panic!("its response") };
    let interaction_class = found.result;
    let (car, place) = run.car();
    for (client, _) in clients() {
        run.ask(client, request::EnableTimeRegulation { lookahead: interval(1) });
        run.ask(client, request::EnableTimeConstrained {});
        let interaction_class = interaction_class.clone();
        run.ask(client, request::PublishInteractionClass { interaction_class: interaction_class.clone() });
        run.ask(client, request::SubscribeInteractionClass { interaction_class });
        let (object_class, attributes) = (Some(car.clone()), Some(place.clone()));
        run.ask(client, request::PublishObjectClassAttributes { object_class, attributes });
        let (object_class, attributes) = (Some(car.clone()), Some(place.clone()));
        run.ask(client, request::SubscribeObjectClassAttributes { object_class, attributes });
    }
    let cars: BTreeMap<_, _> = clients().map(|(client, _)| (client, run.register(client, &car))).collect();
    for now in 0..5 {
        let mut order: Vec<_> = clients().collect();
        // Everybody else is at the next time before that one sends.
        let slow = order.remove(late);
        order.push(slow);
        for (client, name) in order {
            let tag = Bytes::from(format!("{word} {name} at {now}"));
            run.ask(
                client,
                request::SendInteractionWithTime {
                    interaction_class: interaction_class.clone(),
                    parameter_values: Some(ParameterHandleValueMap::default()),
                    user_supplied_tag: tag,
                    time: time(now + 1),
                },
            );
            let attribute_handle_value = place.attribute_handle.iter().map(|handle| AttributeHandleValue {
                attribute_handle: Some(handle.clone()),
                value: Bytes::from_static(b"here"),
            });
            run.ask(
                client,
                request::UpdateAttributeValuesWithTime {
                    object_instance: cars[&client].clone(),
                    attribute_values: Some(AttributeHandleValueMap {
                        attribute_handle_value: attribute_handle_value.collect(),
                    }),
                    user_supplied_tag: Bytes::new(),
                    time: time(now + 1),
                },
            );
            run.ask(client, request::TimeAdvanceRequest { time: time(now + 1) });
        }
    }
    run.digests.federates().map(|(_, name, digest)| (name.to_owned(), digest)).collect()
}

fn timestamped(digests: &BTreeMap<String, FederateDigest>) -> Vec<(&str, u64, u64)> {
    digests
        .iter()
        .map(|(name, digest)| (name.as_str(), digest.timestamped, digest.timestamped_digest.value()))
        .collect()
}

#[test]
fn messages_in_timestamp_order_do_not_depend_on_who_comes_first() {
    let first = exchanged(&["a", "b", "c"], 0, "hello");
    assert!(first.values().all(|digest| digest.timestamped == 20), "5 times 2 others: {first:?}");
    for (names, late) in [(["a", "b", "c"], 2), (["c", "a", "b"], 1), (["b", "c", "a"], 0)] {
        let other = exchanged(&names, late, "hello");
        assert_eq!(timestamped(&first), timestamped(&other), "{names:?}, {late} is late");
        if names[0] != "a" {
            assert_ne!(first, other, "handles are others");
        }
    }
    let other = exchanged(&["a", "b", "c"], 0, "other");
    for (name, digest) in first {
        assert_ne!(digest.timestamped_digest, other[&name].timestamped_digest, "{name}");
    }
}

#[test]
fn equal_calls_have_equal_digests() {
    assert_eq!(exchanged(&["a", "b", "c"], 1, "hello"), exchanged(&["a", "b", "c"], 1, "hello"));
}
