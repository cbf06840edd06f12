//! Clusters: numbered hosts, and the links of their topology.
//!
//! A flat cluster is a star with a link for each host. The link is split into up and down unless it is
//! `SHARED`. There is a backbone if the cluster gives it a bandwidth. Its router is in the middle and has the
//! name `PREFIX` `ID` `_router` `SUFFIX`.

use super::build::{Builder, MOST_HOSTS};
use super::parts::properties;
use super::units;
use super::xml::{Attribute, Element};
use crate::error::TextError;
use crate::ids::{LinkId, ZoneId};
use crate::platform::{Kind, Sharing};
use crate::routing::{Routing, Spoke, Star};

/// The most bytes for names, speeds and properties of the hosts of all clusters: 512 for each possible host.
const MOST_BYTES: usize = MOST_HOSTS * 512;

/// What all topologies have in common: the kind of their links, and each host's own links.
pub(super) struct Wires<'t> {
    pub id: &'t Attribute,
    pub bandwidth: f64,
    pub latency: f64,
    pub split: bool,
    /// One for each host, in the order of ranks; empty if the cluster has none.
    pub loopbacks: Vec<LinkId>,
    pub limiters: Vec<LinkId>,
    /// The bandwidth of limiters.
    pub limit: Option<f64>,
}

impl<'t> Builder<'t, '_> {
    pub fn cluster(&mut self, element: &'t Element, parent: Option<ZoneId>) -> Result<(), TextError> {
        let id = element.id()?;
        let zone = self.add_zone(id, parent)?;
        let properties = properties(element)?;
        self.platform.zones[zone.0 as usize].properties = properties.clone();
        let speeds = units::speeds(element.need("speed")?)?;
        let cores = element.get("core").map_or(Ok(1), |cores| units::count(cores, 1, 1 << 20))?;
        let mut wires = self.wires(element, id)?;
        let loopback = self.optional_link(element, "loopback_bw", "loopback_lat")?;
        let mut numbers = Vec::new();
        for (at, name, number) in self.names(element)? {
            let host = self.add_named_host(at, name, zone, &speeds, cores)?;
            self.platform.hosts[host.0 as usize].properties = properties.clone();
            if let Some((bandwidth, latency)) = loopback {
                let name = format!("{}_link_{number}_loopback", id.value);
                wires.loopbacks.push(self.add_link(id, name, bandwidth, latency, Sharing::FatPipe)?);
            }
            if let Some(limit) = wires.limit {
                let name = format!("{}_link_{number}_limiter", id.value);
                wires.limiters.push(self.add_link(id, name, limit, 0.0, Sharing::Shared)?);
            }
            numbers.push(number);
        }
        let topology = element.get("topology").map_or("FLAT", |topology| &topology.value);
        if topology == "FLAT" {
            return self.flat(element, zone, &wires, &numbers);
        }
        let backbone = self.optional_link(element, "bb_bw", "bb_lat")?;
        for (name, given) in [("bb_bw", backbone.is_some()), ("router_id", true)] {
            if let Some(attribute) = element.get(name).filter(|_| given) {
                let problem = format!("`{name}` in a cluster with topology {topology}");
                return Err(attribute.refuse(problem, "a backbone and a router in flat clusters only"));
            }
        }
        let hosts = numbers.len() as u32;
        let shape = element.need("topo_parameters")?;
        self.platform.zones[zone.0 as usize].routing = match topology {
            "TORUS" => Routing::Torus(self.torus(shape, hosts, wires)?),
            "FAT_TREE" => Routing::FatTree(self.fat_tree(shape, hosts, wires)?),
            "DRAGONFLY" => Routing::Dragonfly(self.dragonfly(shape, hosts, wires)?),
            other => {
                let at = element.get("topology").map_or(element.at.clone(), |topology| topology.at.clone());
                let problem = format!("there is no topology `{other}`");
                return Err(TextError::new(at, problem, "FLAT, TORUS, FAT_TREE or DRAGONFLY"));
            }
        };
        Ok(())
    }

    fn wires(&mut self, element: &'t Element, id: &'t Attribute) -> Result<Wires<'t>, TextError> {
        let policy = element.get("sharing_policy");
        let at = policy.map_or_else(|| element.at.clone(), |policy| policy.at.clone());
        let split = match policy.map_or("SPLITDUPLEX", |policy| &policy.value) {
            "SPLITDUPLEX" | "FULLDUPLEX" => true,
            "SHARED" => false,
            "FATPIPE" => {
                // Measured with SimGrid 3.32: in every topology times are those of SHARED.
                let text =
                    "the links of a cluster with sharing_policy=\"FATPIPE\" are shared, as in SimGrid 3.32";
                self.notice(at, text);
                false
            }
            other => {
                let problem = format!("there is no sharing policy `{other}` for the links of a cluster");
                return Err(TextError::new(at, problem, "SPLITDUPLEX, SHARED or FATPIPE"));
            }
        };
        Ok(Wires {
            id,
            bandwidth: units::bandwidth(element.need("bw")?)?,
            latency: units::latency(element.need("lat")?)?,
            split,
            loopbacks: Vec::new(),
            limiters: Vec::new(),
            limit: element.get("limiter_link").map(units::optional_bandwidth).transpose()?.flatten(),
        })
    }

    /// The bandwidth and latency of an optional link: it exists if its bandwidth is given.
    fn optional_link(&self, element: &Element, bw: &str, lat: &str) -> Result<Option<(f64, f64)>, TextError> {
        let latency = element.get(lat).map_or(Ok(0.0), units::latency)?;
        let bandwidth = element.get(bw).map(units::optional_bandwidth).transpose()?.flatten();
        match (bandwidth, element.get(lat)) {
            (Some(bandwidth), _) => Ok(Some((bandwidth, latency))),
            (None, Some(attribute)) if latency > 0.0 => {
                let problem = format!("`{lat}` without `{bw}`");
                Err(attribute.refuse(problem, "both or none"))
            }
            (None, _) => Ok(None),
        }
    }

    fn flat(
        &mut self,
        element: &'t Element,
        zone: ZoneId,
        wires: &Wires,
        numbers: &[u32],
    ) -> Result<(), TextError> {
        let id = wires.id;
        if let Some(parameters) = element.get("topo_parameters") {
            let problem = "`topo_parameters` in a flat cluster";
            return Err(parameters.refuse(problem, "a topology of TORUS, FAT_TREE or DRAGONFLY"));
        }
        let policy = element.get("bb_sharing_policy");
        let sharing = match policy.map_or("SHARED", |policy| &policy.value) {
            "SHARED" => Sharing::Shared,
            "FATPIPE" => Sharing::FatPipe,
            other => {
                let at = policy.map_or(element.at.clone(), |policy| policy.at.clone());
                return Err(TextError::new(
                    at,
                    format!("there is no sharing policy `{other}`"),
                    "SHARED or FATPIPE",
                ));
            }
        };
        let backbone = match self.optional_link(element, "bb_bw", "bb_lat")? {
            Some((bandwidth, latency)) => {
                Some(self.add_link(id, format!("{}_backbone", id.value), bandwidth, latency, sharing)?)
            }
            None => None,
        };
        let mut star = Star::default();
        for (rank, number) in numbers.iter().enumerate() {
            let (up, down) = self.wire(wires, format!("{}_link_{number}", id.value), wires.bandwidth)?;
            let limiter = wires.limiters.get(rank).copied();
            *star.spoke(rank as u32) = Spoke {
                up: limiter.into_iter().chain([up]).chain(backbone).collect(),
                down: backbone.into_iter().chain([down]).chain(limiter).collect(),
            };
            if let Some(loopback) = wires.loopbacks.get(rank) {
                star.loopbacks.insert(rank as u32, vec![*loopback]);
            }
        }
        let (prefix, suffix) = (element.need("prefix")?, element.need("suffix")?);
        let router = element.get("router_id").map_or_else(
            || format!("{}{}_router{}", prefix.value, id.value, suffix.value),
            |router| router.value.clone(),
        );
        self.add_named_point(element.get("router_id").unwrap_or(id), router, Kind::Router, Some(zone))?;
        self.platform.zones[zone.0 as usize].routing = Routing::Star(star);
        Ok(())
    }

    /// The links in both directions of one wire; both are the same link unless links are split.
    pub fn wire(
        &mut self,
        wires: &Wires,
        name: String,
        bandwidth: f64,
    ) -> Result<(LinkId, LinkId), TextError> {
        if wires.split {
            return self.add_split(wires.id, &name, bandwidth, wires.latency);
        }
        let link = self.add_link(wires.id, name, bandwidth, wires.latency, Sharing::Shared)?;
        Ok((link, link))
    }

    /// The hosts that a cluster or cabinet numbers: the attribute for mistakes, the name, and the number.
    pub fn names<'e>(
        &mut self,
        element: &'e Element,
    ) -> Result<Vec<(&'e Attribute, String, u32)>, TextError> {
        let (prefix, suffix) = (&element.need("prefix")?.value, &element.need("suffix")?.value);
        let radical = element.need("radical")?;
        let mut numbers = Vec::new();
        for group in radical.value.split(',') {
            let (first, last) = group.split_once('-').unwrap_or((group, group));
            let ends = [first, last].map(|end| end.trim().parse::<u32>().ok().filter(|end| *end < 1 << 30));
            let [Some(first), Some(last)] = ends else {
                let problem = format!("`{group}` in `radical`");
                return Err(radical.refuse(problem, "numbers and ranges, such as 0-99,120"));
            };
            if first > last {
                let problem = format!("the range `{group}` in `radical` ends before it starts");
                return Err(radical.refuse(problem, "ranges that are not empty, such as 0-99"));
            }
            if numbers.len() + (last - first) as usize >= MOST_HOSTS {
                return Err(radical.refuse("too many hosts", format!("at most {MOST_HOSTS} hosts")));
            }
            numbers.extend(first..=last);
        }
        let bytes = element.bytes();
        self.host_bytes = self.host_bytes.saturating_add(numbers.len().saturating_mul(bytes));
        if self.host_bytes > MOST_BYTES {
            let problem = format!("{} hosts, for each of which the file has {bytes} bytes", numbers.len());
            let allowed = format!("at most {MOST_BYTES} bytes for the hosts of all clusters together");
            return Err(radical.refuse(problem, allowed));
        }
        Ok(numbers.into_iter().map(|number| (radical, format!("{prefix}{number}{suffix}"), number)).collect())
    }
}
