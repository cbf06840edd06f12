//! Experiments on packet networks: what formulas, ns-3, a paper and UNISON say of networks that are simulated
//! packet by packet. The runs are in simulated time alone, on one thread.
//!
//! Invariants: a check has the value of its source and the tolerance that was set before anything was
//! simulated, narrower than that of published times; settings are those of the source's program, where our
//! model has them, and where it has not the notes say so.

mod bench;
mod cubic;
mod dctcp;
mod fat_tree;
mod figure_17;
mod mathis;
mod md1;
mod mrg32k3a;
mod newreno;
mod unison;

use crate::prelude::*;

catalogue! {
    "net-md1": "Waits at a link to which packets come at random, over the load, beside the formula", SimulatedMachine => md1::plan;
    "net-fat-tree": "Delays of UDP packets in fat trees, beside ns-3", SimulatedMachine => fat_tree::plan;
    "net-newreno": "NewReno at a bottleneck of 10 Mb/s: goodput, short queues, completion times, fairness", SimulatedMachine
        => newreno::plan;
    "net-mathis": "NewReno with random loss, beside the formula of Mathis and ns-3", SimulatedMachine => mathis::plan;
    "net-dctcp": "DCTCP at 50 Mb/s with round trips of 10 and 80 ms, beside ns-3's tcp-validation", SimulatedMachine => dctcp::plan;
    "net-cubic-codel": "The window of CUBIC at 50 Mb/s under CoDel, beside ns-3's tcp-validation", SimulatedMachine => cubic::plan;
    "net-dctcp-fig17": "Figure 17 of the DCTCP paper: two bottlenecks shared by 40 flows", SimulatedMachine => figure_17::plan;
    "net-unison": "UNISON's fat tree of 100 Mb/s with its list of flows", SimulatedMachine => unison::plan;
}
