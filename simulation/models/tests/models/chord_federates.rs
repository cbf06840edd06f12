//! Chord on several federates: peers on hosts of different federates give the same results as on one core.

use paceline_kernel::Time;
use paceline_models::chord::{Chord, Starts};
use paceline_network::{Constant, FlowModel, Flows, Network, read};
use paceline_processes::Simulation;

/// Digest, messages and answered lookups of a run with peers that join and leave.
fn ran<N: Network + Clone + Send + Sync>(
    network: N,
    starts: Starts,
    federates: Option<(u32, usize)>,
) -> (u64, u64, u64, f64) {
    let churn = Time::secs(60);
    let chord = Chord { peers: 200, starts, join: 0.1, leave: 0.1, churn, ..Chord::default() };
    let simulation = Simulation::new(network, &[(1e9, 1); 32]).until(Time::secs(120)).seed(3);
    let mut simulation = match federates {
        Some((federates, threads)) => simulation.federates(federates).threads(threads),
        None => simulation,
    };
    chord.spawn(&mut simulation, 32, 3);
    let report = simulation.run().expect("it ends at its horizon");
    let hops = report.outputs.mean("hops").expect("there are answers");
    (report.digest.value(), report.counts.messages, report.outputs.count("lookups_answered"), hops)
}

fn compare<N: Network + Clone + Send + Sync>(network: &N) {
    for starts in [Starts::Spread, Starts::Lockstep] {
        let plain = ran(network.clone(), starts, None);
        assert!(plain.2 > 1000, "lookups are answered");
        for federates in [1, 4, 16] {
            for threads in [1, 2, 8] {
                let ran = ran(network.clone(), starts, Some((federates, threads)));
                assert_eq!(ran, plain, "{starts:?}, {federates} federates, {threads} threads");
            }
        }
    }
}

#[test]
fn on_a_constant_network() {
    compare(&Constant::new(0.05));
}

#[test]
fn on_the_links_of_a_cluster() {
    let text = r#"<platform version="4.1">
        <cluster id="c" prefix="h" suffix="" radical="0-31" speed="1Gf" bw="100kBps" lat="5ms" bb_bw="1MBps" bb_lat="2ms"/>
    </platform>"#;
    let platform = read("cluster.xml", text, &mut |_| Err("there are no other files".into())).unwrap();
    compare(&Flows::new(&platform, FlowModel::LV08));
}
