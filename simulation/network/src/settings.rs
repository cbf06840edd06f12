//! The settings of a platform file's `<config>` that network models have.

/// What a `<config>` sets; `None` where it does not.
///
/// ```
/// use paceline_network::{FlowModel, read};
///
/// let text = r#"<platform version="4.1">
///     <config> <prop id="network/latency-factor" value="2"/> <prop id="network/loopback-bw" value="1e9"/> </config>
///     <zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone>
/// </platform>"#;
/// let platform = read("demo.xml", text, &mut |_| Err("there are no other files".into()))?;
/// assert_eq!(FlowModel::LV08.with(platform.settings()), FlowModel { latency_factor: 2.0, ..FlowModel::LV08 });
/// assert_eq!(platform.links()[0].bandwidth, 1e9);
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// `network/model`: its name as the file writes it, and where, as `file:line:column`. The caller chooses
    /// the model.
    pub model: Option<(String, String)>,
    /// `network/latency-factor`: the factor of all latencies of a route.
    pub latency_factor: Option<f64>,
    /// `network/bandwidth-factor`: the factor of the bandwidth that transfers get.
    pub bandwidth_factor: Option<f64>,
    /// `network/weight-S`, in bytes.
    pub weight_s: Option<f64>,
    /// `network/TCP-gamma`, in bytes.
    pub tcp_window: Option<f64>,
    /// `network/crosstraffic`: whether acknowledgements use the route back.
    pub cross_traffic: Option<bool>,
}
