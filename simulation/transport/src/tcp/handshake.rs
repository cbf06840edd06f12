//! How the two ends of a new connection find out that they belong together: they have the same version and
//! the same secret.
//!
//! Gates call `accept`, and whoever joins calls `connect`. What they know of the run, the
//! [`Credentials`], comes from the settings (`rendezvous.rs`).
//!
//! 1. Each side sends a greeting whose format never changes: a magic number, its version, the security it
//!    wants, and 32 random bytes. The accepting side answers only greetings, and closes all other connections
//!    without an answer.
//! 2. If TLS is wanted, the TLS handshake follows; the connecting side is the client.
//! 3. The connecting side proves with an HMAC over the *binding* that it knows the secret, then the other
//!    side does the same. With TLS the binding is key material exported from the session, so that a proof is
//!    invalid on any other connection (RFC 9266 does so for passwords); without TLS it is both greetings with
//!    their random bytes, which suffices on loopback, where there is no man in the middle.
//!
//! Invariants: everything has a deadline; before both proofs are checked, a frame has at most
//! [`MESSAGE_LIMIT`] bytes; any mistake closes this connection with an error that describes it, and has no
//! other effect.

#[cfg(all(test, not(any(paceline_shuttle, paceline_loom))))]
mod test;

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use ring::digest;
use thiserror::Error;

use super::FRAME_LIMIT;
use super::link::Link;
use super::stream::Stream;
use super::tls::Identity;
use crate::secret::{Secret, random};

/// How a greeting begins.
const MAGIC: &[u8; 8] = b"PACELINE";

/// Bytes of a greeting before the version.
const FIXED_BYTES: usize = MAGIC.len() + 2;

/// Random bytes of a greeting.
const NONCE_BYTES: usize = 32;

/// The most bytes of a frame before both sides have proved themselves.
const MESSAGE_LIMIT: usize = 256;

/// The roles in a proof.
const CONNECTING: &str = "paceline 1 connecting";
const ACCEPTING: &str = "paceline 1 accepting";

/// The label of the key material that is exported (RFC 5705, section 4: one for experiments and private use).
const EXPORT_LABEL: &[u8] = b"EXPERIMENTAL-paceline";

/// The first byte of the answer to a proof.
const GRANTED: u8 = 0;
const DENIED: u8 = 1;

/// How connections between hosts are secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// TLS 1.3, and both ends prove that they know the secret.
    #[default]
    Tls,
    /// Both ends prove that they know the secret, and then communicate unencrypted. Only on loopback.
    Plain,
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls => "TLS",
            Self::Plain => "plain TCP",
        })
    }
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum HandshakeError {
    /// The connection broke, or could not be made.
    #[error("{0}")]
    Io(String),
    /// The other side ended the connection too early.
    #[error("the other side ended the connection")]
    Ended,
    /// The other side was too slow.
    #[error("the other side did not finish the handshake in time")]
    TimedOut,
    /// The data is not a greeting of this program.
    #[error("the other side is no paceline process")]
    Stranger,
    /// The versions differ.
    #[error("the other side is version {theirs}, this is {ours}")]
    Version { theirs: String, ours: String },
    /// One wants TLS and the other does not.
    #[error("the other side wants {theirs}, this one {ours}")]
    Security { theirs: Security, ours: Security },
    /// Plain TCP was requested between hosts.
    #[error("plain TCP is for loopback only, and {0} is not: use TLS")]
    NotLoopback(SocketAddr),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The other side does not know the secret.
    #[error("the other side does not know the secret of this run")]
    Secret,
    /// The other side reports that this process does not know the secret.
    #[error("the other side says that this process does not know its secret")]
    Denied,
    /// Something arrived that is not a frame.
    #[error("a damaged frame: {0}")]
    Damaged(String),
    /// A message arrived that is not expected here.
    #[error("an unexpected message: {0}")]
    Unexpected(&'static str),
}

/// What a process needs for a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) secret: Secret,
    pub(crate) security: Security,
    pub(crate) version: String,
    pub(crate) identity: Identity,
}

/// The first message of each side.
#[derive(Debug)]
struct Greeting {
    version: String,
    security: Security,
    bytes: Vec<u8>,
}

impl Greeting {
    fn new(credentials: &Credentials) -> Result<Self, HandshakeError> {
        let Credentials { version, security, .. } = credentials;
        let length = u8::try_from(version.len()).map_err(|_| HandshakeError::Unexpected("a long version"))?;
        let nonce = random::<NONCE_BYTES>().map_err(|error| HandshakeError::Io(error.to_string()))?;
        let bytes = [MAGIC, &[*security as u8, length][..], version.as_bytes(), &nonce].concat();
        Ok(Self { version: version.clone(), security: *security, bytes })
    }

    /// Reads exactly the bytes of a greeting.
    fn read(stream: &Stream, by: Instant) -> Result<Self, HandshakeError> {
        let mut bytes = vec![0; FIXED_BYTES];
        read_exactly(stream, &mut bytes[..1], by)?;
        // The first byte shows whether waiting for more makes sense.
        if bytes[0] != MAGIC[0] {
            return Err(HandshakeError::Stranger);
        }
        read_exactly(stream, &mut bytes[1..], by)?;
        if !bytes.starts_with(MAGIC) {
            return Err(HandshakeError::Stranger);
        }
        let security = match bytes[FIXED_BYTES - 2] {
            0 => Security::Tls,
            1 => Security::Plain,
            _ => return Err(HandshakeError::Stranger),
        };
        let length = usize::from(bytes[FIXED_BYTES - 1]);
        bytes.resize(FIXED_BYTES + length + NONCE_BYTES, 0);
        read_exactly(stream, &mut bytes[FIXED_BYTES..], by)?;
        let version = &bytes[FIXED_BYTES..][..length];
        let version = String::from_utf8_lossy(version).chars().filter(|char| !char.is_control()).collect();
        Ok(Self { version, security, bytes })
    }
}

/// Turns a connection that this process has opened into a link.
pub(crate) fn connect(
    socket: TcpStream,
    credentials: &Credentials,
    by: Instant,
) -> Result<Link, HandshakeError> {
    let mut stream = open(socket, credentials)?;
    let ours = Greeting::new(credentials)?;
    write_all(&stream, &ours.bytes, by)?;
    let theirs = Greeting::read(&stream, by)?;
    compare(&ours, &theirs)?;
    let binding = bind(&mut stream, credentials, [&ours, &theirs], true, by)?;
    let link = Link::new(stream, MESSAGE_LIMIT);
    link.send_by(&credentials.secret.prove(CONNECTING, &binding), by).map_err(io_error)?;
    match link.receive_by(by).map_err(io_error)?.split_first() {
        Some((&GRANTED, proof)) if credentials.secret.is_proof(ACCEPTING, &binding, proof) => {
            link.set_limit(FRAME_LIMIT);
            Ok(link)
        }
        Some((&GRANTED, _)) => Err(HandshakeError::Secret),
        Some((&DENIED, [])) => Err(HandshakeError::Denied),
        _ => Err(HandshakeError::Unexpected("no answer to a proof")),
    }
}

/// Turns a connection that another process has opened into a link.
pub(crate) fn accept(
    socket: TcpStream,
    credentials: &Credentials,
    by: Instant,
) -> Result<Link, HandshakeError> {
    let mut stream = open(socket, credentials)?;
    let theirs = Greeting::read(&stream, by)?;
    let ours = Greeting::new(credentials)?;
    // Sent even if the versions differ, so that the other side learns this.
    write_all(&stream, &ours.bytes, by)?;
    compare(&ours, &theirs)?;
    let binding = bind(&mut stream, credentials, [&theirs, &ours], false, by)?;
    let link = Link::new(stream, MESSAGE_LIMIT);
    let proof = link.receive_by(by).map_err(io_error)?;
    if !credentials.secret.is_proof(CONNECTING, &binding, &proof) {
        link.send_by(&[DENIED], by).map_err(io_error)?;
        return Err(HandshakeError::Secret);
    }
    let proof = credentials.secret.prove(ACCEPTING, &binding);
    link.send_by(&[&[GRANTED], &proof[..]].concat(), by).map_err(io_error)?;
    link.set_limit(FRAME_LIMIT);
    Ok(link)
}

/// Refuses plain connections between hosts.
fn open(socket: TcpStream, credentials: &Credentials) -> Result<Stream, HandshakeError> {
    let stream = Stream::new(socket).map_err(io_error)?;
    if credentials.security == Security::Plain {
        let outside = [stream.peer(), stream.local()].into_iter().find(|end| !is_loopback(*end));
        if let Some(outside) = outside {
            return Err(HandshakeError::NotLoopback(outside));
        }
    }
    Ok(stream)
}

pub(crate) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn compare(ours: &Greeting, theirs: &Greeting) -> Result<(), HandshakeError> {
    if ours.version != theirs.version {
        return Err(HandshakeError::Version { theirs: theirs.version.clone(), ours: ours.version.clone() });
    }
    if ours.security != theirs.security {
        return Err(HandshakeError::Security { theirs: theirs.security, ours: ours.security });
    }
    Ok(())
}

/// Does the TLS handshake if wanted, and returns the binding: data that both sides share on this connection
/// only.
fn bind(
    stream: &mut Stream,
    credentials: &Credentials,
    [connecting, accepting]: [&Greeting; 2],
    is_connecting: bool,
    by: Instant,
) -> Result<[u8; 32], HandshakeError> {
    let greetings = digest::digest(&digest::SHA256, &[&*connecting.bytes, &accepting.bytes].concat());
    let greetings: [u8; 32] = greetings.as_ref().try_into().expect("SHA-256 has 32 bytes");
    if credentials.security == Security::Plain {
        return Ok(greetings);
    }
    let identity = &credentials.identity;
    let session = if is_connecting { identity.client() } else { identity.server() };
    stream.encrypt(session.map_err(|error| HandshakeError::Tls(error.to_string()))?);
    let of_tls = |error: io::Error| match error.kind() {
        ErrorKind::InvalidData => HandshakeError::Tls(error.to_string()),
        _ => io_error(error),
    };
    while !stream.shake().map_err(of_tls)? {
        let to_write = !stream.flush().map_err(of_tls)?;
        stream.wait(to_write, by).map_err(io_error)?;
    }
    stream.export(EXPORT_LABEL, &greetings).map_err(of_tls)
}

fn read_exactly(stream: &Stream, into: &mut [u8], by: Instant) -> Result<(), HandshakeError> {
    let mut filled = 0;
    while filled < into.len() {
        match stream.read(&mut into[filled..]) {
            Ok(read) if read.bytes == 0 => return Err(HandshakeError::Ended),
            Ok(read) => filled += read.bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                stream.wait(false, by).map_err(io_error)?
            }
            Err(error) => return Err(io_error(error)),
        }
    }
    Ok(())
}

fn write_all(stream: &Stream, mut bytes: &[u8], by: Instant) -> Result<(), HandshakeError> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.wait(true, by).map_err(io_error)?,
            Err(error) => return Err(io_error(error)),
        }
    }
    Ok(())
}

/// Translates the error of a failed call.
pub(crate) fn io_error(error: io::Error) -> HandshakeError {
    match error.kind() {
        ErrorKind::TimedOut => HandshakeError::TimedOut,
        ErrorKind::InvalidData => HandshakeError::Damaged(error.to_string()),
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => HandshakeError::Ended,
        _ => HandshakeError::Io(error.to_string()),
    }
}
