//! Cancelled transfers end without a report, and from then on the others continue as if the cancelled ones
//! had never existed. Compared with a definition that recomputes all rates at every change.

use std::collections::BTreeMap;

use paceline_network::{Constant, Ended, FlowModel, Flows, HostId, Network, Platform, Solver, TransferId};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::file;

/// Tolerance for times computed from bytes that were updated at different times.
const NEAR: f64 = 1e-9;
/// A time after all ends.
const END: f64 = 1e4;

/// An action on a network.
#[derive(Clone, Debug)]
enum Act {
    /// The source, the destination and the number of bytes; host numbers wrap around.
    Start(u32, u32, f64),
    /// The number of a started transfer; it wraps around.
    Cancel(u32),
}

/// Actions, each with the seconds since the one before.
type Acts = Vec<(f64, Act)>;

fn acts() -> impl Strategy<Value = Acts> {
    let bytes = prop_oneof![Just(0.0), Just(1e6), 1.0..1e7];
    let start = (any::<u32>(), any::<u32>(), bytes).prop_map(|(from, to, bytes)| Act::Start(from, to, bytes));
    let act = prop_oneof![3 => start, 2 => any::<u32>().prop_map(Act::Cancel)];
    vec((prop_oneof![Just(0.0), 0.0..0.02, 0.0..3.0], act), 1..40)
}

/// The ends of all transfers, and the number of transfers started; the network is also advanced at the times
/// `stops`.
fn run(network: &mut dyn Network, hosts: u32, acts: &Acts, stops: &[f64]) -> (Vec<Ended>, u32) {
    let (mut ended, mut started, mut at) = (Vec::new(), 0, 0.0);
    let mut stops = stops.to_vec();
    stops.sort_by(f64::total_cmp);
    let go = |network: &mut dyn Network, to: f64, ended: &mut Vec<Ended>| {
        for stop in stops.iter().filter(|stop| **stop < to) {
            network.advance_into(stop.max(network.now()), ended);
        }
        network.advance_into(to, ended);
    };
    for (after, act) in acts {
        at += after;
        go(network, at, &mut ended);
        match act {
            Act::Start(from, to, bytes) => {
                if let Ok(transfer) = network.start(HostId(from % hosts), HostId(to % hosts), *bytes) {
                    assert_eq!(transfer, TransferId(started), "numbers are given out in order");
                    started += 1;
                }
            }
            Act::Cancel(which) if started > 0 => network.cancel(TransferId(which % started)),
            Act::Cancel(_) => {}
        }
    }
    go(network, END, &mut ended);
    (ended, started)
}

/// A transfer of the definition.
struct Plain {
    route: Vec<usize>,
    weights: BTreeMap<usize, f64>,
    bytes: f64,
    flows_at: f64,
}

/// The definition of the flow-level model, on a platform of shared links that do not change: at every change
/// a new solver computes all rates, and all transfers are updated.
struct Definition<'p> {
    platform: &'p Platform,
    model: FlowModel,
    now: f64,
    open: BTreeMap<usize, Plain>,
}

impl Definition<'_> {
    fn start(&mut self, number: usize, from: HostId, to: HostId, bytes: f64) -> bool {
        let Ok(route) = self.platform.route(from, to) else { return false };
        let back = self.platform.route(to, from).expect("there is a way back");
        let mut weights = BTreeMap::new();
        for (links, weight) in [(&route.links, 1.0), (&back.links, self.model.cross_traffic)] {
            links.iter().for_each(|link| *weights.entry(link.0 as usize).or_insert(0.0) += weight);
        }
        let flows_at = self.now + route.latency * self.model.latency_factor;
        let route = route.links.iter().map(|link| link.0 as usize).collect();
        self.open.insert(number, Plain { route, weights, bytes, flows_at });
        true
    }

    /// The rates of the flowing transfers.
    fn rates(&self) -> BTreeMap<usize, f64> {
        let (mut solver, links) = (Solver::default(), self.platform.links());
        links.iter().for_each(|link| _ = solver.add_link(link.bandwidth, link.sharing));
        let flowing = || self.open.iter().filter(|(_, transfer)| transfer.flows_at <= self.now);
        for (number, Plain { route, weights, .. }) in flowing() {
            let sum = |term: &dyn Fn(usize) -> f64| route.iter().map(|link| term(*link)).sum::<f64>();
            let latency = sum(&|link| links[link].latency);
            let penalty = sum(&|link| links[link].latency + self.model.weight_s / links[link].bandwidth);
            let narrowest = route.iter().map(|link| links[*link].bandwidth).fold(f64::INFINITY, f64::min);
            let bound = narrowest.min(self.model.tcp_window / (2.0 * latency));
            let weights: Vec<(usize, f64)> = weights.iter().map(|(link, weight)| (*link, *weight)).collect();
            solver.insert(*number, penalty, bound, &weights);
        }
        solver.solve();
        flowing().map(|(number, _)| (*number, solver.rate(*number) * self.model.bandwidth_factor)).collect()
    }

    /// Advances to a time, and records the ends on the way.
    fn advance(&mut self, to: f64, ends: &mut BTreeMap<usize, f64>) {
        loop {
            let rates = self.rates();
            let change = |(number, transfer): (&usize, &Plain)| match rates.get(number) {
                Some(rate) => (self.now + transfer.bytes / rate, *number),
                None => (transfer.flows_at, *number),
            };
            let first = self.open.iter().map(change).min_by(|one, other| one.0.total_cmp(&other.0));
            let until = first.map_or(to, |(at, _)| at.min(to));
            for (number, rate) in &rates {
                let transfer = self.open.get_mut(number).expect("it flows");
                transfer.bytes = (transfer.bytes - rate * (until - self.now)).max(0.0);
            }
            self.now = until;
            match first {
                Some((at, number)) if at <= to => {
                    if rates.contains_key(&number) || self.open[&number].bytes == 0.0 {
                        self.open.remove(&number);
                        ends.insert(number, at);
                    }
                }
                _ => return,
            }
        }
    }

    /// The ends of all transfers that are not cancelled before.
    fn run(mut self, acts: &Acts) -> BTreeMap<usize, f64> {
        let (mut ends, mut started, mut at) = (BTreeMap::new(), 0, 0.0);
        let hosts = self.platform.hosts().len() as u32;
        for (after, act) in acts {
            at += after;
            self.advance(at, &mut ends);
            match act {
                Act::Start(from, to, bytes) => {
                    let (from, to) = (HostId(from % hosts), HostId(to % hosts));
                    started += usize::from(self.start(started, from, to, *bytes));
                }
                Act::Cancel(which) if started > 0 => _ = self.open.remove(&(*which as usize % started)),
                Act::Cancel(_) => {}
            }
        }
        self.advance(END, &mut ends);
        ends
    }
}

/// Clusters whose links are shared and do not change.
fn still(topology: &str) -> Platform {
    crate::platform(&format!(
        r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1MBps" lat="1ms"
           sharing_policy="SHARED" {topology}/></platform>"#
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_cancels_the_rest_ends_when_the_definition_says(
        acts in acts(),
        topology in prop::sample::select(vec![
            r#"bb_bw="2MBps" bb_lat="5ms""#,
            r#"topology="TORUS" topo_parameters="2,4""#,
            r#"topology="FAT_TREE" topo_parameters="2;4,2;1,2;1,1""#,
        ]),
        fitted in any::<bool>(),
    ) {
        let model = if fitted { FlowModel::LV08 } else { FlowModel::CM02 };
        let platform = still(topology);
        let (ended, _) = run(&mut Flows::new(&platform, model), 8, &acts, &[]);
        let wanted = Definition { platform: &platform, model, now: 0.0, open: BTreeMap::new() }.run(&acts);
        let found: BTreeMap<usize, f64> = ended.iter().map(|end| (end.transfer.0 as usize, end.at)).collect();
        prop_assert_eq!(ended.len(), found.len(), "each ends once");
        prop_assert!(found.keys().eq(wanted.keys()), "{found:?}, not {wanted:?}");
        for (number, at) in &found {
            let defined = wanted[number];
            prop_assert!((at - defined).abs() <= NEAR * defined.max(1.0), "{number}: {at}, not {defined}");
        }
    }

    #[test]
    fn any_steps_give_the_same_ends_on_links_that_change(
        acts in acts(),
        stops in vec(0.0f64..60.0, 0..30),
        fitted in any::<bool>(),
    ) {
        let model = if fitted { FlowModel::LV08 } else { FlowModel::CM02 };
        for name in ["zones.xml", "clusters.xml"] {
            let platform = file(name);
            let hosts = platform.hosts().len() as u32;
            let whole = run(&mut Flows::new(&platform, model), hosts, &acts, &[]);
            let steps = run(&mut Flows::new(&platform, model), hosts, &acts, &stops);
            prop_assert_eq!(&whole, &steps, "however time is cut");
        }
    }

    #[test]
    fn cancelling_what_is_over_does_nothing(acts in acts(), which in vec((0usize..40, any::<u32>()), 1..20)) {
        for name in ["zones.xml", "clusters.xml"] {
            let platform = file(name);
            let hosts = platform.hosts().len() as u32;
            let flows = || Flows::new(&platform, FlowModel::CM02);
            let (whole, _) = run(&mut flows(), hosts, &acts, &[]);
            // In a second network, transfers that have ended are cancelled between the actions, and all
            // transfers at the end.
            let (mut network, mut ended, mut at, mut started) = (flows(), Vec::new(), 0.0, 0);
            for (place, (after, act)) in acts.iter().enumerate() {
                at += after;
                network.advance_into(at, &mut ended);
                for (_, over) in which.iter().filter(|(before, _)| *before == place && !ended.is_empty()) {
                    network.cancel(ended[*over as usize % ended.len()].transfer);
                }
                match act {
                    Act::Start(from, to, bytes) => {
                        let new = network.start(HostId(from % hosts), HostId(to % hosts), *bytes);
                        started += u32::from(new.is_ok());
                    }
                    Act::Cancel(which) if started > 0 => network.cancel(TransferId(which % started)),
                    Act::Cancel(_) => {}
                }
            }
            network.advance_into(END, &mut ended);
            (0..=started).for_each(|number| network.cancel(TransferId(number)));
            network.advance_into(2.0 * END, &mut ended);
            prop_assert_eq!(&whole, &ended);
        }
    }

    #[test]
    fn on_a_constant_network_all_end_in_time_but_the_cancelled(acts in acts(), stops in vec(0.0f64..60.0, 0..9)) {
        let (ended, _) = run(&mut Constant::new(1.5), 4, &acts, &stops);
        let (mut wanted, mut started, mut at) = (Vec::new(), 0, 0.0);
        for (after, act) in &acts {
            at += after;
            match act {
                Act::Start(..) => {
                    wanted.push(Ended { transfer: TransferId(started), at: at + 1.5, arrived: true });
                    started += 1;
                }
                Act::Cancel(which) if started > 0 => {
                    wanted.retain(|end| end.transfer.0 != which % started || end.at <= at);
                }
                Act::Cancel(_) => {}
            }
        }
        prop_assert_eq!(ended, wanted);
    }
}

#[test]
fn a_cancelled_transfer_leaves_its_bandwidth_to_the_others() {
    let platform = crate::platform(
        r#"<platform version="4.1"><zone id="z" routing="Full">
        <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
        <link id="there" bandwidth="10MBps"/> <link id="back" bandwidth="10MBps"/>
        <route src="a" dst="b" symmetrical="NO"><link_ctn id="there"/></route>
        <route src="b" dst="a" symmetrical="NO"><link_ctn id="back"/></route>
        </zone></platform>"#,
    );
    let mut network = Flows::new(&platform, FlowModel::CM02);
    let start = |network: &mut Flows| network.start(HostId(0), HostId(1), 10e6).expect("there is a route");
    let (one, other) = (start(&mut network), start(&mut network));
    assert_eq!(network.advance(1.0), []);
    network.cancel(one);
    // 5 MB are left; from now on they flow at the whole bandwidth.
    assert_eq!(network.next(), Some(1.5));
    network.cancel(other);
    assert_eq!(network.next(), None);
}
