//! Files in the format of libpcap with times in nanoseconds (draft-ietf-opsawg-pcap), which tcpdump, tshark
//! and Wireshark read.
//!
//! A packet that the port sends has the time at which it begins to be sent, one that comes to it the time at
//! which it is there whole. What would be later than the end of the run is left out.
//!
//! Invariant: packets are in the order of their times in picoseconds; at one time those that come stand
//! first, since an answer may be sent in no time.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_results::Summary;

use super::names::FileNames;
use super::{Capture, Log, Record, back, headers};
use crate::clock::tick_of;
use crate::network::Network;

/// A time in seconds and nanoseconds, in the byte order of the file.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Packets begin with the protocol field of PPP (LINKTYPE_PPP).
const LINK_TYPE: u32 = 9;
/// What a file says of its longest packet where it has headers alone: with all options they are 82 bytes.
const SNAP_OF_HEADERS: u32 = 96;

/// What stands before each packet: time and lengths.
const HEADER_BYTES: usize = 16;
/// From how many bytes on they are handed to the file.
const BLOCK: usize = 32 << 10;

/// What a log has of a file's packets.
struct Source {
    log: Arc<Log>,
    is_sent: bool,
}

/// Adds the files of a run to its summary. `logs` are those of all ports that have sent something, by node
/// and port; nothing happened at `end` or later, unless there is none.
pub(crate) fn add_files(
    capture: &Arc<Capture>,
    network: &Network,
    logs: impl IntoIterator<Item = (u32, u32, Log)>,
    end: Option<Time>,
    summary: &mut Summary,
) {
    let logs = logs.into_iter().map(|(node, port, log)| ((node, port), Arc::new(log)));
    let logs: BTreeMap<(u32, u32), Arc<Log>> = logs.collect();
    let mut names = FileNames::default();
    for tap in &capture.taps {
        let peer = network.peer(tap.node, tap.port);
        let name = names.name(network.name(tap.node), network.name(peer), tap.is_both);
        let back = if tap.is_both { back(network, tap) } else { None };
        let ports = [(Some((tap.node, tap.port)), true), (back, false)];
        let source = |(port, is_sent): (Option<(u32, u32)>, bool)| {
            let log = logs.get(&port?)?.clone();
            Some(Source { log, is_sent })
        };
        let sources: Vec<Source> = ports.into_iter().filter_map(source).collect();
        let capture = capture.clone();
        summary.file(name, move |to| write(&capture, &sources, end, to));
    }
}

/// Writes a file.
fn write(capture: &Capture, sources: &[Source], end: Option<Time>, to: &mut dyn Write) -> io::Result<()> {
    let mut packets = Packets { capture, bytes: Vec::with_capacity(2 * BLOCK), to };
    packets.bytes.extend(file_header(capture.snap.unwrap_or(SNAP_OF_HEADERS)));
    let happened = |ps: u64| end.is_none_or(|end| tick_of(ps).0 < end);
    if let [Source { log, is_sent: true }] = sources {
        // A log is in the order of these times.
        let mut records = log.records().filter(|record| happened(record.start_ps));
        records.try_for_each(|record| packets.add(record.start_ps, record))?;
        return packets.finish();
    }
    let mut order: Vec<(u64, bool, &Record)> = Vec::new();
    for Source { log, is_sent } in sources {
        let moment = |record: &Record| if *is_sent { Some(record.start_ps) } else { record.arrival_ps() };
        let moments = log.records().filter_map(|record| Some((moment(record)?, *is_sent, record)));
        order.extend(moments.filter(|(ps, ..)| happened(*ps)));
    }
    order.sort_by_key(|&(ps, is_sent, _)| (ps, is_sent));
    order.into_iter().try_for_each(|(ps, _, record)| packets.add(ps, record))?;
    packets.finish()
}

fn file_header(snap: u32) -> [u8; 24] {
    let mut header = [0; 24];
    // Version 2.4, and two fields that are always zero.
    let fields = [(0, MAGIC), (4, 4 << 16 | 2), (16, snap), (20, LINK_TYPE)];
    for (place, value) in fields {
        header[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
    header
}

/// Forms packets in blocks of many.
struct Packets<'a> {
    capture: &'a Capture,
    bytes: Vec<u8>,
    to: &'a mut dyn Write,
}

impl Packets<'_> {
    /// Adds a packet that was seen at `ps`.
    #[inline]
    fn add(&mut self, ps: u64, record: &Record) -> io::Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        let length = headers::write(&self.capture.flows, &record.packet, &mut self.bytes);
        let mut held = (self.bytes.len() - start - HEADER_BYTES) as u32;
        if let Some(snap) = self.capture.snap {
            held = snap.min(length);
            // Data are zeros.
            self.bytes.resize(start + HEADER_BYTES + held as usize, 0);
        }
        let ns = ps / 1_000;
        let fields = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, held, length];
        for (place, field) in (0..).zip(fields) {
            let place = start + 4 * place;
            self.bytes[place..place + 4].copy_from_slice(&field.to_le_bytes());
        }
        if self.bytes.len() >= BLOCK { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.to.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.hand_over()
    }
}
