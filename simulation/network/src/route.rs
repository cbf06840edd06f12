//! Routes: the links that a transfer uses, through nested zones.
//!
//! A zone finds the way from one of its members to another (see `routing`). If the ends of a route lie in
//! different zones, the innermost zone around both has a way between the two members that contain them, from
//! gateway to gateway; the ways to the gateways are routes themselves. A bypass route replaces what a zone
//! would find. The rules are those of SimGrid 3.32; among several shortest ways the choice is SimGrid's too.
//!
//! Invariant: the search ends: a route of more than [`MOST_STEPS`] ways, or of ways nested more than
//! [`MOST_LEVELS`] deep, counts as a loop.

use crate::error::RouteError;
use crate::ids::{HostId, LOOPBACK, LinkId, PointId, ZoneId};
use crate::platform::{Bypass, Platform};
use crate::routing::{Routing, Way, Ways};

/// The links of a route in order; a link may occur more than once.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The links; none where a route has latency alone (Vivaldi).
    pub links: Vec<LinkId>,
    /// The sum of the links' latencies and of what coordinates add, in seconds.
    pub latency: f64,
}

/// More ways than any real route has, and deeper nesting of gateways.
const MOST_STEPS: u32 = 10_000;
const MOST_LEVELS: u32 = 256;

impl Platform {
    /// The route from one host to another, or to itself.
    ///
    /// ```
    /// # let text = r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf"
    /// #     bw="125MBps" lat="50us" bb_bw="1GBps" bb_lat="1ms"/></platform>"#;
    /// # let platform = paceline_network::read("c.xml", text, &mut |_| Err(String::new()))?;
    /// let (from, to) = (platform.host("n0").unwrap(), platform.host("n3").unwrap());
    /// let route = platform.route(from, to)?;
    /// let names: Vec<&str> = route.links.iter().map(|link| platform.links()[link.0 as usize].name.as_str()).collect();
    /// assert_eq!(names, ["c_link_0_UP", "c_backbone", "c_link_3_DOWN"]);
    /// assert!((route.latency - 1.1e-3).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn route(&self, from: HostId, to: HostId) -> Result<Route, RouteError> {
        let mut links = Vec::new();
        let beside = self.route_into(from, to, &mut links)?;
        let latency = links.iter().map(|link| self.links[link.0 as usize].latency).sum::<f64>() + beside;
        Ok(Route { links, latency })
    }

    /// Writes the links of the route from one host to another into `links`, which is empty. Returns the
    /// latency in seconds that the route has beside that of its links.
    pub(crate) fn route_into(
        &self,
        from: HostId,
        to: HostId,
        links: &mut Vec<LinkId>,
    ) -> Result<f64, RouteError> {
        let [from, to] = [from, to].map(|host| self.host_points[host.0 as usize]);
        let mut search = Search { platform: self, from, to, steps: 0, level: 0, latency: 0.0 };
        search.route(from, to, links)?;
        // As in SimGrid: without links and latency there is no way for the bytes.
        if links.is_empty() && search.latency <= 0.0 {
            let zone = self.point(from).zone.expect("hosts are in zones");
            return Err(search.missing(zone, from, to));
        }
        Ok(search.latency)
    }
}

struct Search<'p> {
    platform: &'p Platform,
    /// The ends of the whole route, for error messages.
    from: PointId,
    to: PointId,
    steps: u32,
    /// The current nesting depth of ways.
    level: u32,
    /// The latency beside that of the links, in seconds.
    latency: f64,
}

impl<'p> Search<'p> {
    /// Appends the links from one point to another.
    fn route(&mut self, from: PointId, to: PointId, links: &mut Vec<LinkId>) -> Result<(), RouteError> {
        self.steps += 1;
        self.level += 1;
        if self.steps > MOST_STEPS || self.level > MOST_LEVELS {
            let [from, to] = [self.from, self.to].map(|point| self.platform.name(point).to_owned());
            return Err(RouteError::Loop { from, to });
        }
        self.find(from, to, links)?;
        self.level -= 1;
        Ok(())
    }

    fn find(&mut self, from: PointId, to: PointId, links: &mut Vec<LinkId>) -> Result<(), RouteError> {
        let (around, near, far) = self.meet(from, to);
        if let Some((bypass, near, far)) = self.bypass(around, from, to) {
            let (first, last) = bypass.gateways.unwrap_or((from, to));
            if from != near && from != first {
                self.route(from, first, links)?;
            }
            links.extend(&bypass.links);
            if to != far && last != to {
                self.route(last, to, links)?;
            }
            return Ok(());
        }
        let Some(ways) = self.local(around, near, far) else {
            // As in SimGrid: two hosts or routers of a Full zone without a route have an empty one. Where
            // nothing else is on the way, that is an error (`Platform::route_into`); else the reader has
            // reported it.
            let is_empty =
                matches!(self.platform.zone(around).routing, Routing::Full(_)) && near == from && far == to;
            return if is_empty { Ok(()) } else { Err(self.missing(around, near, far)) };
        };
        let ends = |way: &Way| way.gateways.unwrap_or((near, far));
        let (mut first, mut last) = (near, far);
        let mut inner = Vec::new();
        match &ways {
            Ways::One(way) => (first, last) = ends(way),
            Ways::Several(ways) => {
                (first, last) = (ends(ways[0]).0, ends(ways[ways.len() - 1]).1);
                self.join(ways, &mut inner)?;
            }
            Ways::Shaped(_) | Ways::Loopback => {}
        }
        if near != from && from != first {
            self.route(from, first, links)?;
        }
        let rank = |point: PointId| self.platform.point(point).rank;
        match ways {
            Ways::One(way) => links.extend_from_slice(&way.links),
            Ways::Several(_) => links.append(&mut inner),
            Ways::Shaped(routing) => self.latency += routing.append(rank(near), rank(far), links),
            Ways::Loopback => links.push(LOOPBACK),
        }
        if far != to && last != to {
            self.route(last, to, links)?;
        }
        Ok(())
    }

    /// The innermost zone around two points, and its members that contain the points (or are the points).
    fn meet(&self, from: PointId, to: PointId) -> (ZoneId, PointId, PointId) {
        let platform = self.platform;
        let zone = |point: PointId| platform.point(point).zone.expect("only members of zones have routes");
        let (mut near, mut far, mut around, mut other) = (from, to, zone(from), zone(to));
        if around == other {
            return (around, near, far);
        }
        let depth = |zone: ZoneId| platform.upwards(zone).count();
        let (mut up, mut down) = (depth(around), depth(other));
        let climb = |point: &mut PointId, inner: &mut ZoneId, depth: &mut usize| {
            *point = platform.zone(*inner).point;
            *inner = platform.zone(*inner).parent.expect("the outermost zone is around all");
            *depth -= 1;
        };
        while around != other {
            // Go up from the deeper zone; if both are equally deep, from both in turn.
            if up > down {
                climb(&mut near, &mut around, &mut up);
            } else {
                climb(&mut far, &mut other, &mut down);
            }
        }
        (around, near, far)
    }

    /// The way that a zone has between two of its members.
    fn local(&self, zone: ZoneId, near: PointId, far: PointId) -> Option<Ways<'p>> {
        let rank = |point: PointId| self.platform.point(point).rank;
        let ways = self.platform.zone(zone).routing.ways(rank(near), rank(far));
        let has_loopbacks = !matches!(self.platform.zone(zone).routing, Routing::Empty | Routing::Vivaldi(_));
        let alone = || near == far && has_loopbacks && !self.platform.holds_zones(zone);
        ways.or_else(|| alone().then_some(Ways::Loopback))
    }

    /// Appends the links of consecutive ways.
    fn join(&mut self, ways: &[&Way], links: &mut Vec<LinkId>) -> Result<(), RouteError> {
        let mut reached = None;
        for way in ways {
            // Within a member zone: from the gateway where one way ends to the gateway where the next starts.
            if let (Some(reached), Some((start, _))) = (reached, way.gateways)
                && reached != start
            {
                self.route(reached, start, links)?;
            }
            links.extend(&way.links);
            reached = way.gateways.map(|(_, end)| end);
        }
        Ok(())
    }

    /// The bypass route of zone `around` for two points or for zones that contain them, the nearest first;
    /// also returns the points or zones that it is for.
    fn bypass(&self, around: ZoneId, from: PointId, to: PointId) -> Option<(&'p Bypass, PointId, PointId)> {
        let platform = self.platform;
        let bypasses = &platform.zone(around).bypasses;
        if bypasses.is_empty() {
            return None;
        }
        let find = |near, far| bypasses.get(&(near, far)).map(|bypass| (bypass, near, far));
        let zones = |point: PointId| {
            let inner = platform.point(point).zone.expect("only members of zones have routes");
            let within = platform.upwards(inner).take_while(|zone| *zone != around);
            within.map(|zone| platform.zone(zone).point).collect::<Vec<_>>()
        };
        let (near, far) = (zones(from), zones(to));
        if near.is_empty() && far.is_empty() {
            return find(from, to);
        }
        let try_both = |i: usize, j: usize| find(*near.get(i)?, *far.get(j)?);
        for most in 0..near.len().max(far.len()) {
            let found = (0..most).find_map(|i| try_both(i, most).or_else(|| try_both(most, i)));
            if let Some(found) = found.or_else(|| try_both(most, most)) {
                return Some(found);
            }
        }
        None
    }

    fn missing(&self, zone: ZoneId, near: PointId, far: PointId) -> RouteError {
        let name = |point: PointId| self.platform.name(point).to_owned();
        RouteError::Missing {
            from: name(self.from),
            to: name(self.to),
            zone: name(self.platform.zone(zone).point),
            near: name(near),
            far: name(far),
        }
    }
}
