//! How frames travel along a connection: as they are, or as messages of WebSocket (RFC 6455), and either of
//! them as they are or inside TLS 1.3 (RFC 8446). Still without sockets: bytes go in and come out.
//!
//! Invariant: a message of WebSocket has one frame, as clients read none from two messages.

mod endpoint;
mod tls;
mod web_socket;

use std::sync::Arc;

use bytes::BytesMut;
use rustls::ServerConfig;
use thiserror::Error;

pub use endpoint::{Carrier, Endpoint, EndpointError};
pub use tls::{TlsError, tls_config};

use tls::Tls;
use web_socket::WebSocketEnd;

/// A connection whose bytes make no sense, or are not taken. It cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// TLS: an older version, a certificate that the client does not want, damaged records.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// WebSocket: a request that asks for something else, or a message that is too long.
    #[error("WebSocket: {0}")]
    WebSocket(Box<tungstenite::Error>),
    /// A message of text.
    #[error("WebSocket: a message of text; frames come in binary messages")]
    Text,
}

impl From<tungstenite::Error> for TransportError {
    fn from(error: tungstenite::Error) -> Self {
        Self::WebSocket(Box::new(error))
    }
}

/// One end of a connection, the server's.
#[derive(Debug, Default)]
pub(crate) struct Transport {
    tls: Option<Tls>,
    web_socket: Option<WebSocketEnd>,
    /// What has come last, without what carries it.
    received: BytesMut,
}

impl Transport {
    /// For a client that has just connected.
    pub(crate) fn new(carrier: Carrier, tls: Option<&Arc<ServerConfig>>) -> Result<Self, TransportError> {
        let tls = tls.map(Tls::new).transpose()?;
        let web_socket = (carrier == Carrier::WebSocket).then(WebSocketEnd::new);
        Ok(Self { tls, web_socket, received: BytesMut::new() })
    }

    /// The session is there, and with it a greater limit for the frames of the client.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.web_socket.iter_mut().for_each(|web_socket| web_socket.set_limit(limit));
    }

    /// Takes in what has come, and returns the frames' bytes in it. What the transport itself answers is
    /// added to `out`, for errors too.
    pub(crate) fn receive<'a>(
        &'a mut self,
        bytes: &'a [u8],
        out: &mut BytesMut,
    ) -> Result<&'a [u8], TransportError> {
        let Self { tls, web_socket, received } = self;
        if tls.is_none() && web_socket.is_none() {
            return Ok(bytes);
        }
        received.clear();
        match (tls, web_socket) {
            (Some(tls), Some(web_socket)) => {
                let mut plain = BytesMut::new();
                let read = tls.receive(bytes, &mut plain, out);
                let mut answer = BytesMut::new();
                let taken = web_socket.receive(&plain, received, &mut answer);
                // Before the errors are told: the answer may be what refuses the client.
                tls.send(&answer, out)?;
                read?;
                taken?;
            }
            (Some(tls), None) => tls.receive(bytes, received, out)?,
            (None, Some(web_socket)) => web_socket.receive(bytes, received, out)?,
            (None, None) => unreachable!("that has been returned"),
        }
        Ok(received)
    }

    /// Adds what carries whole frames to `out`.
    pub(crate) fn send(&mut self, frames: BytesMut, out: &mut BytesMut) -> Result<(), TransportError> {
        let frames = match &mut self.web_socket {
            Some(web_socket) => {
                let mut messages = BytesMut::new();
                web_socket.send(frames, &mut messages)?;
                messages
            }
            None => frames,
        };
        match &mut self.tls {
            Some(tls) => tls.send(&frames, out)?,
            None if out.is_empty() => *out = frames,
            None => out.extend_from_slice(&frames),
        }
        Ok(())
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&mut self, out: &mut BytesMut) {
        let mut last = BytesMut::new();
        self.web_socket.iter_mut().for_each(|web_socket| web_socket.close(&mut last));
        match &mut self.tls {
            Some(tls) => tls.close(&last, out),
            None => out.extend_from_slice(&last),
        }
    }
}
