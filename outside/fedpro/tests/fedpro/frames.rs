//! Frames: what is written is read, in whatever pieces it comes, and nothing else is.

use paceline_fedpro::{FRAME_MAX, Frame, FrameError, FrameReader, HEADER, Kind};
use proptest::prelude::*;

const KINDS: [Kind; 13] = [
    Kind::NewSession,
    Kind::NewSessionStatus,
    Kind::Heartbeat,
    Kind::HeartbeatResponse,
    Kind::TerminateSession,
    Kind::SessionTerminated,
    Kind::OtherSessionTerminated,
    Kind::ResumeRequest,
    Kind::ResumeStatus,
    Kind::CallRequest,
    Kind::CallResponse,
    Kind::CallbackRequest,
    Kind::CallbackResponse,
];

fn any_number() -> impl Strategy<Value = Option<u32>> {
    prop::option::of(0..1_u32 << 31)
}

prop_compose! {
    fn any_frame()(
        number in any_number(),
        session: u64,
        last_received in any_number(),
        kind in prop::sample::select(&KINDS[..]),
        body in prop::collection::vec(any::<u8>(), 0..50),
    ) -> Frame {
        Frame { number, session, last_received, kind, body: body.into() }
    }
}

#[test]
fn a_frame_has_its_numbers_where_the_standard_has_them() {
    let body = vec![0xaa, 0xbb].into();
    let frame = Frame {
        number: Some(0x102),
        session: 0x0304_0506,
        last_received: None,
        kind: Kind::CallRequest,
        body,
    };
    let mut bytes = Vec::new();
    frame.write(&mut bytes);
    assert_eq!(
        bytes,
        [0, 0, 0, 26, 0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0x80, 0, 0, 0, 0, 0, 0, 20, 0xaa, 0xbb]
    );
}

#[test]
fn sizes_and_kinds_that_make_no_sense_are_refused_before_more_is_read() {
    let read = |size: u32, limit: Option<usize>| {
        let mut reader = FrameReader::default();
        limit.into_iter().for_each(|limit| reader.set_limit(limit));
        reader.push(&size.to_be_bytes());
        reader.next_frame()
    };
    assert_eq!(read(23, None), Err(FrameError::Short { size: 23 }));
    assert_eq!(read(0, None), Err(FrameError::Short { size: 0 }));
    assert_eq!(read(65, None), Err(FrameError::Long { size: 65, limit: 64 }), "before there is a session");
    assert_eq!(read(65, Some(FRAME_MAX)), Ok(None));
    assert_eq!(read(u32::MAX, Some(FRAME_MAX)), Err(FrameError::Long { size: 0xffff_ffff, limit: 16 << 20 }));
    for kind in [0_u32, 8, 9, 12, 19, 24, u32::MAX] {
        let mut bytes = vec![0; HEADER];
        bytes[3] = HEADER as u8;
        bytes[20..].copy_from_slice(&kind.to_be_bytes());
        let mut reader = FrameReader::default();
        reader.push(&bytes);
        assert_eq!(reader.next_frame(), Err(FrameError::Kind { kind }));
    }
}

proptest! {
    #[test]
    fn frames_are_read_as_they_were_written(
        frames in prop::collection::vec(any_frame(), 0..8),
        pieces in prop::collection::vec(1..40_usize, 1..30),
    ) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut bytes));
        let (mut reader, mut rest, mut read) = (FrameReader::default(), &bytes[..], Vec::new());
        reader.set_limit(FRAME_MAX);
        for piece in pieces.iter().cycle() {
            let (piece, after) = rest.split_at((*piece).min(rest.len()));
            reader.push(piece);
            while let Some(frame) = reader.next_frame().expect("these are frames") {
                read.push(frame);
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut reader = FrameReader::default();
        reader.push(&bytes);
        let mut left = bytes.len();
        while let Ok(Some(frame)) = reader.next_frame() {
            left -= HEADER + frame.body.len();
        }
        prop_assert!(left <= bytes.len());
    }
}
