//! Routes between the members of zones, bypass routes, and the parts of stars that are written as zones.
//!
//! Invariants: a route joins members of its zone over existing links; a gateway lies in its zone; there is at
//! most one route from one member to another. A symmetrical route becomes two; the second uses the same links
//! in reverse order, and of split links the other half.

use std::collections::BTreeSet;

use super::build::{Builder, Draft, Plan};
use super::units;
use super::xml::{Attribute, Element};
use crate::error::TextError;
use crate::ids::{LinkId, PointId, ZoneId};
use crate::platform::{Bypass, Kind, Sharing};
use crate::routing::{Floyd, Graph, MOST_FLOYD, MOST_FLOYD_PAIRS, Routing, Spoke, Star, Way};

/// The number of names that a message suggests.
const SHOWN: usize = 5;

impl<'t> Builder<'t, '_> {
    /// Reads the routes of a zone and finishes its routing.
    pub fn routes(&mut self, Draft { zone, plan, element }: Draft<'t>) -> Result<(), TextError> {
        let mut ways: Vec<((u32, u32), Way)> = Vec::new();
        let mut known: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut star = match plan {
            Plan::Star => self.star(zone, element)?,
            Plan::Vivaldi => self.peer_links(zone),
            Plan::Full | Plan::Floyd | Plan::Dijkstra | Plan::Empty => Star::default(),
        };
        for child in &element.children {
            match child.name.as_str() {
                "route" | "zoneRoute" | "ASroute" => {
                    if plan == Plan::Empty {
                        let problem = "a route in a zone with None routing";
                        return Err(child.refuse(problem, "no routes, or another routing"));
                    }
                    let (points, way, back) = self.route(child, zone)?;
                    let [from, to] = points.map(|point| self.platform.point(point).rank);
                    if matches!(plan, Plan::Star | Plan::Vivaldi) {
                        add_loopback(&mut star, child, from, to, way)?;
                        continue;
                    }
                    let both =
                        [Some(((from, to), way)), back.filter(|_| from != to).map(|back| ((to, from), back))];
                    for (ends, way) in both.into_iter().flatten() {
                        if !known.insert(ends) {
                            let [src, dst] = points.map(|point| self.platform.name(point));
                            let problem = format!("a second route between `{src}` and `{dst}`");
                            let allowed = "one route for each direction; symmetrical=\"NO\" where a route is for one only";
                            return Err(child.refuse(problem, allowed));
                        }
                        ways.push((ends, way));
                    }
                }
                "bypassRoute" | "bypassZoneRoute" | "bypassASroute" => self.bypass(child, zone)?,
                _ => {}
            }
        }
        let members = self.platform.zone(zone).members.len();
        if plan == Plan::Floyd {
            self.floyd_pairs += members * members;
            if members > MOST_FLOYD || self.floyd_pairs > MOST_FLOYD_PAIRS {
                let problem = format!("a zone with Floyd routing and {members} members");
                let allowed = format!(
                    "at most {MOST_FLOYD} members, and {MOST_FLOYD_PAIRS} pairs of members in all such zones; Dijkstra has no limit"
                );
                return Err(element.refuse(problem, allowed));
            }
        }
        let holds_zones = self.platform.holds_zones(zone);
        self.platform.zones[zone.0 as usize].routing = match plan {
            Plan::Full => Routing::Full(ways.into_iter().collect()),
            Plan::Floyd => Routing::Floyd(Floyd::new(ways.into_iter().collect(), members, !holds_zones)),
            Plan::Dijkstra => Routing::Dijkstra(Graph::new(ways)),
            Plan::Star => Routing::Star(star),
            Plan::Vivaldi => Routing::Vivaldi(self.vivaldi(zone, star)),
            Plan::Empty => Routing::Empty,
        };
        Ok(())
    }

    /// A route: its ends, its links, and the links back if it is symmetrical.
    fn route(
        &mut self,
        element: &Element,
        zone: ZoneId,
    ) -> Result<([PointId; 2], Way, Option<Way>), TextError> {
        let of_zones = element.name != "route";
        let (src, dst) = (element.need("src")?, element.need("dst")?);
        let points = [self.member(src, zone, of_zones)?, self.member(dst, zone, of_zones)?];
        let gateways = if of_zones { Some(self.gateways(element, Some(points))?) } else { None };
        for gateway in gateways.into_iter().flat_map(<[PointId; 2]>::from) {
            self.gateways.entry(gateway).or_insert_with(|| element.at.clone());
        }
        let symmetrical = element.get("symmetrical").map_or("YES", |symmetrical| &symmetrical.value);
        let both = match symmetrical {
            "YES" | "yes" => true,
            "NO" | "no" => false,
            other => {
                let at = element
                    .get("symmetrical")
                    .map_or(element.at.clone(), |symmetrical| symmetrical.at.clone());
                let problem = format!("`symmetrical` cannot be \"{other}\"");
                return Err(TextError::new(at, problem, "YES or NO"));
            }
        };
        let links = self.links(element)?;
        let back = both.then(|| Way {
            links: links.iter().rev().map(|(_, back)| *back).collect(),
            gateways: gateways.map(|(first, last)| (last, first)),
        });
        let way = Way { links: links.iter().map(|(there, _)| *there).collect(), gateways };
        Ok((points, way, back))
    }

    /// Says where hosts have no route to a gateway of their zone.
    pub fn note_gateways(&mut self) {
        for (gateway, at) in std::mem::take(&mut self.gateways) {
            let platform = &self.platform;
            let Some(zone) = platform.point(gateway).zone.map(|zone| platform.zone(zone)) else { continue };
            let rank = |point: PointId| platform.point(point).rank;
            let lacks = |point: &&PointId| {
                let is_host = matches!(platform.point(**point).kind, Kind::Host(_));
                let [rank_of_point, rank_of_gateway] = [**point, gateway].map(rank);
                is_host
                    && !(zone.routing.is_given(rank_of_point, rank_of_gateway)
                        && zone.routing.is_given(rank_of_gateway, rank_of_point))
            };
            let without: Vec<&str> =
                zone.members.iter().filter(lacks).map(|point| platform.name(*point)).collect();
            if without.is_empty() {
                continue;
            }
            let text = format!(
                "hosts of zone `{}` have no route to and from its gateway `{}`, and that part of their ways takes no time, as in \
                 SimGrid: {}",
                platform.name(zone.point),
                platform.name(gateway),
                without[..without.len().min(SHOWN)].join(", ")
            );
            self.notice(at, text);
        }
    }

    fn bypass(&mut self, element: &Element, zone: ZoneId) -> Result<(), TextError> {
        let of_zones = element.name != "bypassRoute";
        let (src, dst) = (element.need("src")?, element.need("dst")?);
        let (ends, gateways) = match of_zones {
            false => ([self.member(src, zone, false)?, self.member(dst, zone, false)?], None),
            true => {
                let ends = [self.inner_zone(src, zone)?, self.inner_zone(dst, zone)?];
                (ends, Some(self.gateways(element, None)?))
            }
        };
        let links = self.links(element)?.into_iter().map(|(there, _)| there).collect();
        let bypasses = &mut self.platform.zones[zone.0 as usize].bypasses;
        if bypasses.insert((ends[0], ends[1]), Bypass { links, gateways }).is_some() {
            let problem = format!("a second bypass route from `{}` to `{}`", src.value, dst.value);
            return Err(element.refuse(problem, "one for each direction"));
        }
        Ok(())
    }

    /// A member of a zone: a zone if `of_zones`, else a host or router.
    fn member(&self, name: &Attribute, zone: ZoneId, of_zones: bool) -> Result<PointId, TextError> {
        let is_zone = |point: PointId| matches!(self.platform.point(point).kind, Kind::Zone(_));
        let fits =
            |point: PointId| self.platform.point(point).zone == Some(zone) && is_zone(point) == of_zones;
        if let Some(&point) = self.platform.point_names.get(&name.value)
            && fits(point)
        {
            return Ok(point);
        }
        let what = if of_zones { "zone" } else { "host or router" };
        let around = self.platform.name(self.platform.zone(zone).point);
        let problem = format!("`{}` is no {what} in zone `{around}`", name.value);
        let members = self.platform.zone(zone).members.iter().filter(|point| is_zone(**point) == of_zones);
        let names: Vec<&str> = members.take(SHOWN).map(|point| self.platform.name(*point)).collect();
        let allowed = format!(
            "a {what} of that zone, such as {}",
            if names.is_empty() { "none".into() } else { names.join(", ") }
        );
        Err(name.refuse(problem, allowed))
    }

    /// A zone within another, at any depth.
    fn inner_zone(&self, name: &Attribute, zone: ZoneId) -> Result<PointId, TextError> {
        let point = self.platform.point_names.get(&name.value).copied();
        let found = point.filter(|point| {
            matches!(self.platform.point(*point).kind, Kind::Zone(_)) && self.platform.is_within(*point, zone)
        });
        found.ok_or_else(|| {
            let around = self.platform.name(self.platform.zone(zone).point);
            let problem = format!("`{}` is no zone within `{around}`", name.value);
            name.refuse(problem, "a zone within the one that the route is in")
        })
    }

    /// The gateways of a route between zones; each must lie in its zone, if zones are given.
    fn gateways(
        &self,
        element: &Element,
        zones: Option<[PointId; 2]>,
    ) -> Result<(PointId, PointId), TextError> {
        let gateway = |name: &Attribute, zone: Option<PointId>| {
            let point = self.platform.point_names.get(&name.value).copied();
            let is_node = |point: PointId| !matches!(self.platform.point(point).kind, Kind::Zone(_));
            let Some(point) = point.filter(|point| is_node(*point)) else {
                let problem = format!("the gateway `{}` is no host or router", name.value);
                return Err(name.refuse(problem, "a host or router of the zone"));
            };
            match zone.map(|zone| (zone, self.platform.point(zone).kind)) {
                Some((around, Kind::Zone(zone))) if !self.platform.is_within(point, zone) => {
                    let around = self.platform.name(around);
                    let problem = format!("the gateway `{}` is not in zone `{around}`", name.value);
                    Err(name.refuse(problem, format!("a host or router in zone `{around}`")))
                }
                _ => Ok(point),
            }
        };
        let first = gateway(element.need("gw_src")?, zones.map(|[from, _]| from))?;
        let last = gateway(element.need("gw_dst")?, zones.map(|[_, to]| to))?;
        if first == last {
            let at = element.need("gw_dst")?.at.clone();
            return Err(TextError::new(at, "a route from a gateway to itself", "two gateways"));
        }
        Ok((first, last))
    }

    /// The links of a route, each with the link that the reverse route uses instead.
    fn links(&self, element: &Element) -> Result<Vec<(LinkId, LinkId)>, TextError> {
        if element.children.is_empty() {
            return Err(element.refuse("a route without links", "at least one <link_ctn>"));
        }
        let link = |part: &Element| {
            let id = part.id()?;
            let one = self.platform.link_names.get(&id.value).map(|link| (*link, *link));
            let split = self.splits.get(&id.value).copied();
            let direction = part.get("direction").map_or("NONE", |direction| &direction.value);
            let found = match direction {
                "NONE" => one,
                "UP" => split,
                "DOWN" => split.map(|(up, down)| (down, up)),
                other => {
                    let at = part.get("direction").map_or(part.at.clone(), |direction| direction.at.clone());
                    return Err(TextError::new(
                        at,
                        format!("`direction` cannot be \"{other}\""),
                        "UP, DOWN or NONE",
                    ));
                }
            };
            found.ok_or_else(|| match (one, split) {
                (None, None) => id.refuse(format!("there is no link `{}`", id.value), "the name of a link"),
                (_, Some(_)) => {
                    let problem = format!("the link `{}` is split and has no direction here", id.value);
                    id.refuse(problem, "direction=\"UP\" or direction=\"DOWN\"")
                }
                (Some(_), None) => {
                    let problem = format!("the link `{}` is not split and has a direction here", id.value);
                    id.refuse(problem, "no direction, or a link with sharing_policy=\"SPLITDUPLEX\"")
                }
            })
        };
        element.children.iter().map(link).collect()
    }

    /// The spokes of a star written as a zone: cabinets create hosts with their links, `<host_link>` gives
    /// links to hosts, and a backbone is in the middle of all.
    fn star(&mut self, zone: ZoneId, element: &Element) -> Result<Star, TextError> {
        let mut star = Star::default();
        let mut backbone = None;
        for child in element.children.iter().filter(|child| child.name == "backbone") {
            let id = child.id()?;
            let (bandwidth, latency) =
                (units::bandwidth(child.need("bandwidth")?)?, units::latency(child.need("latency")?)?);
            let link = self.add_link(id, id.value.clone(), bandwidth, latency, Sharing::Shared)?;
            if backbone.replace(link).is_some() {
                return Err(child.refuse("a second backbone in one zone", "one backbone"));
            }
        }
        let spoke = |up: LinkId, down: LinkId| Spoke {
            up: std::iter::once(up).chain(backbone).collect(),
            down: backbone.into_iter().chain([down]).collect(),
        };
        for child in &element.children {
            match child.name.as_str() {
                "host_link" => {
                    let id = child.id()?;
                    let rank = self.platform.point(self.member(id, zone, false)?).rank;
                    let link = |name: &Attribute| {
                        self.platform.link_names.get(&name.value).copied().ok_or_else(|| {
                            let problem = format!("there is no link `{}`", name.value);
                            name.refuse(problem, "the name of a link; NAME_UP or NAME_DOWN of a split one")
                        })
                    };
                    let new = spoke(link(child.need("up")?)?, link(child.need("down")?)?);
                    if std::mem::replace(star.spoke(rank), new) != Spoke::default() {
                        let problem = format!("a second <host_link> for `{}`", id.value);
                        return Err(child.refuse(problem, "one for each host"));
                    }
                }
                "cabinet" => {
                    let speeds = units::speeds(child.need("speed")?)?;
                    let bandwidth = units::bandwidth(child.need("bw")?)?;
                    let latency = units::latency(child.need("lat")?)?;
                    for (at, name, _) in self.names(child)? {
                        let host = self.add_named_host(at, name.clone(), zone, &speeds, 1)?;
                        let rank = self.platform.point(self.platform.host_points[host.0 as usize]).rank;
                        let (up, down) = self.add_split(at, &format!("link_{name}"), bandwidth, latency)?;
                        *star.spoke(rank) = spoke(up, down);
                    }
                }
                _ => {}
            }
        }
        Ok(star)
    }
}

/// The only route allowed in a star is one from a host to itself.
fn add_loopback(star: &mut Star, element: &Element, from: u32, to: u32, way: Way) -> Result<(), TextError> {
    if from != to {
        let problem = "a route between two members of a star";
        return Err(element.refuse(problem, "<host_link>, or a route from a host to itself"));
    }
    match star.loopbacks.insert(from, way.links) {
        Some(_) => Err(element.refuse("a second route of a host to itself", "one route")),
        None => Ok(()),
    }
}
