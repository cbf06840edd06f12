//! The processors of a host: all computations on it share its cores evenly, none is faster than one core.
//!
//! While nothing changes, each of `n` computations runs at `speed * min(1, cores / n)` flops a second. As all run equally
//! fast, the order in which they end is the order of the work at which each ends, counted from when the host was made; a
//! change of `n` changes only when that is reached. So a beginning or an end costs the logarithm of `n`.
//!
//! Invariants: `work` is what each computation would have had if it had been there from the start, up to `since`; the first
//! of `tasks` ends first; equal ends are in the order of their beginnings.

use std::collections::BTreeMap;

use paceline_kernel::Time;

/// Flops, as a key: finite and not negative, so that bits are ordered as values are.
type Flops = u64;

/// See the module. `T` says whose a computation is.
#[derive(Clone, Debug)]
pub(super) struct Cpu<T> {
    speed: f64,
    cores: f64,
    work: f64,
    since: Time,
    begun: u64,
    tasks: BTreeMap<(Flops, u64), T>,
}

/// A computation, until it ends.
pub(super) type Task = (Flops, u64);

impl<T> Cpu<T> {
    /// `cores` cores, each of `speed` flops a second.
    pub(super) fn new(speed: f64, cores: u32) -> Self {
        let cores = f64::from(cores);
        Self { speed, cores, work: 0.0, since: Time::ZERO, begun: 0, tasks: BTreeMap::new() }
    }

    /// Flops a second of each computation.
    fn rate(&self) -> f64 {
        self.speed * (self.cores / (self.tasks.len() as f64).max(1.0)).min(1.0)
    }

    /// Each core has this speed from now on.
    pub(super) fn set_speed(&mut self, now: Time, speed: f64) {
        self.bring_up(now);
        self.speed = speed;
    }

    fn bring_up(&mut self, now: Time) {
        if self.tasks.is_empty() {
            // Nobody is there to see it; small numbers are exact ones.
            self.work = 0.0;
        } else {
            self.work += self.rate() * now.saturating_sub(self.since).as_secs_f64();
        }
        self.since = now;
    }

    /// Begins a computation.
    pub(super) fn begin(&mut self, now: Time, flops: f64, whose: T) -> Task {
        self.bring_up(now);
        let task = ((self.work + flops).to_bits(), self.begun);
        self.begun += 1;
        self.tasks.insert(task, whose);
        task
    }

    /// Takes a computation out. Gives the flops that are left of it.
    pub(super) fn stop(&mut self, now: Time, task: Task) -> f64 {
        self.bring_up(now);
        self.tasks.remove(&task);
        (f64::from_bits(task.0) - self.work).max(0.0)
    }

    /// Whose a computation is, which has not ended.
    pub(super) fn whose(&mut self, task: Task) -> &mut T {
        self.tasks.get_mut(&task).expect("who knows a computation has not heard of its end")
    }

    /// When the first computation ends; none ends at a speed of zero.
    pub(super) fn next(&self) -> Option<Time> {
        let (first, _) = self.tasks.first_key_value()?.0;
        let seconds = (f64::from_bits(*first) - self.work).max(0.0) / self.rate();
        let span_ns = (seconds * 1e9).round();
        (span_ns < u64::MAX as f64).then(|| self.since.saturating_add(Time::nanos(span_ns as u64)))
    }

    /// The first computation is over at `now`, which is when [`Self::next`] said; and with it all that need no more work.
    pub(super) fn end(&mut self, now: Time, ended: &mut Vec<T>) {
        self.bring_up(now);
        let Some(((first, _), whose)) = self.tasks.pop_first() else { return };
        ended.push(whose);
        self.work = self.work.max(f64::from_bits(first));
        while let Some(entry) = self.tasks.first_entry()
            && f64::from_bits(entry.key().0) <= self.work
        {
            ended.push(entry.remove());
        }
    }

    /// Whether any process computes.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self) {
        self.tasks.clear();
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn computations_share_the_cores_and_none_is_faster_than_one() {
        let mut cpu = Cpu::new(1e9, 2);
        let mut ended = Vec::new();
        cpu.begin(Time::ZERO, 1e9, 'a');
        assert_eq!(cpu.next(), Some(Time::secs(1)), "alone: one core");
        cpu.begin(Time::ZERO, 2e9, 'b');
        assert_eq!(cpu.next(), Some(Time::secs(1)), "two on two cores");
        let c = cpu.begin(Time::ZERO, 4e9, 'c');
        cpu.begin(Time::ZERO, 1e9, 'd');
        // Four on two cores: half as fast.
        assert_eq!(cpu.next(), Some(Time::secs(2)));
        cpu.end(Time::secs(2), &mut ended);
        assert_eq!(ended, ['a', 'd']);
        assert_eq!(cpu.next(), Some(Time::secs(3)), "b has one of its two left, on its own core");
        assert_eq!(cpu.stop(Time::secs(3), c), 2e9);
    }

    #[test]
    fn a_change_of_speed_counts_from_when_it_comes() {
        let mut cpu = Cpu::new(1e9, 1);
        cpu.begin(Time::ZERO, 4e9, 'a');
        cpu.set_speed(Time::secs(1), 0.0);
        assert_eq!(cpu.next(), None);
        cpu.set_speed(Time::secs(5), 2e9);
        assert_eq!(cpu.next(), Some(Time::millis(6500)), "three of four are left");
    }

    #[test]
    fn a_host_without_speed_computes_for_ever() {
        let mut cpu = Cpu::new(0.0, 1);
        cpu.begin(Time::ZERO, 1.0, ());
        assert_eq!(cpu.next(), None);
        assert!(!cpu.is_idle());
    }
}
