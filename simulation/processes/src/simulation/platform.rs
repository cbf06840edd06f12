//! Simulations on the hosts of a platform.

use paceline_network::{FlowModel, Flows, Network, Platform};

use super::Simulation;
use crate::core::Profiles;

impl<'p, P: Send + 'static> Simulation<P, Flows<'p>> {
    /// A platform at time 0: its hosts, and its links, which messages share. Hosts and links follow their
    /// profiles: speeds change, and a process on a host that goes off ends as with
    /// [`Process::switch_off`](crate::Process::switch_off).
    ///
    /// ```
    /// use paceline_processes::{Process, Simulation};
    /// use paceline_kernel::Time;
    /// use paceline_network::{FlowModel, read};
    ///
    /// let text = r#"<platform version="4.1"><zone id="z" routing="Full">
    ///     <host id="a" speed="1Gf" speed_file="nights"/>
    /// </zone></platform>"#;
    /// // Half as fast in every second second.
    /// let mut other = |_: &str| Ok("0 1.0\n1 0.5\nLOOPAFTER 1".to_owned());
    /// let platform = read("demo.xml", text, &mut other)?;
    /// let mut simulation = Simulation::on_platform(&platform, FlowModel::LV08);
    /// simulation.spawn("worker", platform.host("a").unwrap(), async |cx: Process<()>| {
    ///     cx.compute(4e9).await.unwrap();
    ///     assert_eq!(cx.now(), Time::secs(5));
    /// });
    /// simulation.run()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_platform(platform: &'p Platform, model: FlowModel) -> Self {
        Self::with_hosts_of(platform, Flows::new(platform, model))
    }
}

impl<P: Send + 'static, N: Network> Simulation<P, N> {
    /// The hosts of a platform at time 0, as with [`Simulation::on_platform`], with another network between
    /// them.
    pub fn with_hosts_of(platform: &Platform, network: N) -> Self {
        let hosts: Vec<(f64, u32)> =
            platform.hosts().iter().map(|host| (host.speeds[host.state], host.cores)).collect();
        Self { profiles: Profiles::of(platform), ..Self::new(network, &hosts) }
    }
}
