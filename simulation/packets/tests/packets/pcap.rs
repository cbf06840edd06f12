//! A reader of pcap files of IPv4 over PPP, written from the formats and not from the code that writes them.
//! It refuses what does not fit together: lengths, checksums over data of zeros, padding of options.

/// A packet of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    pub ns: u64,
    /// The length on the wire, and how much of it the file has.
    pub length: u32,
    pub held: u32,
    pub from: (u32, u16),
    pub to: (u32, u16),
    pub id: u16,
    pub ecn: u8,
    /// Nothing for UDP.
    pub tcp: Option<TcpFields>,
    /// Bytes of data.
    pub data: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpFields {
    pub sequence: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub permits_sack: bool,
    pub stamps: Option<(u32, u32)>,
    pub blocks: Vec<(u32, u32)>,
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

impl Captured {
    pub fn tcp(&self) -> &TcpFields {
        self.tcp.as_ref().expect("a TCP packet")
    }
}

/// Takes numbers from the front of a slice.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().expect("a byte");
        self.0 = rest;
        *first
    }
    fn half(&mut self) -> u16 {
        u16::from(self.byte()) << 8 | u16::from(self.byte())
    }
    fn word(&mut self) -> u32 {
        u32::from(self.half()) << 16 | u32::from(self.half())
    }
    /// Of the host that wrote the file: always least byte first.
    fn little(&mut self) -> u32 {
        self.word().swap_bytes()
    }
}

/// All packets of a file.
pub fn read(file: &[u8]) -> Vec<Captured> {
    read_with_trailer(file, 0)
}

/// The same where so many bytes stand behind what IPv4 has. They are taken off.
pub fn read_with_trailer(file: &[u8], trailer: u32) -> Vec<Captured> {
    let mut bytes = Bytes(file);
    assert_eq!(bytes.little(), 0xa1b2_3c4d, "times in nanoseconds");
    assert_eq!((bytes.little(), bytes.little(), bytes.little()), (0x0004_0002, 0, 0), "version 2.4");
    let snap = bytes.little();
    assert_eq!(bytes.little(), 9, "PPP");
    let mut packets = Vec::new();
    while !bytes.0.is_empty() {
        let [seconds, ns, held, length] = [(); 4].map(|()| bytes.little());
        assert!(ns < 1_000_000_000 && held <= length && held <= snap, "{ns} {held} {length}");
        let (packet, rest) = bytes.0.split_at(held as usize);
        bytes.0 = rest;
        let length = length - trailer;
        let packet = &packet[..packet.len().min(length as usize)];
        packets.push(packet_of(packet, u64::from(seconds) * 1_000_000_000 + u64::from(ns), length));
    }
    assert!(packets.is_sorted_by_key(|packet| packet.ns), "in the order of time");
    packets
}

fn packet_of(frame: &[u8], ns: u64, length: u32) -> Captured {
    assert_eq!(frame[..2], [0, 0x21], "IPv4 over PPP");
    let (header, inner) = frame[2..].split_at(20);
    assert_eq!(sum(header), 0xffff, "checksum of the header");
    let mut ip = Bytes(header);
    assert_eq!(ip.byte(), 0x45);
    let ecn = ip.byte();
    let total = u32::from(ip.half());
    assert_eq!(total, length - 2, "the packet's length");
    let id = ip.half();
    assert_eq!((ip.half(), ip.byte()), (0x4000, 64), "never divided, TTL");
    let (protocol, _) = (ip.byte(), ip.half());
    let (from, to) = (ip.word(), ip.word());
    // Data of zeros add nothing to the sum of what the file has.
    let before = [from >> 16, from & 0xffff, to >> 16, to & 0xffff, u32::from(protocol), total - 20];
    let all = before.iter().fold(u32::from(sum(inner)), |sum, half| sum + half);
    assert_eq!(all % 0xffff, 0, "checksum of packet {id} at {ns} ns");
    let mut inner = Bytes(inner);
    let (from, to) = ((from, inner.half()), (to, inner.half()));
    let (tcp, header) = match protocol {
        6 => tcp_of(&mut inner),
        17 => {
            assert_eq!(u32::from(inner.half()), total - 20);
            assert_ne!(inner.half(), 0, "there is a checksum");
            (None, 8)
        }
        other => panic!("protocol {other}"),
    };
    assert!(inner.0.iter().all(|byte| *byte == 0), "data are zeros");
    let held = frame.len() as u32;
    Captured { ns, length, held, from, to, id, ecn, tcp, data: total - 20 - header }
}

/// Behind the ports: the fields, and the length of the header.
fn tcp_of(bytes: &mut Bytes<'_>) -> (Option<TcpFields>, u32) {
    let (sequence, ack) = (bytes.word(), bytes.word());
    let (offset, flags, window) = (bytes.byte(), bytes.byte(), bytes.half());
    assert_eq!(offset & 0xf, 0);
    let header = usize::from(offset >> 4) * 4;
    let (_, urgent) = (bytes.half(), bytes.half());
    assert_eq!(urgent, 0);
    let mut fields = TcpFields { sequence, ack, flags, window, ..TcpFields::default() };
    let (options, rest) = bytes.0.split_at(header - 20);
    bytes.0 = rest;
    let mut options = Bytes(options);
    while !options.0.is_empty() {
        match options.byte() {
            1 => {}
            kind => {
                let length = options.byte();
                match (kind, length) {
                    (2, 4) => fields.mss = Some(options.half()),
                    (3, 3) => fields.scale = Some(options.byte()),
                    (4, 2) => fields.permits_sack = true,
                    (5, 10 | 18 | 26 | 34) => {
                        let blocks = (0..length / 8).map(|_| (options.word(), options.word()));
                        fields.blocks = blocks.collect();
                    }
                    (8, 10) => fields.stamps = Some((options.word(), options.word())),
                    other => panic!("option {other:?}"),
                }
            }
        }
    }
    (Some(fields), header as u32)
}

/// The sum of RFC 1071, not inverted.
fn sum(bytes: &[u8]) -> u16 {
    let halves = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = halves.sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    ((folded >> 16) + (folded & 0xffff)) as u16
}
