//! The processors of a host: all computations on it share its cores evenly, none is faster than one core.
//!
//! While nothing changes, each of `n` computations runs at `speed * min(1, cores / n)` flops a second. As all
//! run equally fast, the order in which they end is the order of the work at which each ends, counted from
//! when the host was made; a change of `n` changes only when that is reached. So a beginning or an end costs
//! the logarithm of `n`.
//!
//! Beginnings and ends have exact moments, so that parts of a tick are neither lost nor given to others.
//! Within a tick they may come in another order than that of their exact moments: then work is counted back
//! at the present rate.
//!
//! Invariants: `work` is what each computation would have had if it had been there from the start, up to
//! `since`; the first of `tasks` ends first; equal ends are in the order of their beginnings.

use std::collections::BTreeMap;

use paceline_kernel::Time;

use super::moment::Moment;

/// Flops, as a key whose bits are ordered as values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flops(u64);

const SIGN: u64 = 1 << 63;

impl Flops {
    fn of(flops: f64) -> Self {
        let bits = flops.to_bits();
        Self(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }

    fn value(self) -> f64 {
        f64::from_bits(if self.0 & SIGN == 0 { !self.0 } else { self.0 & !SIGN })
    }
}

/// The cores of a host and the computations on them. `T` says whose a computation is.
#[derive(Clone, Debug)]
pub(super) struct Cpu<T> {
    speed: f64,
    cores: f64,
    work: f64,
    since: Moment,
    begun: u64,
    tasks: BTreeMap<(Flops, u64), T>,
}

/// A computation, until it ends.
pub(super) type Task = (Flops, u64);

impl<T> Cpu<T> {
    /// `cores` cores, each of `speed` flops a second.
    pub(super) fn new(speed: f64, cores: u32) -> Self {
        let cores = f64::from(cores);
        Self { speed, cores, work: 0.0, since: Moment::default(), begun: 0, tasks: BTreeMap::new() }
    }

    /// Flops a second of each computation.
    fn rate(&self) -> f64 {
        self.speed * (self.cores / (self.tasks.len() as f64).max(1.0)).min(1.0)
    }

    pub(super) fn set_speed(&mut self, now: Time, speed: f64) {
        self.bring_up(Moment::at(now));
        self.speed = speed;
    }

    fn bring_up(&mut self, now: Moment) {
        if self.tasks.is_empty() {
            // Nobody is there to see it; small numbers are exact ones.
            self.work = 0.0;
        } else {
            self.work += self.rate() * now.secs_since(self.since);
        }
        self.since = now;
    }

    pub(super) fn begin(&mut self, now: Moment, flops: f64, whose: T) -> Task {
        self.bring_up(now);
        let task = (Flops::of(self.work + flops), self.begun);
        self.begun += 1;
        self.tasks.insert(task, whose);
        task
    }

    /// Takes a computation out. Gives the flops that are left of it.
    pub(super) fn stop(&mut self, now: Moment, task: Task) -> f64 {
        self.bring_up(now);
        self.tasks.remove(&task);
        (task.0.value() - self.work).max(0.0)
    }

    /// Whose a computation is, which has not ended.
    pub(super) fn whose(&mut self, task: Task) -> &mut T {
        self.tasks.get_mut(&task).expect("who knows a computation has not heard of its end")
    }

    /// When the first computation ends; none that has work left ends at a speed of zero.
    pub(super) fn next(&self) -> Option<Moment> {
        let (first, _) = self.tasks.first_key_value()?.0;
        let (left, rate) = (first.value() - self.work, self.rate());
        if left == 0.0 || (left < 0.0 && rate == 0.0) {
            return Some(self.since);
        }
        Some(self.since.after_secs(left / rate)).filter(|next| next.at < Time::MAX)
    }

    /// Takes out the computation that ends first, if it ends up to `now`: whose it is, and when exactly it
    /// ended.
    pub(super) fn end(&mut self, now: Time) -> Option<(T, Moment)> {
        let end = self.next().filter(|end| end.at <= now)?;
        let ((first, _), whose) = self.tasks.pop_first()?;
        (self.work, self.since) = (first.value(), end);
        Some((whose, end))
    }

    /// Takes out a computation that ended with the last one taken out, to the last flop.
    pub(super) fn end_with(&mut self) -> Option<T> {
        let entry = self.tasks.first_entry()?;
        (entry.key().0.value() <= self.work).then(|| entry.remove())
    }

    /// Whether any process computes.
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.tasks.clear();
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn secs(s: u64) -> Moment {
        Moment::at(Time::secs(s))
    }

    #[test]
    fn computations_share_the_cores_and_none_is_faster_than_one() {
        let mut cpu = Cpu::new(1e9, 2);
        cpu.begin(secs(0), 1e9, 'a');
        assert_eq!(cpu.next(), Some(secs(1)), "alone: one core");
        cpu.begin(secs(0), 2e9, 'b');
        assert_eq!(cpu.next(), Some(secs(1)), "two on two cores");
        let c = cpu.begin(secs(0), 4e9, 'c');
        cpu.begin(secs(0), 1e9, 'd');
        // Four on two cores: half as fast.
        assert_eq!(cpu.next(), Some(secs(2)));
        assert_eq!(cpu.end(Time::secs(1)), None, "nothing ends before that");
        assert_eq!(cpu.end(Time::secs(2)), Some(('a', secs(2))));
        assert_eq!((cpu.end_with(), cpu.end_with()), (Some('d'), None));
        assert_eq!(cpu.end(Time::secs(2)), None);
        assert_eq!(cpu.next(), Some(secs(3)), "b has one of its two left, on its own core");
        assert_eq!(cpu.stop(secs(3), c), 2e9);
    }

    #[test]
    fn a_change_of_speed_counts_from_when_it_comes() {
        let mut cpu = Cpu::new(1e9, 1);
        cpu.begin(secs(0), 4e9, 'a');
        cpu.set_speed(Time::secs(1), 0.0);
        assert_eq!(cpu.next(), None);
        cpu.set_speed(Time::secs(5), 2e9);
        assert_eq!(cpu.next(), Some(Moment::at(Time::millis(6500))), "three of four are left");
    }

    #[test]
    fn a_host_without_speed_computes_for_ever_but_what_is_nothing() {
        let mut cpu = Cpu::new(0.0, 1);
        cpu.begin(secs(0), 1.0, 'a');
        assert_eq!(cpu.next(), None);
        assert!(!cpu.is_idle());
        cpu.begin(secs(1), 0.0, 'b');
        assert_eq!((cpu.end(Time::secs(1)), cpu.next()), (Some(('b', secs(1))), None));
    }

    #[test]
    fn keys_are_ordered_as_numbers_are() {
        let numbers = [-1e300, -2.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, 1e300];
        assert!(numbers.windows(2).all(|pair| Flops::of(pair[0]) < Flops::of(pair[1])));
        assert!(numbers.iter().all(|number| Flops::of(*number).value() == *number));
    }

    #[test]
    fn what_begins_in_a_tick_before_what_began_earlier_in_it_gets_all_its_work() {
        let mut cpu = Cpu::new(1e9, 2);
        let tick = Time::nanos(5);
        cpu.begin(Moment { at: tick, rest: 0.4 }, 3.0, 'a');
        cpu.begin(Moment { at: tick, rest: -0.4 }, 0.5, 'b');
        let ends: Vec<(char, f64)> = std::iter::from_fn(|| cpu.end(Time::nanos(9)))
            .map(|(whose, end)| (whose, end.as_secs() * 1e9))
            .collect();
        assert_eq!((ends[0].0, ends[1].0), ('b', 'a'));
        assert!((ends[0].1 - 5.1).abs() < 1e-6 && (ends[1].1 - 8.4).abs() < 1e-6, "{ends:?}");
    }
}
