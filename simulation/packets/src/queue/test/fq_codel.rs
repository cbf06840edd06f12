//! FQ-CoDel: what its RFC says of shares, new flows and limits.

use super::*;

const SETTINGS: FqCodelSettings = FqCodelSettings {
    codel: CodelSettings {
        target: Time::millis(5),
        interval: Time::millis(100),
        mtu: 1514,
        marks: false,
        ce_threshold: None,
    },
    limit: 1000,
    memory: 1_000_000,
    queues: 1024,
    quantum: 1514,
};

fn fq_codel(settings: FqCodelSettings) -> FqCodel<Sample> {
    FqCodel::new(settings, 1, 1).unwrap()
}

fn packet(flow: u64, bytes: u32, number: u32) -> Sample {
    Sample { bytes, flow, ..Sample::new(number) }
}

#[test]
fn flows_share_the_bytes_whatever_their_packets() {
    let (mut queue, mut losses) = (fq_codel(SETTINGS), Vec::new());
    let lengths = [(1, 1500), (2, 300), (3, 1000)];
    let mut sent = [0i64; 4];
    for number in 0..3000 {
        // Each flow always has packets that have waited for less than the target.
        let now = Time::micros(100 * u64::from(number));
        for (flow, bytes) in lengths {
            while queue.queues.get(&queue.queue_of(flow)).is_none_or(|of_flow| of_flow.queue.len() < 6) {
                queue.enqueue(now, packet(flow, bytes, number), &mut losses);
            }
        }
        let out = queue.dequeue(now, Classes::NONE, &mut losses).unwrap();
        sent[out.flow as usize] += i64::from(out.bytes);
        // By the deficits: a quantum and a packet apart at most.
        let (most, least) = (sent[1..].iter().max().unwrap(), sent[1..].iter().min().unwrap());
        assert!(most - least <= 2 * (1514 + 1500), "{sent:?}");
    }
    assert!(losses.is_empty() && sent[2] > 500_000, "{sent:?}");
}

#[test]
fn a_new_flow_goes_first_and_is_not_new_each_time() {
    let (mut queue, mut losses) = (fq_codel(SETTINGS), Vec::new());
    for number in 0..100 {
        queue.enqueue(Time::ZERO, packet(1, 1500, number), &mut losses);
        queue.enqueue(Time::ZERO, packet(2, 1500, number), &mut losses);
    }
    for _ in 0..10 {
        queue.dequeue(Time::ZERO, Classes::NONE, &mut losses);
    }
    queue.enqueue(Time::ZERO, packet(3, 100, 0), &mut losses);
    assert_eq!(queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap().flow, 3, "before the old");
    // A packet whenever its queue has run empty and was passed over: had the queue left the lists at once, it
    // would be new each time, and have half of the link.
    let mut served = [0; 5];
    for number in 0..60 {
        queue.enqueue(Time::ZERO, packet(4, 1500, number), &mut losses);
        for _ in 0..2 {
            served[queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap().flow as usize] += 1;
        }
    }
    assert!([1, 2, 4].iter().all(|flow| (38..=42).contains(&served[*flow])), "{served:?}");
}

#[test]
fn a_full_queue_takes_half_of_the_longest() {
    let (mut queue, mut losses) = (fq_codel(FqCodelSettings { limit: 100, ..SETTINGS }), Vec::new());
    for number in 0..20 {
        assert_eq!(queue.enqueue(Time::ZERO, packet(2, 1000, number), &mut losses), Verdict::Accepted);
    }
    for number in 0..81 {
        assert_eq!(queue.enqueue(Time::ZERO, packet(1, 1000, number), &mut losses), Verdict::Accepted);
    }
    // Of its 81 packets 41 are half of the bytes, from the head.
    let lost: Vec<(u64, u32)> = losses.iter().map(|loss| (loss.packet.flow, loss.packet.number)).collect();
    assert_eq!(lost, (0..41).map(|number| (1, number)).collect::<Vec<_>>());
    assert!(losses.iter().all(|loss| loss.reason == DropReason::Evicted));
    assert_eq!((queue.len(), queue.bytes()), (60, 60_000));
    // Of two that are equally long, that with the lower number.
    let (mut queue, mut losses) = (fq_codel(FqCodelSettings { limit: 3, ..SETTINGS }), Vec::new());
    let (low, high) = if queue.queue_of(1) < queue.queue_of(2) { (1, 2) } else { (2, 1) };
    for (flow, number) in [(high, 0), (low, 0), (low, 1), (high, 1)] {
        queue.enqueue(Time::ZERO, packet(flow, 1000, number), &mut losses);
    }
    assert_eq!((losses.len(), losses[0].packet.flow), (1, low));
    // At most 64 at once, and as often as it takes.
    let (mut queue, mut losses) = (fq_codel(FqCodelSettings { limit: 199, ..SETTINGS }), Vec::new());
    for number in 0..200 {
        queue.enqueue(Time::ZERO, packet(1, 1000, number), &mut losses);
    }
    assert_eq!(losses.len(), 64);
    let (mut queue, mut losses) = (fq_codel(FqCodelSettings { memory: 5000, ..SETTINGS }), Vec::new());
    queue.enqueue(Time::ZERO, packet(1, 1000, 0), &mut losses);
    let verdict = queue.enqueue(Time::ZERO, packet(2, 5001, 1), &mut losses);
    assert_eq!(
        verdict,
        Verdict::Dropped(DropReason::Evicted),
        "the packet that arrives is the longest queue"
    );
    assert_eq!((losses.len(), queue.len(), queue.bytes()), (1, 1, 1000));
}

/// One flow that is too fast is controlled; the other, which is slow, loses nothing and does not wait.
#[test]
fn a_queue_is_under_codel_by_itself() {
    let room = FqCodelSettings { limit: 10_000, memory: 100_000_000, ..SETTINGS };
    let (mut queue, mut losses) = (fq_codel(room), Vec::new());
    for step in 0..20_000u32 {
        let now = Time::micros(100 * u64::from(step));
        if step % 10 != 9 {
            queue.enqueue(now, packet(1, 1000, step), &mut losses);
        }
        if step % 5 == 0 {
            queue.enqueue(now, packet(2, 100, step), &mut losses);
        }
        if let Some(out) = queue.dequeue(now, Classes::NONE, &mut losses)
            && out.flow == 2
        {
            assert!(step - out.number <= 2, "it waited {} steps", step - out.number);
        }
    }
    assert!(losses.len() > 20, "{}", losses.len());
    assert!(losses.iter().all(|loss| loss.packet.flow == 1 && loss.reason == DropReason::Early));
}

#[test]
fn only_queues_in_use_are_kept() {
    let (mut queue, mut losses) = (fq_codel(SETTINGS), Vec::new());
    for flow in 0..500 {
        queue.enqueue(Time::ZERO, packet(flow, 1000, 0), &mut losses);
    }
    let used = queue.queues.len();
    // Of 1024 queues, 500 flows take 1024 x (1 - (1 - 1 / 1024)^500) = 396 in the mean.
    assert!((350..440).contains(&used), "{used} queues for 500 flows");
    while queue.dequeue(Time::millis(1), Classes::NONE, &mut losses).is_some() {}
    assert_eq!((queue.queues.len(), queue.len(), queue.bytes()), (0, 0, 0));
    let other = FqCodel::<Sample>::new(SETTINGS, 1, 2).unwrap();
    assert!((0..9).any(|flow| other.queue_of(flow) != queue.queue_of(flow)), "ports hash differently");
    let error = FqCodel::<Sample>::new(FqCodelSettings { quantum: 0, ..SETTINGS }, 1, 1).unwrap_err();
    assert_eq!(error.to_string(), "FQ-CoDel with a quantum of 0; allowed: 1 or more");
}
