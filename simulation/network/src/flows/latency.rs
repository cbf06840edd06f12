//! What can be computed about latencies before any transfer starts.

use crate::flows::FlowModel;
use crate::ids::{HostId, LinkId};
use crate::platform::{Link, Platform, Sharing};

/// On platforms with more hosts only some routes are examined: to the next host in the file, and to the first
/// and the last one.
const ALL_PAIRS: usize = 200;

/// The least latency that a link ever has, in seconds.
fn latency(link: &Link) -> f64 {
    link.latency_profile.as_ref().map_or(link.latency, |profile| profile.least().min(link.latency))
}

/// The least latency of a route between two hosts, in seconds; zero where there is no route.
pub(super) fn least(platform: &Platform) -> f64 {
    let hosts = platform.hosts().len();
    let mut route = Vec::new();
    let mut of = |from: usize, to: usize| {
        route.clear();
        let (from, to) = (HostId(from as u32), HostId(to as u32));
        match platform.route_into(from, to, &mut route) {
            Ok(beside) => {
                let links = route.iter().map(|link: &LinkId| latency(&platform.links()[link.0 as usize]));
                links.sum::<f64>() + beside
            }
            Err(_) => f64::INFINITY,
        }
    };
    let mut least = f64::INFINITY;
    for from in 0..hosts {
        let near = [(from + 1) % hosts, 0, hosts - 1];
        let (all, few) = if hosts <= ALL_PAIRS { (0..hosts, &near[..0]) } else { (0..0, &near[..]) };
        for to in all.chain(few.iter().copied()).filter(|to| *to != from) {
            least = least.min(of(from, to));
        }
    }
    if least.is_finite() { least } else { 0.0 }
}

/// The time that a transfer from a host to itself takes, in seconds, if it shares nothing and nothing
/// changes.
pub(super) fn alone(platform: &Platform, model: &FlowModel, host: HostId, bytes: f64) -> Option<f64> {
    let mut route = Vec::new();
    let beside = platform.route_into(host, host, &mut route).ok()?;
    let (mut seconds, mut narrowest) = (beside, f64::INFINITY);
    for link in &route {
        let link = &platform.links()[link.0 as usize];
        let changes = [&link.bandwidth_profile, &link.latency_profile, &link.state_profile];
        if link.sharing == Sharing::Shared || changes.iter().any(|profile| profile.is_some()) {
            return None;
        }
        seconds += link.latency;
        narrowest = narrowest.min(link.bandwidth);
    }
    let (_, bound) = model.terms(std::iter::once((narrowest, seconds)), 0.0, narrowest);
    // A route without links takes any number of bytes at once.
    let flows = if bytes > 0.0 && !route.is_empty() { bytes / (bound * model.bandwidth_factor) } else { 0.0 };
    Some(seconds * model.latency_factor + flows)
}
