//! Models of which packets are captured.

use std::sync::Arc;

use super::Packets;
use crate::PacketError;
use crate::capture::{Capture, Log, Packet};
use crate::frame::MOST_CONTENT;

impl Packets {
    /// The same with packets captured on the links that `patterns` name. "A -> B" stands for the packets that
    /// A sends to B, "A <-> B" for those that A sends to B and receives from it, "A" for the same with all
    /// neighbours of A; names are as in [`Network::select`](crate::Network::select). Each direction, or each
    /// port with both, is a file of the results. `snap` is how many bytes of a packet a file has; without it,
    /// the headers.
    ///
    /// # Errors
    ///
    /// [`PacketError::UnknownNode`], [`PacketError::Capture`], [`PacketError::Snap`]; and
    /// [`PacketError::TooMany`] where there are more hosts than addresses, or more flows between two hosts
    /// than ports.
    pub fn capture<P: AsRef<str>>(mut self, patterns: &[P], snap: Option<u32>) -> Result<Self, PacketError> {
        let mut capture = Capture::new(&self.network, &self.flows.list, patterns, snap)?;
        let ports = capture.ports(&self.network);
        self.network.capture(&ports);
        capture.is_ethernet = self.stations.is_some();
        self.capture = Some(Arc::new(capture));
        Ok(self)
    }

    /// Whether what a log has can be written: for states that come from a file.
    pub(super) fn admits_log(&self, log: &Log) -> bool {
        let flows = self.flows.list.len();
        log.records().all(|record| match record.packet {
            Packet::Udp { flow, .. } | Packet::Tcp { flow, .. } => (flow as usize) < flows,
            Packet::Frame { ref content, .. } => self.stations.is_some() && content.len() <= MOST_CONTENT,
        })
    }
}
