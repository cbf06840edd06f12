//! An epidemic on a graph: people are susceptible, exposed, infectious, and recovered (SEIR).
//!
//! Who is exposed becomes infectious after a latent period: at least `least_latent`, and an exponential time
//! on top of it. While it is infectious, for an exponential time, it meets neighbours, each drawn at random
//! from all of its own, a Poisson process apart; whoever is susceptible then is exposed. The graph is
//! complete, random and regular, or read from a file.
//!
//! # What is known
//!
//! Shares of many people follow differential equations. On a complete graph they are those of Kermack and
//! McKendrick (1927) with a latent period; on a large random regular graph those of edges (Miller, Slim and
//! Volz, 2012), since whoever has infected somebody cannot be infected by it. The least latent period makes
//! them equations with a delay. Results have what they say beside what was measured.
//!
//! # LPs and lookahead
//!
//! An LP is a person. When it is exposed, its periods and all its contacts are drawn, and each contact is
//! sent at once: no message takes less than `least_latent`, which is the lookahead. Nothing else is an event:
//! at which times a person is what follows from when it was exposed.
//!
//! # Where things are
//!
//! `graph`: who meets whom; `settings`: scenarios; `theory`: differential equations; `results`: output and
//! results.

mod graph;
mod results;
mod settings;
mod theory;

use paceline_kernel::{Context, LpId, Model, Time};
use serde::{Deserialize, Serialize};

use graph::Graph;
pub use results::Output;

/// An epidemic.
#[derive(Clone, Debug)]
pub struct Seir {
    graph: Graph,
    /// Who is exposed at time 0, in the order of numbers.
    exposed: Vec<u32>,
    /// The mean time from one contact of an infectious person to the next.
    between_contacts: Time,
    least_latent: Time,
    /// The mean time on top of it.
    more_latent: Time,
    /// How long a person is infectious on average.
    infectious: Time,
    /// From one row of results to the next.
    every: Time,
}

/// A person: when it has been exposed and is infectious and recovered. [`Time::MAX`] stands for "not yet".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Person {
    exposed: Time,
    infectious: Time,
    recovered: Time,
}

impl Person {
    const SUSCEPTIBLE: Self = Self { exposed: Time::MAX, infectious: Time::MAX, recovered: Time::MAX };
}

/// A contact with somebody who is infectious, or what has exposed a person at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Contact;

impl Model for Seir {
    type State = Person;
    type Event = Contact;
    type Output = Output;

    /// The graph follows from the parameters and the seed, or from a file, whose content is checked by
    /// itself.
    fn parameters(&self) -> String {
        let Self { between_contacts, least_latent, more_latent, infectious, every, .. } = self;
        let people = self.graph.people();
        format!("{people} {between_contacts} {least_latent} {more_latent} {infectious} {every}")
    }

    fn lps(&self) -> u32 {
        self.graph.people()
    }

    fn lookahead(&self) -> Time {
        self.least_latent
    }

    fn init(&self, person: LpId, cx: &mut Context<Self>) -> Person {
        if self.exposed.binary_search(&person.0).is_ok() {
            cx.schedule(Time::ZERO, Contact);
        }
        Person::SUSCEPTIBLE
    }

    fn handle(&self, person: &mut Person, _contact: &Contact, cx: &mut Context<Self>) {
        if person.exposed < Time::MAX {
            return;
        }
        let draw = |mean: Time, cx: &mut Context<Self>| {
            Time::ticks(cx.rng().exponential(mean.as_ticks() as f64) as u64)
        };
        let latent = self.least_latent.saturating_add(draw(self.more_latent, cx));
        let lasts = draw(self.infectious, cx);
        person.exposed = cx.now();
        person.infectious = person.exposed.saturating_add(latent);
        person.recovered = person.infectious.saturating_add(lasts);
        let mut at = person.infectious.saturating_add(draw(self.between_contacts, cx));
        while at < person.recovered {
            // Nobody to meet: nothing to draw.
            let Some(other) = self.graph.draw_neighbour(cx.lp().0, cx.rng()) else { return };
            cx.send_at(LpId(other), at, Contact);
            at = at.saturating_add(draw(self.between_contacts, cx));
        }
    }

    fn commit(&self, _lp: LpId, _at: Time, _contact: &Contact, output: &mut Output) {
        output.contacts += 1;
    }

    fn finish(&self, lp: LpId, person: &Person, output: &mut Output) {
        if person.exposed < Time::MAX {
            output.exposed.push((lp.0, *person));
        }
    }

    fn admits_output(&self, output: &Output) -> bool {
        output.contacts < 1 << 62 && output.exposed.iter().all(|(number, _)| *number < self.lps())
    }
}
