//! The solver on random links and flows: partial solutions are bit-identical to complete ones, and agree with
//! the definition.

use std::collections::BTreeMap;

use paceline_network::{Sharing, Solver};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

/// Tolerance for numbers computed in different orders.
const NEAR: f64 = 1e-9;

#[derive(Clone, Debug)]
struct Flow {
    penalty: f64,
    bound: f64,
    links: Vec<(usize, f64)>,
}

#[derive(Clone, Debug, Default)]
struct System {
    links: Vec<(f64, Sharing)>,
    flows: BTreeMap<usize, Flow>,
}

/// A change of a system; numbers of flows and links wrap around.
#[derive(Clone, Debug)]
enum Change {
    Start(Flow),
    End(usize),
    Terms(usize, f64, f64),
    Capacity(usize, f64),
}

impl System {
    /// A new solver for the current system.
    fn solver(&self) -> Solver {
        let mut solver = Solver::default();
        for (capacity, sharing) in &self.links {
            solver.add_link(*capacity, *sharing);
        }
        for (number, flow) in &self.flows {
            solver.insert(*number, flow.penalty, flow.bound, &flow.links);
        }
        solver.solve();
        solver
    }

    fn change(&mut self, change: &Change, number: usize, solver: &mut Solver) {
        let pick =
            |flow: usize, flows: &BTreeMap<usize, Flow>| flows.keys().nth(flow % flows.len().max(1)).copied();
        match change {
            Change::Start(flow) => {
                let count = self.links.len();
                let links: BTreeMap<usize, f64> =
                    flow.links.iter().map(|(link, weight)| (link % count, *weight)).collect();
                let flow = Flow { links: links.into_iter().collect(), ..flow.clone() };
                solver.insert(number, flow.penalty, flow.bound, &flow.links);
                self.flows.insert(number, flow);
            }
            Change::End(flow) => {
                if let Some(flow) = pick(*flow, &self.flows) {
                    solver.remove(flow);
                    self.flows.remove(&flow);
                }
            }
            Change::Terms(flow, penalty, bound) => {
                if let Some(flow) = pick(*flow, &self.flows) {
                    solver.set_flow(flow, *penalty, *bound);
                    let known = self.flows.get_mut(&flow).expect("it was picked");
                    (known.penalty, known.bound) = (*penalty, *bound);
                }
            }
            Change::Capacity(link, capacity) => {
                let link = link % self.links.len();
                solver.set_capacity(link, *capacity);
                self.links[link].0 = *capacity;
            }
        }
    }

    /// The flows over a link, with their weights.
    fn over(&self, link: usize) -> impl Iterator<Item = (usize, &Flow, f64)> {
        self.flows.iter().filter_map(move |(number, flow)| {
            flow.links.iter().find(|(over, _)| *over == link).map(|(_, weight)| (*number, flow, *weight))
        })
    }

    /// The rates by definition: the lowest stop stops its flows; this is repeated until all flows are
    /// stopped.
    fn rates(&self) -> BTreeMap<usize, f64> {
        let mut rates: BTreeMap<usize, f64> = BTreeMap::new();
        loop {
            // Bounds first: at equal levels the first candidate is taken.
            let open = self.flows.iter().filter(|(number, _)| !rates.contains_key(number));
            let bounds = open.map(|(number, flow)| (flow.bound * flow.penalty, vec![*number], true));
            let full = (0..self.links.len()).filter_map(|link| {
                let (capacity, sharing) = self.links[link];
                let open: Vec<_> =
                    self.over(link).filter(|(number, ..)| !rates.contains_key(number)).collect();
                let taken: f64 =
                    self.over(link).filter_map(|(number, _, w)| Some(w * rates.get(&number)?)).sum();
                let usage: f64 = open.iter().map(|(_, flow, weight)| weight / flow.penalty).sum();
                let alone = open.iter().map(|(_, flow, weight)| capacity * flow.penalty / weight);
                let level = match sharing {
                    Sharing::Shared => (capacity - taken) / usage,
                    Sharing::FatPipe => alone.fold(f64::INFINITY, f64::min),
                };
                let stopped: Vec<usize> = open.iter().map(|(number, ..)| *number).collect();
                (!stopped.is_empty()).then_some((level, stopped, false))
            });
            let first = bounds.chain(full).min_by(|(one, ..), (other, ..)| one.total_cmp(other));
            let Some((level, stopped, at_bound)) = first else { return rates };
            for number in stopped {
                let flow = &self.flows[&number];
                rates.insert(number, if at_bound { flow.bound } else { level / flow.penalty });
            }
        }
    }

    /// Checks a solver's rates for the properties of max-min sharing.
    fn check(&self, rate: impl Fn(usize) -> f64) -> Result<(), TestCaseError> {
        let used = |link: usize| {
            let rates = self.over(link).map(|(number, _, weight)| weight * rate(number));
            match self.links[link].1 {
                Sharing::Shared => rates.sum::<f64>(),
                Sharing::FatPipe => rates.fold(0.0, f64::max),
            }
        };
        for (link, (capacity, _)) in self.links.iter().enumerate() {
            let used = used(link);
            prop_assert!(used <= capacity * (1.0 + NEAR), "link {link} carries {used} of {capacity}");
        }
        for (number, flow) in &self.flows {
            let got = rate(*number);
            prop_assert!(
                got > 0.0 && got <= flow.bound * (1.0 + NEAR),
                "flow {number} has {got} of {}",
                flow.bound
            );
            let level = got * flow.penalty * (1.0 + NEAR);
            let limits = |link: usize| {
                let is_full = used(link) >= self.links[link].0 * (1.0 - NEAR);
                is_full && self.over(link).all(|(other, flow, _)| rate(other) * flow.penalty <= level)
            };
            let is_limited =
                got >= flow.bound * (1.0 - NEAR) || flow.links.iter().any(|(link, _)| limits(*link));
            prop_assert!(is_limited, "flow {number} could be faster than {got}: {self:?}");
        }
        Ok(())
    }
}

/// Numbers of which many are equal: ties reveal the order of solving.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![select(vec![0.5, 1.0, 1.0, 2.0, 3.0, 10.0]), 0.01..100.0]
}

fn bound() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::INFINITY), number()]
}

fn sharing() -> impl Strategy<Value = Sharing> {
    prop_oneof![3 => Just(Sharing::Shared), 1 => Just(Sharing::FatPipe)]
}

fn flow() -> impl Strategy<Value = Flow> {
    let weight = prop_oneof![Just(1.0), Just(0.05), number()];
    (number(), bound(), btree_map(0usize..8, weight, 0..4)).prop_map(|(penalty, bound, links)| {
        // A flow without any limit has no rate.
        let bound = if links.is_empty() { bound.min(7.0) } else { bound };
        Flow { penalty, bound, links: links.into_iter().collect() }
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => flow().prop_map(Change::Start),
        2 => any::<usize>().prop_map(Change::End),
        1 => (any::<usize>(), number(), number()).prop_map(|(flow, penalty, bound)| Change::Terms(flow, penalty, bound)),
        2 => (any::<usize>(), number()).prop_map(|(link, capacity)| Change::Capacity(link, capacity)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_any_changes_rates_are_those_of_a_full_solution(
        links in vec((number(), sharing()), 1..8),
        changes in vec((change(), any::<bool>()), 1..40),
    ) {
        let mut system = System { links, flows: BTreeMap::new() };
        let mut solver = system.solver();
        for (number, (change, solve)) in changes.iter().enumerate() {
            system.change(change, number, &mut solver);
            // Several changes may come between two solutions.
            if !*solve && number + 1 < changes.len() {
                continue;
            }
            solver.solve();
            let full = system.solver();
            let defined = system.rates();
            for flow in system.flows.keys() {
                let (rate, whole, wanted) = (solver.rate(*flow), full.rate(*flow), defined[flow]);
                prop_assert_eq!(rate.to_bits(), whole.to_bits(), "flow {}: {}, not {}", flow, rate, whole);
                prop_assert!((rate - wanted).abs() <= NEAR * wanted, "flow {flow}: {rate}, not {wanted}");
            }
            system.check(|flow| solver.rate(flow))?;
        }
    }

    #[test]
    fn as_flows_come_and_go_rates_are_those_of_a_full_solution(
        links in vec((0.5f64..20.0, sharing()), 4..12),
        flows in vec((flow(), any::<bool>(), any::<usize>()), 1..120),
    ) {
        // Only changes of flows: a change of a capacity makes the solver start from scratch.
        let mut system = System { links, flows: BTreeMap::new() };
        let mut solver = system.solver();
        for (number, (flow, is_start, which)) in flows.into_iter().enumerate() {
            let change = if is_start || system.flows.len() < 20 { Change::Start(flow) } else { Change::End(which) };
            system.change(&change, number, &mut solver);
            solver.solve();
            let full = system.solver();
            for flow in system.flows.keys() {
                let (rate, whole) = (solver.rate(*flow), full.rate(*flow));
                prop_assert_eq!(rate.to_bits(), whole.to_bits(), "flow {}: {}, not {}", flow, rate, whole);
            }
        }
    }

    #[test]
    fn what_a_change_does_not_reach_is_not_looked_at(
        near in vec(flow(), 1..6),
        far in vec(flow(), 1..6),
        capacity in number(),
    ) {
        // Flows of one half use links 0 to 7, those of the other half links 8 to 15.
        let system = System { links: vec![(5.0, Sharing::Shared); 16], flows: BTreeMap::new() };
        let mut solver = system.solver();
        for (number, flow) in near.iter().enumerate() {
            solver.insert(number, flow.penalty, flow.bound, &flow.links);
        }
        for (number, flow) in far.iter().enumerate() {
            let links: Vec<_> = flow.links.iter().map(|(link, weight)| (link + 8, *weight)).collect();
            solver.insert(100 + number, flow.penalty, flow.bound, &links);
        }
        solver.solve();
        for link in 0..8 {
            solver.set_capacity(link, capacity);
        }
        let on_links = (0..near.len()).filter(|number| !near[*number].links.is_empty());
        prop_assert_eq!(solver.solve(), on_links.collect::<Vec<_>>());
    }

    #[test]
    fn a_fat_pipe_limits_each_of_equal_flows_alone(
        capacity in number(),
        bounds in vec(bound(), 1..8),
        penalty in number(),
        weight in number(),
    ) {
        let mut solver = Solver::default();
        let pipe = solver.add_link(capacity, Sharing::FatPipe);
        for (number, bound) in bounds.iter().enumerate() {
            solver.insert(number, penalty, *bound, &[(pipe, weight)]);
        }
        solver.solve();
        for (number, bound) in bounds.iter().enumerate() {
            let (rate, alone) = (solver.rate(number), bound.min(capacity / weight));
            prop_assert!((rate - alone).abs() <= NEAR * alone, "{rate}, not {alone}");
        }
    }
}

#[test]
fn flows_bounded_by_a_fat_pipe_do_not_stop_each_other() {
    // For any penalty: rounding of the pipe's level must not put it before the first bound.
    for thousandths in 1..2000 {
        let (capacity, penalty) = (125e6, f64::from(thousandths) * 1e-3);
        let mut solver = Solver::default();
        let pipe = solver.add_link(capacity, Sharing::FatPipe);
        solver.insert(0, penalty, capacity, &[(pipe, 1.0)]);
        solver.insert(1, 2.0 * penalty, capacity, &[(pipe, 1.0)]);
        solver.solve();
        assert_eq!((solver.rate(0), solver.rate(1)), (capacity, capacity), "penalty {penalty}");
    }
}
