//! What can be changed while a run goes on: how long services take on average, and how often customers come.
//!
//! A change holds for services that begin, and for arrivals that are drawn, at its time and later. Where a
//! service takes the same time each time, it is part of the lookahead, and stays. No theory here knows of
//! changes: a run that has any is not compared with one.

use paceline_kernel::{Changing, Parameter, ParameterValue, Time};

use super::{Class, Kind, LONGEST, Law, Queueing, Source};

/// The parameters that change, over simulated time.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// The mean time of a service, of each kind of station.
    services: Vec<Changing<Time>>,
    /// The mean time from one customer to the next, of each class; none of those who stay.
    arrivals: Vec<Option<Changing<Time>>>,
}

/// What a name stands for.
#[derive(Clone, Copy)]
enum Place {
    Service(usize),
    Arrivals(usize),
}

impl Changes {
    pub(super) fn new(kinds: &[Kind], classes: &[Class]) -> Self {
        let arrivals = |class: &Class| match class.source {
            Source::Open { between_arrivals } => Some(Changing::new(between_arrivals)),
            Source::Closed { .. } => None,
        };
        Self {
            services: kinds.iter().map(|kind| Changing::new(kind.service)).collect(),
            arrivals: classes.iter().map(arrivals).collect(),
        }
    }

    /// The mean time of a service that begins now at such a station.
    #[inline]
    pub(super) fn service(&self, kind: usize, now: Time) -> Time {
        *self.services[kind].at(now)
    }

    /// The mean time from a customer that comes now to the next of its class; none of those who stay.
    pub(super) fn between_arrivals(&self, class: usize, now: Time) -> Option<Time> {
        self.arrivals[class].as_ref().map(|arrivals| *arrivals.at(now))
    }

    /// Whether anything changes in the run.
    pub(super) fn any(&self) -> bool {
        self.services.iter().chain(self.arrivals.iter().flatten()).any(Changing::changes)
    }
}

impl Queueing {
    /// All that can be changed, by name; none of it at stations whose services are all of one length.
    fn places(&self) -> impl Iterator<Item = (String, Place)> {
        let is_drawn = |(_, kind): &(usize, &Kind)| kind.law == Law::Exponential;
        let services =
            self.kinds.iter().enumerate().filter(is_drawn).map(|(number, kind)| {
                (format!("model.stations.{}.service", kind.name), Place::Service(number))
            });
        let is_open = |(_, class): &(usize, &Class)| matches!(class.source, Source::Open { .. });
        let arrivals = self.classes.iter().enumerate().filter(is_open).map(|(number, class)| {
            (format!("model.classes.{}.between_arrivals", class.name), Place::Arrivals(number))
        });
        services.chain(arrivals)
    }

    pub(super) fn declared(&self, at: Time) -> Vec<Parameter> {
        let parameter = |(name, place)| {
            let value = match place {
                Place::Service(kind) => self.changes.service(kind, at),
                Place::Arrivals(class) => self.changes.between_arrivals(class, at).unwrap_or(LONGEST),
            };
            let [least, most, value] = [Time::micros(1), LONGEST, value].map(ParameterValue::Time);
            Parameter { name, unit: "", least, most, value }
        };
        self.places().map(parameter).collect()
    }

    /// Changes what was declared.
    pub(super) fn make_change(&mut self, parameter: &str, at: Time, value: ParameterValue) {
        let place = self.places().find(|(name, _)| name == parameter).map(|(_, place)| place);
        let value = value.time().expect("all parameters here are durations");
        match place.expect("only what is declared is changed") {
            Place::Service(kind) => self.changes.services[kind].set(at, value),
            Place::Arrivals(class) => {
                self.changes.arrivals[class].iter_mut().for_each(|arrivals| arrivals.set(at, value));
            }
        }
    }
}
