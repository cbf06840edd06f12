//! Vivaldi zones: the links of their peers, and the coordinates of all members.
//!
//! Invariant: every host of such a zone has three coordinates. Routers may have none, and then have no
//! routes; so it is with zones, to which the format gives none.

use super::build::Builder;
use super::xml::Element;
use crate::error::TextError;
use crate::ids::{PointId, ZoneId};
use crate::routing::{Spoke, Star, Vivaldi};

impl Builder<'_, '_> {
    /// The links of a zone's peers; other members have none.
    pub fn peer_links(&self, zone: ZoneId) -> Star {
        let mut star = Star::default();
        for point in &self.platform.zone(zone).members {
            if let Some((up, down)) = self.peers.get(point) {
                let spoke = Spoke { up: [*up].into_iter().collect(), down: [*down].into_iter().collect() };
                *star.spoke(self.platform.point(*point).rank) = spoke;
            }
        }
        star
    }

    /// Refuses a member of a Vivaldi zone, just read, without the three coordinates that its routes need.
    pub fn check_coordinates(&self, element: &Element) -> Result<(), TextError> {
        let point = self.platform.points.len() - 1;
        let given = self.coordinates.get(&PointId(point as u32)).map_or(0, Vec::len);
        if given == 3 || (given == 0 && element.name == "router") {
            return Ok(());
        }
        let at = element.get("coordinates").map_or(&element.at, |coordinates| &coordinates.at).clone();
        let problem = format!("<{}> with {given} coordinates in a Vivaldi zone", element.name);
        Err(TextError::new(at, problem, "coordinates=\"X Y HEIGHT\", in milliseconds"))
    }

    /// The routing of a zone with these links.
    pub fn vivaldi(&self, zone: ZoneId, star: Star) -> Vivaldi {
        let members = self.platform.zone(zone).members.iter();
        let three = |point: &PointId| <[f64; 3]>::try_from(self.coordinates.get(point)?.as_slice()).ok();
        Vivaldi { star, coordinates: members.map(three).collect() }
    }
}
