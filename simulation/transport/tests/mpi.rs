//! Four processes connected by MPI: this test program starts itself four times with mpirun.

#![cfg(feature = "mpi")]

use std::process::Command;
use std::time::Duration;

use paceline_transport::{Handed, Mpi, MpiError, Transport, is_started_by_mpi};

const PATIENCE: Duration = Duration::from_secs(60);

/// Frames to each other process: more than may be in transit at a time.
const FRAMES: u32 = 500;

/// What each process does: sends to all others, and receives all that they send, in order.
fn exchange(mpi: &Mpi) {
    let ranks = mpi.ranks();
    let (mut sent, mut found) = (vec![0_u32; ranks as usize], vec![0_u32; ranks as usize]);
    let all = FRAMES * (ranks - 1);
    while sent.iter().sum::<u32>() < all || found.iter().sum::<u32>() < all {
        let mut busy = false;
        for peer in (0..ranks).filter(|peer| *peer != mpi.rank()) {
            let number = sent[peer as usize];
            let mut frame = vec![number as u8; 4 + (number as usize * 37) % mpi.frame_limit(peer).min(9_000)];
            frame[..4].copy_from_slice(&number.to_le_bytes());
            if number < FRAMES && mpi.send(peer, &frame) == Ok(Handed::Over) {
                sent[peer as usize] += 1;
                busy = true;
            }
        }
        let taken = mpi.receive(&mut |from, frame| {
            let expected = found[from as usize];
            assert_eq!(frame[..4], expected.to_le_bytes(), "the next frame of {from}");
            assert!(frame[4..].iter().all(|byte| *byte == expected as u8));
            found[from as usize] += 1;
        });
        busy |= taken == Ok(true);
        if !busy {
            mpi.wait(PATIENCE);
        }
    }
    for path in mpi.paths() {
        assert_eq!((path.frames_sent, path.frames_received), (u64::from(FRAMES), u64::from(FRAMES)));
    }
}

#[test]
fn four_processes_exchange_frames_in_order() {
    if is_started_by_mpi() {
        let mpi = Mpi::begin().expect("threads take turns");
        assert_eq!(mpi.ranks(), 4);
        assert_eq!(Mpi::begin().err(), Some(MpiError::Begun));
        exchange(&mpi);
        mpi.close();
        return;
    }
    let this = std::env::current_exe().expect("it runs");
    let started = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n", "4"])
        .arg(this)
        .args(["--exact", "four_processes_exchange_frames_in_order", "--test-threads=1"])
        .output();
    match started {
        Ok(output) => assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => eprintln!("skipped: no mpirun here: {error}"),
    }
}
