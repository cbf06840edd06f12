//! Limits and passwords: each refusal says which limit was hit, and concerns nobody else.

use std::net::SocketAddr;

use paceline_fedpro::{Connection, Host, Kind, LimitError, Limits, Password, Peer};
use paceline_hla::{Call, Credentials, Response, RtiConfiguration, request};

use crate::client::{Client, Inside};
use crate::hosts::{ask, create_named, exchange, opened, written};

fn host(limits: Limits) -> Host<Inside> {
    Host::with_limits(Inside::with_module(), limits)
}

/// The name of a response, or of the exception.
fn named(response: Response) -> String {
    match response {
        Response::Exception(exception) => exception.exception_name,
        other => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
    }
}

/// The last line that the host has logged.
fn logged(host: &Host<Inside>) -> &str {
    host.outside().lines.last().map_or("", String::as_str)
}

#[test]
fn limits_are_set_by_name() {
    let mut limits = Limits::default();
    limits.set("federations=16").expect("it is one");
    assert_eq!(limits, Limits { federations: 16, ..Limits::default() });
    assert_eq!(limits.rows()[2].1, 16);
    for (text, error) in [
        ("federations", "\"federations\" is no limit with its value, such as federations=16"),
        ("federations=0", "federations=0: allowed is a whole number of federations from 1 on"),
        ("queued-bytes=1k", "queued-bytes=1k: allowed is a whole number of bytes from 1 on"),
    ] {
        assert_eq!(limits.set(text).map_err(|error| error.to_string()), Err(error.to_owned()));
    }
    let Err(LimitError::Name { allowed, .. }) = limits.set("federation=1") else { panic!("there is none") };
    assert!(limits.rows().iter().all(|(name, ..)| allowed.contains(name)), "{allowed}");
}

#[test]
fn a_frame_is_no_longer_than_the_limit() {
    let mut host = host(Limits { frame_bytes: 1000, ..Limits::default() });
    let mut clients = [1, 2].map(|connection| opened(&mut host, connection));
    let long = |length| request::ListFederationExecutionMembers { federation_name: "F".repeat(length) };
    ask(&mut host, 1, &mut clients[0], request::Connect {});
    ask(&mut host, 1, &mut clients[0], long(900));
    let (_, bytes) = clients[0].call(long(1000));
    assert!(exchange(&mut host, 1, &mut clients[0], &bytes));
    assert!(logged(&host).ends_with("longer than the limit of 1000"), "{}", logged(&host));
    ask(&mut host, 2, &mut clients[1], request::Connect {});
}

#[test]
fn an_address_has_so_many_sessions_and_no_more() {
    let mut host = host(Limits { sessions_per_address: 2, ..Limits::default() });
    let peer = |address: [u8; 4]| {
        let [client, server] = [(address, 40_000), ([10, 0, 0, 9], 15_164)].map(SocketAddr::from);
        Peer { client, server }
    };
    let [here, there] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(peer);
    let open = |host: &mut Host<Inside>, connection, from| {
        let (mut client, opening) = Client::open();
        assert!(host.connect_from(Connection(connection), from));
        (exchange(host, connection, &mut client, &opening), client)
    };
    let (_, mut first) = open(&mut host, 1, here);
    assert!(!open(&mut host, 2, here).0);
    let (is_ending, refused) = open(&mut host, 3, here);
    assert!(is_ending);
    assert_eq!(refused.status.expect("an answer").body, &[0, 0, 0, 99][..]);
    assert_eq!(logged(&host), "10.0.0.1 is refused: sessions-per-address=2 is reached");
    host.lose(Connection(3), std::time::Duration::ZERO);
    // A connection that has no session yet may be for one that is there.
    assert!(host.connect_from(Connection(4), here));
    assert!(!host.connect_from(Connection(5), here), "one is enough");
    let bytes = first.resume();
    assert!(!exchange(&mut host, 4, &mut first, &bytes));
    assert!(!open(&mut host, 6, there).0, "another address");
    let bytes = first.terminate();
    exchange(&mut host, 4, &mut first, &bytes);
    host.lose(Connection(4), std::time::Duration::ZERO);
    assert!(!open(&mut host, 7, here).0, "there is room again");
}

#[test]
fn there_are_so_many_federations_and_reserved_names_and_no_more() {
    let mut host = host(Limits { federations: 2, reserved_names: 3, ..Limits::default() });
    let mut client = opened(&mut host, 1);
    let details = |response: Response| match response {
        Response::Exception(exception) => format!("{}: {}", exception.exception_name, exception.details),
        other => named(other),
    };
    ask(&mut host, 1, &mut client, request::Connect {});
    for name in ["F", "G"] {
        let created = ask(&mut host, 1, &mut client, create_named(name));
        assert!(matches!(created, Response::CreateFederationExecution(_)), "{created:?}");
    }
    let refused = details(ask(&mut host, 1, &mut client, create_named("H")));
    assert_eq!(refused, "RTIinternalError: federations=2 is reached: so many may be there at a time");
    let join =
        request::JoinFederationExecution { federate_type: "t".to_owned(), federation_name: "F".to_owned() };
    ask(&mut host, 1, &mut client, join);
    let reserve = |name: &str| request::ReserveObjectInstanceName { object_instance_name: name.to_owned() };
    let several = |names: &[&str]| request::ReserveMultipleObjectInstanceNames {
        object_instance_names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut ask = |call: Call| details(ask(&mut host, 1, &mut client, call));
    assert_eq!(ask(reserve("a").into()), "ReserveObjectInstanceName");
    let refused = "RTIinternalError: reserved-names=3 is reached: so many may be reserved and not used";
    assert_eq!(ask(several(&["b", "c", "d"]).into()), refused);
    assert_eq!(ask(several(&["b", "c"]).into()), "ReserveMultipleObjectInstanceNames");
    assert_eq!(ask(reserve("e").into()), refused);
    let release = request::ReleaseObjectInstanceName { object_instance_name: "a".to_owned() };
    assert_eq!(ask(release.into()), "ReleaseObjectInstanceName");
    assert_eq!(ask(reserve("e").into()), "ReserveObjectInstanceName");
}

/// An HLAunicodeString, written anew.
fn unicode(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut bytes = (units.len() as u32).to_be_bytes().to_vec();
    units.iter().for_each(|unit| bytes.extend(unit.to_be_bytes()));
    bytes
}

#[test]
fn only_who_knows_the_password_connects() {
    let mut host = host(Limits::default());
    host.set_password(Password::new("grüße 🚂"));
    let mut client = opened(&mut host, 1);
    let with = |r#type: &str, data: Vec<u8>| request::ConnectWithCredentials {
        credentials: Some(Credentials { r#type: r#type.to_owned(), data: data.into() }),
    };
    let mut name = |call: Call| named(ask(&mut host, 1, &mut client, call));
    let password = |text: &str| with("HLAplainTextPassword", unicode(text));
    assert_eq!(name(request::Connect {}.into()), "Unauthorized");
    assert_eq!(name(with("HLAnoCredentials", vec![]).into()), "Unauthorized");
    assert_eq!(name(with("Passport", unicode("grüße 🚂")).into()), "InvalidCredentials");
    for wrong in ["", "grüße", "grüße 🚃", "grüße 🚂 "] {
        assert_eq!(name(password(wrong).into()), "Unauthorized", "{wrong:?}");
    }
    let rti_configuration = Some(RtiConfiguration::default());
    assert_eq!(
        name(request::ConnectWithConfiguration { rti_configuration: rti_configuration.clone() }.into()),
        "Unauthorized"
    );
    assert_eq!(name(request::ListFederationExecutions {}.into()), "NotConnected");
    let credentials = password("grüße 🚂").credentials;
    let call = request::ConnectWithConfigurationAndCredentials { rti_configuration, credentials };
    assert_eq!(name(call.into()), "ConnectWithConfigurationAndCredentials");
    assert!(host.outside().lines.iter().all(|line| !line.contains("grüße")), "nobody reads it in a log");
    assert_eq!(format!("{:?}", Password::new("secret")), "Password(..)");
}

#[test]
fn who_does_not_read_what_is_queued_is_given_up() {
    let limits = Limits { unacknowledged_bytes: 1 << 20, queued_bytes: 2000, ..Limits::default() };
    let mut host = host(limits);
    let mut clients = [1, 2].map(|connection| opened(&mut host, connection));
    ask(&mut host, 2, &mut clients[1], request::Connect {});
    // It asks, and never says that it has received anything.
    let mut bytes = clients[0].call(request::Connect {}).1;
    for _ in 0..100 {
        bytes.extend(clients[0].call(request::ListFederationExecutions {}).1);
    }
    host.receive(Connection(1), &bytes);
    host.serve();
    assert!(written(&mut host, 1).1, "it is closed");
    assert!(
        logged(&host).ends_with("a client does not read: queued-bytes=2000 is reached"),
        "{}",
        logged(&host)
    );
    ask(&mut host, 2, &mut clients[1], request::ListFederationExecutions {});
    // The session is gone with it.
    host.connect(Connection(3));
    let resume = clients[0].resume();
    assert!(exchange(&mut host, 3, &mut clients[0], &resume));
    assert_eq!(clients[0].status.as_ref().map(|frame| frame.kind), Some(Kind::ResumeStatus));
}
