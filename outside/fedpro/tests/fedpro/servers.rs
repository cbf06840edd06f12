//! The server on TCP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use paceline_fedpro::{Carrier, Host, Kind, Server};
use paceline_hla::{Call, Callback, Response, callback, request};

use crate::client::{Client, Inside};

struct Remote {
    client: Client,
    stream: TcpStream,
}

impl Remote {
    fn connect(address: SocketAddr) -> Self {
        let (client, opening) = Client::open();
        let mut remote = Self { client, stream: TcpStream::connect(address).expect("it listens") };
        remote.stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        remote.stream.write_all(&opening).expect("it reads");
        remote.read_until(|client| client.session != 0);
        remote
    }

    fn read_until(&mut self, is_there: impl Fn(&Client) -> bool) {
        let mut chunk = [0; 4096];
        while !is_there(&self.client) {
            let size = self.stream.read(&mut chunk).expect("it answers in time");
            assert!(size > 0, "the server has closed the connection");
            self.client.read(&chunk[..size]);
        }
    }

    fn ask(&mut self, call: impl Into<Call>) -> Response {
        let (number, bytes) = self.client.call(call);
        self.stream.write_all(&bytes).expect("it reads");
        self.read_until(|client| client.responses.contains_key(&number));
        self.client.responses[&number].clone()
    }
}

#[test]
fn clients_are_served_and_come_back_and_the_server_ends() {
    let host = Host::new(Inside::default(), Duration::from_secs(60));
    let mut server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0)), host).expect("a port is free");
    let (address, stopper) = (server.local_addr().expect("it listens"), server.stopper());
    let running = thread::spawn(move || server.run());
    let mut remotes = [(); 3].map(|()| Remote::connect(address));
    for remote in &mut remotes {
        assert!(matches!(remote.ask(request::Connect {}), Response::Connect(_)));
    }
    let [first, second, _] = &mut remotes;
    let fom_modules = None;
    let create = |name: &str| request::CreateFederationExecutionWithModules {
        federation_name: name.to_owned(),
        fom_modules: fom_modules.clone(),
    };
    first.ask(create("F"));
    // Many calls at once are answered in their order, each once.
    let many: Vec<(u32, Vec<u8>)> =
        (0..500).map(|_| second.client.call(request::ListFederationExecutions {})).collect();
    let bytes: Vec<u8> = many.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    second.stream.write_all(&bytes).expect("it reads");
    second.read_until(|client| client.callbacks.len() == 500);
    assert!(many.iter().all(|(number, _)| second.client.responses.contains_key(number)));
    // A connection that breaks loses nothing.
    let (number, bytes) = second.client.call(create("G"));
    second.stream.write_all(&bytes).expect("it reads");
    second.stream = TcpStream::connect(address).expect("it listens");
    second.stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    let bytes = second.client.resume();
    second.stream.write_all(&bytes).expect("it reads");
    second.read_until(|client| client.status.as_ref().is_some_and(|frame| frame.kind == Kind::ResumeStatus));
    let bytes = second.client.again();
    second.stream.write_all(&bytes).expect("it reads");
    second.read_until(|client| client.responses.contains_key(&number));
    let bytes = first.client.terminate();
    first.stream.write_all(&bytes).expect("it reads");
    assert_eq!(first.stream.read_to_end(&mut Vec::new()).map(|size| size > 0).ok(), Some(true), "it closes");
    stopper.stop().expect("it runs");
    running.join().expect("it does not panic").expect("it ends well");
}

#[test]
fn a_server_that_ends_tells_its_clients_why_and_closes() {
    let host = Host::new(Inside::default(), Duration::from_secs(60));
    let mut server = Server::new(host).expect("a server");
    let addresses = [(); 2].map(|()| {
        server.listen(SocketAddr::from(([127, 0, 0, 1], 0)), Carrier::Stream, None).expect("a port is free")
    });
    assert_ne!(addresses[0], addresses[1]);
    let stopper = server.stopper();
    let running = thread::spawn(move || server.run());
    let mut remotes = addresses.map(Remote::connect);
    for remote in &mut remotes {
        remote.ask(request::Connect {});
    }
    let [_, second] = &mut remotes;
    second.ask(request::Disconnect {});
    stopper.stop().expect("it runs");
    for (place, remote) in remotes.iter_mut().enumerate() {
        let mut rest = Vec::new();
        remote.stream.read_to_end(&mut rest).expect("it closes");
        remote.client.read(&rest);
        let status = remote.client.status.as_ref().map(|frame| frame.kind);
        assert_eq!(status, Some(Kind::SessionTerminated));
        let fault_description = "the run-time infrastructure has ended".to_owned();
        let lost = Callback::from(callback::ConnectionLost { fault_description });
        assert_eq!(
            remote.client.callbacks.as_slice(),
            &[lost][..1 - place],
            "only who is connected loses that"
        );
    }
    drop(remotes);
    let ended = running.join().expect("it does not panic").expect("it ends well");
    assert_eq!(ended, 2);
}
