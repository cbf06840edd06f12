//! Statistics of a resource: how many wait and are served, for how long, and how busy it is.
//!
//! Times are whole ticks, so sums over time and over claims are whole numbers without rounding: the same
//! whatever the number of threads and federates. What is measured after a warm-up is measured as if the run
//! had begun then, with those who wait and are served at that time.
//!
//! What is measured here is shown to processes by `resources/measured.rs`, and at the end by `report.rs`: in
//! `resources.csv`, a row a resource. Of stores and containers only those who take out are measured as
//! waiting; neither items nor those who put in are.
//!
//! Invariants: an area is the sum of level x ticks from `from` to `last`; no claim is counted twice.

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_results::statistics::{Distribution, ExactSum, Level};

/// A number that changes with time, summed over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) level: u64,
    ticks: u128,
    most: u64,
}

impl Area {
    fn extend(&mut self, ticks: u64) {
        self.ticks += u128::from(self.level) * u128::from(ticks);
    }

    fn set(&mut self, level: u64) {
        self.level = level;
        self.most = self.most.max(level);
    }

    /// The mean over so many ticks.
    fn mean(&self, span: u64) -> Option<f64> {
        (span > 0).then(|| self.ticks as f64 / span as f64)
    }

    fn begin_anew(&mut self) {
        (self.ticks, self.most) = (0, self.level);
    }
}

/// Spans of time: their number, mean, deviation, least and greatest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spans {
    count: u64,
    ticks: u128,
    /// The sum of the squares: the low 128 bits, and what is carried beyond them.
    squares: (u128, u64),
    range: Option<(Time, Time)>,
    quantiles: Option<Box<Distribution>>,
}

impl Spans {
    fn with_quantiles(has: bool) -> Self {
        Self { quantiles: has.then(Box::default), ..Self::default() }
    }

    fn add(&mut self, span: Time) {
        let ticks = u128::from(span.as_ticks());
        self.count += 1;
        self.ticks += ticks;
        let (low, carried) = self.squares.0.overflowing_add(ticks * ticks);
        self.squares = (low, self.squares.1 + u64::from(carried));
        self.range = match self.range {
            Some((least, greatest)) => Some((least.min(span), greatest.max(span))),
            None => Some((span, span)),
        };
        if let Some(quantiles) = &mut self.quantiles {
            quantiles.add(span.as_secs_f64());
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean in seconds; nothing without spans.
    pub fn mean_s(&self) -> Option<f64> {
        let ticks = self.ticks as f64 / Time::TICKS_PER_SECOND as f64;
        (self.count > 0).then(|| ticks / self.count as f64)
    }

    /// Their standard deviation in seconds, as an estimate of that of the population they are a sample of;
    /// nothing with fewer than two.
    pub fn deviation_s(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        // The difference of two great numbers, in which little is left where all spans are alike: without
        // rounding until it is taken.
        let (count, sums) = (self.count as f64, parts(self.ticks));
        let mut distances = ExactSum::default();
        for part in parts(self.squares.0) {
            distances.add_product(count, part);
        }
        distances.add_product(count * 2f64.powi(64), self.squares.1 as f64 * 2f64.powi(64));
        for (one, other) in sums.into_iter().flat_map(|one| sums.map(|other| (one, other))) {
            distances.add_product(-one, other);
        }
        let variance = (distances.value() / count / (count - 1.0)).max(0.0);
        Some(variance.sqrt() / Time::TICKS_PER_SECOND as f64)
    }

    /// The shortest.
    pub fn least(&self) -> Option<Time> {
        self.range.map(|(least, _)| least)
    }

    /// The longest.
    pub fn greatest(&self) -> Option<Time> {
        self.range.map(|(_, greatest)| greatest)
    }

    /// The length in seconds below or at which this part of all spans lies (0.5 for the median), within
    /// 0.4 %; where quantiles are kept.
    pub fn quantile_s(&self, part: f64) -> Option<f64> {
        self.quantiles.as_ref()?.quantile(part)
    }
}

/// Numbers of 32 bits at their places, of which the sum is `whole`.
fn parts(whole: u128) -> [f64; 4] {
    [0, 32, 64, 96].map(|place| f64::from((whole >> place) as u32) * 2f64.powi(place))
}

/// What is measured of a resource while the run goes on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sampled {
    from: Time,
    last: Time,
    has_quantiles: bool,
    pub(super) waiting: Area,
    pub(super) busy: Area,
    capacity: Area,
    waits: Spans,
    served: Spans,
    counts: ClaimCounts,
    /// Of a container.
    amount: Option<Box<Amount>>,
}

/// The amount in a container over time; it is no whole number, so it is summed apart.
#[derive(Clone, Debug, PartialEq)]
struct Amount {
    over_time: Level,
    level: f64,
    most: f64,
    capacity: f64,
}

/// How many claims there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// Claims that were made.
    pub requested: u64,
    /// Claims that got what they wanted, after a wait or at once.
    pub granted: u64,
    /// Claims that waited and were withdrawn, or whose time limit was over.
    pub reneged: u64,
    /// Claims that were refused, as too many others waited.
    pub balked: u64,
    /// How often units were taken away from a claim.
    pub preempted: u64,
}

impl Sampled {
    pub(super) fn new(now: Time, capacity: u64, has_quantiles: bool) -> Self {
        let mut area = Area::default();
        area.set(capacity);
        Self {
            from: now,
            last: now,
            has_quantiles,
            waiting: Area::default(),
            busy: Area::default(),
            capacity: area,
            waits: Spans::with_quantiles(has_quantiles),
            served: Spans::with_quantiles(has_quantiles),
            counts: ClaimCounts::default(),
            amount: None,
        }
    }

    /// The same of a container with room for so much.
    pub(super) fn with_amount(self, level: f64, capacity: f64) -> Self {
        let mut over_time = Level::default();
        over_time.change(self.from, level);
        Self { amount: Some(Box::new(Amount { over_time, level, most: level, capacity })), ..self }
    }

    /// Sums up to `now`. Must be called before levels change.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, warm_up: Time) {
        if self.last >= now {
            return;
        }
        if self.last < warm_up {
            if now < warm_up {
                self.last = now;
                return;
            }
            self.begin_anew(warm_up);
        }
        let ticks = (now - self.last).as_ticks();
        self.waiting.extend(ticks);
        self.busy.extend(ticks);
        self.capacity.extend(ticks);
        self.last = now;
    }

    /// Forgets all that was measured before `from`.
    pub(super) fn begin_anew(&mut self, from: Time) {
        (self.from, self.last) = (from, from);
        [&mut self.waiting, &mut self.busy, &mut self.capacity].into_iter().for_each(Area::begin_anew);
        self.waits = Spans::with_quantiles(self.has_quantiles);
        self.served = Spans::with_quantiles(self.has_quantiles);
        self.counts = ClaimCounts::default();
        if let Some(amount) = &mut self.amount {
            (amount.over_time, amount.most) = (Level::default(), amount.level);
            amount.over_time.change(from, amount.level);
        }
    }

    pub(super) fn requests(&mut self) {
        self.counts.requested += 1;
    }

    pub(super) fn balks(&mut self) {
        self.counts.balked += 1;
    }

    pub(super) fn waits(&mut self, more: i64) {
        self.waiting.set(self.waiting.level.wrapping_add_signed(more));
    }

    pub(super) fn uses(&mut self, more: i64) {
        self.busy.set(self.busy.level.wrapping_add_signed(more));
    }

    /// The amount in a container has changed to `level`.
    pub(super) fn holds(&mut self, by: f64, level: f64) {
        let at = self.last;
        if let Some(amount) = &mut self.amount {
            (amount.level, amount.most) = (level, amount.most.max(level));
            amount.over_time.change(at, by);
        }
    }

    pub(super) fn has_capacity(&mut self, capacity: u64) {
        self.capacity.set(capacity);
    }

    pub(super) fn grants(&mut self, waited: Time) {
        self.counts.granted += 1;
        self.waits.add(waited);
    }

    pub(super) fn serves(&mut self, span: Time) {
        self.served.add(span);
    }

    pub(super) fn reneges(&mut self) {
        self.counts.reneged += 1;
    }

    pub(super) fn preempts(&mut self) {
        self.counts.preempted += 1;
    }

    /// What was measured until `now`.
    pub(super) fn report(
        &self,
        now: Time,
        warm_up: Time,
        name: Option<Arc<str>>,
        host: u32,
    ) -> ResourceStatistics {
        let mut measured = self.clone();
        measured.advance(now, warm_up);
        let span = measured.last.saturating_sub(measured.from);
        let ticks = span.as_ticks();
        let utilisation = measured.busy.ticks as f64 / measured.capacity.ticks as f64;
        let mut statistics = ResourceStatistics {
            name,
            host,
            span,
            mean_waiting: measured.waiting.mean(ticks),
            most_waiting: measured.waiting.most,
            mean_level: measured.busy.mean(ticks),
            most_level: measured.busy.most as f64,
            utilisation: (measured.capacity.ticks > 0).then_some(utilisation),
            waits: measured.waits,
            served: measured.served,
            counts: measured.counts,
        };
        if let Some(amount) = measured.amount.filter(|_| ticks > 0) {
            statistics.mean_level = amount.over_time.mean(measured.from, measured.last);
            statistics.most_level = amount.most;
            let bounded = Some(amount.capacity).filter(|capacity| capacity.is_finite() && *capacity > 0.0);
            statistics.utilisation =
                bounded.zip(statistics.mean_level).map(|(capacity, mean)| mean / capacity);
        }
        statistics
    }
}

/// Statistics of a resource, up to the present or to the end of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceStatistics {
    /// What it was called when it was made.
    pub name: Option<Arc<str>>,
    /// The host that it is at.
    pub host: u32,
    /// The span of simulated time that was measured.
    pub span: Time,
    /// How many processes waited for units, items or amounts, on average over time.
    pub mean_waiting: Option<f64>,
    /// How many waited at most at a time.
    pub most_waiting: u64,
    /// How many units were in use, or how many items or how much was in it, on average over time.
    pub mean_level: Option<f64>,
    /// The most units in use, or the most items or the greatest amount in it.
    pub most_level: f64,
    /// The units in use by those that there were, both summed over time; of stores and containers by the
    /// room that there is, nothing where that is not bounded.
    pub utilisation: Option<f64>,
    /// Waits of the claims that were granted, including those that took no time.
    pub waits: Spans,
    /// How long units were held, in all for a claim, without the times in which it was preempted.
    pub served: Spans,
    /// How many claims there were, and what became of them.
    pub counts: ClaimCounts,
}
