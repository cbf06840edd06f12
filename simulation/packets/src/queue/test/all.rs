//! What holds for every discipline, whatever arrives: nothing is lost from the books, a checkpoint goes on as
//! the queue would have, equal calls give equal answers.

use proptest::prelude::*;

use super::*;

const CODEL: CodelSettings = CodelSettings {
    target: Time::micros(50),
    interval: Time::millis(1),
    mtu: 1500,
    marks: true,
    ce_threshold: None,
};

fn red() -> RedSettings {
    RedSettings {
        limit: Limit::Bytes(20_000),
        low: 3000,
        high: 9000,
        probability: Share::new(0.2).unwrap(),
        weight: Share::new(0.25).unwrap(),
        is_gentle: true,
        marks: true,
        marks_only: false,
        packet_time: Time::micros(10),
        packet_bytes: Some(1000),
    }
}

/// Every discipline, and some in classes.
fn disciplines() -> Vec<QueueSettings> {
    let fq_codel = FqCodelSettings { codel: CODEL, limit: 12, memory: 9000, queues: 3, quantum: 700 };
    let threshold = Threshold { limit: Limit::Packets(9), mark: Limit::Packets(4), drops_incapable: true };
    let plain = vec![
        QueueSettings::DropTail(Limit::Packets(7)),
        QueueSettings::DropTail(Limit::Bytes(7000)),
        QueueSettings::DropTail(Limit::Endless),
        QueueSettings::Red(red()),
        QueueSettings::Threshold(threshold),
        QueueSettings::Codel(CODEL, Limit::Packets(20)),
        QueueSettings::FqCodel(fq_codel),
    ];
    let mut all = plain.clone();
    all.push(QueueSettings::Priority(plain.clone()));
    all.push(QueueSettings::Drr((300..).step_by(400).zip(plain.clone()).collect()));
    all.push(QueueSettings::Priority(vec![plain[0].clone(), all[all.len() - 1].clone()]));
    all
}

/// One call: a packet that arrives, or the link that becomes free with some classes paused.
#[derive(Clone, Copy, Debug)]
enum Call {
    Arrive { class: u8, flow: u64, bytes: u32, is_capable: bool },
    Depart { paused: u8 },
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let arrive = (0..7u8, 0..5u64, 64..1501u32, any::<bool>())
        .prop_map(|(class, flow, bytes, is_capable)| Call::Arrive { class, flow, bytes, is_capable });
    let depart = prop_oneof![4 => Just(0u8), 1 => any::<u8>()].prop_map(|paused| Call::Depart { paused });
    prop::collection::vec((0..100u64, prop_oneof![arrive, depart]), 1..300)
}

/// Makes one call. What was sent, and the verdict.
fn call(
    queue: &mut Queue<Sample>,
    now: Time,
    number: u32,
    call: Call,
    losses: &mut Vec<Loss<Sample>>,
) -> (Option<Sample>, Option<Verdict>) {
    match call {
        Call::Arrive { class, flow, bytes, is_capable } => {
            let ecn = if is_capable { Ecn::Capable0 } else { Ecn::NotCapable };
            let packet = Sample { number, bytes, ecn, class, flow };
            (None, Some(queue.enqueue(now, packet, losses)))
        }
        Call::Depart { paused } => {
            let mut classes = Classes::NONE;
            (0..8).for_each(|class| classes.set(class, paused >> class & 1 == 1));
            (queue.dequeue(now, classes, losses), None)
        }
    }
}

proptest! {
    #[test]
    fn every_packet_is_sent_lost_or_waits(calls in calls()) {
        for settings in disciplines() {
            let mut queue = Queue::new(&settings, 1, 2).unwrap();
            let (mut now, mut losses, mut seen) = (Time::ZERO, Vec::new(), 0);
            let (mut waiting, mut bytes) = (std::collections::BTreeSet::new(), 0);
            for (number, (pause, this)) in (0..).zip(&calls) {
                now += Time::micros(*pause);
                let was_empty = queue.is_empty();
                let (sent, verdict) = call(&mut queue, now, number, *this, &mut losses);
                if let Call::Arrive { bytes: length, .. } = this {
                    waiting.insert(number);
                    bytes += u64::from(*length);
                }
                for gone in sent.iter().chain(losses[seen..].iter().map(|loss| &loss.packet)) {
                    prop_assert!(waiting.remove(&gone.number), "{settings:?}: {gone:?} twice");
                    bytes -= u64::from(gone.bytes);
                }
                seen = losses.len();
                let is_lost = matches!(verdict, Some(Verdict::Dropped(_)));
                prop_assert_eq!(is_lost, verdict.is_some() && !waiting.contains(&number));
                prop_assert_eq!((queue.len(), queue.bytes()), (waiting.len(), bytes), "{:?}", settings);
                prop_assert_eq!(queue.head_bytes().is_some(), !waiting.is_empty());
                if let Call::Depart { paused: 0 } = this {
                    prop_assert!(sent.is_some() || queue.is_empty(), "work-conserving: {settings:?}");
                    prop_assert!(!was_empty || sent.is_none());
                }
            }
        }
    }

    #[test]
    fn a_checkpoint_goes_on_as_the_queue(calls in calls()) {
        for settings in disciplines() {
            let mut queue = Queue::new(&settings, 1, 2).unwrap();
            let mut restored = queue.clone();
            let mut now = Time::ZERO;
            for (number, (pause, this)) in (0..).zip(&calls) {
                now += Time::micros(*pause);
                let (mut losses, mut losses_restored) = (Vec::new(), Vec::new());
                let found = call(&mut queue, now, number, *this, &mut losses);
                let again = call(&mut restored, now, number, *this, &mut losses_restored);
                prop_assert_eq!((found, &losses), (again, &losses_restored));
                let stored = postcard::to_allocvec(&queue).unwrap();
                restored = postcard::from_bytes(&stored).unwrap();
                prop_assert_eq!(&restored, &queue);
            }
        }
    }
}

/// A queue that another part of the network never reaches draws the same numbers.
#[test]
fn queues_draw_by_their_stream_alone() {
    let verdicts = |seed, stream| {
        let mut queue = Queue::new(&QueueSettings::Red(red()), seed, stream).unwrap();
        let mut losses = Vec::new();
        (0..200)
            .map(|number| {
                let verdict = queue.enqueue(Time::ZERO, Sample::new(number), &mut losses);
                if number > 5 {
                    queue.dequeue(Time::ZERO, Classes::NONE, &mut losses);
                }
                verdict
            })
            .collect::<Vec<_>>()
    };
    let first = verdicts(1, 1);
    assert_eq!(first, verdicts(1, 1));
    assert!(first != verdicts(1, 2) && first != verdicts(2, 1));
}
