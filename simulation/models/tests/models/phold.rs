//! PHOLD keeps its population, and its destinations follow the chosen law.

use paceline_kernel::{Federate, Model, Outbox, Partition, Settings, TieBreak, Time, Windows};
use paceline_models::phold::{Destination, Phold};

/// Drives one federate per part. Returns (events run, events sent to other parts).
fn drive(phold: &Phold, parts: u32, until: Time) -> (u64, u64) {
    let partition = Partition::runs(phold.lps, parts);
    let settings = Settings { seed: 5, ties: TieBreak::Fixed, window: phold.lookahead };
    let mut federates = Federate::<Phold>::build(phold, &partition, settings).expect("PHOLD keeps the rules");
    let population: u64 = (0..phold.lps).map(|lp| phold.messages(lp)).sum();
    let mut outbox = Outbox::new(parts);
    let mut windows = Windows::lookahead(phold.lookahead());
    let mut left = 0;
    loop {
        let pending: usize = federates.iter().map(Federate::pending).sum();
        assert_eq!(pending as u64, population, "messages are passed on, never lost or made");
        let least = federates.iter_mut().map(Federate::lvt).min().expect("there are federates");
        let Some(bound) = windows.open(least, until) else { break };
        for federate in &mut federates {
            federate.advance(phold, &partition, bound, usize::MAX, &mut outbox);
        }
        left += outbox.len() as u64;
        outbox.flush(|to, events, _| federates[to as usize].receive(events.drain(..)));
    }
    (federates.iter().map(Federate::events).sum(), left)
}

fn phold(destination: Destination) -> Phold {
    let (lookahead, mean) = (Time::secs(1), Time::secs(1));
    Phold { lps: 103, messages_per_lp: 3.5, lookahead, mean, work_ns: 0, destination }
}

/// Fails unless `hits` out of `all` agrees with `probability` to within five standard deviations.
fn expect_share(hits: u64, all: u64, probability: f64) {
    let deviation = (probability * (1.0 - probability) / all as f64).sqrt();
    let share = hits as f64 / all as f64;
    assert!((share - probability).abs() <= 5.0 * deviation, "{hits} of {all} are {share}, not {probability}");
}

#[test]
fn messages_stay_in_their_group_as_often_as_the_locality_says() {
    for (groups, locality) in [(8, 0.9), (8, 0.5), (5, 1.0), (2, 0.0)] {
        let phold = phold(Destination::Group { groups, locality });
        let (events, left) = drive(&phold, groups, Time::secs(200));
        assert!(events > 10_000);
        expect_share(events - left, events, locality);
    }
}

#[test]
fn remote_messages_go_to_anybody() {
    let phold = phold(Destination::Any { remote: 0.4 });
    let (events, left) = drive(&phold, 103, Time::secs(200));
    // One LP per part: of the remote messages, one in 103 goes to its own sender.
    expect_share(left, events, 0.4 * 102.0 / 103.0);
}

#[test]
fn fractions_are_dealt_to_the_first_lps() {
    let phold = phold(Destination::Any { remote: 0.0 });
    let dealt: Vec<u64> = (0..103).map(|lp| phold.messages(lp)).collect();
    assert_eq!(dealt.iter().sum::<u64>(), 361, "103 x 3.5, rounded");
    assert!(dealt.is_sorted_by(|a, b| a >= b) && dealt[0] == 4 && dealt[102] == 3);
}
