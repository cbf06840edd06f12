//! Dynamic thresholds against their fixed point, and PFC on a link.

use std::collections::VecDeque;

use super::*;

/// Section III of the paper: `n` queues that want more than they get hold alpha B / (1 + n alpha) each.
#[test]
fn queues_that_want_more_hold_the_fixed_point() {
    for (over, under) in [(1, 1), (1, 2), (2, 1), (8, 1), (1, 16)] {
        for queues in [1, 2, 5, 16] {
            const SIZE: u64 = 10_000_000;
            let mut buffer = SharedBuffer::new(SIZE, Alpha { over, under }, 20).unwrap();
            // Packets of one byte find the threshold exactly; by turns, as queues that fill at one rate.
            while (0..queues).filter(|queue| buffer.admit(*queue, 1)).count() > 0 {}
            let alpha = f64::from(over) / f64::from(under);
            let expected = alpha * SIZE as f64 / (1.0 + queues as f64 * alpha);
            for queue in 0..queues {
                let held = buffer.held(queue) as f64;
                assert!(
                    (held - expected).abs() <= 1.0 + alpha,
                    "{over}/{under}, {queues}: {held}, {expected}"
                );
            }
            let free = SIZE - buffer.used();
            let expected = SIZE as f64 / (1.0 + queues as f64 * alpha);
            assert!((free as f64 - expected).abs() <= queues as f64 * (1.0 + alpha), "{free}, {expected}");
            assert!(buffer.admit(19, 1), "a queue that begins has room");
        }
    }
}

/// Queues that had more than their threshold, because others have begun since, shrink and take nothing.
#[test]
fn a_threshold_moves_with_what_is_free() {
    let mut buffer = SharedBuffer::new(1_000_000, Alpha { over: 1, under: 1 }, 2).unwrap();
    while buffer.admit(0, 1000) {}
    assert_eq!((buffer.held(0), buffer.threshold()), (500_000, 500_000));
    while buffer.admit(1, 1000) {}
    assert_eq!((buffer.held(1), buffer.threshold()), (250_000, 250_000));
    assert!(!buffer.admit(0, 1000), "above its threshold now");
    for _ in 0..167 {
        buffer.release(0, 1000);
    }
    assert!(buffer.held(0) == 333_000 && buffer.admit(1, 1000), "{buffer:?}");
    let mut small = SharedBuffer::new(1000, Alpha { over: 8, under: 1 }, 1).unwrap();
    assert!(small.admit(0, 600) && !small.admit(0, 401), "never more than there is");
    let error = SharedBuffer::new(1, Alpha { over: 1, under: 0 }, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a shared buffer of 1 bytes for 1 queues with alpha 1/0; allowed: numbers above 0"
    );
}

/// A sender that always has packets, a link, and a receiver that forwards at a lower rate. All lengths are in
/// byte times of the link.
struct Link {
    latency: u64,
    mtu: u32,
    /// The receiver forwards a byte in so many byte times.
    slowness: u64,
    draws: Draws,
}

impl Link {
    /// The packets that PFC lost, those that it passed, and the pauses.
    fn run(&mut self, settings: PfcSettings, until: u64) -> (u32, u32, u32) {
        let mut classes = [None; 8];
        classes[3] = Some(settings);
        let mut pfc = Pfc::new(classes, 1).unwrap();
        let (mut lost, mut passed, mut pauses) = (0, 0, 0);
        // Packets on the way with the time at which they are there, signals likewise, what waits.
        let (mut data, mut signals, mut waiting) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let (mut sender_free, mut receiver_free, mut is_paused, mut mtu_next) = (0, 0, false, false);
        for now in 0..until {
            while let Some((_, signal)) = signals.pop_front_if(|(at, _)| *at <= now) {
                is_paused = signal == PauseSignal::Pause;
            }
            if !is_paused && sender_free <= now {
                mtu_next = !mtu_next;
                let bytes = if mtu_next { self.mtu } else { 64 + self.draws.u64() as u32 % (self.mtu - 63) };
                sender_free = now + u64::from(bytes);
                data.push_back((sender_free + self.latency, bytes));
            }
            let mut signalled = None;
            while let Some((_, bytes)) = data.pop_front_if(|(at, _)| *at <= now) {
                let arrival = pfc.arrive(0, 3, bytes);
                signalled = signalled.or(arrival.signal);
                match arrival.is_accepted {
                    true => waiting.push_back(bytes),
                    false => lost += 1,
                }
            }
            if receiver_free <= now
                && let Some(bytes) = waiting.pop_front()
            {
                receiver_free = now + u64::from(bytes) * self.slowness;
                passed += 1;
                signalled = pfc.depart(0, 3, bytes).or(signalled);
            }
            if let Some(signal) = signalled {
                pauses += u32::from(signal == PauseSignal::Pause);
                // The worst case: the signal waits for the longest packet in the other direction.
                let delay = u64::from(self.mtu) + u64::from(pfc::PAUSE_BYTES) + self.latency;
                signals.push_back((now + delay, signal));
            }
        }
        (lost, passed, pauses)
    }
}

#[test]
fn pfc_with_the_headroom_of_the_link_loses_nothing() {
    for (latency, mtu, slowness) in [(0, 1500, 2), (5000, 1500, 4), (40_000, 9000, 3), (700, 1500, 1000)] {
        // A byte time is a nanosecond at 8 Gbit/s.
        let headroom = PfcSettings::headroom(8_000_000_000, 1000 * latency, mtu);
        let settings = PfcSettings { xoff: 30_000, xon: 20_000, headroom };
        let mut link = Link { latency, mtu, slowness, draws: Draws::new(3, latency) };
        let (lost, passed, pauses) = link.run(settings, 2_000_000);
        assert!(lost == 0 && passed > 0 && pauses > 0, "{latency}: {lost} lost of {passed}, {pauses} pauses");
        // Two packets less lose some: the formula has nothing to spare but for chance.
        let short = PfcSettings { headroom: headroom - 2 * u64::from(mtu), ..settings };
        let mut link = Link { latency, mtu, slowness: 1000, draws: Draws::new(3, latency) };
        assert!(link.run(short, 2_000_000).0 > 0, "{latency}: nothing lost with {}", short.headroom);
    }
}

#[test]
fn a_class_pauses_once_and_resumes_at_its_threshold() {
    let mut classes = [None; 8];
    classes[3] = Some(PfcSettings { xoff: 3000, xon: 1000, headroom: 1500 });
    let mut pfc = Pfc::new(classes, 2).unwrap();
    let signals: Vec<PfcArrival> = (0..5).map(|_| pfc.arrive(1, 3, 1000)).collect();
    let accepted: Vec<bool> = signals.iter().map(|arrival| arrival.is_accepted).collect();
    assert_eq!(accepted, [true, true, true, true, false]);
    let signalled: Vec<_> = signals.iter().map(|arrival| arrival.signal).collect();
    assert_eq!(signalled, [None, None, None, Some(PauseSignal::Pause), None]);
    assert_eq!((pfc.counted(1, 3), pfc.is_paused(1, 3), pfc.is_paused(0, 3)), (4000, true, false));
    let signalled: Vec<_> = (0..4).map(|_| pfc.depart(1, 3, 1000)).collect();
    assert_eq!(signalled, [None, None, Some(PauseSignal::Resume), None]);
    for _ in 0..100 {
        let arrival = pfc.arrive(0, 4, 9000);
        assert_eq!(arrival, PfcArrival { is_accepted: true, signal: None }, "a class without flow control");
    }
    assert_eq!(pfc.depart(0, 4, 9000), None);
    // Without headroom a loss pauses; a packet that never has room does not, since nothing would resume.
    classes[3] = Some(PfcSettings { xoff: 3000, xon: 1000, headroom: 0 });
    let mut pfc = Pfc::new(classes, 1).unwrap();
    let of = |is_accepted, signal| PfcArrival { is_accepted, signal };
    assert_eq!(pfc.arrive(0, 3, 4000), of(false, None));
    let arrivals: Vec<PfcArrival> = (0..5).map(|_| pfc.arrive(0, 3, 1000)).collect();
    let (held, pausing) = (of(true, None), of(false, Some(PauseSignal::Pause)));
    assert_eq!(arrivals, [held, held, held, pausing, of(false, None)]);
    assert_eq!([(); 2].map(|()| pfc.depart(0, 3, 1000)), [None, Some(PauseSignal::Resume)]);
    classes[0] = Some(PfcSettings { xoff: 1, xon: 2, headroom: 0 });
    let error = Pfc::new(classes, 1).unwrap_err();
    assert_eq!(error.to_string(), "PFC that resumes at 2 bytes and pauses above 1; allowed: xon up to xoff");
}
