//! The constants of flow-level models, and the terms of one transfer that follow from them.
//!
//! The constants are those of the SimGrid 3.32 models with these names. CM02 (Casanova and Marchal, 2002);
//! LV08 (Velho and Legrand, 2009), with factors fitted to packet-level simulations of TCP.

use crate::ids::LinkId;
use crate::platform::Sharing;
use crate::settings::Settings;

/// The constants of a flow-level model.
///
/// ```
/// use paceline_network::{FlowModel, Flows, Network, read};
///
/// let text = r#"<platform version="4.1"><zone id="z" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
///     <link id="wire" bandwidth="10MBps" latency="100ms" sharing_policy="FATPIPE"/>
///     <route src="a" dst="b"><link_ctn id="wire"/></route>
/// </zone></platform>"#;
/// let platform = read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let seconds = |model: FlowModel| {
///     let mut network = Flows::new(&platform, model);
///     network.start(platform.host("a").unwrap(), platform.host("b").unwrap(), 20e6).expect("there is a route");
///     let mut ends = Vec::new();
///     while let Some(at) = network.next() {
///         ends.extend(network.advance(at));
///     }
///     ends[0].at
/// };
/// // The latency, and the bytes at the link's bandwidth.
/// assert!((seconds(FlowModel::CM02) - 2.1).abs() < 1e-9);
/// // The factors that the model has for both.
/// assert!((seconds(FlowModel::LV08) - (1.301 + 2.0 / 0.97)).abs() < 1e-9);
/// // Constants of one's own: at most 1 MB in two latencies.
/// assert!((seconds(FlowModel { tcp_window: 1e6, ..FlowModel::CM02 }) - 4.1).abs() < 1e-9);
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowModel {
    /// Factor on the latency of a route.
    pub latency_factor: f64,
    /// Factor on the rate of a transfer: the part of a link's bytes that are not headers.
    pub bandwidth_factor: f64,
    /// In bytes. A link adds its latency, and this number divided by its bandwidth, to a transfer's penalty.
    pub weight_s: f64,
    /// The share of its own rate that a transfer uses on the links of the route back, for acknowledgements;
    /// 0 for none.
    pub cross_traffic: f64,
    /// In bytes: the most that a transfer sends in two latencies of its route. Infinite for no limit.
    pub tcp_window: f64,
}

impl FlowModel {
    /// The model CM02.
    pub const CM02: Self = Self {
        latency_factor: 1.0,
        bandwidth_factor: 1.0,
        weight_s: 0.0,
        cross_traffic: 0.05,
        tcp_window: 4_194_304.0,
    };

    /// The model LV08.
    pub const LV08: Self =
        Self { latency_factor: 13.01, bandwidth_factor: 0.97, weight_s: 20_537.0, ..Self::CM02 };

    /// The model with the constants that a platform file sets, as [`Flows::new`](crate::Flows::new) applies
    /// them.
    pub fn with(self, settings: &Settings) -> Self {
        Self {
            latency_factor: settings.latency_factor.unwrap_or(self.latency_factor),
            bandwidth_factor: settings.bandwidth_factor.unwrap_or(self.bandwidth_factor),
            weight_s: settings.weight_s.unwrap_or(self.weight_s),
            cross_traffic: match settings.cross_traffic {
                Some(true) => Self::CM02.cross_traffic,
                Some(false) => 0.0,
                None => self.cross_traffic,
            },
            tcp_window: settings.tcp_window.unwrap_or(self.tcp_window),
        }
    }

    /// The penalty and the bound of a transfer over links with these bandwidths and latencies, and with
    /// `beside` seconds of latency beside these; the bound is at most `narrowest`.
    pub(super) fn terms(
        &self,
        route: impl Iterator<Item = (f64, f64)>,
        beside: f64,
        narrowest: f64,
    ) -> (f64, f64) {
        let (mut latency, mut penalty) = (beside, beside);
        for (bandwidth, link_latency) in route {
            latency += link_latency;
            penalty += link_latency + self.weight_s / bandwidth;
        }
        if latency > 0.0 {
            (penalty, narrowest.min(self.tcp_window / (2.0 * latency)))
        } else {
            // Without latency all transfers have the same penalty.
            (1.0, narrowest)
        }
    }

    /// For each link on the routes there and back, sorted by number: the multiple of its own rate that a
    /// transfer uses.
    pub(super) fn weights(
        &self,
        sharing: impl Fn(LinkId) -> Sharing,
        route: &[LinkId],
        back: &[LinkId],
        weights: &mut Vec<(u32, f64)>,
    ) {
        weights.clear();
        weights.extend(route.iter().map(|link| (link.0, 1.0)));
        weights.extend(back.iter().map(|link| (link.0, self.cross_traffic)));
        // The sort is stable: uses of one link are added in the order of the routes.
        weights.sort_by_key(|(link, _)| *link);
        weights.dedup_by(|(link, weight), (before, sum)| {
            let is_same = link == before;
            if is_same {
                match sharing(LinkId(*link)) {
                    Sharing::Shared => *sum += *weight,
                    Sharing::FatPipe => *sum = f64::max(*sum, *weight),
                }
            }
            is_same
        });
    }
}
