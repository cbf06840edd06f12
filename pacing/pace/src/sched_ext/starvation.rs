//! Whether the paced tasks get any CPU time at all: the fair class comes before theirs, so that programs
//! which always want to run could take all CPU time, or a paced task could be stranded in the queue of a CPU
//! on which such a program runs.
//!
//! A pure state machine. Invariants: paced tasks are left without CPU time for at most about [`STARVED`];
//! after that the policy is detached for [`PAUSE_LEAST`], and for twice as long every next time in a row, up
//! to [`PAUSE_MOST`].

use std::time::Duration;

/// How long tasks may be starved before the policy is detached.
pub const STARVED: Duration = Duration::from_millis(200);
/// The first pause.
pub const PAUSE_LEAST: Duration = Duration::from_secs(1);
/// The longest pause.
pub const PAUSE_MOST: Duration = Duration::from_secs(16);
/// Tasks are starved if they get less than this part of one CPU's time: one in this many.
const SHARE: u32 = 20;

/// What is to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// Leave the policy as it is, attached or detached.
    Keep,
    /// Detach the policy: its tasks get no CPU time.
    Pause,
    /// Attach the policy again.
    Resume,
}

/// The state of the watch. All times count from the same moment.
#[derive(Debug)]
pub struct Starvation {
    /// Until when the policy is detached, if it is.
    paused_until: Option<Duration>,
    /// Since when tasks are starved, and how much CPU time they had at that moment.
    hungry: Option<(Duration, Duration)>,
    /// How long the next pause is.
    next_pause: Duration,
    /// When the policy was last attached.
    resumed: Duration,
}

impl Starvation {
    /// A watch that begins at the time `now`, with the policy attached.
    pub fn new(now: Duration) -> Self {
        Self { paused_until: None, hungry: None, next_pause: PAUSE_LEAST, resumed: now }
    }

    /// Whether the policy is detached.
    pub fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }

    /// What to do at the time `now`. `ran` is the CPU time of all paced tasks, `waiting` says whether any of
    /// them waits for a CPU, and `stranded` is for how long one has been in the queue of a CPU that runs
    /// none of them.
    pub fn judge(&mut self, now: Duration, ran: Duration, waiting: bool, stranded: Duration) -> Action {
        if let Some(until) = self.paused_until {
            if now < until {
                return Action::Keep;
            }
            // Time in the pause says nothing about the policy.
            (self.paused_until, self.hungry, self.resumed) = (None, None, now);
            return Action::Resume;
        }
        if stranded >= STARVED {
            return self.pause(now);
        }
        // Tasks that want no CPU are not starved, however little they get.
        if !waiting {
            self.hungry = None;
            return Action::Keep;
        }
        let (since, had) = *self.hungry.get_or_insert((now, ran));
        let span = now.saturating_sub(since);
        if span < STARVED {
            return Action::Keep;
        }
        if ran.saturating_sub(had) >= span / SHARE {
            self.hungry = Some((now, ran));
            // They get their share for several periods now: the next starvation is a new one.
            if now.saturating_sub(self.resumed) > 4 * STARVED {
                self.next_pause = PAUSE_LEAST;
            }
            return Action::Keep;
        }
        self.pause(now)
    }

    fn pause(&mut self, now: Duration) -> Action {
        self.paused_until = Some(now + self.next_pause);
        self.next_pause = (self.next_pause * 2).min(PAUSE_MOST);
        Action::Pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Judges every 50 ms from `from` to `to`, while tasks wait and run for `permille` of the time; returns
    /// all actions but `Keep`.
    fn starve(watch: &mut Starvation, from: u32, to: u32, permille: u32) -> Vec<(u32, Action)> {
        let steps = (from..to).step_by(50);
        let judged =
            steps.map(|at| (at, watch.judge(at * MS, at * MS * permille / 1000, true, Duration::ZERO)));
        judged.filter(|(_, action)| *action != Action::Keep).collect()
    }

    #[test]
    fn starved_tasks_get_the_fair_class_soon_and_the_policy_later() {
        let mut watch = Starvation::new(Duration::ZERO);
        let done = starve(&mut watch, 0, 2000, 10);
        assert_eq!(done, [(200, Action::Pause), (1200, Action::Resume), (1450, Action::Pause)]);
        assert!(watch.is_paused());
    }

    #[test]
    fn pauses_grow_to_their_limit_and_are_short_again_after_good_times() {
        let mut watch = Starvation::new(Duration::ZERO);
        let done = starve(&mut watch, 0, 100_000, 0);
        let pauses = done.chunks(2).filter(|pair| pair.len() == 2).map(|pair| pair[1].0 - pair[0].0);
        assert_eq!(
            pauses.collect::<Vec<_>>(),
            [1000, 2000, 4000, 8000, 16_000, 16_000, 16_000, 16_000, 16_000]
        );
        let mut watch = Starvation::new(Duration::ZERO);
        assert_eq!(starve(&mut watch, 0, 1300, 0).len(), 2);
        assert_eq!(starve(&mut watch, 1300, 5000, 500), []);
        assert_eq!(watch.next_pause, PAUSE_LEAST);
    }

    #[test]
    fn who_runs_or_does_not_want_to_is_not_starved() {
        assert_eq!(starve(&mut Starvation::new(Duration::ZERO), 0, 5000, 60), []);
        let mut watch = Starvation::new(Duration::ZERO);
        assert!(
            (0..100).all(|at| watch.judge(at * 50 * MS, Duration::ZERO, false, 199 * MS) == Action::Keep)
        );
        assert_eq!(watch.judge(5000 * MS, 5000 * MS, true, 200 * MS), Action::Pause);
    }
}
