//! The differential equations of an epidemic among so many people that shares follow them.
//!
//! With `s` susceptible, `e` latent beyond the least time and `i` infectious, a contact rate `c` and mean
//! times `m` (more latent) and `d` (infectious), and with the flow `f` of those who are exposed:
//!
//! ```text
//! s' = -f(t)      e' = f(t - least) - e / m      i' = e / m - i / d
//! complete graph: f = c i s
//! ```
//!
//! On a random regular graph of degree `k` an edge carries contacts at the rate `c / k`. The share `x` of
//! edges that have carried none to a susceptible end gives `s = (1 - start) x^k` (Miller, Slim and Volz,
//! 2012), and neighbours of a susceptible person follow equations of the same form: `p` latent and `q`
//! infectious ones, none of whose contacts has come yet.
//!
//! ```text
//! x' = -(c / k) q      p' = g(t - least) - p / m      q' = p / m - (c / k + 1 / d) q
//! f = (1 - start) k x^(k-1) (c / k) q      g = (1 - start) (k - 1) x^(k-2) (c / k) q
//! ```
//!
//! Those exposed at the start are latent beyond the least time from then on: `start exp(-(t - least) / m)`.

use paceline_kernel::Time;

use super::Seir;
use super::graph::Graph;

/// Steps to the end.
const STEPS: usize = 20_000;

/// Shares of all people at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub susceptible: f64,
    pub infectious: f64,
}

/// What follows from the equations: shares from the start to the end, at equal distances.
#[derive(Debug)]
pub(super) struct Course {
    step_s: f64,
    shares: Vec<Shares>,
}

/// The unknowns of the equations.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Of a complete graph the share of susceptible people itself.
    x: f64,
    p: f64,
    q: f64,
    e: f64,
    i: f64,
}

/// Flows: of people who are exposed, and of neighbours who are.
#[derive(Clone, Copy, Debug, Default)]
struct Flows {
    f: f64,
    g: f64,
}

#[derive(Clone, Copy, Debug)]
struct Equations {
    /// Nothing for a complete graph.
    degree: Option<f64>,
    start: f64,
    contacts_per_s: f64,
    least_s: f64,
    more_s: f64,
    infectious_s: f64,
}

impl Course {
    /// To `end`. Nothing where the graph is one of which no equations are known.
    pub fn of(model: &Seir, end: Time) -> Option<Self> {
        let people = f64::from(model.graph.people());
        let contacts_per_s = 1.0 / model.between_contacts.as_secs_f64();
        let (degree, contacts_per_s) = match &model.graph {
            // A person meets others only.
            Graph::Complete { .. } => (None, contacts_per_s * people / (people - 1.0)),
            Graph::Regular { degree, .. } if *degree > 2 => (Some(f64::from(*degree)), contacts_per_s),
            Graph::Regular { .. } | Graph::File(_) => return None,
        };
        let equations = Equations {
            degree,
            start: model.exposed.len() as f64 / people,
            contacts_per_s,
            least_s: model.least_latent.as_secs_f64(),
            more_s: model.more_latent.as_secs_f64(),
            infectious_s: model.infectious.as_secs_f64(),
        };
        (end > Time::ZERO).then(|| equations.solve(end.as_secs_f64() / STEPS as f64))
    }

    pub fn at(&self, at: Time) -> Shares {
        let place = at.as_secs_f64() / self.step_s;
        let (before, last) = (place.floor().max(0.0) as usize, self.shares.len() - 1);
        let (one, next) = (self.shares[before.min(last)], self.shares[(before + 1).min(last)]);
        let mixed = |one: f64, next: f64| one + (next - one) * (place - before as f64).clamp(0.0, 1.0);
        Shares {
            susceptible: mixed(one.susceptible, next.susceptible),
            infectious: mixed(one.infectious, next.infectious),
        }
    }

    /// The greatest share of infectious people, and when.
    pub fn peak(&self) -> (f64, f64) {
        let peak =
            (0..).zip(&self.shares).max_by(|one, other| one.1.infectious.total_cmp(&other.1.infectious));
        peak.map_or((0.0, 0.0), |(place, shares)| (shares.infectious, f64::from(place) * self.step_s))
    }
}

impl Equations {
    /// In steps of Heun's method; between two steps flows are straight lines.
    fn solve(&self, step_s: f64) -> Course {
        let x = if self.degree.is_some() { 1.0 } else { 1.0 - self.start };
        let (mut state, mut past, mut shares) = (State { x, ..State::default() }, Vec::new(), Vec::new());
        for step in 0..=STEPS {
            let at_s = step as f64 * step_s;
            shares.push(Shares { susceptible: self.susceptible(state.x), infectious: state.i });
            past.push(self.flows(&state));
            let first = self.slopes(&state, at_s, self.delayed(&past, at_s, step_s));
            let guess = state.moved(&first, step_s);
            past.push(self.flows(&guess));
            let second = self.slopes(&guess, at_s + step_s, self.delayed(&past, at_s + step_s, step_s));
            past.pop();
            state = state.moved(&first, step_s / 2.0).moved(&second, step_s / 2.0);
        }
        Course { step_s, shares }
    }

    fn susceptible(&self, x: f64) -> f64 {
        self.degree.map_or(x, |degree| (1.0 - self.start) * libm::pow(x, degree))
    }

    fn flows(&self, state: &State) -> Flows {
        let Some(degree) = self.degree else {
            return Flows { f: self.contacts_per_s * state.i * state.x, g: 0.0 };
        };
        let over_edges = (1.0 - self.start) * self.contacts_per_s / degree * state.q;
        Flows {
            f: over_edges * degree * libm::pow(state.x, degree - 1.0),
            g: over_edges * (degree - 1.0) * libm::pow(state.x, degree - 2.0),
        }
    }

    /// The flows the least latent period before `at_s`; none before the start.
    fn delayed(&self, past: &[Flows], at_s: f64, step_s: f64) -> Flows {
        let place = (at_s - self.least_s) / step_s;
        if place < 0.0 {
            return Flows::default();
        }
        let (before, last) = (place.floor() as usize, past.len() - 1);
        let (one, next) = (past[before.min(last)], past[(before + 1).min(last)]);
        let part = (place - before as f64).clamp(0.0, 1.0);
        Flows { f: one.f + (next.f - one.f) * part, g: one.g + (next.g - one.g) * part }
    }

    /// How fast the unknowns change at `at_s`.
    fn slopes(&self, state: &State, at_s: f64, delayed: Flows) -> State {
        let since_s = at_s - self.least_s;
        let from_start = if since_s < 0.0 { 0.0 } else { self.start * libm::exp(-since_s / self.more_s) };
        let over_edge = self.degree.map_or(0.0, |degree| self.contacts_per_s / degree);
        State {
            x: if self.degree.is_some() { -over_edge * state.q } else { -self.flows(state).f },
            p: delayed.g - state.p / self.more_s,
            q: (state.p + from_start) / self.more_s - (over_edge + 1.0 / self.infectious_s) * state.q,
            e: delayed.f - state.e / self.more_s,
            i: (state.e + from_start) / self.more_s - state.i / self.infectious_s,
        }
    }
}

impl State {
    fn moved(self, slopes: &Self, by_s: f64) -> Self {
        Self {
            x: self.x + slopes.x * by_s,
            p: self.p + slopes.p * by_s,
            q: self.q + slopes.q * by_s,
            e: self.e + slopes.e * by_s,
            i: self.i + slopes.i * by_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: f64 = 86_400.0;

    fn equations(degree: Option<f64>, least_days: f64) -> Equations {
        Equations {
            degree,
            start: 1e-4,
            contacts_per_s: 0.5 / DAY_S,
            least_s: least_days * DAY_S,
            more_s: 2.0 * DAY_S,
            infectious_s: 5.0 * DAY_S,
        }
    }

    /// Whom an epidemic leaves out does not depend on latent periods: Kermack and McKendrick's equation, and
    /// on a regular graph that of percolation.
    #[test]
    fn the_last_size_is_that_of_the_known_equations() {
        for least_days in [0.0, 0.001, 1.0, 4.0] {
            let left = |degree| {
                let course = equations(degree, least_days).solve(2000.0 * DAY_S / STEPS as f64);
                course.shares.last().expect("there are some").susceptible
            };
            let mut share = 0.5;
            (0..1000).for_each(|_| share = (1.0 - 1e-4) * libm::exp(-2.5 * (1.0 - share)));
            assert!((left(None) - share).abs() < 1e-4, "{least_days}: {} {share}", left(None));
            // An edge carries a contact with the probability of its rate against that of recovery.
            let carries = (0.5 / 6.0) / (0.5 / 6.0 + 0.2);
            let mut x = 0.5;
            (0..1000).for_each(|_| x = 1.0 - carries + carries * (1.0 - 1e-4) * libm::pow(x, 5.0));
            let share = (1.0 - 1e-4) * libm::pow(x, 6.0);
            assert!((left(Some(6.0)) - share).abs() < 1e-4, "{least_days}: {} {share}", left(Some(6.0)));
        }
    }

    #[test]
    fn many_neighbours_are_everybody() {
        let step_s = 150.0 * DAY_S / STEPS as f64;
        let [many, all] = [Some(1e6), None].map(|degree| equations(degree, 1.0).solve(step_s));
        for (one, other) in many.shares.iter().zip(&all.shares).step_by(100) {
            assert!((one.infectious - other.infectious).abs() < 1e-4, "{one:?} {other:?}");
        }
        assert!((many.peak().0 - all.peak().0).abs() < 1e-4 && all.peak().0 > 0.1);
    }
}
