//! Peers that belong to the run but misbehave: they fall silent, end in the middle, or send invalid frames.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::link::Link;
use super::stream::Stream;
use super::{FRAME_LIMIT, Tcp};
use crate::silence::Limits;
use crate::{Handed, PeerError, PeerErrorKind, Transport, frame};

/// Rank 0 of two with this time limit, and the raw socket of rank 1.
fn peer(time_limit: Duration) -> (Tcp, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (accepted, _) = listener.accept().expect("somebody has connected");
    let link = Link::new(Stream::new(accepted).expect("connected"), FRAME_LIMIT);
    (
        Tcp::new(0, 2, vec![(1, link)], Limits::new(time_limit, time_limit), None)
            .expect("the system has room"),
        socket,
    )
}

/// The frames that arrive until the peer is lost, and the loss.
fn until_lost(tcp: &Tcp) -> (Vec<Vec<u8>>, PeerError) {
    let mut frames = Vec::new();
    loop {
        match tcp.receive(&mut |_, frame| frames.push(frame.to_vec())) {
            Ok(true) => {}
            Ok(false) => tcp.wait(Duration::from_secs(60)),
            Err(error) => return (frames, error),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

fn encoded(sequence: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::encode(sequence, payload, &mut bytes).expect("short enough");
    bytes
}

#[test]
fn damage_ends_the_connection_after_what_came_before_it() {
    let mut flipped = encoded(1, b"second");
    flipped[frame::HEADER_BYTES] ^= 4;
    let mut long = encoded(1, b"second");
    long[4..8].copy_from_slice(&(FRAME_LIMIT as u32 + 1).to_le_bytes());
    let damages = [
        flipped,
        long,
        encoded(2, b"third"),
        encoded(0, b"first"),
        encoded((1 << 63) + 1, b"\0"),
        b"no frame at all, and longer than a header".to_vec(),
    ];
    for damage in damages {
        let (tcp, mut socket) = peer(PATIENCE);
        let bytes = [encoded(0, b"first"), damage.clone(), encoded(1, b"behind the damage")].concat();
        socket.write_all(&bytes).expect("it lives");
        let (frames, lost) = until_lost(&tcp);
        assert_eq!(frames, [b"first"], "{damage:?}");
        assert!(matches!(&lost, PeerError { rank: 1, kind: PeerErrorKind::Damaged(_) }), "{lost}");
        assert_eq!(tcp.send(1, b"hello"), Err(lost), "it stays lost");
        assert_eq!(tcp.receive(&mut |_, _| {}), Ok(false), "and is reported once");
    }
}

#[test]
fn an_end_in_the_middle_of_a_frame_is_an_end() {
    let (tcp, mut socket) = peer(PATIENCE);
    socket.write_all(&encoded(0, b"cut off")[..26]).expect("it lives");
    drop(socket);
    assert_eq!(until_lost(&tcp), (Vec::new(), PeerError::new(1, PeerErrorKind::Gone)));
}

#[test]
fn a_peer_without_a_sign_of_life_is_silent() {
    let limit = Duration::from_millis(100);
    let (tcp, mut socket) = peer(limit);
    socket.write_all(&encoded(0, b"one frame and no more")).expect("it lives");
    let (frames, lost) = until_lost(&tcp);
    assert_eq!((frames.len(), lost), (1, PeerError::new(1, PeerErrorKind::Silent(limit))));
}

/// The receiving thread is inactive for much longer than the time limit, while the peer's helper sends signs
/// of life.
#[test]
fn who_computes_for_long_is_not_lost_and_loses_nobody() {
    let limit = Duration::from_millis(100);
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (accepted, _) = listener.accept().expect("somebody has connected");
    let [first, second] = [(0, 1, accepted), (1, 0, socket)].map(|(rank, other, socket)| {
        let link = Link::new(Stream::new(socket).expect("connected"), FRAME_LIMIT);
        Tcp::new(rank, 2, vec![(other, link)], Limits::new(limit, limit), None).expect("the system has room")
    });
    // Nothing is received, and the frames to be received fill all buffers.
    let (large, mut sent, mut found) = (vec![0; FRAME_LIMIT], 0, 0);
    while first.send(1, &large).expect("it lives") == Handed::Over {
        sent += 1;
    }
    std::thread::sleep(5 * limit);
    while found < sent {
        second.receive(&mut |_, _| found += 1).expect("it lives");
        first.receive(&mut |_, _| {}).expect("it lives");
    }
}

#[test]
fn a_packet_has_the_size_that_was_set_or_a_sensible_one() {
    let (tcp, socket) = peer(PATIENCE);
    assert!((900..=9_000).contains(&tcp.unit(1)), "{}", tcp.unit(1));
    let link = Link::new(Stream::new(socket).expect("connected"), FRAME_LIMIT);
    let tcp = Tcp::new(0, 2, vec![(1, link)], Limits::new(PATIENCE, PATIENCE), Some(1_500))
        .expect("the system has room");
    assert_eq!(tcp.unit(1), 1_500 - frame::HEADER_BYTES);
}
