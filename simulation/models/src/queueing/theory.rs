//! Known answers: what product forms and Erlang's and Cobham's formulas say of a network, where they hold.
//!
//! Invariant: an answer is given only where it is exact in the steady state.

use std::ops::Range;

use super::{Kind, Law, Queueing, Source};

/// Routes are solved for at most so many kinds of stations, since that takes the third power of it.
const KINDS_MAX: usize = 200;
/// The convolution of a closed network takes at most so many products.
const PRODUCTS_MAX: f64 = 2e7;

/// What theory says of a network.
#[derive(Clone, Debug, Default)]
pub(super) struct Theory {
    /// By kind and class: services a second of all stations of the kind.
    pub services_per_s: Vec<Vec<f64>>,
    /// By kind and class: the mean time in line; nothing where it is not known.
    pub waits_s: Vec<Vec<Option<f64>>>,
}

impl Theory {
    /// Nothing where it says nothing of the network.
    pub fn of(model: &Queueing) -> Option<Self> {
        if model.kinds.len() > KINDS_MAX {
            return None;
        }
        let visits: Option<Vec<Vec<f64>>> =
            (0..model.classes.len()).map(|class| visits(model, class)).collect();
        let visits = visits?;
        match model.classes.iter().filter(|class| matches!(class.source, Source::Closed { .. })).count() {
            0 => Some(open(model, &visits)),
            1 if model.classes.len() == 1 => closed(model, &visits[0]),
            _ => None,
        }
    }

    /// The mean time in line of a class, or of all, at these kinds of stations.
    pub fn mean_wait_s(&self, kinds: Range<usize>, class: Option<usize>) -> Option<f64> {
        let (mut sum, mut services) = (0.0, 0.0);
        for (rates, waits) in self.services_per_s[kinds.clone()].iter().zip(&self.waits_s[kinds]) {
            for (number, (rate, wait)) in rates.iter().zip(waits).enumerate() {
                if *rate > 0.0 && class.is_none_or(|class| class == number) {
                    sum += rate * (*wait)?;
                    services += rate;
                }
            }
        }
        (services > 0.0).then(|| sum / services)
    }

    /// The mean time from coming into the network to leaving it.
    pub fn mean_stay_s(&self, model: &Queueing, class: usize) -> Option<f64> {
        let Source::Open { between_arrivals } = model.classes[class].source else { return None };
        let mut present = 0.0;
        for (kind, (rates, waits)) in model.kinds.iter().zip(self.services_per_s.iter().zip(&self.waits_s)) {
            if rates[class] > 0.0 {
                present += rates[class] * (waits[class]? + kind.service.as_secs_f64());
            }
        }
        let services: f64 = self.services_per_s.iter().map(|rates| rates[class]).sum();
        let entered = 1.0 / between_arrivals.as_secs_f64();
        // Little's law; each service but the last is followed by a walk.
        Some((present + (services - entered) * model.walk.as_secs_f64()) / entered)
    }

    /// The mean number of customers at a station of a kind, in line and served.
    pub fn mean_present(&self, kind: usize, model: &Queueing) -> Option<f64> {
        let mut present = 0.0;
        for (rate, wait) in self.services_per_s[kind].iter().zip(&self.waits_s[kind]) {
            if *rate > 0.0 {
                present += rate * ((*wait)? + model.kinds[kind].service.as_secs_f64());
            }
        }
        Some(present / f64::from(model.kinds[kind].count))
    }
}

/// How often a customer of a class comes to each kind of station: in a cycle from its start back to it, or
/// until it leaves. Nothing where the routes are too unlikely to be solved.
fn visits(model: &Queueing, class: usize) -> Option<Vec<f64>> {
    let start = model.classes[class].start;
    let is_closed = matches!(model.classes[class].source, Source::Closed { .. });
    let kinds = model.routes.reached(class, start);
    let place = |kind: usize| kinds.iter().position(|known| *known == kind);
    let size = kinds.len();
    // Visits are one at the start, or one more, and those from elsewhere: rows of (I - P') visits = first.
    let mut rows = vec![vec![0.0; size + 1]; size];
    for (number, kind) in kinds.iter().enumerate() {
        rows[number][number] += 1.0;
        for route in model.routes.of(class, *kind) {
            if let Some(to) = place(route.to) {
                rows[to][number] -= route.probability;
            }
        }
    }
    rows[0][size] = 1.0;
    if is_closed {
        rows[0][..size].fill(0.0);
        rows[0][0] = 1.0;
    }
    let solved = solve(rows)?;
    let mut visits = vec![0.0; model.kinds.len()];
    kinds.iter().zip(solved).for_each(|(kind, count)| visits[*kind] = count);
    Some(visits)
}

/// Solves linear equations, each a row with its right side last, by elimination.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|one, other| rows[*one][column].abs().total_cmp(&rows[*other][column].abs()))?;
        rows.swap(column, pivot);
        let (head, tail) = rows.split_at_mut(column + 1);
        let pivot = &head[column];
        if pivot[column].abs() < 1e-12 {
            return None;
        }
        for row in tail {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).skip(column).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut solved = vec![0.0; size];
    for place in (0..size).rev() {
        let known: f64 = (place + 1..size).map(|other| rows[place][other] * solved[other]).sum();
        solved[place] = (rows[place][size] - known) / rows[place][place];
    }
    Some(solved)
}

/// An open network: each station by itself.
fn open(model: &Queueing, visits: &[Vec<f64>]) -> Theory {
    let entered = |class: usize| match model.classes[class].source {
        Source::Open { between_arrivals } => 1.0 / between_arrivals.as_secs_f64(),
        Source::Closed { .. } => 0.0,
    };
    let rates = |kind: usize| (0..visits.len()).map(|class| entered(class) * visits[class][kind]).collect();
    let services_per_s: Vec<Vec<f64>> = (0..model.kinds.len()).map(rates).collect();
    let waits = |kind: usize| {
        let is_alone = is_fed_from_outside_only(model, kind);
        if is_alone || is_jackson(model) {
            waits_s(model, kind, &services_per_s[kind])
        } else {
            vec![None; visits.len()]
        }
    };
    let waits_s = (0..model.kinds.len()).map(waits).collect();
    Theory { services_per_s, waits_s }
}

/// Whether no station changes what a Poisson process brings: all serve for exponential times and in the order
/// of arrival, or serve everybody at once.
fn is_jackson(model: &Queueing) -> bool {
    model.levels() == 1 && model.kinds.iter().all(|kind| kind.law == Law::Exponential || kind.servers == 0)
}

fn is_fed_from_outside_only(model: &Queueing, kind: usize) -> bool {
    (0..model.kinds.len()).all(|from| model.routes.next_of(from).all(|next| next != kind))
}

/// The mean wait of each class at a station that Poisson processes come to: that of an arrival until those
/// are served who came before it, divided by what the better classes, and its own with them, leave (Cobham,
/// 1954). With one priority it is Erlang's, or Pollaczek's and Khinchine's.
fn waits_s(model: &Queueing, kind: usize, rates: &[f64]) -> Vec<Option<f64>> {
    let station = &model.kinds[kind];
    if station.servers == 0 {
        return vec![Some(0.0); rates.len()];
    }
    let service_s = station.service.as_secs_f64();
    let load = |level: usize| -> f64 {
        let up_to = model.classes.iter().zip(rates).filter(|(class, _)| class.level <= level);
        let rate: f64 = up_to.map(|(_, rate)| rate).sum();
        rate * service_s / f64::from(station.count) / f64::from(station.servers)
    };
    let all = load(model.levels());
    let Some(first_s) = first_server_after_s(station, all) else { return vec![None; rates.len()] };
    let wait = |level: usize| {
        let better = if level == 0 { 0.0 } else { load(level - 1) };
        let left = (1.0 - better) * (1.0 - load(level));
        // A class that is not served any more waits without end.
        (load(level) < 1.0 && all < 1.0).then(|| first_s / left)
    };
    model.classes.iter().map(|class| wait(class.level)).collect()
}

/// The mean time until a server is free for an arrival that waits for nobody else; nothing where it is not
/// known.
fn first_server_after_s(station: &Kind, busy: f64) -> Option<f64> {
    let service_s = station.service.as_secs_f64();
    match station.law {
        _ if busy >= 1.0 => None,
        Law::Exponential => Some(erlang_c(station.servers, busy) * service_s / f64::from(station.servers)),
        Law::Constant if station.servers == 1 => Some(busy * service_s / 2.0),
        Law::Constant => None,
    }
}

/// The probability that an arrival finds all servers busy: Erlang's second formula. `busy` is the share of
/// their time that they are.
fn erlang_c(servers: u32, busy: f64) -> f64 {
    let load = busy * f64::from(servers);
    let blocked = erlang_b(servers, load);
    blocked / (1.0 - busy * (1.0 - blocked))
}

/// The probability that an arrival is lost where nobody can wait: Erlang's first formula, by its recursion.
fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |blocked, server| load * blocked / (f64::from(server) + load * blocked))
}

/// A closed network of one class, by the convolution of the factors of its stations (Buzen, 1973).
fn closed(model: &Queueing, visits: &[f64]) -> Option<Theory> {
    let Source::Closed { population } = model.classes[0].source else { return None };
    // Where customers do not wait, what counts is the mean; elsewhere the distribution has to be exponential.
    let has_form = |kind: &Kind| kind.law == Law::Exponential || kind.servers == 0;
    let stations: f64 = model.kinds.iter().map(|kind| f64::from(kind.count)).sum();
    let products =
        (stations + 2.0 * model.kinds.len() as f64) * f64::from(population) * f64::from(population);
    if !model.kinds.iter().zip(visits).all(|(kind, visits)| *visits == 0.0 || has_form(kind))
        || products > PRODUCTS_MAX
    {
        return None;
    }
    let size = population as usize + 1;
    let demand = |kind: usize| {
        let station = &model.kinds[kind];
        (visits[kind] * station.service.as_secs_f64() / f64::from(station.count), station.servers)
    };
    // Each service is followed by a walk, which nobody waits for.
    let walks = (visits.iter().sum::<f64>() * model.walk.as_secs_f64(), 0);
    let bottleneck = |(demand, servers): (f64, u32)| {
        if servers == 0 { demand / f64::from(population) } else { demand / f64::from(servers) }
    };
    let kinds = 0..model.kinds.len();
    // Any scale gives the same shares; with this one no factor of a queue grows.
    let scale = kinds.clone().map(demand).chain([walks]).map(bottleneck).fold(0.0, f64::max);
    let factor = |(demand, servers): (f64, u32)| factors(demand / scale, servers, size);
    let one: Vec<Vec<f64>> = kinds.clone().map(|kind| factor(demand(kind))).collect();
    let without: Vec<Vec<f64>> = kinds
        .clone()
        .map(|left_out| {
            let mut product = factor(walks);
            for (kind, factor) in one.iter().enumerate() {
                let count = model.kinds[kind].count - u32::from(kind == left_out);
                (0..count).for_each(|_| product = convolved(&product, factor));
            }
            product
        })
        .collect();
    let all = convolved(&without[0], &one[0]);
    let cycles_per_s = all[size - 2] / all[size - 1] / scale;
    let wait_s = |kind: usize| {
        let number = |present: usize| present as f64 * one[kind][present] * without[kind][size - 1 - present];
        let present = (0..size).map(number).sum::<f64>() / all[size - 1];
        let arrivals = cycles_per_s * visits[kind] / f64::from(model.kinds[kind].count);
        present / arrivals - model.kinds[kind].service.as_secs_f64()
    };
    if !cycles_per_s.is_finite() {
        return None;
    }
    let services_per_s = visits.iter().map(|visits| vec![cycles_per_s * visits]).collect();
    let wait = |kind: usize| vec![Some(wait_s(kind).max(0.0)).filter(|_| visits[kind] > 0.0)];
    Some(Theory { services_per_s, waits_s: kinds.map(wait).collect() })
}

/// The factors of a station with 0, 1, ... customers: the product of demand by servers at work.
fn factors(demand: f64, servers: u32, size: usize) -> Vec<f64> {
    let busy =
        |present: usize| if servers == 0 { present as f64 } else { present.min(servers as usize) as f64 };
    let mut factors = vec![1.0; size];
    for present in 1..size {
        factors[present] = factors[present - 1] * demand / busy(present);
    }
    factors
}

fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let at = |sum: usize| (0..=sum).map(|place| one[place] * other[sum - place]).sum();
    (0..one.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Time;

    use super::super::changes::Changes;
    use super::super::routes::{Route, Routes};
    use super::super::{Class, Kind, Law};
    use super::*;

    /// Mean-value analysis of single servers and delays (Reiser and Lavenberg, 1980): cycles a second, and
    /// who is at each station.
    fn mean_values(demands_s: &[(f64, bool)], population: u32) -> (f64, Vec<f64>) {
        let (mut present, mut cycles) = (vec![0.0; demands_s.len()], 0.0);
        for customers in 1..=population {
            let stay = |(demand, waits): &(f64, bool), present: &f64| {
                demand * if *waits { 1.0 + present } else { 1.0 }
            };
            let stays: Vec<f64> =
                demands_s.iter().zip(&present).map(|(demand, present)| stay(demand, present)).collect();
            cycles = f64::from(customers) / stays.iter().sum::<f64>();
            present = stays.iter().map(|stay| cycles * stay).collect();
        }
        (cycles, present)
    }

    fn kind(first: u32, count: u32, servers: u32, service_ms: u64) -> Kind {
        let service = Time::millis(service_ms);
        Kind { name: String::new(), first, count, servers, service, law: Law::Exponential }
    }

    /// Terminals, a processor, and two disks that are alike.
    fn computer(population: u32, servers: u32) -> Queueing {
        let mut routes = Routes::new(vec![true], 3);
        routes.add(0, 0, Route { to: 1, probability: 1.0 });
        routes.add(0, 1, Route { to: 0, probability: 0.25 });
        routes.add(0, 1, Route { to: 2, probability: 0.75 });
        routes.add(0, 2, Route { to: 1, probability: 1.0 });
        let source = Source::Closed { population };
        let classes = vec![Class { name: String::new(), start: 0, source, level: 0 }];
        let kinds = vec![kind(0, 1, 0, 4000), kind(1, 1, servers, 100), kind(2, 2, 1, 300)];
        let changes = Changes::new(&kinds, &classes);
        Queueing { kinds, classes, routes, walk: Time::millis(20), warm_up: Time::ZERO, changes }
    }

    #[test]
    fn convolution_and_mean_value_analysis_agree() {
        for population in [1, 2, 7, 40, 300] {
            // A cycle has a visit to the terminals, four to the processor, three to disks, and eight walks.
            let demands = [(4.0, false), (0.4, true), (0.45, true), (0.45, true), (0.16, false)];
            let (cycles, present) = mean_values(&demands, population);
            let model = computer(population, 1);
            let theory = Theory::of(&model).expect("it has a product form");
            let near = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
            near(theory.services_per_s[1][0], 4.0 * cycles);
            near(theory.mean_present(1, &model).expect("known"), present[1]);
            near(theory.mean_present(2, &model).expect("known"), present[2]);
        }
        // With a server for each customer the processor is a delay.
        let (cycles, _) =
            mean_values(&[(4.0, false), (0.4, false), (0.45, true), (0.45, true), (0.16, false)], 9);
        let theory = Theory::of(&computer(9, 9)).expect("it has a product form");
        assert!((theory.services_per_s[0][0] / cycles - 1.0).abs() < 1e-9);
    }

    #[test]
    fn erlang_has_his_tables() {
        // Ten servers offered five erlangs.
        assert!((erlang_b(10, 5.0) - 0.018_385).abs() < 1e-6);
        assert!((erlang_c(10, 0.5) - 0.036_105).abs() < 1e-6);
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
    }
}
