//! The session layer of HLA 4's Federate Protocol (IEEE 1516.1-2025), server's side, as state machines
//! without sockets: bytes go in, calls and bytes come out.
//!
//! [`FrameReader`] cuts what comes along a connection into frames. [`Session`] numbers what is sent, knows
//! what has arrived, and sends the rest again when its client comes back on another connection.

#![forbid(unsafe_code)]

mod frame;
mod session;

pub use frame::{FRAME_MAX, Frame, FrameError, FrameReader, HEADER, Kind, OPENING_MAX};
pub use session::{Received, ResumeError, Session, SessionError, SessionId};
