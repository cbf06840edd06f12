//! Connections that break all the time: what federates send arrives once and in order, and their runs end as
//! if nothing had broken.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use paceline_fedpro::Kind;
use paceline_hla::{
    AttributeHandleSet, Call, Callback, FileFomModule, FomModule, FomModuleSet, FomModuleSource,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, Response, request,
};

use crate::client::{Client, Inside};
use crate::proxy::{Cut, Proxy};
use crate::running::Running;

const MODULE: &str = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
    <name>HLAobjectRoot</name><objectClass><name>Ship</name><attribute><name>Position</name></attribute>\
    </objectClass></objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>\
    <interactionClass><name>Hit</name><order>TimeStamp</order></interactionClass></interactionClass>\
    </interactions></objectModel>";
/// How many calls may be unanswered.
const WINDOW: usize = 100;

/// A federate that comes back whenever its connection breaks.
struct Federate {
    client: Client,
    stream: TcpStream,
    address: SocketAddr,
}

impl Federate {
    fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// A federate of `F` with this name. Who is first creates it.
    fn join(address: SocketAddr, name: &str) -> Self {
        let (client, opening) = Client::open();
        let mut stream = Self::connect(address).expect("it listens");
        stream.write_all(&opening).expect("it reads");
        let mut federate = Self { client, stream, address };
        while federate.client.session == 0 {
            assert!(federate.read(), "a connection lasts until its session is there");
        }
        federate.ask(request::Connect {});
        let file = FileFomModule { name: "F".to_owned(), content: MODULE.into() };
        let module = FomModule { source: Some(FomModuleSource::File(file)) };
        federate.ask(request::CreateFederationExecutionWithModulesAndTime {
            federation_name: "F".to_owned(),
            fom_modules: Some(FomModuleSet { fom_module: vec![module] }),
            logical_time_implementation_name: "HLAinteger64Time".to_owned(),
        });
        let (federate_name, federate_type) = (name.to_owned(), "test".to_owned());
        let federation_name = "F".to_owned();
        federate.ask(request::JoinFederationExecutionWithName {
            federate_name,
            federate_type,
            federation_name,
        });
        federate
    }

    /// Reads what is there; false if the connection is broken.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(size) => {
                self.client.read(&chunk[..size]);
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing comes for 30 s"),
            Err(_) => false,
        }
    }

    fn come_back(&mut self) {
        let is_back = |federate: &mut Self| {
            federate.client.status = None;
            let Ok(stream) = Self::connect(federate.address) else { return false };
            federate.stream = stream;
            let resume = federate.client.resume();
            if federate.stream.write_all(&resume).is_err() {
                return false;
            }
            while federate.client.status.is_none() {
                if !federate.read() {
                    return false;
                }
            }
            let again = federate.client.again();
            federate.stream.write_all(&again).is_ok()
        };
        while !is_back(self) {}
    }

    fn read_until(&mut self, is_there: impl Fn(&Client) -> bool) {
        while !is_there(&self.client) {
            if !self.read() {
                self.come_back();
            }
        }
    }

    fn send(&mut self, call: impl Into<Call>) -> u32 {
        let (number, bytes) = self.client.call(call);
        // What is sent again when it comes back has this call in it.
        if self.stream.write_all(&bytes).is_err() {
            self.come_back();
        }
        number
    }

    fn ask(&mut self, call: impl Into<Call>) -> Response {
        let number = self.send(call);
        self.read_until(|client| client.responses.contains_key(&number));
        self.client.responses[&number].clone()
    }

    fn ship(&mut self) -> (Option<paceline_hla::ObjectClassHandle>, Option<AttributeHandleSet>) {
        let object_class_name = "Ship".to_owned();
        let Response::GetObjectClassHandle(class) =
            self.ask(request::GetObjectClassHandle { object_class_name })
        else {
            panic!("there is such a class")
        };
        let (object_class, attribute_name) = (class.result.clone(), "Position".to_owned());
        let attribute = self.ask(request::GetAttributeHandle { object_class, attribute_name });
        let Response::GetAttributeHandle(attribute) = attribute else { panic!("it has such an attribute") };
        (class.result, Some(AttributeHandleSet { attribute_handle: attribute.result.into_iter().collect() }))
    }
}

#[test]
fn updates_arrive_once_and_in_order_though_connections_break() {
    const UPDATES: u32 = 5000;
    let server = Running::start(Inside::default());
    let proxy = Proxy::start(server.address, Cut::Bytes { from: 2_000, to: 40_000 }, 1);
    let [mut sender, mut receiver] = ["sender", "receiver"].map(|name| Federate::join(proxy.address, name));
    let (object_class, attributes) = receiver.ship();
    let subscribe = request::SubscribeObjectClassAttributes {
        object_class: object_class.clone(),
        attributes: attributes.clone(),
    };
    receiver.ask(subscribe);
    let attribute_handle = attributes.clone().and_then(|set| set.attribute_handle.into_iter().next());
    sender.ask(request::PublishObjectClassAttributes { object_class: object_class.clone(), attributes });
    let registered = sender.ask(request::RegisterObjectInstance { object_class });
    let Response::RegisterObjectInstance(registered) = registered else { panic!("it is published") };
    let sending = thread::spawn(move || {
        for number in 0..UPDATES {
            let value = paceline_hla::AttributeHandleValue {
                attribute_handle: attribute_handle.clone(),
                value: Bytes::from_static(&[7; 100]),
            };
            let values = paceline_hla::AttributeHandleValueMap { attribute_handle_value: vec![value] };
            let sent = sender.send(request::UpdateAttributeValues {
                object_instance: registered.result.clone(),
                attribute_values: Some(values),
                user_supplied_tag: number.to_be_bytes().to_vec().into(),
            });
            sender.read_until(|client| sent as usize - client.responses.len() < WINDOW);
        }
        sender.read_until(|client| client.responses.len() == client.calls());
        sender.client.responses
    });
    let is_reflection = |callback: &&Callback| matches!(callback, Callback::ReflectAttributeValues(_));
    receiver.read_until(|client| client.callbacks.iter().filter(is_reflection).count() >= UPDATES as usize);
    let responses = sending.join().expect("it ends well");
    let is_refused = |response: &&Response| matches!(response, Response::Exception(_));
    // The second to create a federation finds one.
    assert_eq!(responses.values().filter(is_refused).count(), 0);
    let tags = receiver.client.callbacks.iter().filter_map(|callback| match callback {
        Callback::ReflectAttributeValues(reflected) => {
            reflected.user_supplied_tag.first_chunk().map(|tag| u32::from_be_bytes(*tag))
        }
        _ => None,
    });
    assert!(tags.eq(0..UPDATES), "each arrives once and in order");
    assert!(proxy.connections() > 50, "the proxy breaks connections: {}", proxy.connections());
    server.end();
}

fn time(time: u64) -> Option<LogicalTime> {
    Some(LogicalTime { data: time.to_be_bytes().to_vec().into() })
}

/// A federate that advances step by step, and sends something for each; what it was granted and received.
fn advance(mut federate: Federate, hit: Option<InteractionClassHandle>, steps: u64) -> Vec<(Bytes, Bytes)> {
    let first = federate.client.callbacks.len();
    for step in 1..=steps {
        federate.send(request::SendInteractionWithTime {
            interaction_class: hit.clone(),
            parameter_values: None,
            user_supplied_tag: step.to_be_bytes().to_vec().into(),
            time: time(step),
        });
        federate.send(request::TimeAdvanceRequest { time: time(step) });
        let is_granted = |callback: &Callback| matches!(callback, Callback::TimeAdvanceGrant(grant) if grant.time == time(step));
        federate.read_until(|client| client.callbacks.iter().rev().take(8).any(is_granted));
    }
    let seen = federate.client.callbacks[first..].iter().map(|callback| match callback {
        Callback::TimeAdvanceGrant(grant) => (grant.time.clone().unwrap_or_default().data, Bytes::new()),
        Callback::ReceiveInteractionWithTime(received) => {
            (received.time.clone().unwrap_or_default().data, received.user_supplied_tag.clone())
        }
        other => panic!("{other:?} is not expected"),
    });
    let seen = seen.collect();
    // Who ends first would hold up the other one.
    federate.ask(request::DisableTimeRegulation {});
    seen
}

fn steps(address: SocketAddr, steps: u64) -> [Vec<(Bytes, Bytes)>; 2] {
    let mut federates = ["first", "second"].map(|name| Federate::join(address, name));
    let mut hit = None;
    for federate in &mut federates {
        let interaction_class_name = "Hit".to_owned();
        let found = federate.ask(request::GetInteractionClassHandle { interaction_class_name });
        let Response::GetInteractionClassHandle(found) = found else { panic!("there is such a class") };
        hit = found.result;
        federate.ask(request::PublishInteractionClass { interaction_class: hit.clone() });
        federate.ask(request::SubscribeInteractionClass { interaction_class: hit.clone() });
        let lookahead = Some(LogicalTimeInterval { data: 1_u64.to_be_bytes().to_vec().into() });
        federate.ask(request::EnableTimeRegulation { lookahead });
        federate.ask(request::EnableTimeConstrained {});
        let is_constrained = |client: &Client| {
            client.callbacks.iter().any(|callback| matches!(callback, Callback::TimeConstrainedEnabled(_)))
        };
        federate.read_until(is_constrained);
    }
    let running = federates.map(|federate| {
        let hit = hit.clone();
        thread::spawn(move || advance(federate, hit, steps))
    });
    running.map(|running| running.join().expect("it ends well"))
}

#[test]
fn a_run_over_breaking_connections_is_that_over_whole_ones() {
    const STEPS: u64 = 3000;
    let run = |cut: Option<Cut>| {
        let server = Running::start(Inside::default());
        let proxy = cut.map(|cut| Proxy::start(server.address, cut, 2));
        let seen = steps(proxy.as_ref().map_or(server.address, |proxy| proxy.address), STEPS);
        server.end();
        (seen, proxy.map_or(0, |proxy| proxy.connections()))
    };
    let (broken, connections) = run(Some(Cut::Bytes { from: 2_000, to: 20_000 }));
    let (whole, _) = run(None);
    assert_eq!(whole[0].len(), 2 * STEPS as usize, "a grant and a message each step");
    assert!(broken == whole, "the same times and messages, in the same order");
    assert!(connections > 50, "the proxy breaks connections: {connections}");
}

#[test]
fn a_session_outlives_connections_that_end_by_time() {
    let server = Running::start(Inside::default());
    let proxy = Proxy::start(server.address, Cut::Milliseconds { from: 30, to: 60 }, 3);
    let mut federate = Federate::join(proxy.address, "only");
    while proxy.connections() < 10 {
        assert!(matches!(federate.ask(request::QueryGALT {}), Response::QueryGALT(_)));
        let status = federate.client.status.as_ref().map(|frame| frame.kind);
        assert!(matches!(status, Some(Kind::NewSessionStatus | Kind::ResumeStatus)), "{status:?}");
    }
    server.end();
}
