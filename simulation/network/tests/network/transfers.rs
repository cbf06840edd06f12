//! Transfers on platforms with every kind of zone and changing links: each ends once, in order, at whatever
//! times the network is advanced.

use std::collections::BTreeSet;

use paceline_network::{Ended, FlowModel, Flows, HostId, Network, Platform};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::file;

/// A transfer: its start in seconds, its source, its destination, and its number of bytes.
type Start = (f64, u32, u32, f64);

/// The ends of transfers, and the number of transfers started. The network is also advanced at other times,
/// which must change nothing. Transfers without a route are left out.
fn ends(platform: &Platform, model: FlowModel, starts: &[Start], others: &[f64]) -> (Vec<Ended>, usize) {
    let mut network = Flows::new(platform, model);
    let (mut found, mut started) = (Vec::new(), 0);
    let mut go = |network: &mut Flows, to: f64| {
        let mut between: Vec<f64> = others.to_vec();
        between.retain(|other| network.now() < *other && *other < to);
        between.sort_by(f64::total_cmp);
        for other in between {
            found.extend(network.advance(other));
        }
        found.extend(network.advance(to));
    };
    let mut at = 0.0;
    for (after, from, to, bytes) in starts {
        at += after;
        go(&mut network, at);
        let hosts = platform.hosts().len() as u32;
        started += usize::from(network.start(HostId(from % hosts), HostId(to % hosts), *bytes).is_ok());
    }
    go(&mut network, 1e4);
    (found, started)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_ends_once_and_in_order_however_often_it_is_asked(
        starts in vec((0.0f64..3.0, any::<u32>(), any::<u32>(), prop_oneof![Just(0.0), 1.0..1e7]), 1..25),
        others in vec(0.0f64..40.0, 0..20),
        fitted in any::<bool>(),
    ) {
        let model = if fitted { FlowModel::LV08 } else { FlowModel::CM02 };
        for name in ["zones.xml", "clusters.xml"] {
            let platform = file(name);
            let (found, started) = ends(&platform, model, &starts, &[]);
            let numbers: BTreeSet<_> = found.iter().map(|end| end.transfer).collect();
            prop_assert_eq!((found.len(), numbers.len()), (started, started), "each ends once: {:?}", &found);
            let in_order = |pair: &[Ended]| (pair[0].at, pair[0].transfer) < (pair[1].at, pair[1].transfer);
            prop_assert!(found.windows(2).all(in_order), "{found:?}");
            let (again, _) = ends(&platform, model, &starts, &others);
            prop_assert_eq!(found, again, "at other times too");
        }
    }
}
