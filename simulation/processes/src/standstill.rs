//! Notices processes that resume again and again while simulated time stands still: who yields for ever, or
//! waits only for what takes no time, lets nobody get further.
//!
//! The clock of the real world is read once in some thousand rounds of one instant, so that it costs nothing
//! where time goes on. Invariant: each instant is reported at most once.

use std::time::{Duration, Instant};

use paceline_kernel::Time;

/// Rounds of one instant between two looks at the clock.
const LOOK: u64 = 4096;
/// An instant may take this many times as long as the turn of one process: many may have something to do in
/// it.
const TURNS: u32 = 3;

/// Counts rounds of one instant, and measures how long they take together.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    at: Time,
    rounds: u64,
    since: Option<Instant>,
    is_reported: bool,
}

impl Standstill {
    /// So many rounds at `now` are over. Returns the number of rounds of this instant when they have taken
    /// too long, where a turn may take `limit`.
    pub(crate) fn rounds(&mut self, rounds: u32, now: Time, limit: Duration) -> Option<u64> {
        if now != self.at {
            *self = Self { at: now, ..Self::default() };
        }
        let before = self.rounds;
        self.rounds += u64::from(rounds);
        if self.is_reported || before / LOOK == self.rounds / LOOK {
            return None;
        }
        self.is_reported = self.since.get_or_insert_with(Instant::now).elapsed() >= TURNS * limit;
        self.is_reported.then_some(self.rounds)
    }
}

#[cfg(test)]
mod test {
    use std::sync::{Arc, Mutex};

    use paceline_network::{Constant, HostId};

    use super::*;
    use crate::{Control, EndedBy, Process, Simulation};

    #[test]
    fn an_instant_is_reported_once_and_only_if_it_has_taken_long() {
        let mut standstill = Standstill::default();
        let mut rounds = |at, count: u64, limit| {
            (0..count).filter_map(|_| standstill.rounds(1, at, limit)).collect::<Vec<_>>()
        };
        assert!(rounds(Time::ZERO, 10 * LOOK, Duration::MAX / 4).is_empty(), "it has not taken long");
        assert_eq!(rounds(Time::ZERO, 10 * LOOK, Duration::ZERO), [11 * LOOK]);
        assert!(rounds(Time::secs(1), LOOK - 1, Duration::ZERO).is_empty(), "nor had it many rounds");
        assert_eq!(rounds(Time::secs(2), 3 * LOOK, Duration::ZERO), [LOOK]);
    }

    #[test]
    fn who_yields_for_ever_or_waits_for_what_takes_no_time_is_named() {
        type Body = fn(Process<u32>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
        let yields: Body = |cx| {
            Box::pin(async move {
                cx.sleep(Time::secs(3)).await;
                loop {
                    cx.yield_now().await;
                }
            })
        };
        let plays: Body = |cx| {
            Box::pin(async move {
                cx.sleep(Time::secs(3)).await;
                let queue = cx.queue();
                loop {
                    queue.put(&cx, 1);
                    queue.get(&cx).await.unwrap();
                }
            })
        };
        let sleeps: Body = |cx| {
            Box::pin(async move {
                cx.sleep(Time::secs(3)).await;
                loop {
                    cx.sleep(Time::ZERO).await;
                }
            })
        };
        for (body, federates) in [(yields, 0), (plays, 0), (sleeps, 0), (yields, 2)] {
            let (control, stalls) = (Control::default(), Arc::new(Mutex::new(Vec::new())));
            let mut world = Simulation::<u32, _>::new(Constant::new(1.0), &[(1e9, 1); 2]).control(&control);
            world.settings.stall.0 = Duration::from_millis(1);
            let sink = Arc::clone(&stalls);
            let mut world = world.on_stall(move |stall| {
                // A turn that a busy machine interrupts takes long, too; here only rounds count.
                if stall.rounds.is_some() {
                    sink.lock().unwrap().push(stall.clone());
                    control.stop();
                }
            });
            world.spawn("quiet", HostId(0), async |cx: Process<u32>| cx.sleep(Time::secs(9)).await);
            world.spawn("restless", HostId(1), body);
            let world = if federates > 0 { world.federates(federates) } else { world };
            let ended = world.run().unwrap().ended_by;
            let stalls = stalls.lock().unwrap();
            assert_eq!((stalls.len(), &*stalls[0].name, stalls[0].time), (1, "restless", Time::secs(3)));
            let text = stalls[0].to_string();
            assert!(text.contains("has resumed again and again at 3s, in "), "{text}");
            assert!(federates > 0 || ended == EndedBy::Interrupted);
        }
    }
}
