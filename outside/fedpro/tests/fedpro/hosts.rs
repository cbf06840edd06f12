//! The host: federates that join through sessions, connections that break at any byte, and clients that break
//! rules.

use std::time::Duration;

use bytes::Bytes;
use paceline_fedpro::{Connection, Host, Kind};
use paceline_hla::{
    Call, Callback, FomModule, FomModuleSource, ResignAction, Response, SynchronizationPointFailureReason,
    request,
};
use proptest::prelude::*;

use crate::archives::pack;
use crate::client::{Client, Inside};

const PATIENCE: Duration = Duration::from_secs(60);
const MODULE: &[u8] = b"<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"/>";

fn host() -> Host<Inside> {
    Host::new(Inside::with_module(), PATIENCE)
}

/// What was written to a connection; nothing if it is gone or to be closed with nothing more.
pub fn written(host: &mut Host<Inside>, connection: usize) -> (Vec<u8>, bool) {
    host.take_ready();
    host.take_output(Connection(connection))
        .map_or((Vec::new(), true), |(out, is_ending)| (out.to_vec(), is_ending))
}

pub fn exchange(host: &mut Host<Inside>, connection: usize, client: &mut Client, bytes: &[u8]) -> bool {
    host.receive(Connection(connection), bytes);
    host.serve();
    let (out, is_ending) = written(host, connection);
    client.read(&out);
    is_ending
}

pub fn opened(host: &mut Host<Inside>, connection: usize) -> Client {
    let (mut client, opening) = Client::open();
    host.connect(Connection(connection));
    assert!(!exchange(host, connection, &mut client, &opening));
    client
}

#[track_caller]
pub fn ask(
    host: &mut Host<Inside>,
    connection: usize,
    client: &mut Client,
    call: impl Into<Call>,
) -> Response {
    let (number, bytes) = client.call(call);
    assert!(!exchange(host, connection, client, &bytes));
    client.responses[&number].clone()
}

fn create(module: FomModuleSource) -> request::CreateFederationExecution {
    let (federation_name, fom_module) = ("F".to_owned(), Some(FomModule { source: Some(module) }));
    request::CreateFederationExecution { federation_name, fom_module }
}

/// A federation of this name, with the module that there is.
pub fn create_named(name: &str) -> request::CreateFederationExecution {
    let federation_name = name.to_owned();
    request::CreateFederationExecution {
        federation_name,
        ..create(FomModuleSource::Url("fom.xml".to_owned()))
    }
}

pub fn join() -> request::JoinFederationExecution {
    request::JoinFederationExecution { federate_type: "test".to_owned(), federation_name: "F".to_owned() }
}

pub fn register(label: u32) -> request::RegisterFederationSynchronizationPoint {
    let synchronization_point_label = label.to_string();
    request::RegisterFederationSynchronizationPoint { synchronization_point_label, ..Default::default() }
}

#[test]
fn modules_are_opened_and_unpacked_and_nothing_else_is_read() {
    let mut host = host();
    let mut client = opened(&mut host, 1);
    assert_ne!(client.session, 0);
    ask(&mut host, 1, &mut client, request::Connect {});
    let mut name = |module| match ask(&mut host, 1, &mut client, create(module)) {
        Response::Exception(exception) => exception.exception_name,
        other => format!("{other:?}"),
    };
    assert_eq!(name(FomModuleSource::Url("http://example.com/fom.xml".to_owned())), "CouldNotOpenFOM");
    assert_eq!(name(FomModuleSource::Compressed(Bytes::from_static(b"PK"))), "CouldNotOpenFOM");
    let packed = FomModuleSource::Compressed(pack(MODULE, 8).into());
    assert_eq!(name(packed.clone()), "CreateFederationExecution(CreateFederationExecution)");
    assert_eq!(name(packed), "FederationExecutionAlreadyExists");
    let destroy = request::DestroyFederationExecution { federation_name: "F".to_owned() };
    ask(&mut host, 1, &mut client, destroy);
    let url = FomModuleSource::Url("fom.xml".to_owned());
    let response = ask(&mut host, 1, &mut client, create(url));
    assert!(matches!(response, Response::CreateFederationExecution(_)), "{response:?}");
}

#[test]
fn a_bad_frame_ends_its_session_only() {
    let mut host = host();
    let mut clients = [1, 2].map(|connection| opened(&mut host, connection));
    for (connection, client) in (1..).zip(&mut clients) {
        ask(&mut host, connection, client, request::Connect {});
        ask(&mut host, connection, client, create(FomModuleSource::Url("fom.xml".to_owned())));
        ask(&mut host, connection, client, join());
    }
    let [_, second] = &mut clients;
    host.receive(Connection(1), &[0xff; 24]);
    host.serve();
    assert_eq!(written(&mut host, 1), (vec![], true));
    ask(&mut host, 2, second, request::ListFederationExecutionMembers { federation_name: "F".to_owned() });
    let Some(Callback::ReportFederationExecutionMembers(report)) = second.callbacks.last() else {
        panic!("a list")
    };
    let rows = &report.report.as_ref().expect("a list").federation_execution_member_information;
    assert_eq!(
        rows.iter().map(|row| row.federate_name.as_str()).collect::<Vec<_>>(),
        ["test-2"],
        "1 has resigned"
    );
    // Nothing of a connection that is not open yet, either.
    host.connect(Connection(3));
    host.receive(Connection(3), b"GET / HTTP/1.1\r\n\r\n");
    host.serve();
    assert_eq!(written(&mut host, 3), (vec![], true));
}

#[test]
fn a_client_may_end_its_session_and_none_is_there_for_a_stranger() {
    let mut host = host();
    let mut client = opened(&mut host, 1);
    let bytes = client.terminate();
    assert!(exchange(&mut host, 1, &mut client, &bytes), "the connection is closed behind the answer");
    assert_eq!(client.status.as_ref().map(|frame| frame.kind), Some(Kind::SessionTerminated));
    host.connect(Connection(2));
    let bytes = client.resume();
    assert!(exchange(&mut host, 2, &mut client, &bytes));
    assert_eq!(client.status.expect("an answer").body[..4], [0, 0, 0, 1], "an invalid session");
    let (mut old, mut opening) = Client::open();
    opening[27] = 2;
    host.connect(Connection(3));
    assert!(exchange(&mut host, 3, &mut old, &opening));
    assert_eq!(old.status.expect("an answer").body, &[0, 0, 0, 1][..], "an unsupported version");
}

#[test]
fn who_does_not_come_back_resigns() {
    let mut host = host();
    let mut client = opened(&mut host, 1);
    ask(&mut host, 1, &mut client, request::Connect {});
    ask(&mut host, 1, &mut client, create(FomModuleSource::Url("fom.xml".to_owned())));
    ask(&mut host, 1, &mut client, join());
    host.lose(Connection(1), Duration::from_secs(10));
    host.expire(Duration::from_secs(69));
    host.connect(Connection(2));
    let bytes = client.resume();
    assert!(!exchange(&mut host, 2, &mut client, &bytes), "it is in time");
    host.lose(Connection(2), Duration::from_secs(70));
    host.expire(Duration::from_secs(130));
    host.connect(Connection(3));
    let bytes = client.resume();
    assert!(exchange(&mut host, 3, &mut client, &bytes), "it is too late");
    let mut other = opened(&mut host, 4);
    ask(&mut host, 4, &mut other, request::Connect {});
    let destroyed = ask(
        &mut host,
        4,
        &mut other,
        request::DestroyFederationExecution { federation_name: "F".to_owned() },
    );
    assert!(matches!(destroyed, Response::DestroyFederationExecution(_)), "{destroyed:?}");
}

/// The synchronization point of each callback to a federate, and what the callback says of it.
fn points(callbacks: &[Callback]) -> Vec<(&str, &'static str)> {
    let points = callbacks.iter().map(|callback| match callback {
        Callback::SynchronizationPointRegistrationSucceeded(c) => {
            (c.synchronization_point_label.as_str(), "new")
        }
        Callback::AnnounceSynchronizationPoint(c) => (c.synchronization_point_label.as_str(), "announced"),
        Callback::SynchronizationPointRegistrationFailed(c) => {
            assert_eq!(
                c.reason,
                SynchronizationPointFailureReason::SynchronizationPointLabelNotUnique as i32
            );
            (c.synchronization_point_label.as_str(), "not new")
        }
        other => panic!("{other:?}"),
    });
    points.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Connections break after any byte, in both directions: what comes of calls is what comes of them on one
    /// connection that holds.
    #[test]
    fn broken_connections_change_nothing(breaks in prop::collection::vec((0..400_usize, 0..400_usize), 0..30)) {
        let mut host = host();
        let mut client = opened(&mut host, 0);
        let calls = [request::Connect {}.into(), create(FomModuleSource::Url("fom.xml".to_owned())).into(), join().into()];
        let calls = calls.into_iter().chain((0..20).map(|label| register(label % 15).into()));
        let resign = request::ResignFederationExecution { resign_action: ResignAction::NoAction.into() };
        let mut last = 0;
        let mut unsent = Vec::new();
        for call in calls.chain([Call::from(resign)]) {
            let (number, bytes) = client.call(call);
            unsent.extend(bytes);
            last = number;
        }
        let whole = (usize::MAX, usize::MAX);
        for (connection, (there, back)) in (1..).zip(breaks.into_iter().chain([whole, whole])) {
            // The old connection is not known to be lost, and half of a frame may have come along it.
            let arrives = unsent.len().min(there);
            host.receive(Connection(connection - 1), &unsent[..arrives]);
            host.serve();
            let (out, _) = written(&mut host, connection - 1);
            client.read(&out[..out.len().min(back)]);
            host.connect(Connection(connection));
            let request = client.resume();
            host.receive(Connection(connection), &request);
            host.serve();
            prop_assert_eq!(written(&mut host, connection - 1), (vec![], true), "the old one is closed");
            let (out, is_ending) = written(&mut host, connection);
            prop_assert!(!is_ending);
            client.read(&out);
            unsent = client.again();
        }
        prop_assert!(unsent.is_empty(), "all has arrived");
        prop_assert_eq!(client.responses.len() as u32, last);
        let refused = client.responses.values().filter(|response| matches!(response, Response::Exception(_)));
        prop_assert_eq!(refused.count(), 0);
        let labels: Vec<String> = (0..20).map(|label| (label % 15).to_string()).collect();
        let wanted: Vec<(&str, &str)> = labels.iter().enumerate().flat_map(|(place, label)| {
            let words: &[&str] = if place < 15 { &["new", "announced"] } else { &["not new"] };
            words.iter().map(move |word| (label.as_str(), *word))
        }).collect();
        prop_assert_eq!(points(&client.callbacks), wanted);
    }
}
