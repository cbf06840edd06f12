//! CoDel against the timings of its RFC.

use super::*;

const SETTINGS: CodelSettings = CodelSettings {
    target: Time::millis(5),
    interval: Time::millis(100),
    mtu: 1500,
    marks: false,
    ce_threshold: None,
};

fn codel(settings: CodelSettings) -> Codel<Sample> {
    Codel::new(settings, Limit::Packets(100_000)).unwrap()
}

/// Fills a queue with `packets` at time 0.
fn filled(settings: CodelSettings, packets: u32, ecn: Ecn) -> Codel<Sample> {
    let (mut queue, mut losses) = (codel(settings), Vec::new());
    for number in 0..packets {
        queue.enqueue(Time::ZERO, Sample { ecn, ..Sample::new(number) }, &mut losses);
    }
    queue
}

/// Serves the queue every `step` from `from` to `until`: the times at which a packet was dropped or marked.
fn signals(queue: &mut Codel<Sample>, from: Time, until: Time, step: Time) -> Vec<Time> {
    let (mut now, mut times, mut losses) = (from, Vec::new(), Vec::new());
    while now < until {
        let sent = queue.dequeue(now, Classes::NONE, &mut losses);
        let marked = sent.is_some_and(|packet| packet.ecn == Ecn::Congested);
        times.extend(losses.drain(..).map(|_| now).chain(marked.then_some(now)));
        now += step;
    }
    times
}

/// Section 5.3 of the RFC: after an interval above the target, then interval / sqrt(count) after the last.
fn expected(count: u32, step: Time) -> Vec<Time> {
    let mut seconds = 0.105;
    let times = (1..=count).map(|number| {
        let time = seconds;
        seconds += 0.1 / f64::from(number).sqrt();
        // The first time of service at or after it.
        Time::ticks(Time::from_secs_f64(time).as_ticks().div_ceil(step.as_ticks()) * step.as_ticks())
    });
    times.collect()
}

#[test]
fn drops_come_at_the_times_of_the_control_law() {
    let step = Time::micros(100);
    for (ecn, marks) in [(Ecn::NotCapable, false), (Ecn::NotCapable, true), (Ecn::Capable0, true)] {
        let mut queue = filled(CodelSettings { marks, ..SETTINGS }, 50_000, ecn);
        let times = signals(&mut queue, Time::ZERO, Time::secs(3), step);
        assert!(times.len() > 150, "{}", times.len());
        let expected = expected(times.len() as u32, step);
        for (number, (found, expected)) in times.iter().zip(&expected).enumerate() {
            // Roots are rounded down to a tick each: a time of service earlier at most.
            let early = expected.as_ticks() - found.as_ticks();
            assert!(early == 0 || early == step.as_ticks(), "{number}: {found} for {expected}");
        }
    }
}

/// What waits longer than the threshold is marked as it leaves, whatever the control loop says; what is not
/// ECN-capable is sent as it is.
#[test]
fn waits_beyond_a_threshold_are_marked() {
    let settings = CodelSettings { ce_threshold: Some(Time::millis(1)), ..SETTINGS };
    for (ecn, marked) in [(Ecn::Capable0, Ecn::Congested), (Ecn::NotCapable, Ecn::NotCapable)] {
        let mut queue = filled(settings, 4, ecn);
        let mut losses = Vec::new();
        let mut sent = |micros| queue.dequeue(Time::micros(micros), Classes::NONE, &mut losses).unwrap().ecn;
        assert_eq!([500, 1_000, 1_001, 4_000].map(&mut sent), [ecn, ecn, marked, marked]);
        assert!(losses.is_empty());
    }
}

#[test]
fn the_control_law_is_exact() {
    for (count, expected) in [(1, 100_000_000), (2, 70_710_678), (3, 57_735_026), (1_000_000, 100_000)] {
        let at = SETTINGS.control_law(Time::secs(1), count) - Time::secs(1);
        assert_eq!(at.as_nanos(), expected, "{count}");
    }
    assert_eq!(SETTINGS.control_law(Time::MAX, 1), Time::MAX);
}

#[test]
fn a_wait_below_the_target_or_a_queue_of_one_packet_is_let_through() {
    for (wait, marks) in [(Time::millis(4), false), (Time::millis(4), true)] {
        let (mut queue, mut losses) = (codel(CodelSettings { marks, ..SETTINGS }), Vec::new());
        for number in 0..2000 {
            let now = Time::millis(u64::from(number));
            queue.enqueue(now, Sample::new(number), &mut losses);
            if now >= wait {
                assert!(queue.dequeue(now, Classes::NONE, &mut losses).is_some());
            }
        }
        assert!(losses.is_empty());
    }
    // One packet that waits 50 ms, again and again: it is all that there is.
    let (mut queue, mut losses) = (codel(SETTINGS), Vec::new());
    for number in 0..100 {
        queue.enqueue(Time::millis(50 * number), Sample::new(0), &mut losses);
        assert!(queue.dequeue(Time::millis(50 * number + 50), Classes::NONE, &mut losses).is_some());
    }
    assert!(losses.is_empty());
}

/// Section 5.4: who begins again shortly after the end goes on at the rate at which it ended, not after.
#[test]
fn the_rate_is_kept_for_sixteen_intervals() {
    for (pause, second_gap) in [(Time::secs(1), 0.1 / 9.0f64.sqrt()), (Time::secs(3), 0.1)] {
        let mut queue = filled(SETTINGS, 10_000, Ecn::NotCapable);
        let step = Time::micros(100);
        // Ten drops, then the queue runs empty.
        let end = Time::millis(590);
        let dropped = signals(&mut queue, Time::ZERO, end, step).len();
        assert_eq!(dropped, 10);
        while queue.queue.pop().is_some() {}
        assert_eq!(signals(&mut queue, end, end + step, step), []);
        let mut losses = Vec::new();
        let again = end + pause;
        for number in 0..10_000 {
            queue.enqueue(again, Sample::new(number), &mut losses);
        }
        let times = signals(&mut queue, again, again + Time::millis(400), step);
        assert_eq!(times[0], again + Time::millis(105));
        let gap = (times[1] - times[0]).as_secs_f64();
        assert!((gap - second_gap).abs() < 2e-4, "after {pause}: {gap} for {second_gap}");
    }
}

#[test]
fn codel_has_a_limit_and_waits_for_every_pause() {
    let mut queue = Codel::new(SETTINGS, Limit::Bytes(2000)).unwrap();
    let mut losses = Vec::new();
    let verdicts: Vec<Verdict> =
        (0..3).map(|number| queue.enqueue(Time::ZERO, Sample::new(number), &mut losses)).collect();
    assert_eq!(verdicts[2], Verdict::Dropped(DropReason::Full));
    assert_eq!((losses.len(), queue.len(), queue.bytes()), (1, 2, 2000));
    let mut paused = Classes::NONE;
    paused.set(5, true);
    assert_eq!(queue.dequeue(Time::ZERO, paused, &mut losses), None);
    assert_eq!(queue.dequeue(Time::ZERO, Classes::NONE, &mut losses).unwrap().number, 0);
    assert_eq!(queue.head_bytes(), Some(1000));
    let wrong = CodelSettings { target: Time::secs(1), ..SETTINGS };
    let error = Codel::<Sample>::new(wrong, Limit::Packets(1)).unwrap_err();
    assert!(error.to_string().starts_with("CoDel with a target of 1s in an interval of 0.1s"), "{error}");
}
