//! Frames are decoded as they were encoded, and damaged ones are refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// More bytes than any payload here.
const LIMIT: usize = 4_096;

proptest! {
    #[test]
    fn what_is_sent_comes_back(payloads in vec(vec(any::<u8>(), 0..2_000), 1..5), first in any::<u64>()) {
        let mut bytes = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            encode(first.wrapping_add(number as u64), payload, &mut bytes)?;
        }
        let mut rest = &bytes[..];
        for (number, payload) in payloads.iter().enumerate() {
            let (header, found) = decode(rest, LIMIT)?.expect("the frame is complete");
            prop_assert_eq!(found, &payload[..]);
            header.check(first.wrapping_add(number as u64), found)?;
            rest = &rest[HEADER_BYTES + found.len()..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn a_part_is_not_a_frame(payload in vec(any::<u8>(), 0..600), sequence in any::<u64>()) {
        let mut bytes = Vec::new();
        encode(sequence, &payload, &mut bytes)?;
        for end in 0..bytes.len() {
            prop_assert_eq!(decode(&bytes[..end], LIMIT)?, None);
        }
    }

    #[test]
    fn a_flipped_bit_is_found(payload in vec(any::<u8>(), 0..300), sequence in any::<u64>()) {
        let mut bytes = Vec::new();
        encode(sequence, &payload, &mut bytes)?;
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            // A greater length asks for bytes that never come; if they are there, the checksum is wrong.
            let more = [&bytes[..], &[0; LIMIT]].concat();
            prop_assert!(decode(&bytes, LIMIT).is_err() || decode(&more, LIMIT).is_err(), "bit {}", bit);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn any_bytes_can_be_read(bytes in vec(any::<u8>(), 0..200), genuine in any::<bool>(), limit in 0_usize..300) {
        let mut bytes = bytes;
        if genuine && bytes.len() >= 4 {
            bytes[..3].copy_from_slice(&MAGIC);
            bytes[3] = VERSION;
        }
        if let Ok(Some((header, payload))) = decode(&bytes, limit) {
            prop_assert!(payload.len() <= limit && header.length() == payload.len());
        }
    }
}

#[test]
fn lengths_are_bounded() {
    let mut bytes = Vec::new();
    encode(0, &[1; 100], &mut bytes).expect("100 bytes are few");
    assert_eq!(decode(&bytes, 99), Err(FrameError::Length { length: 100, limit: 99 }));
    bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let length = u64::from(u32::MAX);
    assert_eq!(decode(&bytes, usize::MAX), Err(FrameError::Length { length, limit: PAYLOAD_LIMIT }));
}

#[test]
fn another_version_is_named() {
    let mut bytes = Vec::new();
    encode(0, b"", &mut bytes).expect("nothing is little");
    bytes[3] = 9;
    let error = decode(&bytes, 0).expect_err("nobody has written version 9");
    assert_eq!(error.to_string(), "a frame of version 9, this is version 1");
}

#[test]
fn a_missing_frame_is_found() {
    let header = Header::new(5, b"five").expect("4 bytes are few");
    assert_eq!(header.check(4, b"five"), Err(FrameError::Sequence { expected: 4, found: 5 }));
    assert_eq!(header.check(5, b"five"), Ok(()));
}
