//! Builds a platform from a checked tree: zones, hosts, routers and links in the order of the file.
//!
//! Invariants: every name is given once, whatever it names; a zone holds either zones, or hosts and routers, as in SimGrid's
//! definition of the format; there are no more hosts and links than the limits.

use std::collections::BTreeMap;

use super::traces::Connection;
use super::xml::{Attribute, Element};
use super::{units, words};
use crate::error::{Flaw, ReadError};
use crate::platform::{
    Host, HostId, Kind, Link, LinkId, Platform, Point, PointId, Properties, Sharing, Zone, ZoneId,
};
use crate::routing::{Routing, Star};

/// The most hosts of a platform.
pub(super) const MOST_HOSTS: usize = 1 << 18;
/// The most links of a platform.
pub(super) const MOST_LINKS: usize = 1 << 20;

/// The routing of a zone, before its routes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Full,
    Floyd,
    Dijkstra,
    /// A star written as a zone.
    Star,
}

const PLANS: [(&str, Plan); 6] = [
    ("Full", Plan::Full),
    ("Floyd", Plan::Floyd),
    ("Dijkstra", Plan::Dijkstra),
    ("DijkstraCache", Plan::Dijkstra),
    ("Cluster", Plan::Star),
    ("Star", Plan::Star),
];

/// A zone whose routes are not read yet.
#[derive(Clone, Copy)]
pub(super) struct Draft<'t> {
    pub zone: ZoneId,
    pub plan: Plan,
    pub element: &'t Element,
}

/// The part of the platform that has been read.
pub(super) struct Builder<'t, 'o> {
    name: &'t str,
    text: &'t str,
    pub other: &'o mut dyn FnMut(&str) -> Result<String, String>,
    pub platform: Platform,
    pub drafts: Vec<Draft<'t>>,
    /// Split links by name: the links up and down.
    pub splits: BTreeMap<String, (LinkId, LinkId)>,
    pub traces: BTreeMap<&'t str, &'t Element>,
    pub connections: Vec<Connection<'t>>,
    /// The number of cables of clusters so far: part of their names.
    pub cables: u32,
    /// The number of pairs of members in all zones with Floyd routing so far.
    pub floyd_pairs: usize,
    /// The bytes used for the hosts of clusters so far.
    pub host_bytes: usize,
}

impl<'t, 'o> Builder<'t, 'o> {
    pub fn new(
        name: &'t str,
        text: &'t str,
        other: &'o mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Self {
        Self {
            name,
            text,
            other,
            platform: Platform::empty(),
            drafts: Vec::new(),
            splits: BTreeMap::new(),
            traces: BTreeMap::new(),
            connections: Vec::new(),
            cables: 0,
            floyd_pairs: 0,
            host_bytes: 0,
        }
    }

    /// Builds the whole platform.
    pub fn platform(mut self, root: &'t Element) -> Result<Platform, ReadError> {
        self.make(root).map_err(|flaw| self.place(flaw))?;
        self.read_traces()?;
        Ok(self.platform)
    }

    /// A mistake in the platform file itself.
    pub fn place(&self, flaw: Flaw) -> ReadError {
        flaw.place(self.name, self.text)
    }

    fn make(&mut self, root: &'t Element) -> Result<(), Flaw> {
        words::check_version(root)?;
        for child in &root.children {
            match child.name.as_str() {
                "trace" | "trace_connect" => self.trace(child)?,
                _ if !self.platform.zones.is_empty() => {
                    let problem = "a second zone beside the outermost one";
                    return Err(Flaw::new(
                        child.at.clone(),
                        problem,
                        "one outermost zone with all others in it",
                    ));
                }
                "cluster" => self.cluster(child, None)?,
                _ => self.zone(child, None)?,
            }
        }
        if self.platform.zones.is_empty() {
            return Err(Flaw::new(root.at.clone(), "a platform without zones", "a <zone> or a <cluster>"));
        }
        // Stars first: their cabinets define hosts and links that routes of other zones may name.
        let (stars, others): (Vec<Draft>, Vec<Draft>) =
            std::mem::take(&mut self.drafts).into_iter().partition(|draft| draft.plan == Plan::Star);
        for draft in stars.into_iter().chain(others) {
            self.routes(draft)?;
        }
        Ok(())
    }

    fn zone(&mut self, element: &'t Element, parent: Option<ZoneId>) -> Result<(), Flaw> {
        let routing = element.need("routing")?;
        let plan = PLANS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&routing.value));
        let Some(&(_, plan)) = plan else {
            let known =
                ["None", "Vivaldi", "Wifi"].iter().find(|name| name.eq_ignore_ascii_case(&routing.value));
            let problem = match known {
                Some(name) => format!("{name} zones are not supported"),
                None => format!("there is no routing `{}`", routing.value),
            };
            let allowed = PLANS.map(|(name, _)| name).join(", ");
            return Err(Flaw::new(routing.at.clone(), problem, allowed));
        };
        let zone = self.add_zone(element.id()?, parent)?;
        self.platform.zones[zone.0 as usize].properties = properties(element)?;
        let (mut inner, mut leaf) = (None, None);
        for child in &element.children {
            match child.name.as_str() {
                "zone" | "AS" | "cluster" => inner = inner.or(Some(child)),
                "host" | "router" | "cabinet" => leaf = leaf.or(Some(child)),
                _ => {}
            }
            if let (Some(inner), Some(leaf)) = (inner, leaf) {
                let (first, later) =
                    if inner.at.start > leaf.at.start { (leaf, inner) } else { (inner, leaf) };
                let problem = format!("<{}> beside <{}> in one zone", later.name, first.name);
                let allowed = "zones and clusters, or hosts, routers and cabinets";
                return Err(Flaw::new(later.at.clone(), problem, allowed));
            }
            if plan == Plan::Star && inner.is_some() {
                let problem = format!("<{}> in a zone with {} routing", child.name, routing.value);
                return Err(Flaw::new(child.at.clone(), problem, "hosts, routers and cabinets"));
            }
            match child.name.as_str() {
                "zone" | "AS" => self.zone(child, Some(zone))?,
                "cluster" => self.cluster(child, Some(zone))?,
                "host" => self.host(child, zone)?,
                "router" => {
                    self.add_point(child.id()?, Kind::Router, Some(zone))?;
                }
                "link" => self.link(child)?,
                "trace" | "trace_connect" => self.trace(child)?,
                // Routes and the parts of stars are read when all names are known; properties have been read.
                _ => {}
            }
        }
        self.drafts.push(Draft { zone, plan, element });
        if plan == Plan::Star { Ok(()) } else { only_in_stars(element) }
    }

    fn host(&mut self, element: &'t Element, zone: ZoneId) -> Result<(), Flaw> {
        let speeds = units::speeds(element.need("speed")?)?;
        let cores = element.get("core").map_or(Ok(1), |cores| units::count(cores, 1, 1 << 20))?;
        let most = speeds.len() as u32 - 1;
        let state = element.get("pstate").map_or(Ok(0), |state| units::count(state, 0, most))?;
        let host = self.add_host(element.id()?, zone, &speeds, cores)?;
        self.platform.hosts[host.0 as usize].state = state as usize;
        self.platform.hosts[host.0 as usize].properties = properties(element)?;
        for (attribute, kind) in
            [("speed_file", "SPEED"), ("availability_file", "SPEED"), ("state_file", "HOST_AVAIL")]
        {
            self.connect_file(element, attribute, kind)?;
        }
        Ok(())
    }

    fn link(&mut self, element: &'t Element) -> Result<(), Flaw> {
        let id = element.id()?;
        let policy = element.get("sharing_policy");
        let sharing = match policy.map_or("SHARED", |policy| &policy.value) {
            "SHARED" => Some(Sharing::Shared),
            "FATPIPE" => Some(Sharing::FatPipe),
            "SPLITDUPLEX" | "FULLDUPLEX" => None,
            other => {
                let at = policy.map_or(element.at.clone(), |policy| policy.at.clone());
                let problem = match other {
                    "WIFI" => "WIFI links are not supported".to_owned(),
                    other => format!("there is no sharing policy `{other}`"),
                };
                return Err(Flaw::new(at, problem, "SHARED, FATPIPE or SPLITDUPLEX"));
            }
        };
        let bandwidth = units::bandwidth(element.need("bandwidth")?)?;
        let latency = element.get("latency").map_or(Ok(0.0), units::latency)?;
        let properties = properties(element)?;
        let links = match sharing {
            Some(sharing) => vec![self.add_link(id, id.value.clone(), bandwidth, latency, sharing)?],
            None => {
                let (up, down) = self.add_split(id, &id.value, bandwidth, latency)?;
                vec![up, down]
            }
        };
        for link in links {
            self.platform.links[link.0 as usize].properties = properties.clone();
        }
        for (attribute, kind) in
            [("bandwidth_file", "BANDWIDTH"), ("latency_file", "LATENCY"), ("state_file", "LINK_AVAIL")]
        {
            self.connect_file(element, attribute, kind)?;
        }
        Ok(())
    }

    /// Adds a zone, which is a point of the zone around it.
    pub fn add_zone(&mut self, id: &Attribute, parent: Option<ZoneId>) -> Result<ZoneId, Flaw> {
        let zone = ZoneId(self.platform.zones.len() as u32);
        let point = self.add_point(id, Kind::Zone(zone), parent)?;
        self.platform.zones.push(Zone {
            point,
            parent,
            members: Vec::new(),
            routing: Routing::Star(Star::default()),
            bypasses: BTreeMap::new(),
            properties: Properties::new(),
        });
        Ok(zone)
    }

    /// Adds a point with the name that an attribute gives.
    pub fn add_point(&mut self, id: &Attribute, kind: Kind, zone: Option<ZoneId>) -> Result<PointId, Flaw> {
        self.add_named_point(id, id.value.clone(), kind, zone)
    }

    /// Adds a point; mistakes are reported at an attribute.
    pub fn add_named_point(
        &mut self,
        at: &Attribute,
        name: String,
        kind: Kind,
        zone: Option<ZoneId>,
    ) -> Result<PointId, Flaw> {
        let point = PointId(self.platform.points.len() as u32);
        if self.platform.point_names.insert(name.clone(), point).is_some() {
            let problem = format!("a second host, router or zone with the name `{name}`");
            return Err(Flaw::new(at.at.clone(), problem, "names that nothing else has"));
        }
        let rank = zone.map_or(0, |zone| {
            let members = &mut self.platform.zones[zone.0 as usize].members;
            members.push(point);
            members.len() as u32 - 1
        });
        self.platform.points.push(Point { kind, zone, rank });
        self.platform.names.push(name);
        Ok(point)
    }

    /// Adds a host with the name that an attribute gives.
    fn add_host(&mut self, id: &Attribute, zone: ZoneId, speeds: &[f64], cores: u32) -> Result<HostId, Flaw> {
        self.add_named_host(id, id.value.clone(), zone, speeds, cores)
    }

    /// Adds a host; mistakes are reported at an attribute.
    pub fn add_named_host(
        &mut self,
        at: &Attribute,
        name: String,
        zone: ZoneId,
        speeds: &[f64],
        cores: u32,
    ) -> Result<HostId, Flaw> {
        let host = HostId(self.platform.hosts.len() as u32);
        if self.platform.hosts.len() == MOST_HOSTS {
            return Err(Flaw::new(at.at.clone(), "too many hosts", format!("at most {MOST_HOSTS} hosts")));
        }
        let point = self.add_named_point(at, name.clone(), Kind::Host(host), Some(zone))?;
        self.platform.hosts.push(Host {
            name,
            speeds: speeds.to_vec(),
            state: 0,
            cores,
            speed_profile: None,
            state_profile: None,
            properties: Properties::new(),
        });
        self.platform.host_points.push(point);
        Ok(host)
    }

    /// Adds a link; mistakes are reported at an attribute.
    pub fn add_link(
        &mut self,
        at: &Attribute,
        name: String,
        bandwidth: f64,
        latency: f64,
        sharing: Sharing,
    ) -> Result<LinkId, Flaw> {
        let link = LinkId(self.platform.links.len() as u32);
        if self.platform.links.len() == MOST_LINKS {
            return Err(Flaw::new(at.at.clone(), "too many links", format!("at most {MOST_LINKS} links")));
        }
        if self.splits.contains_key(&name) || self.platform.link_names.insert(name.clone(), link).is_some() {
            let problem = format!("a second link with the name `{name}`");
            return Err(Flaw::new(at.at.clone(), problem, "names that no other link has"));
        }
        self.platform.links.push(Link::new(name, bandwidth, latency, sharing));
        Ok(link)
    }

    /// Adds two links, one for each direction.
    pub fn add_split(
        &mut self,
        at: &Attribute,
        name: &str,
        bandwidth: f64,
        latency: f64,
    ) -> Result<(LinkId, LinkId), Flaw> {
        if self.platform.link_names.contains_key(name) {
            let problem = format!("a second link with the name `{name}`");
            return Err(Flaw::new(at.at.clone(), problem, "names that no other link has"));
        }
        let up = self.add_link(at, format!("{name}_UP"), bandwidth, latency, Sharing::Shared)?;
        let down = self.add_link(at, format!("{name}_DOWN"), bandwidth, latency, Sharing::Shared)?;
        self.splits.insert(name.to_owned(), (up, down));
        Ok((up, down))
    }
}

/// Refuses elements that only stars may hold.
fn only_in_stars(element: &Element) -> Result<(), Flaw> {
    let stray = element.children.iter().find(|child| words::IN_STARS.contains(&child.name.as_str()));
    stray.map_or(Ok(()), |child| {
        let problem = format!("<{}> in a zone that is no cluster", child.name);
        Err(Flaw::new(child.at.clone(), problem, "a zone with routing=\"Cluster\" around it"))
    })
}

/// The properties of an element.
pub(super) fn properties(element: &Element) -> Result<Properties, Flaw> {
    let props = element.children.iter().filter(|child| child.name == "prop");
    props.map(|prop| Ok((prop.id()?.value.clone(), prop.need("value")?.value.clone()))).collect()
}
