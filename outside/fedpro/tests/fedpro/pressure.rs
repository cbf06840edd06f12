//! A client that does not keep up: those who send to it wait for their answers, nothing is lost, and nobody
//! else waits.

use bytes::Bytes;
use paceline_fedpro::{Connection, Host, Limits};
use paceline_hla::{Callback, InteractionClassHandle, ParameterHandleValueMap, Response, request};

use crate::client::{Client, Inside};
use crate::hosts::{ask, create_named, exchange, join, opened, written};

const LIMIT: usize = 4000;

/// A host with federates of one federation, all of which publish and subscribe to the same interaction.
fn federation(federates: usize) -> (Host<Inside>, Vec<Client>, InteractionClassHandle) {
    let limits = Limits { unacknowledged_bytes: LIMIT, ..Limits::default() };
    let mut host = Host::with_limits(Inside::with_module(), limits);
    let mut class = None;
    let clients = (0..federates).map(|connection| {
        let mut client = opened(&mut host, connection);
        ask(&mut host, connection, &mut client, request::Connect {});
        ask(&mut host, connection, &mut client, create_named("F"));
        ask(&mut host, connection, &mut client, join());
        let name = request::GetInteractionClassHandle {
            interaction_class_name: "HLAinteractionRoot.Line".to_owned(),
        };
        let Response::GetInteractionClassHandle(found) = ask(&mut host, connection, &mut client, name) else {
            panic!("it is there")
        };
        class = found.result;
        let interaction_class = class.clone();
        let published = request::PublishInteractionClass { interaction_class: class.clone() };
        assert!(matches!(
            ask(&mut host, connection, &mut client, published),
            Response::PublishInteractionClass(_)
        ));
        let subscribed = request::SubscribeInteractionClass { interaction_class };
        ask(&mut host, connection, &mut client, subscribed);
        client
    });
    let clients = clients.collect();
    (host, clients, class.expect("a class"))
}

fn send(class: &InteractionClassHandle, place: u32) -> request::SendInteraction {
    request::SendInteraction {
        interaction_class: Some(class.clone()),
        parameter_values: Some(ParameterHandleValueMap::default()),
        user_supplied_tag: [&place.to_be_bytes()[..], &[0; 200]].concat().into(),
    }
}

/// The numbers of what a client has received.
fn received(client: &Client) -> Vec<u32> {
    let number = |tag: &Bytes| u32::from_be_bytes(*tag.first_chunk().expect("a number"));
    let tags = client.callbacks.iter().filter_map(|callback| match callback {
        Callback::ReceiveInteraction(received) => Some(number(&received.user_supplied_tag)),
        _ => None,
    });
    tags.collect()
}

#[test]
fn senders_to_a_client_that_does_not_keep_up_wait_and_nobody_else_does() {
    let (mut host, mut clients, class) = federation(3);
    let [sender, slow, other] = &mut clients[..] else { panic!("three") };
    let leave = request::UnsubscribeInteractionClass { interaction_class: Some(class.clone()) };
    ask(&mut host, 2, other, leave);
    // What has come is taken from the connection and not acknowledged.
    let mut backlog = Vec::new();
    let mut sent = 0;
    let unanswered = loop {
        sent += 1;
        assert!(sent < 1000, "it waits at some time");
        let (number, bytes) = sender.call(send(&class, sent));
        exchange(&mut host, 0, sender, &bytes);
        backlog.extend(written(&mut host, 1).0);
        if !sender.responses.contains_key(&number) {
            break number;
        }
    };
    assert!((LIMIT..LIMIT + 1000).contains(&backlog.len()), "{} bytes are sent", backlog.len());
    // Others are served, those too who are asked by nobody to wait; the sender's later calls wait behind.
    ask(&mut host, 2, other, request::ListFederationExecutions {});
    let (later, bytes) = sender.call(request::ListFederationExecutions {});
    exchange(&mut host, 0, sender, &bytes);
    assert!(!sender.responses.contains_key(&later));
    // Its connection may break meanwhile.
    host.lose(Connection(0), std::time::Duration::ZERO);
    host.connect(Connection(10));
    let bytes = sender.resume();
    exchange(&mut host, 10, sender, &bytes);
    assert!(sender.again().is_empty(), "the calls have arrived");
    assert!(!sender.responses.contains_key(&unanswered));
    // The slow one reads, and says so with its next call.
    slow.read(&backlog);
    ask(&mut host, 1, slow, request::ListFederationExecutions {});
    let (out, _) = written(&mut host, 10);
    sender.read(&out);
    for number in [unanswered, later] {
        assert!(sender.responses.contains_key(&number), "it is answered, and once");
    }
    assert_eq!(received(slow), (1..=sent).collect::<Vec<_>>(), "each comes once, in order");
}

#[test]
fn two_that_do_not_keep_up_with_each_other_do_not_wait_for_each_other() {
    let (mut host, mut clients, class) = federation(2);
    let mut unread = [Vec::new(), Vec::new()];
    let mut held = [0; 2];
    for place in 0..200_u32 {
        for (who, client) in clients.iter_mut().enumerate() {
            let (_, bytes) = client.call(send(&class, place));
            host.receive(Connection(who), &bytes);
            host.serve();
            for (reader, unread) in unread.iter_mut().enumerate() {
                unread.extend(written(&mut host, reader).0);
            }
        }
    }
    for who in 0..2 {
        clients[who].read(&std::mem::take(&mut unread[who]));
        assert_eq!(received(&clients[who]).len(), 200, "all of it came");
        held[who] = 200
            - clients[who].responses.values().filter(|it| matches!(it, Response::SendInteraction(_))).count();
    }
    assert!(held.contains(&0), "one of them is answered: {held:?}");
    assert!(held.iter().any(|held| *held > 0), "the other one waits: {held:?}");
    for who in [0, 1, 0, 1] {
        let (_, bytes) = clients[who].call(request::ListFederationExecutions {});
        host.receive(Connection(who), &bytes);
        host.serve();
        for (reader, client) in clients.iter_mut().enumerate() {
            let (out, _) = written(&mut host, reader);
            client.read(&out);
        }
    }
    let answered = |client: &Client| {
        client.responses.values().filter(|it| matches!(it, Response::SendInteraction(_))).count()
    };
    assert_eq!(clients.iter().map(answered).collect::<Vec<_>>(), [200, 200]);
}

#[test]
fn nobody_waits_for_a_client_that_is_gone() {
    let (mut host, mut clients, class) = federation(2);
    let mut last = 0;
    for place in 0..100 {
        let (number, bytes) = clients[0].call(send(&class, place));
        exchange(&mut host, 0, &mut clients[0], &bytes);
        last = number;
    }
    assert!(!clients[0].responses.contains_key(&last));
    host.receive(Connection(1), &[0xff; 24]);
    host.serve();
    let (out, _) = written(&mut host, 0);
    clients[0].read(&out);
    assert!(clients[0].responses.contains_key(&last));
}
