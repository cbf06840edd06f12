//! The members of zones: hosts, peers and links, and what hosts have.
//!
//! Coordinates are read and kept wherever the format allows them. Only Vivaldi zones use them, and there
//! every host has three.

use super::build::Builder;
use super::parts::properties;
use super::units::{self, coordinates};
use super::xml::Element;
use crate::error::TextError;
use crate::ids::{PointId, ZoneId};
use crate::platform::Sharing;

impl<'t> Builder<'t, '_> {
    pub fn host(&mut self, element: &'t Element, zone: ZoneId) -> Result<(), TextError> {
        check_removed(element)?;
        let speeds = units::speeds(element.need("speed")?)?;
        let cores = element.get("core").map_or(Ok(1), |cores| units::count(cores, 1, 1 << 20))?;
        let most = speeds.len() as u32 - 1;
        let state = element.get("pstate").map_or(Ok(0), |state| units::count(state, 0, most))?;
        let id = self.add_host(element.id()?, zone, &speeds, cores)?;
        let point = self.platform.host_points[id.0 as usize];
        let coordinates = self.keep_coordinates(element, point)?;
        let disks = self.disks(element)?;
        self.mounts(element, id)?;
        let host = &mut self.platform.hosts[id.0 as usize];
        (host.state, host.disks, host.coordinates) = (state as usize, disks, coordinates);
        host.properties = properties(element)?;
        self.profiles(element)
    }

    /// A host of a Vivaldi zone with a link of its own in each direction.
    pub fn peer(&mut self, element: &'t Element, zone: ZoneId) -> Result<(), TextError> {
        let id = element.id()?;
        let speeds = units::speeds(element.need("speed")?)?;
        let [inward, outward] = [element.need("bw_in")?, element.need("bw_out")?].map(units::bandwidth);
        let (inward, outward) = (inward?, outward?);
        let host = self.add_host(id, zone, &speeds, 1)?;
        let point = self.platform.host_points[host.0 as usize];
        self.platform.hosts[host.0 as usize].coordinates = self.keep_coordinates(element, point)?;
        let up = self.add_link(id, format!("link_{}_UP", id.value), outward, 0.0, Sharing::Shared)?;
        let down = self.add_link(id, format!("link_{}_DOWN", id.value), inward, 0.0, Sharing::Shared)?;
        self.peers.insert(point, (up, down));
        if let Some(latency) = element.get("lat")
            && units::latency(latency)? > 0.0
        {
            let text = "the latency of a <peer> has no effect, as in SimGrid; its third coordinate has";
            self.notice(latency.at.clone(), text);
        }
        self.profiles(element)
    }

    /// Records the profiles that a host or peer names.
    fn profiles(&mut self, element: &'t Element) -> Result<(), TextError> {
        for (attribute, kind) in
            [("speed_file", "SPEED"), ("availability_file", "SPEED"), ("state_file", "HOST_AVAIL")]
        {
            self.connect_file(element, attribute, kind)?;
        }
        Ok(())
    }

    /// Reads the coordinates of a host, peer or router, and keeps them under its point.
    pub fn keep_coordinates(&mut self, element: &Element, point: PointId) -> Result<Vec<f64>, TextError> {
        let Some(attribute) = element.get("coordinates") else { return Ok(Vec::new()) };
        let coordinates = coordinates(attribute)?;
        self.coordinates.insert(point, coordinates.clone());
        Ok(coordinates)
    }

    pub fn link(&mut self, element: &'t Element) -> Result<(), TextError> {
        check_removed(element)?;
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
                return Err(TextError::new(at, problem, "SHARED, FATPIPE or SPLITDUPLEX"));
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
}

/// Attributes that SimGrid has removed, with the only value that changes nothing; many files still write
/// them.
const REMOVED: [(&str, &str, &str); 2] =
    [("availability", "1", "1.0, or speed_file=\"...\""), ("state", "ON", "ON, or state_file=\"...\"")];

fn check_removed(element: &Element) -> Result<(), TextError> {
    for (name, neutral, allowed) in REMOVED {
        let Some(attribute) = element.get(name) else { continue };
        let value = attribute.value.trim();
        let same = value == neutral || value.parse::<f64>().is_ok_and(|value| neutral.parse() == Ok(value));
        if !same {
            let problem = format!("`{name}` cannot be \"{}\"", attribute.value);
            return Err(attribute.refuse(problem, allowed));
        }
    }
    Ok(())
}
