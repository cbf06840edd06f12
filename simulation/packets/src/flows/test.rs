//! Applications: their flows in order, on a network that takes a fixed time for each, and in numbers.

mod collectives;

use super::*;
use crate::files::Cdf;

/// When each flow starts and ends on a network where each takes `latency_ps` and `ps_per_byte` for a byte.
fn times(workload: &Workload, latency_ps: u64, ps_per_byte: u64) -> Vec<(u64, u64)> {
    let mut times: Vec<(u64, u64)> = Vec::new();
    for flow in workload.flows() {
        let last = flow.after.iter().map(|number| times[*number as usize].1).max();
        let start = flow.start_ps.max(last.map_or(0, |last| last + flow.pause_ps));
        times.push((start, start + latency_ps + flow.bytes * ps_per_byte));
    }
    times
}

const SECOND: u64 = 1_000_000_000_000;

#[test]
fn arrivals_are_poisson_at_their_load() {
    let sizes = Cdf::read("sizes", "1000 0\n3000 50\n20000 100\n").unwrap();
    let rate = Poisson::rate_at_load(0.6, 10, 1_000_000_000, &sizes);
    let until_ps = 11 * SECOND;
    let settings =
        Poisson { pairing: Pairing::AnyTwo((10..20).collect()), sizes, rate, from_ps: SECOND, until_ps };
    let mut workload = Workload::new(5);
    workload.poisson(&settings).unwrap();
    let flows = workload.flows();
    let expected = 10.0 * rate;
    assert!((flows.len() as f64 - expected).abs() < 5.0 * expected.sqrt(), "{} for {expected}", flows.len());
    assert!(flows.is_sorted_by_key(|flow| flow.start_ps));
    assert!(flows[0].start_ps > SECOND && flows.last().unwrap().start_ps < until_ps);
    // The load: bits a second of all ten links.
    let load = flows.iter().map(|flow| flow.bytes * 8).sum::<u64>() as f64 / (10.0 * 10.0 * 1e9);
    assert!((load - 0.6).abs() < 0.6 * 5.0 / (flows.len() as f64).sqrt(), "{load}");
    // Exponential gaps: their mean is their deviation, and 1/e of them are above the mean.
    let gaps: Vec<f64> = flows.windows(2).map(|pair| (pair[1].start_ps - pair[0].start_ps) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let above = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
    assert!((above - (-1f64).exp()).abs() < 0.005, "{above}");
    // All ordered pairs alike, none to itself.
    let mut pairs = std::collections::BTreeMap::new();
    for flow in flows {
        *pairs.entry((flow.from, flow.to)).or_insert(0u32) += 1;
    }
    let each = flows.len() as f64 / 90.0;
    assert_eq!(pairs.len(), 90);
    assert!(pairs.values().all(|count| (f64::from(*count) - each).abs() < 6.0 * each.sqrt()), "{pairs:?}");
}

/// What is random about a flow is a function of the seed and its number: not of how many hosts or which
/// applications came before it.
#[test]
fn draws_depend_on_the_seed_and_the_number_of_the_flow() {
    let sizes = Cdf::read("sizes", "1 0\n1000000 1\n").unwrap();
    let settings = Poisson {
        pairing: Pairing::Listed(vec![(1, 2), (3, 4)]),
        sizes,
        rate: 100.0,
        from_ps: 0,
        until_ps: SECOND,
    };
    let build = |seed, before| {
        let mut workload = Workload::new(seed);
        for _ in 0..before {
            workload.bulk(7, 8, 1, 0).unwrap();
        }
        workload.poisson(&settings).unwrap();
        workload.flows().to_vec()
    };
    let first = build(1, 0);
    assert_eq!(first, build(1, 0));
    assert_ne!(first, build(2, 0));
    let sizes = |flows: &[FlowDemand], from: usize, to: usize| {
        flows[from..to].iter().map(|flow| (flow.from, flow.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&first, 10, 60), sizes(&build(1, 10), 10, 60));
}

#[test]
fn flows_that_make_no_sense_are_refused() {
    let mut workload = Workload::new(1);
    let first = workload.bulk(1, 2, 10, 0).unwrap();
    let after = |from, to, after: &[u32]| FlowDemand {
        from,
        to,
        bytes: 1,
        start_ps: 0,
        after: after.into(),
        pause_ps: 0,
    };
    assert_eq!(workload.push(after(2, 1, &[first])).unwrap(), 1);
    for (result, message) in [
        (workload.bulk(3, 3, 1, 0), "a flow from host 3 to itself; allowed: a flow between two hosts"),
        (workload.bulk(3, 4, 0, 0), "a flow of 0 bytes from host 3; allowed: 1 byte or more"),
        (
            workload.push(after(1, 2, &[0])),
            "a flow from host 1 that waits for flow 0; allowed: flows before it that end where it begins",
        ),
        (
            workload.push(after(1, 2, &[1, 2])),
            "a flow from host 1 that waits for flow 2; allowed: flows before it that end where it begins",
        ),
    ] {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
    let arrivals =
        |pairing, rate| Poisson { pairing, sizes: Cdf::constant(1), rate, from_ps: 0, until_ps: SECOND };
    for (settings, message) in [
        (arrivals(Pairing::AnyTwo(vec![1]), 1.0), "arrivals without two hosts"),
        (arrivals(Pairing::Listed(vec![]), 1.0), "arrivals without two hosts"),
        (arrivals(Pairing::AnyTwo(vec![1, 2]), 0.0), "0 arrivals a second"),
        (arrivals(Pairing::AnyTwo(vec![1, 2]), f64::NAN), "NaN arrivals a second"),
        (arrivals(Pairing::AnyTwo(vec![1, 2]), 1e12), "1000000000000 arrivals a second"),
        (arrivals(Pairing::AnyTwo(vec![1, 1]), 1e3), "a flow from host 1 to itself"),
    ] {
        assert_eq!(workload.poisson(&settings).unwrap_err().what, message);
    }
}
