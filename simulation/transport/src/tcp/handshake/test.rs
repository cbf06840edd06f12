//! Handshakes with something that is no paceline process, and with somebody in the middle who changes a bit:
//! nobody gets a link who should not, and the error says something.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::frame;

/// What a handshake may take. A changed length can ask for bytes that never come.
const TIME: Duration = Duration::from_millis(300);

/// More than the bytes of either direction, but for those of certificates.
const PLACES: usize = 400;

static IDENTITY: LazyLock<Identity> = LazyLock::new(|| Identity::new().expect("a certificate can be made"));

fn credentials(security: Security) -> Credentials {
    let secret = Secret::new(b"a secret of these processes").expect("long enough");
    Credentials { secret, security, version: "0.1.0".to_owned(), identity: IDENTITY.clone() }
}

fn security() -> impl Strategy<Value = Security> {
    prop_oneof![Just(Security::Plain), Just(Security::Tls)]
}

/// The two ends of a connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    (listener.accept().expect("somebody has connected").0, socket)
}

/// Passes on what comes, with the bit `flipped` changed, to the end of the stream. Returns the number of
/// bytes.
fn relay(mut from: &TcpStream, mut to: &TcpStream, flipped: Option<usize>) -> usize {
    let (mut passed, mut buffer) = (0, [0; 4_096]);
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if let Some(bit) = flipped
            && (passed..passed + read).contains(&(bit / 8))
        {
            buffer[bit / 8 - passed] ^= 1 << (bit % 8);
        }
        passed += read;
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // The other side may have closed the connection.
    let _ = to.shutdown(Shutdown::Write);
    passed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_bytes_are_refused(
        bytes in vec(any::<u8>(), 0..600),
        (greets, is_framed, accepts) in any::<(bool, bool, bool)>(),
        security in security(),
    ) {
        let credentials = credentials(security);
        let mut said = if greets { Greeting::new(&credentials)?.bytes } else { Vec::new() };
        if is_framed {
            frame::encode(0, &bytes, &mut said)?;
        } else {
            said.extend(bytes);
        }
        let (socket, mut stranger) = pair();
        stranger.write_all(&said)?;
        stranger.shutdown(Shutdown::Write)?;
        let role = if accepts { accept } else { connect };
        let error = role(socket, &credentials, Instant::now() + 10 * TIME).expect_err("no secret, no link");
        prop_assert!(!error.to_string().is_empty());
        prop_assert_ne!(error, HandshakeError::TimedOut, "all was said");
    }

    #[test]
    fn a_changed_bit_makes_no_link_or_changes_nothing(
        bit in 0..8 * PLACES,
        of_connecting in any::<bool>(),
        security in security(),
    ) {
        let credentials = credentials(security);
        let by = Instant::now() + TIME;
        let ((one, near), (far, other)) = (pair(), pair());
        let [there, back] = [of_connecting, !of_connecting].map(|flips| flips.then_some(bit));
        let (links, passed) = thread::scope(|scope| {
            let connecting = scope.spawn(|| connect(one, &credentials, by));
            let accepting = scope.spawn(|| accept(other, &credentials, by));
            let there = scope.spawn(|| relay(&near, &far, there));
            let back = scope.spawn(|| relay(&far, &near, back));
            let links = [connecting, accepting].map(|side| side.join().expect("no panic"));
            let is_used = if let [Ok(one), Ok(other)] = &links {
                let by = Instant::now() + 10 * TIME;
                one.send_by(b"ping", by).and_then(|()| other.receive_by(by)).ok()
            } else {
                None
            };
            let are_linked = links.iter().all(Result::is_ok).then_some(is_used);
            // Both sides close their connections: then the relays end.
            drop(links);
            let passed = [there, back].map(|relay| relay.join().expect("no panic"));
            (are_linked, if of_connecting { passed[0] } else { passed[1] })
        });
        if let Some(received) = links {
            let greeting = FIXED_BYTES + credentials.version.len() + NONCE_BYTES;
            let is_checked = security == Security::Plain || bit / 8 < greeting;
            let ping = if of_connecting { frame::HEADER_BYTES + b"ping".len() } else { 0 };
            if security == Security::Plain && (passed - ping..passed).contains(&(bit / 8)) {
                prop_assert_eq!(received, None, "a changed frame after the handshake is refused");
                return Ok(());
            }
            prop_assert!(bit / 8 >= passed || !is_checked, "a link in spite of bit {bit}");
            // TLS ignores some bits in the headers of its records.
            prop_assert_eq!(received.as_deref(), Some(&b"ping"[..]));
        }
    }
}
