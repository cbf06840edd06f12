//! Experiments with real machines under simulated time: guests of an emulator are hosts of a packet network,
//! beside our models of the same. Where the emulator is not installed they are skipped, with the reason.
//!
//! Invariants: guests and models have the same networks and are measured by the same code; what is measured
//! is in virtual time, which the host's load does not change.

mod bench;
mod crowd;
mod flows;
mod guests;
mod order;
mod pair;
mod tcp;
mod transfers;
mod turns;
mod web;

use crate::prelude::*;

catalogue! {
    "netwarp-tcp": "Linux's CUBIC and Reno in a guest beside ours on the same link, over latency, loss and queue", RealProcesses
        => tcp::plan;
    "netwarp-order": "The order test of the NSX paper between three guests, with and without a common clock", RealProcesses
        => order::plan;
    "netwarp-flows": "iperf3 in guests through a bottleneck with 1, 4 and 16 flows, beside our model", RealProcesses
        => flows::plan;
    "netwarp-web": "curl and nginx in guests over a backbone with a link that fails", RealProcesses => web::plan;
    "netwarp-crowd": "Simulated clients that ask one nginx in a guest", RealProcesses => crowd::plan;
    "netwarp-pair": "What a stream, and request and response, between two guests cost", RealProcesses => pair::plan;
}
