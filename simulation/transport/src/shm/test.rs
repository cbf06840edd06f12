//! Links in one process: everything arrives in order and once, damage is refused, a process that ends is
//! found. Links between processes are tested in `tests/shared_memory.rs`.

use proptest::prelude::*;

use super::*;
use crate::PeerErrorKind;

/// All members of a group.
fn mesh(group: &Group) -> Vec<SharedMemory> {
    let (first, others) = group.members.split_first().expect("a group has members");
    let mut members = vec![SharedMemory::create(*first, group).expect("there is memory")];
    let path = members[0].path();
    members.extend(others.iter().map(|rank| SharedMemory::open(&path, *rank, group).expect("it is there")));
    members
}

fn frames(to: &SharedMemory) -> Result<Vec<(u32, Vec<u8>)>, PeerError> {
    let mut frames = Vec::new();
    to.receive(&mut |from, frame| frames.push((from, frame.to_vec()))).map(|_| frames)
}

/// Writes `bytes` into the ring from member 0 to member 1, from byte `at` on, and announces that `tail` bytes
/// were written.
fn write_raw(region: &Region, at: u64, bytes: &[u8], tail: u64) {
    region.ring(0, 1).write_raw(at, bytes, tail);
}

proptest! {
    #[test]
    fn all_arrives_once_and_in_order(
        sends in proptest::collection::vec((0..3_u32, 0..3_u32, 0..=232_usize), 0..300),
        power in 10..13_u32,
    ) {
        let ends = mesh(&Group::all(3).ring_bytes(1 << power));
        let (mut sent, mut arrived) = (vec![Vec::new(); 9], vec![Vec::new(); 9]);
        let mut take = |to: usize| {
            for (from, frame) in frames(&ends[to]).expect("nobody is lost") {
                arrived[from as usize * 3 + to].push(frame);
            }
        };
        for (number, (from, to, length)) in sends.into_iter().enumerate() {
            if from == to {
                take(to as usize);
                continue;
            }
            let frame: Vec<u8> = (0..length).map(|byte| (byte + number) as u8).collect();
            if ends[from as usize].send(to, &frame) == Ok(Handed::Over) {
                sent[(from * 3 + to) as usize].push(frame);
            } else {
                // There is room again after the receiver has received something.
                prop_assert!(ends[to as usize].is_pending());
                take(to as usize);
                prop_assert_eq!(ends[from as usize].send(to, &frame), Ok(Handed::Over));
                sent[(from * 3 + to) as usize].push(frame);
            }
        }
        while let Some(to) = (0..3).find(|to| ends[*to].is_pending()) {
            take(to);
        }
        for end in &ends {
            for path in end.paths() {
                let pair = (end.rank() * 3 + path.peer) as usize;
                prop_assert_eq!(path.frames_sent, sent[pair].len() as u64);
                prop_assert_eq!(path.bytes_sent, sent[pair].concat().len() as u64);
                prop_assert_eq!(path.frames_received, sent[(path.peer * 3 + end.rank()) as usize].len() as u64);
            }
        }
        prop_assert_eq!(sent, arrived);
    }

    #[test]
    fn a_peer_may_write_anything(
        bytes in proptest::collection::vec(any::<u8>(), 0..1_100),
        genuine in 0..50_usize,
        tail in prop_oneof![0..1_100_u64, any::<u64>()],
    ) {
        let ends = mesh(&Group::all(2).ring_bytes(1_024));
        for number in 0..genuine {
            prop_assert_eq!(ends[0].send(1, &[number as u8]), Ok(Handed::Over));
            prop_assert_eq!(frames(&ends[1]), Ok(vec![(0, vec![number as u8])]));
        }
        let before = 32 * genuine as u64;
        write_raw(&ends[1].region, before, &bytes, before.wrapping_add(tail));
        match frames(&ends[1]) {
            Ok(frames) => prop_assert!(tail == 0 && frames.is_empty()),
            Err(error) => {
                let damaged = matches!(error, PeerError { rank: 0, kind: PeerErrorKind::Damaged(_) });
                prop_assert!(damaged);
                prop_assert_eq!(frames(&ends[1]), Ok(vec![]), "a loss is reported once");
                prop_assert_eq!(ends[1].send(0, b""), Err(error));
            }
        }
    }

    #[test]
    fn a_peer_may_claim_to_have_read_anything(claim in prop_oneof![0..2_048_u64, any::<u64>()]) {
        let ends = mesh(&Group::all(2).ring_bytes(1_024));
        let frame = [1; 232];
        for _ in 0..4 {
            prop_assert_eq!(ends[0].send(1, &frame), Ok(Handed::Over));
        }
        ends[0].region.ring(0, 1).claim_read(claim);
        match ends[0].send(1, &frame) {
            Ok(Handed::Full) => prop_assert!(claim < 256),
            Ok(Handed::Over) => prop_assert!((256..=1_024).contains(&claim)),
            Err(error) => {
                prop_assert!(claim > 1_024);
                prop_assert!(ends[0].is_pending(), "it is to be reported");
                prop_assert_eq!(frames(&ends[0]), Err(error));
                prop_assert!(!ends[0].is_pending());
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_found(bit in 0..8 * 40_usize) {
        let ends = mesh(&Group::all(2).ring_bytes(1_024));
        let mut bytes = Vec::new();
        crate::frame::encode(0, &[7; 16], &mut bytes).expect("16 bytes are few");
        bytes[bit / 8] ^= 1 << (bit % 8);
        write_raw(&ends[1].region, 0, &bytes, 40);
        prop_assert!(frames(&ends[1]).is_err());
    }
}

#[test]
fn more_than_the_ring_holds_is_damage() {
    for (tail, whole) in [(40, true), (1_024 + 8, false), (u64::MAX, false)] {
        let ends = mesh(&Group::all(2).ring_bytes(1_024));
        let mut bytes = Vec::new();
        crate::frame::encode(0, &[7; 16], &mut bytes).expect("16 bytes are few");
        write_raw(&ends[1].region, 0, &bytes, tail);
        let mut taken = 0;
        let end = ends[1].receive(&mut |_, _| taken += 1);
        assert_eq!((end.is_ok(), taken), (whole, i32::from(whole)), "{tail} bytes written");
    }
}

#[test]
fn a_member_of_a_part_reaches_the_part() {
    let ends = mesh(&Group::all(9).only([7, 2]));
    assert_eq!((ends[0].rank(), ends[0].ranks(), ends[1].rank()), (2, 9, 7));
    assert_eq!(ends[1].send(2, b"from seven"), Ok(Handed::Over));
    assert_eq!(frames(&ends[0]), Ok(vec![(7, b"from seven".to_vec())]));
    assert!(ends[0].is_complete());
}

#[test]
fn others_do_not_get_in() {
    let group = Group::all(3);
    let first = SharedMemory::create(0, &group).expect("there is memory");
    let path = first.path();
    let open = |rank, group: &Group| SharedMemory::open(&path, rank, group).expect_err("it must not get in");
    assert!(matches!(open(0, &group), SharedMemoryError::Taken { rank: 0, .. }));
    assert!(matches!(open(1, &Group::all(2)), SharedMemoryError::Differs { .. }));
    assert!(matches!(open(1, &group.clone().ring_bytes(1 << 12)), SharedMemoryError::Differs { .. }));
    assert!(matches!(open(3, &group), SharedMemoryError::Group(_)));
    assert!(matches!(open(1, &group.clone().ring_bytes(1_025)), SharedMemoryError::Group(_)));
    assert!(matches!(open(1, &Group::all(3).only([1, 1])), SharedMemoryError::Group(_)));
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&path, everybody).expect("the file is ours");
    assert!(matches!(open(1, &group), SharedMemoryError::NotPrivate { .. }));
    let ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, ours).expect("the file is ours");
    let second = SharedMemory::open(&path, 1, &group).expect("it is one of the group");
    drop(first);
    let again = SharedMemory::open(&second.path(), 0, &group).expect_err("nobody comes twice");
    assert!(matches!(again, SharedMemoryError::Taken { rank: 0, .. }), "{again}");
    assert!(matches!(open(2, &group), SharedMemoryError::Io { .. }), "who has made it is gone");
}

/// Each of these would kill every process that maps the file by SIGBUS, or leave it with a file that is not
/// the one it knows.
#[test]
fn nobody_changes_the_size_of_the_memory() {
    let ends = mesh(&Group::all(2));
    let open =
        || std::fs::OpenOptions::new().read(true).write(true).open(ends[1].path()).expect("it is ours");
    let whole = open().metadata().expect("it is open").len();
    assert!(whole > 4_096);
    for size in [0, 1, 4_096, whole - 1, whole + 1, 2 * whole] {
        let refused = open().set_len(size).expect_err("its size is sealed");
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied, "{size} bytes");
    }
    let truncated = std::fs::OpenOptions::new().write(true).truncate(true).open(ends[1].path());
    assert_eq!(truncated.map(drop).map_err(|error| error.kind()), Err(std::io::ErrorKind::PermissionDenied));
    assert_eq!(open().metadata().expect("it is open").len(), whole);
    assert_eq!(ends[0].send(1, b"still there"), Ok(Handed::Over));
    assert_eq!(frames(&ends[1]), Ok(vec![(0, b"still there".to_vec())]));
}

/// A hole reads as zeros. What is not a frame is damage, and kills nobody.
#[test]
fn a_hole_in_the_memory_is_damage() {
    let ends = mesh(&Group::all(2));
    assert_eq!(ends[0].send(1, b"first"), Ok(Handed::Over));
    let file = std::fs::OpenOptions::new().write(true).open(ends[0].path()).expect("it is ours");
    let data = file.metadata().expect("it is open").len();
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    // Header, posts and controls stay: they take two pages.
    rustix::fs::fallocate(&file, flags, 2 * 4_096, data - 2 * 4_096).expect("shared memory can have holes");
    let lost = frames(&ends[1]).expect_err("the frame is not there");
    assert!(matches!(lost, PeerError { rank: 0, kind: PeerErrorKind::Damaged(_) }), "{lost}");
}

/// Files that could be truncated, or that are something else, are not mapped.
#[test]
fn what_is_not_sealed_memory_is_refused() {
    let (folder, group) = (tempfile::tempdir().expect("there is room for temporary files"), Group::all(2));
    let open = |path: &Path| SharedMemory::open(path, 1, &group).expect_err("it is no shared memory");
    assert!(matches!(open(&folder.path().join("nowhere")), SharedMemoryError::Io { .. }));
    assert!(matches!(open(folder.path()), SharedMemoryError::Io { .. }));
    assert!(matches!(open(Path::new("/dev/null")), SharedMemoryError::NotPrivate { .. }));
    let mut private = tempfile::NamedTempFile::new().expect("there is room for temporary files");
    std::io::Write::write_all(&mut private, &[0; 100]).expect("there is room");
    assert!(matches!(open(private.path()), SharedMemoryError::NotSealed { .. }));
    let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    let memory = std::fs::File::from(rustix::fs::memfd_create("test", flags).expect("there is memory"));
    let ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    memory.set_permissions(ours).expect("it is ours");
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memory));
    assert!(matches!(open(path.as_ref()), SharedMemoryError::NotSealed { .. }));
    rustix::fs::fcntl_add_seals(&memory, rustix::fs::SealFlags::SHRINK).expect("seals are allowed");
    assert!(matches!(open(path.as_ref()), SharedMemoryError::Io { .. }), "it has no header");
}

#[test]
fn the_largest_frame_is_a_quarter() {
    let ends = mesh(&Group::all(2).ring_bytes(1_024));
    let frame = vec![5; ends[0].frame_limit(1)];
    assert_eq!(frame.len() + HEADER_BYTES, 256);
    for _ in 0..4 {
        assert_eq!(ends[0].send(1, &frame), Ok(Handed::Over));
    }
    assert_eq!(ends[0].send(1, b""), Ok(Handed::Full));
    assert_eq!(frames(&ends[1]).map(|frames| frames.len()), Ok(4));
    ends[0].wait(Duration::from_secs(3_600));
    assert_eq!(ends[0].send(1, b""), Ok(Handed::Over));
}

#[test]
fn who_takes_leave_is_not_lost_and_who_does_not_is() {
    for leave in [true, false] {
        let mut ends = mesh(&Group::all(2));
        let last = ends.pop().expect("there are two");
        assert_eq!(last.send(0, b"last words"), Ok(Handed::Over));
        if leave {
            last.close();
        }
        drop(last);
        let (mut heard, mut end) = (0, None);
        // Checks happen only when enough time has passed, so wait that long.
        for _ in 0..4 {
            ends[0].wait(WATCH_EVERY);
            while ends[0].is_pending() {
                match ends[0].receive(&mut |_, _| heard += 1) {
                    Ok(_) => {}
                    Err(error) => end = Some(error),
                }
            }
        }
        assert_eq!(heard, 1);
        assert_eq!(end, (!leave).then(|| PeerError::new(1, PeerErrorKind::Gone)));
        assert_eq!(ends[0].send(1, b"to nobody").is_err(), !leave);
    }
}

#[test]
fn any_thread_wakes_whoever_waits() {
    let ends = mesh(&Group::all(2));
    let most = Duration::from_secs(3_600);
    ends[0].wake();
    ends[0].wait(most);
    for arrival in [false, true] {
        std::thread::scope(|scope| {
            scope.spawn(|| ends[0].wait(most));
            scope.spawn(|| match arrival {
                false => ends[0].wake(),
                true => assert_eq!(ends[1].send(0, b""), Ok(Handed::Over)),
            });
        });
    }
}
