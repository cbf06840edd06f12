//! The server's end of WebSocket (RFC 6455).

use std::io::{self, ErrorKind, Read, Write};

use bytes::{Buf, BytesMut};
use tungstenite::handshake::HandshakeError;
use tungstenite::handshake::MidHandshake;
use tungstenite::handshake::server::{NoCallback, ServerHandshake};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use super::TransportError;
use crate::frame::OPENING_MAX;

/// Bytes that are read at once; there may be very many clients that say little.
const READ_BUFFER: usize = 4 << 10;

/// What has come and was not read yet, and what is to be written.
#[derive(Debug, Default)]
struct Pipe {
    incoming: BytesMut,
    outgoing: BytesMut,
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let size = into.len().min(self.incoming.len());
        self.incoming.copy_to_slice(&mut into[..size]);
        Ok(size)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum State {
    /// The client's request has not come whole yet.
    Asked(MidHandshake<ServerHandshake<Pipe, NoCallback>>),
    Open(WebSocket<Pipe>),
    /// The request was refused.
    Failed,
}

#[derive(Debug)]
pub(super) struct WebSocketEnd {
    state: Box<State>,
}

impl WebSocketEnd {
    pub(super) fn new() -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(OPENING_MAX))
            .max_frame_size(Some(OPENING_MAX));
        let asked = ServerHandshake::start(Pipe::default(), NoCallback, Some(config));
        Self { state: Box::new(State::Asked(asked)) }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        if let State::Open(web_socket) = &mut *self.state {
            web_socket.set_config(|config| {
                (config.max_message_size, config.max_frame_size) = (Some(limit), Some(limit));
            });
        }
    }

    /// Adds what messages hold to `frames`, and what is answered to `out`.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        frames: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<(), TransportError> {
        *self.state = match std::mem::replace(&mut *self.state, State::Failed) {
            State::Asked(mut asked) => {
                asked.get_mut().get_mut().incoming.extend_from_slice(bytes);
                match asked.handshake() {
                    Ok(open) => State::Open(open),
                    Err(HandshakeError::Interrupted(asked)) => State::Asked(asked),
                    Err(HandshakeError::Failure(error)) => return Err(error.into()),
                }
            }
            State::Open(mut open) => {
                open.get_mut().incoming.extend_from_slice(bytes);
                State::Open(open)
            }
            State::Failed => State::Failed,
        };
        let State::Open(open) = &mut *self.state else { return Ok(()) };
        let read = read_all(open, frames);
        out.unsplit(open.get_mut().outgoing.split());
        read
    }

    pub(super) fn send(&mut self, mut frames: BytesMut, out: &mut BytesMut) -> Result<(), TransportError> {
        let State::Open(open) = &mut *self.state else { return Ok(()) };
        while let Some(size) = frames.first_chunk().map(|size| u32::from_be_bytes(*size) as usize) {
            open.write(Message::Binary(frames.split_to(size).freeze()))?;
        }
        open.flush()?;
        out.unsplit(open.get_mut().outgoing.split());
        Ok(())
    }

    pub(super) fn close(&mut self, out: &mut BytesMut) {
        let State::Open(open) = &mut *self.state else { return };
        // The client may have closed it before.
        let _ = open.close(None).and_then(|()| open.flush());
        out.unsplit(open.get_mut().outgoing.split());
    }
}

fn read_all(open: &mut WebSocket<Pipe>, frames: &mut BytesMut) -> Result<(), TransportError> {
    loop {
        match open.read() {
            Ok(Message::Binary(bytes)) => frames.extend_from_slice(&bytes),
            Ok(Message::Text(_)) => return Err(TransportError::Text),
            // Whatever else comes is answered by the library.
            Ok(_) => {}
            Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // The client will close the connection.
            Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
