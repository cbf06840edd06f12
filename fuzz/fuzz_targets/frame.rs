//! Any bytes as a frame between processes, as the payload of one whose header fits, and as that with one byte
//! changed: they are read as what was sent, or refused with a message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_transport::frame::{HEADER_BYTES, decode, encode};
use paceline_transport::marshal::Records;

/// The most bytes of a payload.
const LIMIT: usize = 4_096;

fuzz_target!(|input: &[u8]| {
    read(input);
    let mut frame = Vec::new();
    encode(1, input, &mut frame).expect("an input is not that long");
    if input.len() > LIMIT {
        assert!(decode(&frame, LIMIT).is_err(), "the limit holds");
        return;
    }
    let (header, payload) = decode(&frame, LIMIT).expect("it is undamaged").expect("it is complete");
    assert_eq!((header.sequence(), payload), (1, input));
    read(&frame);
    // Where, and how, the input itself says.
    let place = input.iter().fold(0, |sum, byte| (sum * 31 + usize::from(*byte)) % frame.len());
    frame[place] ^= input.first().map_or(1, |byte| byte | 1);
    // A changed length may ask for bytes that never come.
    frame.resize(HEADER_BYTES + LIMIT, 0);
    assert!(decode(&frame, LIMIT).is_err(), "a changed byte is found");
});

fn read(bytes: &[u8]) {
    match decode(bytes, LIMIT) {
        Ok(Some((_, payload))) => records(payload),
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    records(bytes);
}

fn records(payload: &[u8]) {
    match Records::read(payload) {
        Ok(records) => assert!(records.map(|record| 1 + record.len()).sum::<usize>() < payload.len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
