//! The server of HLA 4's Federate Protocol (IEEE 1516.1-2025). All but the sockets are state machines: bytes
//! go in, calls and bytes come out.
//!
//! [`FrameReader`] cuts what comes along a connection into frames. [`Session`] numbers what is sent, knows
//! what has arrived, and sends the rest again when its client comes back on another connection. [`Host`] has
//! the run-time infrastructure behind all of them, and [`Server`] carries their bytes over TCP, TLS 1.3 and
//! WebSocket.

#![forbid(unsafe_code)]

mod archive;
mod folder;
mod frame;
mod host;
mod limits;
mod record;
mod server;
mod session;
mod system;
mod transport;

pub use archive::{ArchiveError, MODULE_MAX, RATIO_MAX, unpack};
pub use folder::{ModuleError, ModuleFolder};
pub use frame::{FRAME_MAX, Frame, FrameError, FrameReader, HEADER, Kind, OPENING_MAX};
pub use host::{
    Connection, FederateActivity, FederateObserver, Host, HostStatus, MemberStatus, Outside, Password, Peer,
};
pub use limits::{LimitError, Limits};
pub use paceline_rti::{Client, Digests, FederateDigest, FederateTimes, LogicalTime};
pub use record::{MAGIC, RecordEnd, RecordError, Recorder, Replay, replay};
pub use rustls::ServerConfig;
pub use server::{Server, Stopper};
pub use session::{Received, ResumeError, Session, SessionError, SessionId};
pub use system::System;
pub use transport::{Carrier, Endpoint, EndpointError, TlsError, TransportError, tls_config};
