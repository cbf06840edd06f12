//! Queueing networks: customers wait at stations, are served, and walk on to others.
//!
//! A station has one or more servers, or so many that nobody waits, and one line. Customers are of classes: a
//! *closed* class has a fixed population that goes round for ever; customers of an *open* class come from
//! outside, by a Poisson process, and leave. Where classes have different priorities, a free server takes the
//! first customer of the best one that waits; who is being served is not interrupted. Within a class the
//! first come is the first served.
//!
//! # What is known
//!
//! Closed networks of one class have a product form (Gordon and Newell, 1967), whose means the convolution
//! algorithm gives (Buzen, 1973), as mean-value analysis does (Reiser and Lavenberg, 1980); open ones are
//! Jackson networks, in which each station is an M/M/c queue with Erlang's wait (Jackson, 1957); at a
//! station that customers of several priorities reach from outside alone, Cobham's formula gives the wait of
//! each (Cobham, 1954). Results have these numbers beside those measured where they hold.
//!
//! # LPs and lookahead
//!
//! An LP is a station. How long a customer is served and where it goes then are drawn when its service
//! begins, and its arrival at the next station is sent at that time. So no message takes less than `walk` and
//! the least time of a service: zero where it is exponential, all of it where it is constant. Channels lead
//! along the routes.
//!
//! # Where things are
//!
//! `settings`: scenarios; `changes`: what can be changed meanwhile; `routes`: who goes where; `station`:
//! states and events of a station; `theory`: known answers; `output`, `results`.

mod changes;
mod output;
mod results;
mod routes;
mod settings;
mod station;
mod theory;

use paceline_kernel::{Channels, Context, LpId, Model, Parameter, ParameterValue, Time};

use changes::Changes;
pub use output::Output;
use routes::Routes;
use station::Waiting;
pub use station::{Customer, QueueingEvent, Station};

/// The channels of a station are named one by one where they are at most so many.
const CHANNELS_MAX: usize = 64;

/// The greatest value of each time: sums of times stay far below the largest time.
const LONGEST: Time = Time::secs(24 * 3600);

/// How the time of a service is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    Exponential,
    Constant,
}

/// Stations that are alike, and each an LP.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub name: String,
    /// The LP of the first of them.
    pub first: u32,
    pub count: u32,
    /// Zero stands for as many as there are customers.
    pub servers: u32,
    /// The mean time of a service.
    pub service: Time,
    pub law: Law,
}

impl Kind {
    /// No service is shorter.
    pub fn least_service(&self) -> Time {
        if self.law == Law::Constant { self.service } else { Time::ZERO }
    }

    fn lps(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// So many customers, all at `start` at time 0.
    Closed { population: u32 },
    /// They come to `start` so far apart on average.
    Open { between_arrivals: Time },
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub name: String,
    /// The kind of station at which its customers begin.
    pub start: usize,
    pub source: Source,
    /// Its place among the priorities there are; the first is served first.
    pub level: usize,
}

/// A queueing network.
#[derive(Clone, Debug)]
pub struct Queueing {
    kinds: Vec<Kind>,
    classes: Vec<Class>,
    routes: Routes,
    walk: Time,
    /// What happens before is not measured.
    warm_up: Time,
    /// What was or will be changed of it while it runs.
    changes: Changes,
}

impl Queueing {
    /// The kind of station that this LP is.
    fn kind_of(&self, lp: LpId) -> usize {
        self.kinds.partition_point(|kind| kind.first <= lp.0) - 1
    }

    fn levels(&self) -> usize {
        self.classes.iter().map(|class| class.level + 1).max().unwrap_or(0)
    }

    /// The mean time from one customer to the next, of those who come after `now`, at each station where an
    /// open class begins.
    fn between_arrivals_ticks(&self, class: usize, now: Time) -> Option<f64> {
        let between_arrivals = self.changes.between_arrivals(class, now)?;
        Some(between_arrivals.as_ticks() as f64 * f64::from(self.kinds[self.classes[class].start].count))
    }

    fn schedule_outside(&self, class: usize, cx: &mut Context<Self>) {
        if let Some(mean) = self.between_arrivals_ticks(class, cx.now()) {
            let after = Time::ticks(cx.rng().exponential(mean) as u64);
            cx.schedule(after, QueueingEvent::Outside { class: class as u16 });
        }
    }

    /// Serves whoever is next, as long as a server is free.
    fn serve(&self, station: &mut Station, cx: &mut Context<Self>) {
        let here = self.kind_of(cx.lp());
        let kind = &self.kinds[here];
        let Some(Waiting { customer, came }) = station.take_next(kind.servers) else { return };
        let mean = self.changes.service(here, cx.now());
        let service = match kind.law {
            Law::Constant => mean,
            Law::Exponential => Time::ticks(cx.rng().exponential(mean.as_ticks() as f64) as u64),
        };
        let next = self.routes.draw(usize::from(customer.class), here, cx.rng());
        if let Some(next) = next {
            let next = &self.kinds[next];
            let member = if next.count > 1 { cx.rng().below(u64::from(next.count)) as u32 } else { 0 };
            let arrival = QueueingEvent::Arrive(customer);
            cx.send(LpId(next.first + member), service.saturating_add(self.walk), arrival);
        }
        let (begun, leaves) = (cx.now(), next.is_none());
        cx.schedule(service, QueueingEvent::Done { customer, came, begun, leaves });
    }
}

impl Model for Queueing {
    type State = Station;
    type Event = QueueingEvent;
    type Output = Output;

    fn parameters(&self) -> String {
        format!("{self:?}")
    }

    fn changeable(&self, at: Time) -> Vec<Parameter> {
        self.declared(at)
    }

    fn change(&mut self, parameter: &str, at: Time, value: ParameterValue) {
        self.make_change(parameter, at, value);
    }

    fn lps(&self) -> u32 {
        self.kinds.last().map_or(0, |kind| kind.first + kind.count)
    }

    /// The least delay along a route. Without routes nothing is sent, and any would do.
    fn lookahead(&self) -> Time {
        let routed = (0..self.kinds.len()).filter(|kind| self.routes.lead_on_from(*kind));
        let least = routed.map(|kind| self.kinds[kind].least_service()).min().unwrap_or(Time::ZERO);
        least.saturating_add(self.walk)
    }

    fn channels(&self, lp: LpId) -> Channels {
        let here = self.kind_of(lp);
        let delay = self.kinds[here].least_service().saturating_add(self.walk);
        let next: Vec<_> = self.routes.next_of(here).flat_map(|next| self.kinds[next].lps()).collect();
        if next.len() > CHANNELS_MAX {
            return Channels::All;
        }
        Channels::Only(
            next.into_iter().filter(|next| *next != lp.0).map(|next| (LpId(next), delay)).collect(),
        )
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Station {
        let (here, mut station) = (self.kind_of(lp), Station::default());
        station.lines.resize_with(self.levels(), Default::default);
        for (number, class) in self.classes.iter().enumerate().filter(|(_, class)| class.start == here) {
            if let Source::Closed { population } = class.source {
                let kind = &self.kinds[here];
                let extra = u32::from(lp.0 - kind.first < population % kind.count);
                let customer = Customer { class: number as u16, entered: Time::ZERO };
                for _ in 0..population / kind.count + extra {
                    cx.schedule(Time::ZERO, QueueingEvent::Arrive(customer));
                }
            }
            self.schedule_outside(number, cx);
        }
        station
    }

    fn handle(&self, station: &mut Station, event: &QueueingEvent, cx: &mut Context<Self>) {
        match *event {
            QueueingEvent::Outside { class } => {
                self.schedule_outside(usize::from(class), cx);
                let customer = Customer { class, entered: cx.now() };
                station.join_line(self.classes[usize::from(class)].level, customer, cx.now());
            }
            QueueingEvent::Arrive(customer) => {
                station.join_line(self.classes[usize::from(customer.class)].level, customer, cx.now());
            }
            QueueingEvent::Done { .. } => station.busy = station.busy.saturating_sub(1),
        }
        self.serve(station, cx);
    }

    fn state_bytes(&self, station: &Station) -> usize {
        let lines = station.lines.len() * size_of::<std::collections::VecDeque<Waiting>>();
        size_of::<Station>() + lines + station.waiting() * size_of::<Waiting>()
    }

    fn commit(&self, lp: LpId, at: Time, event: &QueueingEvent, output: &mut Output) {
        output.note(self, self.kind_of(lp), at, event);
    }

    fn left_over(&self, lp: LpId, _at: Time, event: &QueueingEvent, output: &mut Output) {
        output.note_left_over(self, self.kind_of(lp), event);
    }

    fn admits_state(&self, lp: LpId, station: &Station) -> bool {
        let servers = self.kinds[self.kind_of(lp)].servers;
        let is_of_line = |level: usize, waiting: &Waiting| {
            self.classes.get(usize::from(waiting.customer.class)).is_some_and(|class| class.level == level)
        };
        (servers == 0 || station.busy <= servers)
            && station.lines.len() == self.levels()
            && (0..).zip(&station.lines).all(|(level, line)| line.iter().all(|one| is_of_line(level, one)))
    }

    fn admits_event(&self, _lp: LpId, event: &QueueingEvent) -> bool {
        usize::from(event.class()) < self.classes.len()
    }

    fn admits_output(&self, output: &Output) -> bool {
        output.can_be(self.kinds.len(), self.classes.len())
    }
}
