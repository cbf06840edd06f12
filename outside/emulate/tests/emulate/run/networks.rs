//! Machines on random networks: one digest, whatever threads, federates, grants and their order.

use paceline_emulate::run::GrantPolicy;
use paceline_engine::Protocol;
use paceline_kernel::{Model as _, TieBreak, Time};
use paceline_packets::{Drive, Flow, LinkSpec, Packets, Udp, topology};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::run::pings::{assert_same, outcome};
use crate::run::support::{Behaviour, How, PLAIN, Paired, run};

const UNTIL: Time = Time::millis(20);

/// The hosts of a network, with as many machines at the first of them, and what each of these does.
#[derive(Clone, Debug)]
struct Case {
    is_star: bool,
    link: (u64, u64),
    queue: u32,
    /// First ping, interval, service, and which other machine it pings.
    machines: Vec<(u64, u64, u64, usize)>,
    flow: Option<u64>,
    ties: TieBreak,
}

const NAMES: [&str; 5] = ["host-0", "host-1", "host-2", "host-3", "host-4"];

impl Case {
    fn model(&self) -> (Packets, Vec<Paired>) {
        let link = LinkSpec::new(self.link.0, self.link.1).drop_tail(self.queue);
        let hosts = NAMES.len() as u32;
        let network = if self.is_star {
            topology::star(hosts, &link).unwrap()
        } else {
            topology::line(hosts, &LinkSpec::new(50_000_000, 3_000_000), &link).unwrap()
        };
        let [from, to] = ["host-4", "host-0"].map(|name| network.node(name).unwrap());
        let flow =
            |rate| Flow::udp(from, to, Udp { rate, wire_bytes: 333, drive: Drive::Poisson, packets: None });
        let count = self.machines.len();
        let model =
            crate::run::support::model(network, self.flow.map(flow).into_iter().collect(), &NAMES[..count]);
        let pair = |(number, (first, interval, service_ns, other)): (usize, &(u64, u64, u64, usize))| {
            let peer = (number + 1 + other % (count - 1)) % count;
            let pings = Some((*first, *interval));
            (NAMES[number], NAMES[peer], Behaviour { pings, service_ns: *service_ns, ..Behaviour::default() })
        };
        let machines = self.machines.iter().enumerate().map(pair).collect();
        (model.capture(&["*"], None).unwrap(), machines)
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    // Few values, so that machines often do something at the same time.
    let first = prop::sample::select(vec![0, 500_000, 1_000_000]);
    let interval = prop::sample::select(vec![100_000, 250_000, 999_983]);
    let service = prop::sample::select(vec![1, 1_000, 70_001]);
    let machines = prop::collection::vec((first, interval, service, 0..9_usize), 2..5);
    let link = (1_000_000..100_000_000_u64, 1_000_000..2_000_000_000_u64);
    let ties = prop_oneof![Just(TieBreak::Fixed), any::<u64>().prop_map(TieBreak::Random)];
    let flow = prop::option::of(100_000..2_000_000_u64);
    (any::<bool>(), link, 2..20_u32, machines, flow, ties).prop_map(
        |(is_star, link, queue, machines, flow, ties)| Case { is_star, link, queue, machines, flow, ties },
    )
}

/// Grants are as long as the bound of the federate allows, so protocol and federates decide their sizes.
fn any_how(ties: TieBreak) -> impl Strategy<Value = How> {
    let protocols = vec![Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand];
    let protocol = prop::sample::select(protocols);
    let threads = prop::sample::select(vec![1, 2]);
    let federates = prop::sample::select(vec![1, 4]);
    let policy = prop::sample::select(GrantPolicy::ALL.map(|(policy, _)| policy).to_vec());
    (protocol, threads, federates, 1..6_usize, policy, 0..4_u32).prop_map(
        move |(protocol, threads, federates, at_once, policy, delay)| How {
            protocol,
            threads,
            federates,
            at_once,
            policy,
            delay,
            ties,
        },
    )
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn how_a_run_is_done_does_not_show_on_any_network(
        (case, ways) in any_case().prop_flat_map(|case| {
            let ways = prop::collection::vec(any_how(case.ties), 4);
            (Just(case), ways)
        }),
    ) {
        let (model, machines) = case.model();
        let plain = How { ties: case.ties, ..PLAIN };
        let (report, seen) = run(&model, &machines, UNTIL, plain);
        let reference = outcome(&model, report.unwrap());
        prop_assert!(seen.iter().any(|seen| !seen.arrivals.is_empty()));
        let most = model.lps() - machines.len() as u32;
        for mut how in ways {
            how.federates = how.federates.min(most);
            let (report, others) = run(&model, &machines, UNTIL, how);
            assert_same(&outcome(&model, report.unwrap()), &reference, &format!("{how:?}"));
            for (other, seen) in others.iter().zip(&seen) {
                prop_assert_eq!(&other.arrivals, &seen.arrivals);
            }
        }
    }
}
