//! What carries frames: TLS 1.3, WebSocket, and one inside the other, each with a client of the same kind.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use paceline_fedpro::{Carrier, FRAME_MAX, Host, Kind, Limits, Outside, Server, Stopper, tls_config};
use paceline_hla::{FileFomModule, FomModule, FomModuleSource, Response, request};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tungstenite::{Message, WebSocket};

use crate::client::Client;

const PATIENCE: Duration = Duration::from_secs(60);

/// A log that a test can read while the server runs.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Outside for Log {
    fn random(&mut self) -> u64 {
        self.0.lock().expect("no panic").len() as u64 + 77
    }

    fn module(&mut self, _name: &str) -> Option<Bytes> {
        None
    }

    fn log(&mut self, line: &str) {
        self.0.lock().expect("no panic").push(line.to_owned());
    }
}

struct Running {
    address: SocketAddr,
    stopper: Stopper,
    thread: JoinHandle<io::Result<usize>>,
    log: Log,
    folder: tempfile::TempDir,
}

impl Running {
    fn start(carrier: Carrier, is_encrypted: bool, limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let file = |name: &str, text: String| -> PathBuf {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("it can be written");
            path
        };
        let (certificate, key) =
            (file("certificate.pem", pair.cert.pem()), file("key.pem", pair.signing_key.serialize_pem()));
        let tls = is_encrypted.then(|| tls_config(&certificate, &key).expect("they belong together"));
        let log = Log::default();
        let mut server = Server::new(Host::with_limits(log.clone(), limits)).expect("a server");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let address = server.listen(address, carrier, tls).expect("a port is free");
        let stopper = server.stopper();
        let thread = thread::spawn(move || server.run());
        Self { address, stopper, thread, log, folder }
    }

    fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    fn tls(&self) -> StreamOwned<ClientConnection, TcpStream> {
        let certificate = CertificateDer::from_pem_file(self.folder.path().join("certificate.pem"));
        let mut roots = RootCertStore::empty();
        roots.add(certificate.expect("a certificate")).expect("it is one");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("it is known")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).expect("a client"), self.tcp())
    }

    /// Ends it; returns how many sessions were there, and what was logged.
    fn end(self) -> (usize, Vec<String>) {
        self.stopper.stop().expect("it runs");
        let sessions = self.thread.join().expect("no panic").expect("it ends well");
        (sessions, self.log.0.lock().expect("no panic").clone())
    }
}

/// Bytes in binary messages, one for each time that something is written.
struct Messages<S>(WebSocket<S>, BytesMut);

impl<S: Read + Write> Messages<S> {
    fn new(stream: S) -> Self {
        let (web_socket, _) = tungstenite::client("ws://localhost/", stream).expect("it is accepted");
        Self(web_socket, BytesMut::new())
    }
}

impl<S: Read + Write> Read for Messages<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.1.is_empty() {
            match self.0.read() {
                Ok(Message::Binary(bytes)) => {
                    let size = u32::from_be_bytes(*bytes.first_chunk().expect("a size"));
                    assert_eq!(size as usize, bytes.len(), "a message is one frame");
                    self.1.extend_from_slice(&bytes);
                }
                Ok(_) => {}
                Err(tungstenite::Error::ConnectionClosed) => return Ok(0),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        let size = into.len().min(self.1.len());
        self.1.copy_to_slice(&mut into[..size]);
        Ok(size)
    }
}

impl<S: Read + Write> Write for Messages<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(Message::Binary(Bytes::copy_from_slice(bytes))).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read_until(stream: &mut impl Read, client: &mut Client, is_there: impl Fn(&Client) -> bool) {
    let mut chunk = [0; 4096];
    while !is_there(client) {
        let size = stream.read(&mut chunk).expect("it answers in time");
        assert!(size > 0, "the server has closed the connection");
        client.read(&chunk[..size]);
    }
}

fn opened(stream: &mut (impl Read + Write)) -> Client {
    let (mut client, opening) = Client::open();
    stream.write_all(&opening).expect("it reads");
    stream.flush().expect("it reads");
    read_until(stream, &mut client, |client| client.session != 0);
    client
}

/// Opens a session, connects, sends much and little, comes back along another connection and ends.
fn use_it<S: Read + Write>(mut connect: impl FnMut() -> S) {
    let mut stream = connect();
    let mut client = opened(&mut stream);
    let mut bytes = client.call(request::Connect {}).1;
    let calls: Vec<u32> = (0..300)
        .map(|_| {
            let (number, call) = client.call(request::ListFederationExecutions {});
            bytes.extend(call);
            number
        })
        .collect();
    stream.write_all(&bytes).expect("it reads");
    stream.flush().expect("it reads");
    read_until(&mut stream, &mut client, |client| client.callbacks.len() == 300);
    assert!(calls.iter().all(|number| client.responses.contains_key(number)));
    drop(stream);
    let mut stream = connect();
    stream.write_all(&client.resume()).expect("it reads");
    stream.flush().expect("it reads");
    read_until(&mut stream, &mut client, |client| {
        client.status.as_ref().is_some_and(|frame| frame.kind == Kind::ResumeStatus)
    });
    // Much more than is read or written at once.
    let content = Bytes::from(vec![b' '; 3 << 20]);
    let file = FileFomModule { name: "blank.xml".to_owned(), content };
    let fom_module = Some(FomModule { source: Some(FomModuleSource::File(file)) });
    let (number, bytes) =
        client.call(request::CreateFederationExecution { federation_name: "F".to_owned(), fom_module });
    stream.write_all(&bytes).expect("it reads");
    stream.flush().expect("it reads");
    read_until(&mut stream, &mut client, |client| client.responses.contains_key(&number));
    let Response::Exception(refused) = &client.responses[&number] else { panic!("it is no module") };
    assert_eq!(refused.exception_name, "ErrorReadingFOM");
    stream.write_all(&client.terminate()).expect("it reads");
    stream.flush().expect("it reads");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("it is closed in order");
    client.read(&rest);
    assert_eq!(client.status.map(|frame| frame.kind), Some(Kind::SessionTerminated));
}

#[test]
fn sessions_go_through_tls() {
    let running = Running::start(Carrier::Stream, true, Limits::default());
    use_it(|| running.tls());
    let mut plain = running.tcp();
    plain.write_all(&Client::open().1).expect("it reads");
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer).expect("it is closed");
    assert_eq!(answer.first(), Some(&21), "an alert, for who speaks TLS (RFC 8446, section 5.1)");
    let (sessions, log) = running.end();
    assert_eq!(sessions, 0);
    assert!(log[..].iter().any(|line| line.starts_with("a connection is closed: TLS: ")), "{log:?}");
}

#[test]
fn sessions_go_through_web_socket() {
    let running = Running::start(Carrier::WebSocket, false, Limits::default());
    use_it(|| Messages::new(running.tcp()));
    assert_eq!(running.end(), (0, vec![]));
}

#[test]
fn sessions_go_through_web_socket_inside_tls() {
    let running = Running::start(Carrier::WebSocket, true, Limits::default());
    use_it(|| Messages::new(running.tls()));
    assert_eq!(running.end(), (0, vec![]));
}

#[test]
fn what_is_no_web_socket_ends_its_connection_only() {
    let running = Running::start(Carrier::WebSocket, false, Limits::default());
    let mut good = Messages::new(running.tcp());
    let mut client = opened(&mut good);
    let close = |mut stream: TcpStream, bytes: &[u8]| {
        stream.write_all(bytes).expect("it reads");
        // It may be reset, as not all has been read.
        let _ = stream.read_to_end(&mut Vec::new());
    };
    close(running.tcp(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    close(running.tcp(), &Client::open().1);
    let mut text = Messages::new(running.tcp());
    text.0.send(Message::text("hello")).expect("it reads");
    let _ = text.read_to_end(&mut Vec::new());
    // There is no session yet, so that nothing long is taken.
    let mut long = Messages::new(running.tcp());
    long.write_all(&[0; 65]).expect("it reads");
    let _ = long.read_to_end(&mut Vec::new());
    // Nor after that, beyond the limit.
    let mut longer = Messages::new(running.tcp());
    opened(&mut longer);
    longer.0.get_mut().set_write_timeout(Some(PATIENCE)).expect("a time");
    let _ = longer.write_all(&vec![0; FRAME_MAX + 1]);
    let _ = longer.read_to_end(&mut Vec::new());
    let (number, bytes) = client.call(request::Connect {});
    good.write_all(&bytes).expect("it reads");
    read_until(&mut good, &mut client, |client| client.responses.contains_key(&number));
    drop(good);
    let (_, log) = running.end();
    let closed = log.iter().filter(|line| line.starts_with("a connection is closed: WebSocket: "));
    assert_eq!(closed.count(), 5, "{log:?}");
}

#[test]
fn a_client_that_says_nothing_is_closed() {
    let limits = Limits { first_message_seconds: 1, ..Limits::default() };
    for (carrier, is_encrypted) in
        [(Carrier::Stream, false), (Carrier::Stream, true), (Carrier::WebSocket, false)]
    {
        let running = Running::start(carrier, is_encrypted, limits.clone());
        let mut silent = running.tcp();
        assert_eq!(silent.read(&mut [0; 1]).expect("it is closed in time"), 0);
        let (_, log) = running.end();
        let line = "a connection is closed: no session has come in time, first-message-seconds=1";
        assert_eq!(log, [line]);
    }
}

#[test]
fn certificates_that_are_of_no_use_are_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let pairs = [(); 2].map(|()| rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("one"));
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let certificate = file("certificate.pem", &pairs[0].cert.pem());
    let other = file("other.pem", &pairs[1].signing_key.serialize_pem());
    let empty = file("empty.pem", "");
    let error = |certificate, key| tls_config(certificate, key).expect_err("they are refused").to_string();
    assert!(error(&certificate, &other).starts_with("the certificate and its key: "));
    assert!(error(&empty, &other).ends_with("begins with the server's own"));
    assert!(error(&certificate, &empty).contains("empty.pem: "));
    assert!(error(&folder.path().join("absent.pem"), &other).contains("absent.pem: "));
}
