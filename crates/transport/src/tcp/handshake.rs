//! How the two ends of a new connection find out that they belong together: the same version, the same secret.
//!
//! 1. Each side sends a greeting of a form that no version will change: what it is, its version, how it wants to be secured, and
//!    32 random bytes. The side that was connected to answers only a greeting, and ends everything else without a word.
//! 2. Where TLS is wanted, the TLS handshake follows; the side that connects is the client.
//! 3. The side that connects proves that it knows the secret: an HMAC over the *binding*, then the other side does the same. With TLS the
//!    binding is key material exported from the session, so that proofs are worth nothing on another connection (RFC 9266 does so
//!    for passwords); without, it is both greetings with their random bytes, which suffices on loopback, where nobody is in between.
//!
//! Invariants: everything has a deadline; before both proofs are checked, a frame has at most [`MESSAGE_LIMIT`] bytes; what is wrong ends
//! this connection with an error that says what, and nothing else.

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

/// Who proves what.
const CONNECTING: &str = "paceline 1 connecting";
const ACCEPTING: &str = "paceline 1 accepting";

/// The label of the key material that is exported (RFC 5705, section 4: one for experiments and private use).
const EXPORT_LABEL: &[u8] = b"EXPERIMENTAL-paceline";

/// How an answer to a proof begins.
const GRANTED: u8 = 0;
const DENIED: u8 = 1;

/// How connections between hosts are secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// TLS 1.3, and both ends prove that they know the secret.
    #[default]
    Tls,
    /// Both ends prove that they know the secret, and then speak in the clear. Only on loopback.
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

/// Why a connection was ended before it was one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
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
    /// What came is not how this program greets.
    #[error("the other side is no paceline process")]
    Stranger,
    /// The versions differ.
    #[error("the other side is version {theirs}, this is {ours}")]
    Version {
        /// Its version.
        theirs: String,
        /// The version of this process.
        ours: String,
    },
    /// One wants TLS and the other does not.
    #[error("the other side wants {theirs}, this one {ours}")]
    Security {
        /// What it wants.
        theirs: Security,
        /// What this process wants.
        ours: Security,
    },
    /// Plain TCP was asked for between hosts.
    #[error("plain TCP is for loopback only, and {0} is not: use TLS")]
    NotLoopback(SocketAddr),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The other side does not know the secret.
    #[error("the other side does not know the secret of this run")]
    Secret,
    /// The other side says that this one does not know the secret.
    #[error("the other side says that this process does not know its secret")]
    Denied,
    /// Something came that is no frame.
    #[error("a damaged frame: {0}")]
    Damaged(String),
    /// A message came that has no place here.
    #[error("an unexpected message: {0}")]
    Unexpected(&'static str),
}

/// What a process has to know for a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) secret: Secret,
    pub(crate) security: Security,
    pub(crate) version: String,
    pub(crate) identity: Identity,
}

/// What each side says first.
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

    /// Reads a greeting byte for byte, and no further.
    fn read(stream: &Stream, by: Instant) -> Result<Self, HandshakeError> {
        let mut bytes = vec![0; FIXED_BYTES];
        read_exactly(stream, &mut bytes[..1], by)?;
        // The first byte tells whether it is worth waiting for more.
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

/// Makes a link of a connection that this process has made.
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

/// Makes a link of a connection that another process has made.
pub(crate) fn accept(
    socket: TcpStream,
    credentials: &Credentials,
    by: Instant,
) -> Result<Link, HandshakeError> {
    let mut stream = open(socket, credentials)?;
    let theirs = Greeting::read(&stream, by)?;
    let ours = Greeting::new(credentials)?;
    // Also where the versions differ: the other side is to learn it.
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

/// Whether an address can only be reached from this host.
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

/// Does the TLS handshake, where wanted, and says what both sides have in common on this connection only.
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

/// What a failed call says of the connection.
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
