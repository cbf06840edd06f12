//! What a host knows of its sessions, for whoever runs it.
//!
//! `command/src/rti/status.rs` prints it; how far federates are is worked out by the infrastructure
//! (`federation/status.rs` of `outside/rti`).

use std::collections::BTreeMap;
use std::time::Duration;

use paceline_hla::{Call, Callback};
use paceline_rti::{Client, FederationStatus};

use super::{Host, Member, Outside};

/// The state of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostStatus {
    /// All federations, by name.
    pub federations: Vec<FederationStatus>,
    /// All sessions, those too that have joined no federation.
    pub members: BTreeMap<Client, MemberStatus>,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// How long it has been waiting for a time that it has asked for.
    pub waits: Option<Duration>,
    /// How long ago its last call was.
    pub silence: Duration,
    /// Whether its client is there; one that is not may come back.
    pub is_connected: bool,
}

/// When a session did what it is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activity {
    called_at: Duration,
    /// When it asked for a time, or to be constrained.
    asked_at: Option<Duration>,
}

/// Whether a call asks for a time.
pub(super) fn is_request(call: &Call) -> bool {
    matches!(
        call,
        Call::TimeAdvanceRequest(_)
            | Call::TimeAdvanceRequestAvailable(_)
            | Call::NextMessageRequest(_)
            | Call::NextMessageRequestAvailable(_)
            | Call::FlushQueueRequest(_)
            | Call::EnableTimeConstrained(_)
    )
}

/// Whether a callback gives what was asked for, or says that the federate has another time.
pub(super) fn is_grant(callback: &Callback) -> bool {
    matches!(
        callback,
        Callback::TimeAdvanceGrant(_)
            | Callback::FlushQueueGrant(_)
            | Callback::TimeRegulationEnabled(_)
            | Callback::TimeConstrainedEnabled(_)
    )
}

impl Activity {
    pub(super) fn new(now: Duration) -> Self {
        Self { called_at: now, asked_at: None }
    }

    /// A call has come; `is_request` if it has asked for a time and was not refused.
    pub(super) fn note_call(&mut self, is_request: bool, now: Duration) {
        self.called_at = now;
        if is_request {
            self.asked_at = Some(now);
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.asked_at.is_some()
    }

    pub(super) fn note_callback(&mut self, is_grant: bool) {
        if is_grant {
            self.asked_at = None;
        }
    }
}

impl<O: Outside> Host<O> {
    /// The state of all sessions and federations.
    pub fn status(&self) -> HostStatus {
        let of = |member: &Member| MemberStatus {
            waits: member.activity.asked_at.map(|since| self.now.saturating_sub(since)),
            silence: self.now.saturating_sub(member.activity.called_at),
            is_connected: member.link.is_some(),
        };
        let members = self.sessions.values().map(|member| (member.client, of(member)));
        HostStatus { federations: self.rti.status(), members: members.collect() }
    }
}
