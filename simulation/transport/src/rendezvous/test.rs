//! Runs whose processes are threads of the test: every kind of link, and connections that do not belong to
//! the run.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::{
    Coordinator, Handed, HandshakeError, Mesh, PeerErrorKind, Prefer, Refusal, RendezvousError, Secret,
    Security, Settings, Transport, join,
};

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn settings(secret: &str) -> Settings {
    Settings::new(Secret::new(secret.as_bytes()).expect("long enough")).time_limit(PATIENCE)
}

fn ours() -> Settings {
    settings("the secret of this run")
}

/// A run with these settings for each rank; `act` runs in a thread for each.
fn run(ranks: &[Settings], act: impl Fn(Mesh, &[u8]) + Sync) {
    let coordinator = Coordinator::listen("127.0.0.1:0", ranks.len() as u32, &ranks[0]).expect("loopback");
    let address = coordinator.address();
    thread::scope(|scope| {
        for settings in &ranks[1..] {
            let act = &act;
            scope.spawn(move || {
                let (mesh, charge) = join(address, settings).expect("the coordinator waits");
                act(mesh, &charge);
            });
        }
        act(coordinator.gather(b"charge").expect("the others come"), b"charge");
    });
}

/// Every rank sends `frames` frames of different sizes to every other one, and receives all that the others
/// send, in order.
fn exchange(mesh: &Mesh, frames: u32) {
    let ranks = mesh.ranks();
    let size = |rank: u32, number: u32| (rank as usize * 7 + number as usize * 131) % 20_000 + 8;
    let (mut sent, mut found) = (vec![0_u32; ranks as usize], vec![0_u32; ranks as usize]);
    loop {
        let mut busy = false;
        for peer in (0..ranks).filter(|peer| *peer != mesh.rank()) {
            let number = sent[peer as usize];
            if number < frames {
                let mut frame = vec![number as u8; size(mesh.rank(), number)];
                frame[..4].copy_from_slice(&number.to_le_bytes());
                if mesh.send(peer, &frame).expect("nobody is lost") == Handed::Over {
                    sent[peer as usize] += 1;
                    busy = true;
                }
            }
        }
        let taken = mesh.receive(&mut |from, frame| {
            let expected = found[from as usize];
            assert_eq!(frame[..4], expected.to_le_bytes(), "the next frame of {from}");
            assert_eq!(frame.len(), size(from, expected));
            assert!(frame[4..].iter().all(|byte| *byte == expected as u8));
            found[from as usize] += 1;
        });
        busy |= taken.expect("nobody is lost");
        let total = frames * (ranks - 1);
        if sent.iter().sum::<u32>() == total && found.iter().sum::<u32>() == total {
            return;
        }
        if !busy {
            mesh.wait(PATIENCE);
        }
    }
}

fn all_to_all(ranks: &[Settings], kinds: &[&str]) {
    let (frames, end) = (200, Barrier::new(ranks.len()));
    run(ranks, |mesh, charge| {
        assert_eq!(charge, b"charge");
        exchange(&mesh, frames);
        let paths = mesh.paths();
        assert_eq!(paths.len(), ranks.len() - 1);
        for path in paths {
            assert!(kinds.contains(&path.kind), "{}", path.kind);
            assert_eq!((path.frames_sent, path.frames_received), (u64::from(frames), u64::from(frames)));
        }
        mesh.close();
        end.wait();
    });
}

#[test]
fn every_frame_arrives_in_order_over_every_kind_of_link() {
    let kinds = [(Security::Tls, "TLS"), (Security::Plain, "TCP")];
    for (security, kind) in kinds {
        all_to_all(&vec![ours().security(security).prefer(Prefer::Tcp); 4], &[kind]);
    }
    all_to_all(&vec![ours().prefer(Prefer::SharedMemory); 4], &["shared memory"]);
}

#[test]
fn links_of_both_kinds_make_one_mesh() {
    let auto = ours().security(Security::Plain);
    let apart = auto.clone().prefer(Prefer::Tcp);
    all_to_all(&[auto.clone(), auto.clone(), apart.clone(), apart, auto], &["shared memory", "TCP"]);
}

#[test]
fn a_run_of_one_process_has_a_mesh_that_can_be_woken() {
    run(&[ours()], |mesh, _| {
        mesh.wake();
        mesh.wait(PATIENCE);
        assert!(mesh.paths().is_empty());
    });
}

/// A wake-up or a frame ends a sleep that would outlast the test, whatever the other links are.
#[test]
fn wake_ups_and_arrivals_end_a_wait() {
    let plain = ours().security(Security::Plain);
    let apart = plain.clone().prefer(Prefer::Tcp);
    for ranks in
        [vec![plain.clone(), plain.clone(), apart.clone()], vec![apart.clone(), apart.clone(), apart]]
    {
        let end = Barrier::new(3);
        run(&ranks, |mesh, _| {
            if mesh.rank() == 0 {
                thread::scope(|scope| {
                    scope.spawn(|| mesh.wake());
                    mesh.wait(PATIENCE);
                });
                end.wait();
                let mut from = Vec::new();
                while from.len() < 20 {
                    if !mesh.receive(&mut |rank, _| from.push(rank)).expect("nobody is lost") {
                        mesh.wait(PATIENCE);
                    }
                }
            } else {
                end.wait();
                for _ in 0..10 {
                    assert_eq!(mesh.send(0, b"wake up").expect("nobody is lost"), Handed::Over);
                    thread::yield_now();
                }
            }
            end.wait();
            mesh.close();
        });
    }
}

#[test]
fn a_full_link_refuses_and_loses_nothing() {
    // Signs of life come so rarely that none ends the wait.
    let settings = ours().security(Security::Plain).prefer(Prefer::Tcp).silence_limit(10 * PATIENCE);
    let ranks = vec![settings; 2];
    let end = Barrier::new(2);
    run(&ranks, |mesh, _| {
        if mesh.rank() == 0 {
            let (mut sent, frame) = (0_u32, vec![1; mesh.frame_limit(1)]);
            while mesh.send(1, &frame).expect("it lives") == Handed::Over {
                sent += 1;
            }
            end.wait();
            // The other process receives what has arrived.
            end.wait();
            // Nothing arrives here: the new room ends the wait, even if `receive` has noticed it first.
            mesh.receive(&mut |_, _| {}).expect("it lives");
            let start = Instant::now();
            mesh.wait(PATIENCE);
            assert!(start.elapsed() < PATIENCE, "nobody says that there is room");
            assert_eq!(mesh.send(1, &frame).expect("it lives"), Handed::Over);
            while mesh.send(1, &(sent + 1).to_le_bytes()).expect("it lives") == Handed::Full {
                mesh.wait(PATIENCE);
            }
        } else {
            end.wait();
            let (mut found, mut announced) = (0_u32, None);
            while found < 4 {
                mesh.receive(&mut |_, _| found += 1).expect("it lives");
            }
            while mesh.receive(&mut |_, _| found += 1).expect("it lives") {}
            end.wait();
            while announced.is_none() {
                let any = mesh.receive(&mut |_, frame| match frame.try_into() {
                    Ok(number) => announced = Some(u32::from_le_bytes(number)),
                    Err(_) => found += 1,
                });
                if !any.expect("it lives") {
                    mesh.wait(PATIENCE);
                }
            }
            assert_eq!(announced, Some(found), "all that was handed over, and in order");
        }
        end.wait();
        mesh.close();
    });
}

#[test]
fn a_peer_that_drops_out_is_gone_and_one_that_takes_leave_is_not() {
    for (leaves, prefer) in [(false, Prefer::Tcp), (true, Prefer::Tcp), (false, Prefer::SharedMemory)] {
        run(&vec![ours().prefer(prefer); 2], |mesh, _| {
            if mesh.rank() == 1 {
                assert_eq!(mesh.send(0, b"last words").expect("it lives"), Handed::Over);
                if leaves {
                    mesh.close();
                }
                return;
            }
            let (mut words, mut lost) = (0, None);
            let by = Instant::now() + Duration::from_millis(if leaves { 300 } else { 60_000 });
            while lost.is_none() && Instant::now() < by {
                match mesh.receive(&mut |_, _| words += 1) {
                    Ok(false) => mesh.wait(Duration::from_millis(20)),
                    Ok(true) => {}
                    Err(error) => lost = Some(error),
                }
            }
            assert_eq!(words, 1, "what it sent is taken in first");
            assert_eq!(
                lost.map(|error| (error.rank, error.kind)),
                (!leaves).then_some((1, PeerErrorKind::Gone))
            );
        });
    }
}

/// Gathers two processes while `visit` uses the same address; returns why connections were refused.
fn visited(settings: &Settings, visit: impl FnOnce(SocketAddr)) -> Vec<HandshakeError> {
    let coordinator = Coordinator::listen("127.0.0.1:0", 2, settings).expect("loopback");
    let address = coordinator.address();
    thread::scope(|scope| {
        let gathered = scope.spawn(|| coordinator.gather(b""));
        visit(address);
        join(address, settings).expect("the coordinator still waits");
        let mesh = gathered.join().expect("no panic").expect("two of two");
        let errors = |refusal: &Refusal| vec![refusal.error.clone(); refusal.times as usize];
        let mut refusals: Vec<_> = mesh.refusals().list().iter().flat_map(errors).collect();
        // Each handshake has its own thread.
        refusals.sort_by_key(|error| format!("{error:?}"));
        refusals
    })
}

fn refusal(error: RendezvousError) -> HandshakeError {
    match error {
        RendezvousError::Connect { error, .. } => error,
        other => panic!("not refused at the gate: {other}"),
    }
}

#[test]
fn a_wrong_secret_is_refused_on_both_sides() {
    for security in [Security::Tls, Security::Plain] {
        let refusals = visited(&ours().security(security), |address| {
            let error =
                join(address, &settings("another secret of 16").security(security)).expect_err("wrong");
            assert_eq!(refusal(error), HandshakeError::Denied);
        });
        assert_eq!(refusals, [HandshakeError::Secret]);
    }
}

#[test]
fn other_versions_are_refused_by_name_on_both_sides() {
    let refusals = visited(&ours(), |address| {
        let error = join(address, &ours().version("7.3.1")).expect_err("another version");
        let version = env!("CARGO_PKG_VERSION").to_owned();
        assert_eq!(refusal(error), HandshakeError::Version { theirs: version, ours: "7.3.1".to_owned() });
    });
    let [HandshakeError::Version { theirs, .. }] = &refusals[..] else { panic!("{refusals:?}") };
    assert_eq!(theirs, "7.3.1");
}

#[test]
fn plain_and_tls_refuse_each_other() {
    let refusals = visited(&ours(), |address| {
        let error = join(address, &ours().security(Security::Plain)).expect_err("TLS is wanted");
        assert_eq!(refusal(error), HandshakeError::Security { theirs: Security::Tls, ours: Security::Plain });
    });
    assert_eq!(refusals, [HandshakeError::Security { theirs: Security::Plain, ours: Security::Tls }]);
}

#[test]
fn plain_connections_are_for_loopback_only() {
    let plain = ours().security(Security::Plain);
    let refused = Coordinator::listen("0.0.0.0:0", 2, &plain).expect_err("other hosts could come");
    assert!(matches!(refusal(refused), HandshakeError::NotLoopback(_)));
}

/// The greeting of a process of this version with this security.
fn greeting(security: u8) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    [b"PACELINE", &[security, version.len() as u8][..], version, &[7; 32]].concat()
}

/// Sends `bytes` and waits for the end of the connection.
fn say(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).expect("the coordinator listens");
    // The connection may be closed before all bytes are written.
    let _ = socket.write_all(bytes);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    answer
}

#[test]
fn nonsense_ends_its_own_connection_only() {
    let refusals = visited(&ours(), |address| {
        assert_eq!(say(address, b"GET / HTTP/1.1\r\n\r\n"), b"", "strangers get no answer");
        assert_eq!(say(address, b"PACELINX 1 2 3"), b"");
        say(address, &vec![b'P'; 1 << 20]);
        say(address, &[greeting(0), vec![0x16; 100_000]].concat());
    });
    assert_eq!(refusals.len(), 4, "{refusals:?}");
    assert_eq!(refusals[..3], [HandshakeError::Stranger, HandshakeError::Stranger, HandshakeError::Stranger]);
    assert!(matches!(refusals[3], HandshakeError::Tls(_)), "{refusals:?}");
}

#[test]
fn half_a_handshake_no_proof_and_too_much_of_one_are_refused() {
    let frame = |payload: &[u8]| {
        let mut bytes = greeting(1);
        crate::frame::encode(0, payload, &mut bytes).expect("short enough");
        bytes
    };
    let refusals = visited(&ours().security(Security::Plain), |address| {
        let mut half = TcpStream::connect(address).expect("the coordinator listens");
        half.write_all(&greeting(1)[..20]).expect("there is room");
        half.shutdown(Shutdown::Write).expect("connected");
        assert_eq!(half.read(&mut [0]).expect("it ends in order"), 0, "half a greeting gets no answer");
        for bytes in [frame(b""), frame(&[0; 32]), frame(&[0; 5_000]), [greeting(1), vec![0; 300]].concat()] {
            say(address, &bytes);
        }
    });
    assert_eq!(refusals[2..], [HandshakeError::Ended, HandshakeError::Secret, HandshakeError::Secret]);
    assert!(matches!(refusals[0], HandshakeError::Damaged(_)), "{refusals:?}");
    assert!(matches!(refusals[1], HandshakeError::Damaged(_)), "{refusals:?}");
}

/// More silent or nearly silent connections than there is room for: the run starts nevertheless.
#[test]
fn those_who_stall_hold_up_nobody() {
    let mut stalled = Vec::new();
    let refusals = visited(&ours(), |address| {
        for number in 0..80 {
            let mut socket = TcpStream::connect(address).expect("the coordinator listens");
            socket.write_all(&greeting(0)[..number % 8]).expect("there is room");
            stalled.push(socket);
        }
    });
    assert!(!refusals.is_empty(), "the oldest made room");
    assert!(refusals.iter().all(|error| *error == HandshakeError::Ended), "{refusals:?}");
}

#[test]
fn who_never_comes_is_missed_in_time() {
    let settings = ours().time_limit(Duration::from_millis(50));
    let coordinator = Coordinator::listen("127.0.0.1:0", 2, &settings).expect("loopback");
    let address = coordinator.address();
    let missed = coordinator.gather(b"").expect_err("nobody comes");
    assert!(matches!(missed, RendezvousError::Missing { present: 1, ranks: 2, .. }), "{missed}");
    join(address, &settings).expect_err("nobody listens any more");
}

#[test]
fn shared_memory_that_cannot_be_is_an_error_for_all() {
    let shared = ours().prefer(Prefer::SharedMemory);
    let coordinator = Coordinator::listen("127.0.0.1:0", 2, &shared).expect("loopback");
    let address = coordinator.address();
    let other = thread::spawn(move || join(address, &ours().prefer(Prefer::Tcp)));
    let error = coordinator.gather(b"").expect_err("one does not want to");
    assert!(matches!(error, RendezvousError::NoSharedMemory(_)), "{error}");
    let error = other.join().expect("no panic").expect_err("the coordinator ends it");
    assert!(matches!(error, RendezvousError::Refused(_)), "{error}");
}
