//! Networks from SimGrid's platform files: hosts, and the links that their routes lead over.
//!
//! A platform says which links lead from host to host, and not what they join: that follows from the routes
//! of all pairs ([`ends`]). Links have two directions that do not disturb each other, with the bandwidth and
//! the latency of the file; those that more than two parts pass, such as the backbone of a cluster, are
//! switches. Both, and routes that are other than the shortest ones, are among the notices.
//!
//! Invariant: what a packet network has no counterpart for is refused by name.

mod ends;

use std::collections::BTreeMap;

use paceline_network::{HostId, Link, LinkId, Platform, Settings, Sharing};
use paceline_packets::{LinkSpec, Network, NetworkBuilder, NodeKind, PacketError};
use paceline_scenario::{ScenarioError, Section, inputs};

use super::files::Text;
use super::queues;
use super::refusal::refuse;
use ends::{Ends, Routes};

/// The most hosts: each pair has a route.
const MOST_HOSTS: usize = 2_000;
/// How many links a notice names.
const NAMED: usize = 3;

/// Reads the keys `path` and `queue`, without which everything waits. Gives also what was taken otherwise
/// than the platform says.
pub fn read(section: &mut Section) -> Result<(Network, Vec<String>), ScenarioError> {
    let Some(path) = section.file("path")? else {
        let problem = format!("missing key `path` in [{}]", section.name());
        return Err(section.refuse(
            "path",
            problem,
            "a platform file of SimGrid, seen from the scenario's folder",
        ));
    };
    let text = Text::load(&path)?;
    let mut beside = |file: &str| {
        let bytes = inputs::read(&path.with_file_name(file)).map_err(|reason| reason.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let platform = paceline_network::read(&text.name, &text.text, &mut beside).map_err(|error| {
        // Profiles are files of their own.
        match error.file == text.name {
            true => text.at_line(error.line, error.problem, error.allowed),
            false => section.refuse("path", error.to_string(), "a platform that can be read"),
        }
    })?;
    let wrong = |problem: String, allowed: &str| section.refuse("path", problem, allowed);
    let joined = Joined::new(&platform).map_err(|(problem, allowed)| wrong(problem, allowed))?;
    let spec = |link: &Link| -> Result<LinkSpec, ScenarioError> {
        let (rate, latency_ps) = numbers(link).map_err(|(problem, allowed)| wrong(problem, allowed))?;
        let mut spec = LinkSpec::new(rate, latency_ps);
        if section.has("queue") {
            // What RED counts idle times in depends on the rate.
            spec.queue = queues::read(&mut section.clone().table("queue")?, rate)?;
        }
        Ok(spec)
    };
    let specs: Vec<LinkSpec> = joined.links.iter().map(|link| spec(link)).collect::<Result<_, _>>()?;
    if section.has("queue") {
        let mut queue = section.table("queue")?;
        queues::read(&mut queue, specs.first().map_or(1, |spec| spec.rate))?;
        queue.finish()?;
    }
    let network = joined.build(&platform, &specs).map_err(|error| refuse(section, "path", &error))?;
    let notices = joined.notices(&platform, &network);
    Ok((network, notices))
}

/// A problem, and what is allowed instead.
type Problem = (String, &'static str);

/// The links of a platform, with what they join.
struct Joined<'p> {
    /// A link that is split into two directions counts once.
    links: Vec<&'p Link>,
    ends: Vec<Ends>,
    /// By pair of hosts: how many links its route has.
    lengths: Vec<(u32, u32, usize)>,
}

impl<'p> Joined<'p> {
    fn new(platform: &'p Platform) -> Result<Self, Problem> {
        let hosts = platform.hosts().len();
        if !(2..=MOST_HOSTS).contains(&hosts) {
            return Err((format!("a platform of {hosts} hosts"), "from 2 to 2,000 hosts"));
        }
        let (links, place_of) = both_directions(platform.links());
        let mut routes = Routes::new(hosts, links.len());
        let mut lengths = Vec::new();
        for (from, to) in (0..hosts as u32).flat_map(|from| (0..hosts as u32).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let name = |host: u32| &platform.hosts()[host as usize].name;
            let route = platform.route(HostId(from), HostId(to));
            let route = route.map_err(|error| (error.to_string(), "a route between any two hosts"))?;
            let over: Vec<usize> = route.links.iter().map(|LinkId(link)| place_of[*link as usize]).collect();
            let sum: f64 =
                route.links.iter().map(|LinkId(link)| platform.links()[*link as usize].latency).sum();
            if over.is_empty() || (route.latency - sum).abs() > 1e-12 {
                let problem =
                    format!("the route from `{}` to `{}` has latency without a link", name(from), name(to));
                return Err((problem, "routes of links (no Vivaldi zones)"));
            }
            if over.windows(2).any(|pair| pair[0] == pair[1]) {
                let problem =
                    format!("the route from `{}` to `{}` has a link twice in turn", name(from), name(to));
                return Err((problem, "routes that pass a link once"));
            }
            for link in &over {
                check(links[*link])?;
            }
            routes.add(from as usize, to as usize, &over);
            lengths.push((from, to, over.len()));
        }
        let (ends, crossed) = routes.ends(hosts);
        if let Some(host) = crossed.first() {
            let problem = format!("routes lead through the host `{}`", platform.hosts()[*host].name);
            return Err((problem, "hosts at the ends of routes alone"));
        }
        Ok(Self { links, ends, lengths })
    }

    /// Nodes for hosts, inner places and media, and links between them.
    fn build(&self, platform: &Platform, specs: &[LinkSpec]) -> Result<Network, PacketError> {
        let mut builder = NetworkBuilder::new();
        let mut nodes: BTreeMap<usize, u32> = BTreeMap::new();
        for (host, of) in platform.hosts().iter().enumerate() {
            nodes.insert(host, builder.node(of.name.as_str(), NodeKind::Host)?);
        }
        let mut inner = 0;
        for ((link, ends), spec) in self.links.iter().zip(&self.ends).zip(specs) {
            let mut node = |builder: &mut NetworkBuilder, place: usize| match nodes.get(&place) {
                Some(node) => Ok(*node),
                None => {
                    let node = builder.node(format!("switch-{inner}"), NodeKind::Switch)?;
                    inner += 1;
                    nodes.insert(place, node);
                    Ok::<_, PacketError>(node)
                }
            };
            match ends {
                Ends::None => {}
                Ends::Two(one, other) => {
                    let (one, other) = (node(&mut builder, *one)?, node(&mut builder, *other)?);
                    builder.link(one, other, spec)?;
                }
                Ends::Medium(places) => {
                    let half = LinkSpec { latency_ps: spec.latency_ps.div_ceil(2), ..spec.clone() };
                    let medium = builder.node(link.name.as_str(), NodeKind::Switch)?;
                    for place in places {
                        let part = node(&mut builder, *place)?;
                        builder.link(part, medium, &half)?;
                    }
                }
            }
        }
        builder.build()
    }

    fn notices(&self, platform: &Platform, network: &Network) -> Vec<String> {
        let mut notices = platform.notices().to_vec();
        if *platform.settings() != Settings::default() {
            notices.push(
                "what the platform's <config> says of SimGrid's network models has no effect".to_owned(),
            );
        }
        let media = self.links.iter().zip(&self.ends).filter(|(_, ends)| matches!(ends, Ends::Medium(_)));
        let media: Vec<&str> = media.map(|(link, _)| link.name.as_str()).collect();
        if !media.is_empty() {
            let more = if media.len() > NAMED {
                format!(" and {} more", media.len() - NAMED)
            } else {
                String::new()
            };
            let few = media[..media.len().min(NAMED)].join(", ");
            notices.push(format!(
                "{few}{more} joins more than two parts: a switch of that name has its rate to each of them, and half \
                 of its latency"
            ));
        }
        let is_other = |(from, to, length): &&(u32, u32, usize)| {
            let (mut node, mut links) = (*from, 0);
            while node != *to {
                let next = network.peer(node, network.next_port(node, *to, 0));
                // Half a medium on either side counts once.
                let is_medium = |node: u32| media.contains(&network.name(node));
                links += usize::from(!is_medium(node));
                node = next;
            }
            links != *length
        };
        let others = self.lengths.iter().filter(is_other).count();
        if others > 0 {
            notices.push(format!(
                "{others} of {} routes of the platform have more links than the shortest way, which packets take",
                self.lengths.len()
            ));
        }
        notices
    }
}

/// The links, both directions of a split one as one, and the place of each among them.
fn both_directions(links: &[Link]) -> (Vec<&Link>, Vec<usize>) {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut whole = Vec::new();
    let place_of = links.iter().map(|link| {
        let stem = link.name.strip_suffix("_UP").or_else(|| link.name.strip_suffix("_DOWN"));
        *places.entry(stem.unwrap_or(&link.name)).or_insert_with(|| {
            whole.push(link);
            whole.len() - 1
        })
    });
    let place_of = place_of.collect();
    (whole, place_of)
}

/// Refuses what has no counterpart.
fn check(link: &Link) -> Result<(), Problem> {
    if link.sharing == Sharing::FatPipe {
        let problem =
            format!("the link `{}` carries any number of transfers at its full rate (FATPIPE)", link.name);
        return Err((problem, "SHARED and SPLITDUPLEX links"));
    }
    let changes = [&link.bandwidth_profile, &link.latency_profile, &link.state_profile];
    if changes.into_iter().any(Option::is_some) {
        let problem = format!("the link `{}` changes over time (a profile)", link.name);
        return Err((problem, "links without profiles; outages stand in [[model.changes]]"));
    }
    Ok(())
}

/// The rate in bits a second and the latency in picoseconds, rounded.
fn numbers(link: &Link) -> Result<(u64, u64), Problem> {
    let (rate, latency_ps) = ((link.bandwidth * 8.0).round(), (link.latency * 1e12).round());
    if !(1.0..=1e15).contains(&rate) || !(0.0..=1e18).contains(&latency_ps) {
        let problem =
            format!("the link `{}` has {rate} bit/s and a latency of {} s", link.name, link.latency);
        return Err((problem, "from 1 to 10^15 bit/s, and at most 10^6 s"));
    }
    Ok((rate as u64, latency_ps as u64))
}
