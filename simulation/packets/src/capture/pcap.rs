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
use std::iter::Peekable;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_results::Summary;

use super::names::FileNames;
use super::order::Arrivals;
use super::words::Visit;
use super::{Capture, Log, MOST_SNAP, Packet, Record, back, headers};
use crate::clock::{PS_PER_SECOND, PS_PER_TICK};
use crate::frame::content::set_ecn;
use crate::network::Network;
use crate::queue::Ecn;

/// A time in seconds and nanoseconds, in the byte order of the file.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Packets begin with the protocol field of PPP (LINKTYPE_PPP).
const PPP: u32 = 9;
/// Packets begin with the header of Ethernet (LINKTYPE_ETHERNET).
const ETHERNET: u32 = 1;
/// What a file says of its longest packet where it has headers alone: with all options they are 82 bytes.
const SNAP_OF_HEADERS: u32 = 96;
/// The same where frames of machines are in it, which it has whole.
const SNAP_OF_FRAMES: u32 = 262_144;

/// How many flows have a datagram kept at most; a power of two.
const MOST_TEMPLATES: usize = 256;
/// How many bytes are handed to the file at once: Linux keeps a large block in one piece.
const BLOCK: usize = 256 << 10;

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
    let mut packets = Packets::new(capture, to);
    let (snap, link_type) =
        if capture.is_ethernet { (SNAP_OF_FRAMES, ETHERNET) } else { (SNAP_OF_HEADERS, PPP) };
    packets.bytes.extend(file_header(capture.snap.unwrap_or(snap), link_type));
    // The last moment that is rounded up to a tick before the end.
    let before = |end: Time| Some(end.as_ticks().checked_sub(1)?.saturating_mul(PS_PER_TICK));
    let Some(latest_ps) = end.map_or(Some(u64::MAX), before) else { return packets.finish() };
    let logs =
        |is_sent| sources.iter().filter(move |source| source.is_sent == is_sent).map(|source| &source.log);
    let came = logs(false).flat_map(|log| Arrivals::new(log.records()));
    let came = came.take_while(|(ps, _)| *ps <= latest_ps).peekable();
    let mut merged = Merged { packets, came, came_ps: 0, latest_ps };
    for log in logs(true) {
        log.visit(&mut merged)?;
    }
    merged.add_came(latest_ps)?;
    merged.packets.finish()
}

/// Adds packets that are sent, each after those that have come until then.
struct Merged<'a, I: Iterator<Item = (u64, Record)>> {
    packets: Packets<'a>,
    came: Peekable<I>,
    /// No packet comes before.
    came_ps: u64,
    latest_ps: u64,
}

impl<I: Iterator<Item = (u64, Record)>> Merged<'_, I> {
    #[inline(always)]
    fn add(&mut self, record: &Record) -> io::Result<()> {
        let start_ps = record.start_ps;
        if start_ps > self.latest_ps {
            return Ok(());
        }
        if start_ps >= self.came_ps {
            self.add_came(start_ps)?;
        }
        self.packets.add(start_ps, record)
    }

    /// Adds what has come until `ps`.
    #[inline(never)]
    fn add_came(&mut self, ps: u64) -> io::Result<()> {
        while let Some((ps, record)) = self.came.next_if(|(came_ps, _)| *came_ps <= ps) {
            self.packets.add(ps, &record)?;
        }
        self.came_ps = self.came.peek().map_or(u64::MAX, |(ps, _)| *ps);
        Ok(())
    }
}

impl<I: Iterator<Item = (u64, Record)>> Visit for Merged<'_, I> {
    type Gives = io::Result<()>;

    #[inline(always)]
    fn datagram(&mut self, record: Record) -> io::Result<()> {
        self.add(&record)
    }

    #[inline(never)]
    fn segment(&mut self, record: Record) -> io::Result<()> {
        self.add(&record)
    }

    #[inline(never)]
    fn frame(&mut self, record: Record) -> io::Result<()> {
        self.add(&record)
    }
}

fn file_header(snap: u32, link_type: u32) -> [u8; 24] {
    let mut header = [0; 24];
    // Version 2.4, and two fields that are always zero.
    let fields = [(0, MAGIC), (4, 4 << 16 | 2), (16, snap), (20, link_type)];
    for (place, value) in fields {
        header[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
    header
}

/// Forms packets in blocks of many.
struct Packets<'a> {
    capture: &'a Capture,
    bytes: Vec<u8>,
    /// The last datagrams, each in the place of its flow.
    templates: Vec<Option<Template>>,
    /// The second of the last packet, and when it began.
    second: u32,
    second_ps: u64,
    to: &'a mut dyn Write,
}

/// A datagram as all of its flow are, but for time and number.
struct Template {
    flow: u32,
    is_back: bool,
    bytes: u32,
    ecn: Ecn,
    /// With lengths, in the second 0, with the number 0.
    frame: [u8; headers::DATAGRAM],
}

impl<'a> Packets<'a> {
    fn new(capture: &'a Capture, to: &'a mut dyn Write) -> Self {
        let bytes = Vec::with_capacity(BLOCK + MOST_SNAP as usize);
        let places = capture.flows.len().next_power_of_two().min(MOST_TEMPLATES);
        let templates = (0..places).map(|_| None).collect();
        Self { capture, bytes, templates, second: 0, second_ps: 0, to }
    }

    /// Adds a packet that was seen at `ps`.
    #[inline(always)]
    fn add(&mut self, ps: u64, record: &Record) -> io::Result<()> {
        match record.packet {
            Packet::Udp { flow, number, bytes, ecn, is_back } if self.has_templates() => {
                self.add_datagram(ps, (flow, is_back), (bytes, ecn), number);
            }
            Packet::Udp { flow, number, bytes, ecn, is_back } => {
                let flow = &self.capture.flows[flow as usize][usize::from(is_back)];
                let (mut frame, length) = headers::datagram(flow, number, bytes, ecn);
                self.add_packet(ps, &mut frame, length);
            }
            Packet::Tcp { ref segment, flow, number, bytes, ecn, is_back } => {
                let (key, flow) = ((flow, is_back), &self.capture.flows[flow as usize][usize::from(is_back)]);
                let (mut frame, end, length) = headers::segment(flow, key, segment, (number, bytes, ecn));
                self.add_packet(ps, &mut frame[..end], length);
            }
            Packet::Frame { ref content, ecn } => self.add_frame(ps, content, ecn),
        }
        if self.bytes.len() >= BLOCK { self.hand_over() } else { Ok(()) }
    }

    /// Whether datagrams are copies of their flow's: those of PPP, of which a file has the headers alone.
    #[inline(always)]
    fn has_templates(&self) -> bool {
        self.capture.snap.is_none() && !self.capture.is_ethernet
    }

    /// Adds a frame of a machine, whole unless files hold less.
    #[inline(never)]
    fn add_frame(&mut self, ps: u64, content: &[u8], ecn: Ecn) {
        let mut frame = vec![0; headers::BEFORE];
        frame.extend_from_slice(content);
        set_ecn(&mut frame[headers::BEFORE..], ecn);
        self.add_headers(ps, &mut frame, content.len() as u32);
    }

    /// Adds a packet that the model has formed, with the header of Ethernet where files have one: with the
    /// addresses that machines would have there.
    #[inline(always)]
    fn add_packet(&mut self, ps: u64, frame: &mut [u8], length: u32) {
        if self.capture.is_ethernet {
            let mut frame = headers::with_ethernet(frame);
            return self.add_headers(ps, &mut frame, length + headers::MORE_OF_ETHERNET);
        }
        self.add_headers(ps, frame, length);
    }

    /// Adds the headers of a datagram: a copy of what is the same in its flow, in which a few fields change.
    #[inline(always)]
    fn add_datagram(&mut self, ps: u64, key: (u32, bool), shape: (u32, Ecn), number: u16) {
        let (second, ns) = self.moment(ps);
        let place = key.0 as usize & (self.templates.len() - 1);
        let is_of = |of: &Template| (of.flow, of.is_back) == key && (of.bytes, of.ecn) == shape;
        if !self.templates[place].as_ref().is_some_and(is_of) {
            self.templates[place] = Some(self.template(key, shape));
        }
        if let Some(template) = &self.templates[place] {
            self.bytes.extend_from_slice(&template.frame);
        }
        let frame = self.bytes.last_chunk_mut().expect("it was just added");
        headers::number_datagram(frame, number);
        frame[..4].copy_from_slice(&second.to_le_bytes());
        frame[4..8].copy_from_slice(&ns.to_le_bytes());
    }

    #[inline(never)]
    fn template(&self, (flow, is_back): (u32, bool), (bytes, ecn): (u32, Ecn)) -> Template {
        let address = &self.capture.flows[flow as usize][usize::from(is_back)];
        let (mut frame, length) = headers::datagram(address, 0, bytes, ecn);
        let held = (frame.len() - headers::BEFORE) as u32;
        frame[8..12].copy_from_slice(&held.to_le_bytes());
        frame[12..16].copy_from_slice(&length.to_le_bytes());
        Template { flow, is_back, bytes, ecn, frame }
    }

    /// Adds the headers of a packet of this length, which have room before them for what the file says of it.
    #[inline(always)]
    fn add_headers(&mut self, ps: u64, frame: &mut [u8], length: u32) {
        let (second, ns) = self.moment(ps);
        let (before, headers) = frame.split_at_mut(headers::BEFORE);
        let held = self.capture.snap.map_or(headers.len() as u32, |snap| snap.min(length));
        for (place, field) in before.chunks_exact_mut(4).zip([second, ns, held, length]) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let end = self.bytes.len() + headers::BEFORE + held as usize;
        self.bytes.extend_from_slice(frame);
        // Data are zeros.
        self.bytes.resize(end, 0);
    }

    /// A moment in seconds and nanoseconds. Most are in the second of the one before, which spares divisions.
    #[inline(always)]
    fn moment(&mut self, ps: u64) -> (u32, u32) {
        let mut since_ps = ps.wrapping_sub(self.second_ps);
        if since_ps >= PS_PER_SECOND {
            let second = ps / PS_PER_SECOND;
            (self.second, self.second_ps) = (second as u32, second * PS_PER_SECOND);
            since_ps = ps - self.second_ps;
        }
        (self.second, (since_ps / 1_000) as u32)
    }

    /// Hands over whole blocks, so that each begins where a page of the file does.
    #[inline(never)]
    fn hand_over(&mut self) -> io::Result<()> {
        while self.bytes.len() >= BLOCK {
            self.to.write_all(&self.bytes[..BLOCK])?;
            self.bytes.drain(..BLOCK);
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.hand_over()?;
        self.to.write_all(&self.bytes)
    }
}
