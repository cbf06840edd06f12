//! Networks from files: the nodes of a graph forward, and hosts are joined to them.

use std::path::Path;

use paceline_packets::files::{Defaults, EdgeNumber, Graph, GraphLink, edges, graphml, links as csv};
use paceline_packets::{LinkSpec, Network, NetworkBuilder, NodeKind, PacketError};
use paceline_scenario::{ScenarioError, Section};

use super::files::Text;
use super::links;

#[derive(Clone, Copy, PartialEq)]
enum Format {
    GraphMl,
    Csv,
    Edges,
}

const FORMATS: [(&str, Format); 3] =
    [("graphml", Format::GraphMl), ("csv", Format::Csv), ("edges", Format::Edges)];

/// The most hosts at a node.
const MOST_HOSTS: u32 = 1000;

/// Reads the keys `path`, `format`, `numbers` of edges, `link`, `hosts` (1), `access` where there are any,
/// and the tables `changes`. Gives also what the reader of the file took for what that does not say.
pub fn read(section: &mut Section) -> Result<(Network, Vec<String>), ScenarioError> {
    let Some(path) = section.file("path")? else {
        let problem = format!("missing key `path` in [{}]", section.name());
        return Err(section.refuse("path", problem, "a file's path, seen from the scenario's folder"));
    };
    let format = section.choice("format", &FORMATS, Some(by_ending(&path)))?;
    let link = links::read(section, "link")?;
    let defaults = Defaults { rate: link.rate, latency_ps: link.latency_ps };
    let text = Text::load(&path)?;
    let graph = match format {
        Format::GraphMl => graphml(&text.name, &text.text, &defaults),
        Format::Csv => csv(&text.name, &text.text, &defaults),
        Format::Edges => {
            let numbers = [("latency_ms", EdgeNumber::LatencyMs), ("weight", EdgeNumber::Weight)];
            edges(&text.name, &text.text, section.choice("numbers", &numbers, None)?, &defaults)
        }
    };
    let graph = graph.map_err(|error| text.mistake(error))?;
    let hosts = section.or_where(
        "hosts",
        1,
        |hosts| hosts <= MOST_HOSTS,
        format!("a whole number from 0 to {MOST_HOSTS}"),
    )?;
    let access = if hosts > 0 { Some(links::read(section, "access")?) } else { None };
    let mut specs = specs(&graph, &link, &text)?;
    read_changes(section, &graph, &mut specs)?;
    let network = build(&graph, &specs, hosts, access.as_ref(), &text)?;
    if network.hosts().len() < 2 {
        let problem = format!("a network with {} hosts", network.hosts().len());
        return Err(section.refuse("hosts", problem, "two nodes with hosts, or with one link each"));
    }
    Ok((network, graph.notices))
}

fn by_ending(path: &Path) -> Format {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("graphml" | "xml") => Format::GraphMl,
        Some("csv") => Format::Csv,
        _ => Format::Edges,
    }
}

/// What all links have, with rate, latency and weight of each. Weights are in thousandths: what they have in
/// common is taken out, so that they fit a metric.
fn specs(graph: &Graph, link: &LinkSpec, text: &Text) -> Result<Vec<LinkSpec>, ScenarioError> {
    let weight = |link: &GraphLink| link.weight.unwrap_or(1000);
    let common = graph.links.iter().map(weight).fold(0, greatest_common_divisor).max(1);
    let spec = |of: &GraphLink| {
        let metric = u32::try_from(weight(of) / common).map_err(|_| {
            let problem = format!("a weight of {} beside much lesser ones", weight(of) as f64 / 1000.0);
            text.at_line(of.line, problem, "weights whose quotients are below 2^32")
        })?;
        Ok(LinkSpec { rate: of.rate, latency_ps: of.latency_ps, metric, ..link.clone() })
    };
    graph.links.iter().map(spec).collect()
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Reads the tables `changes`: the keys of a link between `from` and `to` that are other than those of all.
fn read_changes(section: &mut Section, graph: &Graph, specs: &mut [LinkSpec]) -> Result<(), ScenarioError> {
    let node = |change: &Section, key: &str, name: &str| {
        let place = graph.nodes.iter().position(|node| node.name == name);
        place.ok_or_else(|| {
            let names = || graph.nodes.iter().map(|node| node.name.as_str());
            let hint = paceline_scenario::nearest(name, names())
                .map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let few: Vec<String> = names().take(4).map(|name| format!("{name:?}")).collect();
            let problem = format!("no node of the file is called {name:?}{hint}");
            change.refuse(key, problem, format!("nodes such as {}", few.join(", ")))
        })
    };
    for mut change in section.tables("changes")? {
        let (from, to): (String, String) = (change.required("from")?, change.required("to")?);
        let ends = (node(&change, "from", &from)?, node(&change, "to", &to)?);
        let is_it = |link: &GraphLink| (link.from, link.to) == ends || (link.to, link.from) == ends;
        let Some(place) = graph.links.iter().position(is_it) else {
            let problem = format!("the file has no link from {from:?} to {to:?}");
            return Err(change.refuse("to", problem, "the two ends of a link"));
        };
        links::read_changes(&mut change, &mut specs[place])?;
        change.finish()?;
    }
    Ok(())
}

fn build(
    graph: &Graph,
    specs: &[LinkSpec],
    hosts: u32,
    access: Option<&LinkSpec>,
    text: &Text,
) -> Result<Network, ScenarioError> {
    let mut degrees = vec![0u32; graph.nodes.len()];
    for link in &graph.links {
        degrees[link.from] += 1;
        degrees[link.to] += 1;
    }
    let at_line = |line: usize| {
        move |error: PacketError| {
            let error = error.to_string();
            let (problem, allowed) = error.rsplit_once("; allowed: ").unwrap_or((&error, "another graph"));
            text.at_line(line, problem.to_owned(), allowed)
        }
    };
    let mut builder = NetworkBuilder::new();
    for (node, degree) in graph.nodes.iter().zip(degrees) {
        // Without hosts of their own, what has one link is a host.
        let kind = if hosts == 0 && degree <= 1 { NodeKind::Host } else { NodeKind::Router };
        builder.node(node.name.as_str(), kind).map_err(at_line(node.line))?;
    }
    for (link, spec) in graph.links.iter().zip(specs) {
        builder.link(link.from as u32, link.to as u32, spec).map_err(at_line(link.line))?;
    }
    if let Some(access) = access {
        for (place, node) in (0..).zip(&graph.nodes) {
            for number in 0..hosts {
                let name = &node.name;
                let name = if hosts == 1 { format!("host-{name}") } else { format!("host-{name}-{number}") };
                let host = builder.node(name, NodeKind::Host).map_err(at_line(node.line))?;
                builder.link(host, place, access).map_err(at_line(node.line))?;
            }
        }
    }
    builder.build().map_err(at_line(1))
}
