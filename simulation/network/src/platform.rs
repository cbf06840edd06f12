//! The elements of a platform: zones with hosts, routers and links in them.
//!
//! A **point** is where a route starts or ends: a host, a router, or a zone as a member of the zone around
//! it. Invariants: names of points are unique in a platform, and so are names of links; a zone holds either
//! zones, or hosts and routers; every stored id belongs to this platform. The first link is the loopback of
//! hosts that have no route to themselves.
//!
//! Nothing here changes in a run: what links are at the moment is in `flows` and its shares.

use std::collections::BTreeMap;

use crate::ids::{HostId, LOOPBACK, LinkId, PointId, Properties, ZoneId};
use crate::profile::Profile;
use crate::routing::Routing;
use crate::settings::Settings;
use crate::storage::{Disk, Storage};

/// A computer: where processes run, and where transfers begin and end.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Unique among its kind.
    pub name: String,
    /// Its speed in operations per second, for each of its performance states; at least one.
    pub speeds: Vec<f64>,
    /// The performance state in which it starts.
    pub state: usize,
    /// Its number of cores.
    pub cores: u32,
    /// The share of the speed that is available over time, from 0 on.
    pub speed_profile: Option<Profile>,
    /// Whether it is on over time: a value above 0.
    pub state_profile: Option<Profile>,
    /// Its coordinates, as many as the file gives. Only Vivaldi zones use them.
    pub coordinates: Vec<f64>,
    /// Its disks. No model uses them.
    pub disks: Vec<Disk>,
    /// What the file says with `<prop>`, which no computation reads.
    pub properties: Properties,
}

/// How transfers over a link share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All together have the link's bandwidth.
    Shared,
    /// Each has the link's bandwidth (`FATPIPE`).
    FatPipe,
}

/// A link, in one direction or in both; a `SPLITDUPLEX` link is two links, `NAME_UP` and `NAME_DOWN`.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique among its kind.
    pub name: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// The latency in seconds, before the factor of the network model.
    pub latency: f64,
    /// How transfers share it.
    pub sharing: Sharing,
    /// Bytes per second over time.
    pub bandwidth_profile: Option<Profile>,
    /// Seconds of latency over time.
    pub latency_profile: Option<Profile>,
    /// Whether it is on over time: a value above 0.
    pub state_profile: Option<Profile>,
    /// What the file says with `<prop>`, which no computation reads.
    pub properties: Properties,
}

impl Link {
    pub(crate) fn new(name: String, bandwidth: f64, latency: f64, sharing: Sharing) -> Self {
        Self {
            name,
            bandwidth,
            latency,
            sharing,
            bandwidth_profile: None,
            latency_profile: None,
            state_profile: None,
            properties: Properties::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Host(HostId),
    Router,
    Zone(ZoneId),
}

/// The position of a point in the platform; stored apart from names and hosts, because every route looks it
/// up.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub kind: Kind,
    /// The zone it is a member of; the outermost zone is a member of none.
    pub zone: Option<ZoneId>,
    /// Its place among the members of its zone.
    pub rank: u32,
}

/// A bypass route: a zone uses it for two points instead of the route that its routing finds.
#[derive(Clone, Debug)]
pub(crate) struct Bypass {
    pub links: Vec<LinkId>,
    pub gateways: Option<(PointId, PointId)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub point: PointId,
    pub parent: Option<ZoneId>,
    pub members: Vec<PointId>,
    pub routing: Routing,
    pub bypasses: BTreeMap<(PointId, PointId), Bypass>,
    pub coordinates: Vec<f64>,
    pub properties: Properties,
}

/// Hosts, links, and the routes between hosts.
///
/// ```
/// let text = r#"<platform version="4.1"><zone id="lab" routing="Full">
///     <host id="a" speed="2Gf" core="4"/> <router id="exit"/>
///     <link id="wire" bandwidth="1Gbps" latency="20us"/>
///     <route src="a" dst="exit"><link_ctn id="wire"/></route>
/// </zone></platform>"#;
/// let platform = paceline_network::read("lab.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let host = platform.host("a").expect("there is a host of that name");
/// assert_eq!((platform.hosts()[host.0 as usize].speeds[0], platform.host("exit")), (2e9, None));
/// assert!(platform.zones().eq(["lab"]) && platform.routers().eq(["exit"]));
/// // The first link is the loopback of hosts without a route to themselves.
/// assert_eq!((platform.links().len(), platform.links()[1].bandwidth), (2, 125e6));
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Platform {
    pub(crate) points: Vec<Point>,
    /// The names of points, and the points of hosts.
    pub(crate) names: Vec<String>,
    pub(crate) host_points: Vec<PointId>,
    pub(crate) zones: Vec<Zone>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) links: Vec<Link>,
    pub(crate) point_names: BTreeMap<String, PointId>,
    pub(crate) link_names: BTreeMap<String, LinkId>,
    pub(crate) storages: Vec<Storage>,
    pub(crate) settings: Settings,
    pub(crate) notices: Vec<String>,
}

/// In bytes per second. Both values are those of SimGrid 3.32, the defaults of `network/loopback-bw` and
/// `network/loopback-lat`; up to 3.25 they were 498 MB/s and 15 us.
const LOOPBACK_BANDWIDTH: f64 = 10e9;
const LOOPBACK_LATENCY: f64 = 0.0;

impl Platform {
    /// A platform with the loopback only.
    pub(crate) fn empty() -> Self {
        let name = "__loopback__".to_owned();
        let loopback = Link::new(name.clone(), LOOPBACK_BANDWIDTH, LOOPBACK_LATENCY, Sharing::FatPipe);
        Self {
            points: Vec::new(),
            names: Vec::new(),
            host_points: Vec::new(),
            zones: Vec::new(),
            hosts: Vec::new(),
            links: vec![loopback],
            point_names: BTreeMap::new(),
            link_names: BTreeMap::from([(name, LOOPBACK)]),
            storages: Vec::new(),
            settings: Settings::default(),
            notices: Vec::new(),
        }
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        match self.point(*self.point_names.get(name)?).kind {
            Kind::Host(host) => Some(host),
            Kind::Router | Kind::Zone(_) => None,
        }
    }

    /// The hosts in the order of the file; a host's id is its place.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The links in the order of the file, after the loopback; a link's id is its place.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The names of the zones and clusters in the order of the file, the outermost first.
    pub fn zones(&self) -> impl Iterator<Item = &str> {
        self.zones.iter().map(|zone| self.name(zone.point))
    }

    /// The names of the routers in the order of the file.
    pub fn routers(&self) -> impl Iterator<Item = &str> {
        let named = self.points.iter().zip(&self.names);
        named.filter(|(point, _)| point.kind == Kind::Router).map(|(_, name)| name.as_str())
    }

    /// The properties of the zone or cluster of this name.
    pub fn zone_properties(&self, name: &str) -> Option<&Properties> {
        Some(&self.zone_of(name)?.properties)
    }

    /// The coordinates of the zone of this name, as many as the file gives. Nothing uses them.
    pub fn zone_coordinates(&self, name: &str) -> Option<&[f64]> {
        Some(&self.zone_of(name)?.coordinates)
    }

    fn zone_of(&self, name: &str) -> Option<&Zone> {
        match self.point(*self.point_names.get(name)?).kind {
            Kind::Zone(zone) => Some(self.zone(zone)),
            Kind::Host(_) | Kind::Router => None,
        }
    }

    /// What the file's `<config>` sets.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The storages in the order of the file. No model uses them.
    pub fn storages(&self) -> &[Storage] {
        &self.storages
    }

    /// What the reader did not follow to the letter, one line each with its place in the file: to be shown to
    /// the user.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    pub(crate) fn point(&self, id: PointId) -> &Point {
        &self.points[id.0 as usize]
    }

    pub(crate) fn zone(&self, id: ZoneId) -> &Zone {
        &self.zones[id.0 as usize]
    }

    pub(crate) fn name(&self, id: PointId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The zone itself, the zone around it, and so on to the outermost.
    pub(crate) fn upwards(&self, zone: ZoneId) -> impl Iterator<Item = ZoneId> + '_ {
        std::iter::successors(Some(zone), |zone| self.zone(*zone).parent)
    }

    /// Whether a point is in a zone, or in one within it.
    pub(crate) fn is_within(&self, point: PointId, zone: ZoneId) -> bool {
        self.point(point).zone.is_some_and(|inner| self.upwards(inner).any(|around| around == zone))
    }

    /// Whether the members of a zone are zones; else they are hosts and routers.
    pub(crate) fn holds_zones(&self, zone: ZoneId) -> bool {
        let first = self.zone(zone).members.first();
        first.is_some_and(|point| matches!(self.point(*point).kind, Kind::Zone(_)))
    }
}
