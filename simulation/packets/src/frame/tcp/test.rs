//! Segments that are written and read again, and what is no segment.

use proptest::prelude::*;

use super::*;

const FLAG_SETS: [Flags; 6] = [Flags::ACK, Flags::SYN, Flags::FIN, Flags::RST, Flags::ECE, Flags::CWR];

fn place() -> impl Strategy<Value = Place> {
    (any::<[u32; 2]>(), any::<[u16; 2]>()).prop_map(|(addresses, ports)| Place { addresses, ports })
}

fn numbers() -> impl Strategy<Value = Numbers> {
    (any::<[u32; 2]>(), [0u8..15, 0u8..15]).prop_map(|(firsts, scales)| Numbers { firsts, scales })
}

/// A segment as a connection makes it: its window is a multiple of its scale, and fits the header.
fn segment(scale: u8) -> impl Strategy<Value = Segment> {
    let flags = proptest::collection::vec(any::<bool>(), 8);
    let block =
        (0u64..1 << 20, 1u64..1 << 20).prop_map(|(start, length)| Block { start, end: start + length });
    let syn = (any::<u16>(), proptest::option::of(0u8..15), any::<bool>());
    (
        any::<[u32; 2]>(),
        any::<u16>(),
        any::<[u32; 2]>(),
        0u16..1460,
        flags,
        proptest::collection::vec(block, 0..4),
        syn,
    )
        .prop_map(
            move |([sequence, ack], window, [stamp, echo], length, on, blocks, (mss, shift, sack))| {
                let mut flags = Flags::NONE;
                for (flag, on) in FLAG_SETS.into_iter().zip(&on) {
                    flags = flags.with(flag, *on);
                }
                flags = flags.with(Flags::PSH, on[6]).with(Flags::TIMESTAMPS, on[7]);
                let is_syn = flags.contains(Flags::SYN);
                let mut held = SackBlocks::default();
                blocks.into_iter().take(3).for_each(|block| held.push(block));
                let options = match is_syn {
                    true => Some(Options::Syn { mss, scale: shift, sack }),
                    false if held.blocks().is_empty() => None,
                    false => Some(Options::Sack(held)),
                };
                let stamps = |number| if flags.contains(Flags::TIMESTAMPS) { number } else { 0 };
                Segment {
                    sequence: sequence.into(),
                    ack: if flags.contains(Flags::ACK) { ack.into() } else { 0 },
                    window: u32::from(window) << if is_syn { 0 } else { scale },
                    stamp: stamps(stamp),
                    echo: stamps(echo),
                    length,
                    flags,
                    options: options.map(Box::new),
                }
            },
        )
}

/// Everything of a case: numbers, a segment of the end that has their first, and what stands behind it.
fn cases() -> impl Strategy<Value = (Place, Numbers, Segment, u16, usize)> {
    (place(), numbers()).prop_flat_map(|(place, numbers)| {
        (Just(place), Just(numbers), segment(numbers.scales[0]), any::<u16>(), 0usize..20)
    })
}

proptest! {
    #[test]
    fn a_segment_that_is_written_is_read((place, numbers, segment, number, padding) in cases()) {
        let data: Vec<u8> = (0..segment.length).map(|at| (at ^ number) as u8).collect();
        let mut frame = write(place, &numbers, &segment, &data, number);
        frame.resize(frame.len() + padding, 0);
        let read = WireSegment::read(&frame).unwrap();
        prop_assert_eq!(read.addresses, place.addresses);
        prop_assert_eq!(read.ports, place.ports);
        prop_assert_eq!(read.data, &data[..]);
        prop_assert_eq!(u64::from(read.sequence_length()), segment.sequence_length());
        // As its peer reads it, whose numbers are the other way round.
        let Numbers { firsts: [first, second], scales: [scale, other] } = numbers;
        let of_peer = Numbers { firsts: [second, first], scales: [other, scale] };
        let blocks = segment.sack_blocks().first().map_or(segment.ack, |block| block.start);
        let near = if segment.has(Flags::ACK) { segment.ack } else { blocks };
        // Blocks are within 2^31 of the acknowledged, in a connection as it is.
        prop_assume!(segment.sack_blocks().iter().all(|block| block.end.abs_diff(near) < 1 << 31));
        prop_assert_eq!(read.segment(&of_peer, segment.sequence, near), segment);
    }

    /// A bit of the packet that flips is found: in a header by a checksum, or since nothing fits any more.
    #[test]
    fn a_flipped_bit_is_found((place, numbers, segment, number, _) in cases(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let data = vec![7; usize::from(segment.length)];
        let mut frame = write(place, &numbers, &segment, &data, number);
        let at = ETHERNET + at.index(frame.len() - ETHERNET);
        frame[at] ^= 1 << bit;
        prop_assert!(WireSegment::read(&frame).is_err(), "byte {at}");
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), is_ipv4 in any::<bool>()) {
        if is_ipv4 && bytes.len() > 24 {
            bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
            bytes[23] = TCP;
        }
        let _ = WireSegment::read(&bytes);
        let _ = WireOptions::read(&bytes);
        let _ = WireSegment::of_tcp([1, 2], &bytes);
    }
}

/// The SYN that Linux 6.12 sends to 10.0.0.1: MSS, SACK permitted, timestamps, NOP, window scale.
#[test]
fn a_syn_of_linux_is_read() {
    let options = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7];
    let read = WireOptions::read(&options).unwrap();
    assert_eq!(
        (read.mss, read.scale, read.permits_sack, read.stamps),
        (Some(1460), Some(7), true, Some([9, 0]))
    );
}

#[test]
fn options_that_end_beyond_the_header_are_refused() {
    for options in [&[2][..], &[2, 5, 1, 1], &[8, 1], &[2, 3, 1], &[5, 9, 0, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(WireOptions::read(options), Err(Unreadable::Malformed), "{options:?}");
    }
    assert_eq!(
        WireOptions::read(&[1, 0, 2, 99]),
        Ok(WireOptions::default()),
        "nothing is read behind the end"
    );
    assert_eq!(WireOptions::read(&[77, 4, 1, 2]), Ok(WireOptions::default()), "what is unknown is left out");
}
