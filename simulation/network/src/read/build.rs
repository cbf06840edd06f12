//! Builds a platform from a checked tree: zones, hosts, routers and links in the order of the file.
//!
//! Invariants: every name is given once, whatever it names; a zone holds either zones, or hosts and routers,
//! as in SimGrid's definition of the format; there are no more hosts and links than the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::parts::{Connection, Stores, properties};
use super::units::coordinates;
use super::words;
use super::xml::{Attribute, Element};
use crate::error::{ReadError, TextError};
use crate::ids::{HostId, LinkId, PointId, Properties, ZoneId};
use crate::platform::{Host, Kind, Link, Platform, Point, Sharing, Zone};
use crate::routing::{Routing, Star};

pub(super) const MOST_HOSTS: usize = 1 << 18;
pub(super) const MOST_LINKS: usize = 1 << 20;

/// The routing of a zone, before its routes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Full,
    Floyd,
    Dijkstra,
    /// A star written as a zone.
    Star,
    Vivaldi,
    /// A zone without routes between its members.
    Empty,
}

const PLANS: [(&str, Plan); 8] = [
    ("Full", Plan::Full),
    ("Floyd", Plan::Floyd),
    ("Dijkstra", Plan::Dijkstra),
    ("DijkstraCache", Plan::Dijkstra),
    ("Cluster", Plan::Star),
    ("Star", Plan::Star),
    ("Vivaldi", Plan::Vivaldi),
    ("None", Plan::Empty),
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
    /// The coordinates of hosts and routers, as far as the file gives them.
    pub coordinates: BTreeMap<PointId, Vec<f64>>,
    /// The access links of peers, by their points: out and in.
    pub peers: BTreeMap<PointId, (LinkId, LinkId)>,
    pub storage: Stores<'t>,
    /// The settings given so far.
    pub config: BTreeSet<String>,
    /// The gateways of routes between zones, and where the first of these stands.
    pub gateways: BTreeMap<PointId, Range<usize>>,
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
            coordinates: BTreeMap::new(),
            peers: BTreeMap::new(),
            storage: Stores::default(),
            config: BTreeSet::new(),
            gateways: BTreeMap::new(),
        }
    }

    /// Builds the whole platform.
    pub fn platform(mut self, root: &'t Element) -> Result<Platform, ReadError> {
        self.make(root).map_err(|error| self.place(error))?;
        self.stores().map_err(|error| self.place(error))?;
        self.read_traces()?;
        Ok(self.platform)
    }

    /// A mistake in the platform file itself.
    pub fn place(&self, error: TextError) -> ReadError {
        error.place(self.name, self.text)
    }

    /// Something that the reader does not follow to the letter, to be shown to the user.
    pub fn notice(&mut self, at: Range<usize>, text: impl Into<String>) {
        let place = self.place(TextError::new(at, text, ""));
        let text = format!("{}:{}:{}: {}", place.file, place.line, place.column, place.problem);
        self.platform.notices.push(text);
    }

    fn make(&mut self, root: &'t Element) -> Result<(), TextError> {
        words::check_version(root)?;
        for child in &root.children {
            match child.name.as_str() {
                "trace" | "trace_connect" => self.trace(child)?,
                "config" => self.config(child)?,
                _ if !self.platform.zones.is_empty() => {
                    let problem = "a second zone beside the outermost one";
                    return Err(child.refuse(problem, "one outermost zone with all others in it"));
                }
                "cluster" => self.cluster(child, None)?,
                _ => self.zone(child, None)?,
            }
        }
        if self.platform.zones.is_empty() {
            return Err(root.refuse("a platform without zones", "a <zone> or a <cluster>"));
        }
        // Stars first: their cabinets define hosts and links that routes of other zones may name.
        let (stars, others): (Vec<Draft>, Vec<Draft>) =
            std::mem::take(&mut self.drafts).into_iter().partition(|draft| draft.plan == Plan::Star);
        for draft in stars.into_iter().chain(others) {
            self.routes(draft)?;
        }
        self.note_gateways();
        Ok(())
    }

    fn zone(&mut self, element: &'t Element, parent: Option<ZoneId>) -> Result<(), TextError> {
        let routing = element.need("routing")?;
        let plan = PLANS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&routing.value));
        let Some(&(_, plan)) = plan else {
            let problem = match routing.value.eq_ignore_ascii_case("Wifi") {
                true => "Wifi zones are not supported".to_owned(),
                false => format!("there is no routing `{}`", routing.value),
            };
            let allowed = PLANS.map(|(name, _)| name).join(", ");
            return Err(routing.refuse(problem, allowed));
        };
        let zone = self.add_zone(element.id()?, parent)?;
        self.platform.zones[zone.0 as usize].properties = properties(element)?;
        if let Some(attribute) = element.get("coordinates") {
            self.platform.zones[zone.0 as usize].coordinates = coordinates(attribute)?;
        }
        let (mut inner, mut leaf) = (None, None);
        for child in &element.children {
            match child.name.as_str() {
                "zone" | "AS" | "cluster" => inner = inner.or(Some(child)),
                "host" | "peer" | "router" | "cabinet" => leaf = leaf.or(Some(child)),
                _ => {}
            }
            if let (Some(inner), Some(leaf)) = (inner, leaf) {
                let (first, later) =
                    if inner.at.start > leaf.at.start { (leaf, inner) } else { (inner, leaf) };
                let problem = format!("<{}> beside <{}> in one zone", later.name, first.name);
                let allowed = "zones and clusters, or hosts, routers and cabinets";
                return Err(later.refuse(problem, allowed));
            }
            if plan == Plan::Star && inner.is_some() {
                let problem = format!("<{}> in a zone with {} routing", child.name, routing.value);
                return Err(child.refuse(problem, "hosts, routers and cabinets"));
            }
            match child.name.as_str() {
                "zone" | "AS" => self.zone(child, Some(zone))?,
                "cluster" => self.cluster(child, Some(zone))?,
                "host" => self.host(child, zone)?,
                "peer" if plan == Plan::Vivaldi => self.peer(child, zone)?,
                "peer" => {
                    let problem = format!("<peer> in a zone with {} routing", routing.value);
                    return Err(child.refuse(problem, "<peer> in Vivaldi zones"));
                }
                "router" => {
                    let point = self.add_point(child.id()?, Kind::Router, Some(zone))?;
                    self.keep_coordinates(child, point)?;
                }
                "storage_type" | "storage" => self.storage_element(child)?,
                "link" => self.link(child)?,
                "trace" | "trace_connect" => self.trace(child)?,
                // Routes and the parts of stars are read when all names are known; properties have been read.
                _ => {}
            }
            if plan == Plan::Vivaldi && ["host", "peer", "router"].contains(&child.name.as_str()) {
                self.check_coordinates(child)?;
            }
        }
        self.drafts.push(Draft { zone, plan, element });
        if plan == Plan::Star { Ok(()) } else { only_in_stars(element) }
    }

    /// Adds a zone, which is a point of the zone around it.
    pub fn add_zone(&mut self, id: &Attribute, parent: Option<ZoneId>) -> Result<ZoneId, TextError> {
        let zone = ZoneId(self.platform.zones.len() as u32);
        let point = self.add_point(id, Kind::Zone(zone), parent)?;
        self.platform.zones.push(Zone {
            point,
            parent,
            members: Vec::new(),
            routing: Routing::Star(Star::default()),
            bypasses: BTreeMap::new(),
            coordinates: Vec::new(),
            properties: Properties::new(),
        });
        Ok(zone)
    }

    /// Adds a point with the name that an attribute gives.
    pub fn add_point(
        &mut self,
        id: &Attribute,
        kind: Kind,
        zone: Option<ZoneId>,
    ) -> Result<PointId, TextError> {
        self.add_named_point(id, id.value.clone(), kind, zone)
    }

    /// Adds a point; mistakes are reported at an attribute.
    pub fn add_named_point(
        &mut self,
        at: &Attribute,
        name: String,
        kind: Kind,
        zone: Option<ZoneId>,
    ) -> Result<PointId, TextError> {
        let point = PointId(self.platform.points.len() as u32);
        if self.platform.point_names.insert(name.clone(), point).is_some() {
            let problem = format!("a second host, router or zone with the name `{name}`");
            return Err(at.refuse(problem, "names that nothing else has"));
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
    pub fn add_host(
        &mut self,
        id: &Attribute,
        zone: ZoneId,
        speeds: &[f64],
        cores: u32,
    ) -> Result<HostId, TextError> {
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
    ) -> Result<HostId, TextError> {
        let host = HostId(self.platform.hosts.len() as u32);
        if self.platform.hosts.len() == MOST_HOSTS {
            return Err(at.refuse("too many hosts", format!("at most {MOST_HOSTS} hosts")));
        }
        let point = self.add_named_point(at, name.clone(), Kind::Host(host), Some(zone))?;
        self.platform.hosts.push(Host {
            name,
            speeds: speeds.to_vec(),
            state: 0,
            cores,
            speed_profile: None,
            state_profile: None,
            coordinates: Vec::new(),
            disks: Vec::new(),
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
    ) -> Result<LinkId, TextError> {
        let link = LinkId(self.platform.links.len() as u32);
        if self.platform.links.len() == MOST_LINKS {
            return Err(at.refuse("too many links", format!("at most {MOST_LINKS} links")));
        }
        if self.splits.contains_key(&name) || self.platform.link_names.insert(name.clone(), link).is_some() {
            let problem = format!("a second link with the name `{name}`");
            return Err(at.refuse(problem, "names that no other link has"));
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
    ) -> Result<(LinkId, LinkId), TextError> {
        if self.platform.link_names.contains_key(name) {
            let problem = format!("a second link with the name `{name}`");
            return Err(at.refuse(problem, "names that no other link has"));
        }
        let up = self.add_link(at, format!("{name}_UP"), bandwidth, latency, Sharing::Shared)?;
        let down = self.add_link(at, format!("{name}_DOWN"), bandwidth, latency, Sharing::Shared)?;
        self.splits.insert(name.to_owned(), (up, down));
        Ok((up, down))
    }
}

/// Refuses elements that only stars may hold.
fn only_in_stars(element: &Element) -> Result<(), TextError> {
    let stray = element.children.iter().find(|child| words::IN_STARS.contains(&child.name.as_str()));
    stray.map_or(Ok(()), |child| {
        let problem = format!("<{}> in a zone that is no cluster", child.name);
        Err(child.refuse(problem, "a zone with routing=\"Cluster\" around it"))
    })
}
