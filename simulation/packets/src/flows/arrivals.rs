//! Flows that arrive by chance, at a given load.

use super::{FlowDemand, Workload, WorkloadError};
use crate::files::Cdf;

/// Between which hosts flows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Any two of these, all pairs alike.
    AnyTwo(Vec<u32>),
    /// One of these pairs of a sender and a receiver, all alike.
    Listed(Vec<(u32, u32)>),
}

/// Flows whose starts are a Poisson process, with sizes by a distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Between which hosts.
    pub pairing: Pairing,
    /// The distribution of the flows' sizes, in bytes.
    pub sizes: Cdf,
    /// Arrivals a second, of all flows together; [`Poisson::rate_at_load`] computes them from a load.
    pub rate: f64,
    /// The first time at which a flow may start (ps).
    pub from_ps: u64,
    /// The time before which flows start (ps).
    pub until_ps: u64,
}

impl Poisson {
    /// The arrivals a second with which `hosts` hosts that send keep links of `rate` bits a second busy for
    /// the share `load` of the time: load x hosts x rate / (8 x mean size). Headers and retransmissions come
    /// on top.
    pub fn rate_at_load(load: f64, hosts: usize, rate: u64, sizes: &Cdf) -> f64 {
        load * hosts as f64 * rate as f64 / (8.0 * sizes.mean())
    }
}

/// The most flows that a process may be expected to have: the numbers of flows have 32 bits.
const FLOWS_MAX: f64 = 1e9;

impl Workload {
    /// Adds the flows of a Poisson process.
    ///
    /// # Errors There are no two hosts to choose from; the rate is not a number above 0, or would give more
    /// than 10^9 flows; as for [`Workload::bulk`].
    pub fn poisson(&mut self, settings: &Poisson) -> Result<(), WorkloadError> {
        let refuse = |what: String, allowed| Err(WorkloadError { what, allowed });
        let choices = match &settings.pairing {
            Pairing::AnyTwo(hosts) => hosts.len().saturating_sub(1),
            Pairing::Listed(pairs) => pairs.len(),
        };
        if choices == 0 {
            return refuse("arrivals without two hosts".into(), "2 hosts or more, or 1 pair or more");
        }
        let expected = settings.until_ps.saturating_sub(settings.from_ps) as f64 * 1e-12 * settings.rate;
        if settings.rate.is_nan() || settings.rate <= 0.0 || expected > FLOWS_MAX {
            return refuse(format!("{} arrivals a second", settings.rate), "above 0, up to 10^9 in all");
        }
        let mean_ps = 1e12 / settings.rate;
        let mut start_ps = settings.from_ps;
        loop {
            let mut rng = self.draws();
            // The gap to the flow before, its ends and its size are drawn from the stream of its number.
            start_ps = start_ps.saturating_add((rng.exponential(mean_ps) + 0.5) as u64);
            if start_ps >= settings.until_ps {
                return Ok(());
            }
            let (from, to) = match &settings.pairing {
                Pairing::AnyTwo(hosts) => {
                    let from = rng.below(hosts.len() as u64) as usize;
                    let to = rng.below(hosts.len() as u64 - 1) as usize;
                    (hosts[from], hosts[to + usize::from(to >= from)])
                }
                Pairing::Listed(pairs) => pairs[rng.below(pairs.len() as u64) as usize],
            };
            let bytes = settings.sizes.draw(&mut rng);
            self.push(FlowDemand { from, to, bytes, start_ps, after: Box::default(), pause_ps: 0 })?;
        }
    }
}
