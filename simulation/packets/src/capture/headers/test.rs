//! The headers beside an encoder that is written for nothing but to be plain: field after field, and
//! checksums over all bytes of a packet.

use paceline_kernel::Rng;

use super::*;
use crate::tcp::SackBlocks;

/// RFC 1071 over all bytes, with the pseudo header before them.
fn reference_checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |second| u64::from(*second));
        }
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// What stands before `above` in a file, and `above` without its data, with its checksum at `place`.
fn reference_packet(
    flow: FlowAddress,
    (protocol, number, ecn): (u8, u16, u8),
    mut above: Vec<u8>,
    place: usize,
    data: usize,
) -> Vec<u8> {
    let length = above.len() + data;
    let [from, to] = flow.addresses.map(u32::to_be_bytes);
    let pseudo = [&from[..], &to, &[0, protocol], &(length as u16).to_be_bytes()].concat();
    let checksum = match reference_checksum(&[&pseudo, &above, &vec![0; data]]) {
        0 if protocol == 17 => 0xffff,
        other => other,
    };
    above[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
    let mut header = vec![0x45, ecn];
    header.extend((length as u16 + 20).to_be_bytes());
    header.extend(number.to_be_bytes());
    header.extend([0x40, 0, 64, protocol, 0, 0]);
    header.extend(from);
    header.extend(to);
    let checksum = reference_checksum(&[&header]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [vec![0, 0x21], header, above].concat()
}

/// The four values of the field, as RFC 3168 has them.
const ECNS: [(Ecn, u8); 4] =
    [(Ecn::NotCapable, 0), (Ecn::Capable1, 1), (Ecn::Capable0, 2), (Ecn::Congested, 3)];

fn address(rng: &mut Rng) -> FlowAddress {
    // Sums that are just carried, or just not.
    let mut word =
        || if rng.below(3) == 0 { u32::MAX - rng.below(3) as u32 } else { rng.below(1 << 32) as u32 };
    let (addresses, ports) = ([word(), word()], [word() as u16, word() as u16]);
    FlowAddress::new(addresses, ports, [rng.below(15) as u8, rng.below(15) as u8])
}

#[test]
fn datagrams_are_those_of_the_reference() {
    for case in 0..20_000 {
        let mut rng = Rng::new(case, 0x6865_6164);
        let flow = address(&mut rng);
        let (number, (ecn, ecn_bits)) = (rng.below(1 << 16) as u16, ECNS[rng.below(4) as usize]);
        let bytes = [rng.below(60), rng.below(2_000), rng.below(100_000)][rng.below(3) as usize] as u32;
        let data = bytes.saturating_sub(30).min(65_507);
        let mut above = [flow.ports[0].to_be_bytes(), flow.ports[1].to_be_bytes()].concat();
        above.extend((data as u16 + 8).to_be_bytes());
        above.extend([0, 0]);
        let expected = reference_packet(flow, (17, number, ecn_bits), above, 6, data as usize);
        let (frame, length) = datagram(&flow, number, bytes, ecn);
        assert_eq!((&frame[BEFORE..], length), (&expected[..], bytes.max(30)), "case {case}");
    }
}

#[test]
fn a_datagram_that_gets_a_number_is_as_if_it_had_had_it() {
    for case in 0..10 {
        let flow = address(&mut Rng::new(case, 0x6e75_6d62));
        let (template, _) = datagram(&flow, 0, 1_030, Ecn::Capable0);
        for number in 0..=u16::MAX {
            let mut frame = template;
            number_datagram(&mut frame, number);
            assert_eq!(frame, datagram(&flow, number, 1_030, Ecn::Capable0).0, "case {case}, {number}");
        }
    }
}

/// A sum that is zero is found by trying all ports.
#[test]
fn a_datagram_has_a_checksum_whatever_its_sum() {
    let flow = |port| FlowAddress::new([0x0a00_0001, 0x0a00_0002], [port, 1], [0, 0]);
    let checksum = |port| {
        let (frame, _) = datagram(&flow(port), 7, 100, Ecn::NotCapable);
        u16::from_be_bytes([frame[ABOVE + 6], frame[ABOVE + 7]])
    };
    let checksums: Vec<u16> = (0..=u16::MAX).map(checksum).collect();
    assert!(!checksums.contains(&0) && checksums.contains(&0xffff));
}

/// The options as bytes, as RFC 7323, RFC 2018 and RFC 6691 have them.
fn reference_options(segment: &Segment, first_of_peer: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let has_stamps = segment.has(Flags::TIMESTAMPS);
    let stamps = [&[8, 10][..], &segment.stamp.to_be_bytes(), &segment.echo.to_be_bytes()].concat();
    match segment.options.as_deref() {
        Some(Options::Syn { mss, scale, sack }) => {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
            match (has_stamps, *sack) {
                (true, true) => out.extend([&[4, 2][..], &stamps].concat()),
                (true, false) => out.extend([&[1, 1][..], &stamps].concat()),
                (false, true) => out.extend([1, 1, 4, 2]),
                (false, false) => {}
            }
            out.extend(scale.iter().flat_map(|scale| [1, 3, 3, *scale]));
            return out;
        }
        _ if has_stamps => out.extend([&[1, 1][..], &stamps].concat()),
        _ => {}
    }
    let blocks = segment.sack_blocks();
    if !blocks.is_empty() {
        out.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
    }
    for block in blocks {
        out.extend(first_of_peer.wrapping_add(block.start as u32).to_be_bytes());
        out.extend(first_of_peer.wrapping_add(block.end as u32).to_be_bytes());
    }
    out
}

fn random_segment(rng: &mut Rng) -> Segment {
    let mut offset = || rng.below(1 << 40);
    let (sequence, ack) = (offset(), offset());
    let mut blocks = SackBlocks::default();
    let most = [0, 1, 3, 4][offset() as usize % 4];
    (0..most).for_each(|_| blocks.push(Block { start: offset(), end: offset() }));
    let options = match rng.below(4) {
        0 => None,
        1 => Some(Options::Sack(blocks)),
        _ => {
            let scale = (rng.below(2) == 0).then(|| rng.below(15) as u8);
            Some(Options::Syn { mss: rng.below(1 << 16) as u16, scale, sack: rng.below(2) == 0 })
        }
    };
    let is_syn = matches!(options, Some(Options::Syn { .. }));
    // Four blocks leave no room for timestamps.
    let has_stamps = most < 4 && rng.below(2) == 0;
    let flags = Flags::NONE.with(Flags::ACK, rng.below(4) > 0).with(Flags::SYN, is_syn);
    let flags = flags.with(Flags::TIMESTAMPS, has_stamps).with(Flags::CWR, rng.below(9) == 0);
    let most_data = [1 << 4, 1 << 11, 1 << 16][rng.below(3) as usize];
    Segment {
        sequence,
        ack,
        window: rng.below(1 << 30) as u32,
        stamp: rng.below(1 << 32) as u32,
        echo: rng.below(1 << 32) as u32,
        length: rng.below(most_data) as u16,
        flags,
        options: options.map(Box::new),
    }
}

#[test]
fn segments_are_those_of_the_reference() {
    for case in 0..20_000 {
        let mut rng = Rng::new(case, 0x7365_676d);
        let (flow, sent) = (address(&mut rng), random_segment(&mut rng));
        let (number, (ecn, ecn_bits)) = (rng.below(1 << 16) as u16, ECNS[rng.below(4) as usize]);
        let key = (rng.below(1 << 32) as u32, rng.below(2) == 0);
        let (first, first_of_peer) = (first_number(key.0, key.1), first_number(key.0, !key.1));
        let mut above = [flow.ports[0].to_be_bytes(), flow.ports[1].to_be_bytes()].concat();
        let sequence = first.wrapping_add(sent.sequence as u32);
        let ack = if sent.has(Flags::ACK) { first_of_peer.wrapping_add(sent.ack as u32) } else { 0 };
        above.extend(sequence.to_be_bytes());
        above.extend(ack.to_be_bytes());
        let options = reference_options(&sent, first_of_peer);
        above.extend([((20 + options.len() as u8) / 4) << 4, sent.flags.header_byte()]);
        let scale = if sent.has(Flags::SYN) { 0 } else { flow.scales[0] };
        above.extend(((sent.window >> scale).min(65_535) as u16).to_be_bytes());
        above.extend([0; 4]);
        above.extend(options);
        let data = usize::from(sent.length).min(65_515 - above.len());
        let length = (22 + above.len() + data) as u32;
        let expected = reference_packet(flow, (6, number, ecn_bits), above, 16, data);
        let bytes = length + rng.below(3) as u32;
        let (frame, end, wire_bytes) = segment(&flow, key, &sent, (number, bytes - 1, ecn));
        assert_eq!(&frame[BEFORE..end], &expected[..], "case {case}");
        assert_eq!(wire_bytes, (bytes - 1).max(length), "case {case}");
    }
}
