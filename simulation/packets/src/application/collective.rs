//! Collectives and other lists of flows that wait for each other, as transfers on connections that stay open.
//!
//! Invariant: each ordered pair of hosts has one connection, on which its transfers follow each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Applications, Group, Transfer};
use crate::flow::{Flow, Tcp};
use crate::flows::{Collective, FlowDemand, Workload, WorkloadError};

impl Applications {
    /// Adds a collective of `hosts`, with connections of these settings, which are added to `flows`. Nobody
    /// holds back a small segment for a larger one (Nagle) unless the settings say so.
    ///
    /// # Errors
    ///
    /// As for [`Workload::collective`].
    pub fn collective(
        &mut self,
        flows: &mut Vec<Flow>,
        tcp: &Tcp,
        name: Arc<str>,
        (hosts, start_ps): (&[u32], u64),
        settings: &Collective,
    ) -> Result<(), WorkloadError> {
        let mut workload = Workload::new(0);
        workload.collective(hosts, start_ps, settings)?;
        let all = workload.flows();
        // All rounds are alike.
        let of_round = all.len() as u32 / settings.rounds;
        let group = Group { name, kind: settings.kind.name(), of_round, rounds: settings.rounds };
        self.groups.push(group);
        let group = self.groups.len() as u32 - 1;
        self.transfers(flows, tcp, all, |number| Some((group, number / of_round)));
        Ok(())
    }

    /// Adds transfers, each after those that it waits for, on a connection for each pair of hosts.
    fn transfers(
        &mut self,
        flows: &mut Vec<Flow>,
        tcp: &Tcp,
        list: &[FlowDemand],
        group: impl Fn(u32) -> Option<(u32, u32)>,
    ) {
        let first = self.transfers.len() as u32;
        let mut connections: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (number, demand) in (0..).zip(list) {
            let &FlowDemand { from, to, bytes, start_ps, ref after, pause_ps } = demand;
            let flow = *connections.entry((from, to)).or_insert_with(|| {
                flows.push(Flow::tcp(from, to, Tcp { bytes: None, ..tcp.clone() }));
                flows.len() as u32 - 1
            });
            let after = after.iter().map(|before| first + before).collect();
            let group = group(number);
            self.transfers.push(Transfer { flow, bytes, start_ps, after, pause_ps, group });
        }
    }
}
