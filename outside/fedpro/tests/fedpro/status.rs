//! The state of a host: who waits for whom, and since when.

use std::time::Duration;

use paceline_fedpro::{Connection, Host, Limits};
use paceline_hla::{Call, LogicalTime, LogicalTimeInterval, Response, request};
use paceline_rti::Client as Number;

use crate::client::{Client, Inside};
use crate::hosts::{ask, join, opened};

fn time(number: i64) -> Option<LogicalTime> {
    Some(LogicalTime { data: number.to_be_bytes().to_vec().into() })
}

#[test]
fn the_state_says_who_is_waited_for_and_since_when() {
    let mut host = Host::with_limits(Inside::with_module(), Limits::default());
    let mut clients = [1, 2, 3].map(|connection| opened(&mut host, connection));
    let do_it = |host: &mut Host<Inside>, clients: &mut [Client; 3], who: usize, call: Call| {
        let response = ask(host, who + 1, &mut clients[who], call);
        assert!(!matches!(response, Response::Exception(_)), "{response:?}");
    };
    do_it(&mut host, &mut clients, 0, request::Connect {}.into());
    let create = request::CreateFederationExecutionWithTime {
        federation_name: "F".to_owned(),
        fom_module: crate::hosts::create_named("F").fom_module,
        logical_time_implementation_name: "HLAinteger64Time".to_owned(),
    };
    do_it(&mut host, &mut clients, 0, create.into());
    do_it(&mut host, &mut clients, 0, join().into());
    do_it(&mut host, &mut clients, 1, request::Connect {}.into());
    do_it(&mut host, &mut clients, 1, join().into());
    for who in [0, 1] {
        let lookahead = Some(LogicalTimeInterval { data: 2_i64.to_be_bytes().to_vec().into() });
        do_it(&mut host, &mut clients, who, request::EnableTimeRegulation { lookahead }.into());
        do_it(&mut host, &mut clients, who, request::EnableTimeConstrained {}.into());
    }
    host.set_now(Duration::from_secs(5));
    // A refused request begins no wait.
    ask(&mut host, 1, &mut clients[0], request::TimeAdvanceRequest { time: None });
    host.set_now(Duration::from_secs(10));
    do_it(&mut host, &mut clients, 0, request::TimeAdvanceRequest { time: time(7) }.into());
    host.set_now(Duration::from_secs(13));
    host.lose(Connection(2), Duration::from_secs(13));
    let status = host.status();
    let [federation] = &status.federations[..] else { panic!("{status:?}") };
    assert_eq!((federation.name.as_str(), federation.time), ("F", "HLAinteger64Time"));
    let [first, second] = &federation.federates[..] else { panic!("{status:?}") };
    assert_eq!((first.name.as_str(), first.now.as_str()), ("test-1", "0"));
    assert_eq!(first.asked.as_deref(), Some("7"));
    assert_eq!(first.galt.as_deref(), Some("2"));
    assert_eq!(first.waits_for, ["test-2"]);
    assert_eq!((second.asked.as_deref(), second.galt.as_deref()), (None, Some("9")), "7, and the lookahead");
    assert_eq!((second.lookahead.as_deref(), second.is_constrained), (Some("2"), true));
    assert_eq!(second.waits_for, Vec::<String>::new());
    assert_eq!(status.members.len(), 3, "one has not joined");
    let [first, second, third] = [1, 2, 3].map(|number| status.members[&Number(number)]);
    assert_eq!(first.waits, Some(Duration::from_secs(3)));
    assert_eq!((first.silence, first.is_connected), (Duration::from_secs(3), true));
    assert_eq!((second.waits, second.silence), (None, Duration::from_secs(13)));
    assert!(!second.is_connected);
    assert_eq!(third.silence, Duration::from_secs(13));
    // The other one comes, and nobody waits any more.
    host.connect(Connection(4));
    let bytes = clients[1].resume();
    host.receive(Connection(4), &bytes);
    host.serve();
    let (_, bytes) = clients[1].call(request::TimeAdvanceRequest { time: time(6) });
    host.receive(Connection(4), &bytes);
    host.serve();
    let status = host.status();
    assert!(status.members.values().all(|member| member.waits.is_none()), "{status:?}");
    assert!(status.federations[0].federates.iter().all(|federate| federate.asked.is_none()), "{status:?}");
}
