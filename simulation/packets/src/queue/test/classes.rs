//! Strict priority and deficit round robin.

use super::*;

const ROOM: QueueSettings = QueueSettings::DropTail(Limit::Packets(1000));

fn drr(quanta: &[u32]) -> Queue<Sample> {
    let classes = quanta.iter().map(|quantum| (*quantum, ROOM)).collect();
    Queue::new(&QueueSettings::Drr(classes), 1, 1).unwrap()
}

fn paused(classes: &[u8]) -> Classes {
    let mut paused = Classes::NONE;
    for class in classes {
        paused.set(*class, true);
    }
    paused
}

#[test]
fn the_first_class_with_packets_is_served() {
    let mut queue = Queue::new(&QueueSettings::Priority(vec![ROOM; 3]), 1, 1).unwrap();
    let mut losses = Vec::new();
    for (number, class) in [(0, 2), (1, 7), (2, 1), (3, 0), (4, 1)] {
        queue.enqueue(Time::ZERO, Sample { class, ..Sample::new(number) }, &mut losses);
    }
    assert_eq!((queue.len(), queue.bytes()), (5, 5000));
    let mut next = |paused| queue.dequeue(Time::ZERO, paused, &mut losses).map(|packet| packet.number);
    assert_eq!(next(paused(&[0, 1, 2])), None);
    assert_eq!(next(paused(&[0])), Some(2));
    assert_eq!([next(Classes::NONE), next(Classes::NONE)], [Some(3), Some(4)]);
    assert_eq!([next(Classes::NONE), next(Classes::NONE)], [Some(0), Some(1)], "7 counts as the last");
    assert_eq!(next(Classes::NONE), None);
}

/// Theorem 2 of the paper: what two backlogged classes have sent over any span, each by its share, differs by
/// at most two packets and a quantum; lemma 2: after `turns` turns a class is within a packet of its quanta.
#[test]
fn backlogged_classes_share_by_their_quanta() {
    const MAX: i64 = 1500;
    let quanta = [1500u32, 3000, 4500];
    let (mut queue, mut losses, mut rng) = (drr(&quanta), Vec::new(), Draws::new(5, 5));
    let mut sent = [0i64; 3];
    let mut marks = vec![sent];
    for number in 0..6000 {
        for class in 0..3 {
            while self::class(&queue, class).len() < 4 {
                let bytes = 64 + (rng.u64() % 1437) as u32;
                queue.enqueue(Time::ZERO, Sample { bytes, class, ..Sample::new(number) }, &mut losses);
            }
        }
        let packet = queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap();
        sent[usize::from(packet.class)] += i64::from(packet.bytes);
        marks.push(sent);
    }
    for (start, length) in (0..5000).step_by(37).flat_map(|start| [7, 50, 999].map(|length| (start, length)))
    {
        let span: Vec<i64> = (0..3).map(|class| marks[start + length][class] - marks[start][class]).collect();
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            // By shares of the least quantum, 1500.
            let by_share = |class: usize| span[class] / (class as i64 + 1);
            let apart = (by_share(one) - by_share(other)).abs();
            assert!(apart <= 2 * MAX + 1500, "{start} + {length}: {span:?}");
        }
    }
    let turns = sent[0] / 1500;
    for (class, sent) in (1..).zip(sent) {
        assert!(
            (sent - turns * 1500 * class).abs() <= MAX + 4500,
            "{sent} bytes of class {class} in {turns}"
        );
    }
}

#[test]
fn a_quantum_below_a_packet_takes_several_turns() {
    let (mut queue, mut losses) = (drr(&[100, 300]), Vec::new());
    for number in 0..100 {
        for class in [0, 1] {
            queue.enqueue(Time::ZERO, Sample { class, ..Sample::new(number) }, &mut losses);
        }
    }
    let served: Vec<u8> =
        (0..40).map(|_| queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap().class).collect();
    assert_eq!(served.iter().filter(|class| **class == 0).count(), 10);
}

/// A class that was empty or paused comes back with its quantum, not with that of all the turns it missed.
#[test]
fn no_class_saves_turns_up() {
    for is_paused in [false, true] {
        let (mut queue, mut losses) = (drr(&[3000, 3000]), Vec::new());
        add(&mut queue, 0, 100);
        add(&mut queue, 1, if is_paused { 100 } else { 0 });
        for _ in 0..50 {
            let packet = queue.dequeue(Time::ZERO, paused(&[1]), &mut losses).unwrap();
            assert_eq!(packet.class, 0, "the other has the link");
        }
        assert_eq!(queue.dequeue(Time::ZERO, paused(&[0, 1]), &mut losses), None);
        add(&mut queue, 1, if is_paused { 0 } else { 100 });
        assert_turns_of_three(&mut queue);
    }
}

/// What a class could have sent more when its last packet left is gone.
#[test]
fn an_empty_class_has_no_deficit() {
    let (mut queue, mut losses) = (drr(&[3000, 3000]), Vec::new());
    add(&mut queue, 0, 200);
    for _ in 0..30 {
        add(&mut queue, 1, 1);
        while queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap().class != 1 {}
    }
    add(&mut queue, 1, 100);
    assert_turns_of_three(&mut queue);
}

/// RED in a class: the time in which the link could have served it counts as idle.
#[test]
fn an_empty_class_is_idle() {
    let red = RedSettings {
        limit: Limit::Packets(100),
        low: 50,
        high: 60,
        probability: Share::ONE,
        weight: Share::new(0.5).unwrap(),
        is_gentle: false,
        marks: false,
        marks_only: false,
        packet_time: Time::millis(1),
        packet_bytes: None,
    };
    let classes = vec![ROOM, QueueSettings::Red(red)];
    let drr = QueueSettings::Drr(classes.iter().map(|class| (1500, class.clone())).collect());
    for settings in [QueueSettings::Priority(classes), drr] {
        let (mut queue, mut losses) = (Queue::new(&settings, 1, 1).unwrap(), Vec::new());
        add(&mut queue, 0, 20);
        add(&mut queue, 1, 9);
        let before = mean(&queue);
        assert!(before > 6.0, "{before}");
        while queue.len() > 5 || class(&queue, 1).len() > 0 {
            let only_one = if class(&queue, 1).is_empty() { Classes::NONE } else { paused(&[0]) };
            queue.dequeue(Time::millis(1), only_one, &mut losses).unwrap();
        }
        // Class 1 is empty since 1 ms; class 0 is not.
        let packet = Sample { class: 1, ..Sample::new(0) };
        queue.enqueue(Time::millis(3), packet, &mut losses);
        assert_eq!(mean(&queue), before / 4.0, "two packet times");
    }
}

fn mean(queue: &Queue<Sample>) -> f64 {
    let Queue::Fifo(fifo) = class(queue, 1) else { unreachable!("RED is a FIFO queue") };
    let AnyAdmission::Red(red) = fifo.admission() else { unreachable!("it is RED") };
    red.mean()
}

fn class(queue: &Queue<Sample>, class: u8) -> &Queue<Sample> {
    match queue {
        Queue::Drr(drr) => drr.class(class).unwrap(),
        Queue::Priority(priority) => priority.class(class).unwrap(),
        other => unreachable!("{other:?}"),
    }
}

fn add(queue: &mut Queue<Sample>, class: u8, packets: u32) {
    for number in 0..packets {
        queue.enqueue(Time::ZERO, Sample { class, ..Sample::new(number) }, &mut Vec::new());
    }
}

/// Classes 0 and 1 have turns of three packets each, but for what the first turn may have left.
fn assert_turns_of_three(queue: &mut Queue<Sample>) {
    let both: Vec<u8> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, Classes::NONE, &mut Vec::new()))
        .map(|packet| packet.class)
        .take(30)
        .collect();
    assert!(both.windows(7).all(|window| window.contains(&0) && window.contains(&1)), "{both:?}");
}

/// A class that is paused in the middle of its turn, again and again, keeps nothing of the rest of it.
#[test]
fn a_turn_that_a_pause_ends_is_over() {
    let (mut queue, mut losses) = (drr(&[3000, 3000]), Vec::new());
    for number in 0..400 {
        queue.enqueue(Time::ZERO, Sample { class: (number % 2) as u8, ..Sample::new(number) }, &mut losses);
    }
    for _ in 0..30 {
        while queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap().class != 1 {}
        queue.dequeue(Time::ZERO, paused(&[1]), &mut losses);
    }
    assert_turns_of_three(&mut queue);
}

/// CoDel in a class may drop the packet that was looked at and give a longer one; the class pays for it.
#[test]
fn a_class_pays_for_what_active_queue_management_gives() {
    let codel = CodelSettings {
        target: Time::millis(5),
        interval: Time::millis(100),
        mtu: 1500,
        marks: false,
        ce_threshold: None,
    };
    let class = (1500, QueueSettings::Codel(codel, Limit::Packets(100_000)));
    let mut queue = Queue::new(&QueueSettings::Drr(vec![class.clone(), class]), 1, 1).unwrap();
    let (mut losses, mut sent) = (Vec::new(), [0i64; 2]);
    for number in 0..20_000 {
        for class in [0, 1] {
            // Class 0 alternates between short and long packets.
            let bytes = if class == 0 && number % 2 == 0 { 100 } else { 1500 };
            queue.enqueue(Time::ZERO, Sample { bytes, class, ..Sample::new(number) }, &mut losses);
        }
    }
    for step in 0..15_000 {
        let packet = queue.dequeue(Time::micros(100 * step), Classes::NONE, &mut losses).unwrap();
        sent[usize::from(packet.class)] += i64::from(packet.bytes);
        assert!((sent[0] - sent[1]).abs() <= 3 * 1500, "step {step}: {sent:?}");
    }
    assert!(losses.len() > 100 && losses.iter().any(|loss| loss.packet.class == 0));
    let counted: u64 = 20_000 * (100 + 1500) / 2 + 20_000 * 1500;
    let lost: u64 = losses.iter().map(|loss| u64::from(loss.packet.bytes)).sum();
    assert_eq!(queue.bytes() + lost + (sent[0] + sent[1]) as u64, counted, "every byte is somewhere");
}

/// A queue that empties itself at an arrival, as FQ-CoDel may, keeps one place in the line.
#[test]
fn a_class_stands_in_line_once() {
    let codel = CodelSettings {
        target: Time::millis(5),
        interval: Time::millis(100),
        mtu: 1500,
        marks: false,
        ce_threshold: None,
    };
    let fq_codel = FqCodelSettings { codel, limit: 9, memory: 5000, queues: 4, quantum: 1500 };
    let classes = vec![(1000, QueueSettings::FqCodel(fq_codel)), (1000, ROOM)];
    let (mut queue, mut losses) = (Queue::new(&QueueSettings::Drr(classes), 1, 1).unwrap(), Vec::new());
    for bytes in [100, 5000] {
        queue.enqueue(Time::ZERO, Sample { bytes, ..Sample::new(0) }, &mut losses);
    }
    assert!(queue.is_empty(), "half of the bytes is both packets");
    add(&mut queue, 0, 4);
    add(&mut queue, 1, 4);
    let served: Vec<u8> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, Classes::NONE, &mut losses))
        .map(|packet| packet.class)
        .collect();
    assert_eq!(served, [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn classes_that_make_no_sense_are_refused() {
    for (settings, message) in [
        (QueueSettings::Priority(vec![]), "0 classes; allowed: 1 to 8 classes"),
        (QueueSettings::Priority(vec![ROOM; 9]), "9 classes; allowed: 1 to 8 classes"),
        (QueueSettings::Drr(vec![(0, ROOM)]), "a quantum of 0 bytes; allowed: 1 byte or more"),
        (
            QueueSettings::Priority(vec![QueueSettings::DropTail(Limit::Bytes(0))]),
            "a queue for nothing; allowed: a limit of 1 or more",
        ),
    ] {
        assert_eq!(Queue::<Sample>::new(&settings, 1, 1).unwrap_err().to_string(), message);
    }
}
