//! Where a server listens, and what it expects there.

use std::fmt;
use std::net::{AddrParseError, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

/// What carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing: they follow each other.
    Stream,
    /// Messages of WebSocket.
    WebSocket,
}

/// Where to listen.
///
/// ```
/// use paceline_fedpro::Endpoint;
///
/// for text in ["tcp://127.0.0.1:15164", "tls://[::1]:0", "ws://127.0.0.1:8080", "wss://0.0.0.0:443"] {
///     assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
/// }
/// assert!("http://127.0.0.1:80".parse::<Endpoint>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Port 0 is any that is free.
    pub address: SocketAddr,
    /// What clients send there.
    pub carrier: Carrier,
    /// Whether all of it is inside TLS 1.3; nothing if whoever asks for the endpoint has not said so.
    pub is_encrypted: Option<bool>,
}

/// A text that names no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text} is no address and port, such as 127.0.0.1:15164 or wss://[::1]:443: {error}")]
pub struct EndpointError {
    text: String,
    error: String,
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let failed = |error: String| EndpointError { text: text.to_owned(), error };
        let (carrier, is_encrypted, address) = match text.split_once("://") {
            None => (Carrier::Stream, None, text),
            Some(("tcp", address)) => (Carrier::Stream, Some(false), address),
            Some(("tls", address)) => (Carrier::Stream, Some(true), address),
            Some(("ws", address)) => (Carrier::WebSocket, Some(false), address),
            Some(("wss", address)) => (Carrier::WebSocket, Some(true), address),
            Some((other, _)) => {
                return Err(failed(format!("{other:?} is none of tcp, tls, ws and wss")));
            }
        };
        let address = address.parse().map_err(|error: AddrParseError| failed(error.to_string()))?;
        Ok(Self { address, carrier, is_encrypted })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let scheme = match (self.carrier, self.is_encrypted) {
            (Carrier::Stream, None) => "",
            (Carrier::Stream, Some(false)) => "tcp://",
            (Carrier::Stream, Some(true)) => "tls://",
            (Carrier::WebSocket, Some(true)) => "wss://",
            (Carrier::WebSocket, _) => "ws://",
        };
        write!(f, "{scheme}{}", self.address)
    }
}
