//! Whatever is added, cancelled and sent in whatever frames: what is read on the other side is what was added
//! and not cancelled, in that order, each round counts its messages, and the statistics count what was read
//! and cancelled.

use paceline_kernel::{Rng, Time};
use paceline_transport::Handed;
use paceline_transport::marshal::{Marshalling, Reason, SizeLimit, TimeLimit};

use super::Outgoing;
use crate::peers::net::codec::read_frame;
use crate::peers::net::rounds::COLOURS;

/// A message: the round, a number for the time of its event, and as many bytes as there are room for in one
/// frame, or more.
fn encode(out: &mut Vec<u8>, round: u8, (number, length): (u8, usize)) {
    out.extend([round, number]);
    out.extend((0..length).map(|byte| byte as u8));
}

fn time(number: u8) -> Time {
    Time::nanos(number.into())
}

/// What has arrived: whole messages.
#[derive(Default)]
struct Other {
    partial: Vec<u8>,
    messages: Vec<Vec<u8>>,
    frames: u64,
}

impl Other {
    fn take(&mut self, frame: &[u8]) -> Handed {
        self.frames += 1;
        let read = read_frame(&mut self.partial, frame, |message| {
            self.messages.push(message.to_vec());
            Ok(())
        });
        assert_eq!(read, Ok(false), "nobody has said that it waits");
        Handed::Over
    }
}

#[test]
fn what_is_not_cancelled_arrives_in_its_order_and_counts_in_its_round() {
    let (mut cancelled, mut kept, mut long) = (0, 0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed, 0x6f75_7467);
        let size = [SizeLimit::Adaptive, SizeLimit::Bytes(100), SizeLimit::Off][rng.below(3) as usize];
        let limit = 64 + rng.below(300) as usize;
        let mut outgoing = Outgoing::new(Marshalling { size, time: TimeLimit::default() }, 64, limit);
        let (mut other, mut expected, mut counts) = (Other::default(), Vec::new(), Vec::new());
        let (mut round, mut begun, cancelled_before) = (0, 0, cancelled);
        for now_ns in 0..300 {
            let of =
                (rng.below(6) as u8, if rng.chance(0.1) { rng.below(900) } else { rng.below(4) } as usize);
            let mut record = Vec::new();
            encode(&mut record, round, of);
            let write = |out: &mut Vec<u8>, round| {
                encode(out, round, of);
                Ok(())
            };
            match rng.below(20) {
                0 => outgoing
                    .send_off(Reason::Asked, |frame| Ok(other.take(frame)))
                    .expect("it is handed over"),
                1 => {
                    counts.push((round, expected.len() - begun, outgoing.next_round()));
                    (round, begun) = ((round + 1) % COLOURS as u8, expected.len());
                }
                2..8 => {
                    outgoing.write(write).expect("bytes are written");
                    // Only what has not left, of this round.
                    let waits = expected.len().min(begun.max(other.messages.len()));
                    let place = expected[waits..].iter().rposition(|message| *message == record);
                    assert_eq!(outgoing.cancel(time(of.0)), place.is_some(), "seed {seed}");
                    match place {
                        Some(place) => drop(expected.remove(waits + place)),
                        None => kept += 1,
                    }
                    cancelled += u64::from(place.is_some());
                }
                _ => {
                    long += u32::from(record.len() > limit);
                    outgoing.write(write).expect("bytes are written");
                    let added = outgoing.add(now_ns, false, |frame| Ok(other.take(frame)));
                    outgoing.can_be_cancelled(time(of.0), added.expect("it is handed over"));
                    expected.push(record);
                }
            }
        }
        counts.push((round, expected.len() - begun, outgoing.next_round()));
        outgoing.send_off(Reason::Asked, |frame| Ok(other.take(frame))).expect("it is handed over");
        assert!(other.messages == expected, "seed {seed}: other messages than those that were not cancelled");
        let sent = outgoing.statistics();
        assert_eq!(
            (sent.frames, sent.records, sent.withdrawn),
            (other.frames, expected.len() as u64, cancelled - cancelled_before),
            "seed {seed}"
        );
        assert!(size != SizeLimit::Off || sent.frames >= sent.records, "seed {seed}: a frame for each");
        for (round, sent, counted) in counts {
            assert_eq!(sent as u64, counted, "seed {seed}, a round of colour {round}");
        }
    }
    assert!(cancelled > 1_000 && kept > 1_000 && long > 1_000, "{cancelled}, {kept}, {long}");
}
