//! GraphML (Brandes et al., 2001), with the attributes of the Internet Topology Zoo (Knight et al., 2011).
//!
//! What is looked at: of nodes `label` (or `name`), `Latitude` and `Longitude`; of edges `LinkSpeedRaw` in
//! bits a second and `length` (or `distance`, `dist`) in kilometres; of the graph `label` (or `name`).
//! Everything else is of no meaning for a network of packets. Edges count in both directions.

use std::collections::BTreeMap;

use super::geography::{Place, distance_km, fibre_ps};
use super::graph::{Builder, Lines, Repeated, show_rate, show_time};
use super::number::Decimal;
use super::xml::{Piece, pieces};
use super::{Defaults, FileError, Graph, GraphLink, Mistake};

/// Reads a graph. A node is called by its label; where several have the same label, by the label and the
/// `id`, where it has none by the `id`. A link has the latency of light in a fibre of its length, or of the
/// great circle between its ends, and [`Defaults::latency_ps`] where neither is known. Parallel edges become
/// one.
///
/// # Errors
/// The text is not XML, or not GraphML of one simple graph; it declares entities; an `id` is given twice, an
/// edge leads to no node, a number is none or out of its range.
pub fn graphml(file: &str, text: &str, defaults: &Defaults) -> Result<Graph, FileError> {
    let read = || {
        let mut document = Document::default();
        pieces(text, |line, piece| document.take(line, piece))?;
        document.graph(defaults)
    };
    read().map_err(|mistake: Mistake| mistake.of(file))
}

/// What attributes of the file are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Label,
    Latitude,
    Longitude,
    Speed,
    Length,
}

/// The field that an attribute of this name is, of this kind of element.
fn field(name: &str, element: &str) -> Option<Field> {
    let of = |kind: &str| element == kind || element == "all";
    match name.to_ascii_lowercase().as_str() {
        "label" | "name" if of("node") || of("graph") => Some(Field::Label),
        "latitude" if of("node") => Some(Field::Latitude),
        "longitude" if of("node") => Some(Field::Longitude),
        "linkspeedraw" if of("edge") => Some(Field::Speed),
        "length" | "distance" | "dist" if of("edge") => Some(Field::Length),
        _ => None,
    }
}

/// A declaration of an attribute.
struct Key {
    field: Option<Field>,
    element: String,
    default: String,
}

/// The attributes of a node, an edge or the graph, with their lines.
type Values = BTreeMap<Field, (String, usize)>;

struct Node {
    id: String,
    line: usize,
    values: Values,
}

struct Edge {
    ends: [String; 2],
    line: usize,
    values: Values,
}

/// The nodes of a graph: their numbers by `id`, and where they are.
struct Placed<'a> {
    by_id: BTreeMap<&'a str, usize>,
    places: Vec<Option<Place>>,
}

/// What was read so far.
#[derive(Default)]
struct Document {
    /// The names of the elements that are open.
    open: Vec<String>,
    /// How many elements are open within a foreign one, which is passed over, that one included.
    passed: usize,
    keys: BTreeMap<String, Key>,
    /// The key whose `<default>` or `<data>` is open, if it is one of the file's keys.
    key: Option<String>,
    has_graph: bool,
    graph: Values,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

const ELEMENTS: &str = "<graphml> with <key> and one <graph> of <node> and <edge>, with <data>";

impl Document {
    fn take(&mut self, line: usize, piece: Piece) -> Result<(), Mistake> {
        match piece {
            Piece::Open { .. } if self.passed > 0 => self.passed += 1,
            Piece::Close if self.passed > 0 => self.passed -= 1,
            Piece::Text(_) if self.passed > 0 => {}
            Piece::Open { name, attributes } => self.open(line, name, &attributes)?,
            Piece::Close => {
                self.open.pop();
            }
            Piece::Text(text) => self.text(line, &text),
        }
        Ok(())
    }

    fn open(&mut self, line: usize, name: String, attributes: &[(String, String)]) -> Result<(), Mistake> {
        let find = |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let need = |wanted: &str| {
            find(wanted).cloned().ok_or_else(|| {
                let problem = format!("<{name}> without the attribute {wanted:?}");
                Mistake::new(line, problem, format!("<{name} {wanted}=\"...\">"))
            })
        };
        let around = self.open.last().map_or("", String::as_str);
        match (around, name.as_str()) {
            // Descriptions may stand anywhere, and mean nothing here.
            ("", "graphml") | (_, "desc") => {}
            ("graphml", "key") => {
                let (id, element) = (need("id")?, find("for").map_or("all", String::as_str).to_owned());
                let field = find("attr.name").and_then(|name| field(name, &element));
                self.keys.insert(id.clone(), Key { field, element, default: String::new() });
                self.key = Some(id);
            }
            ("key", "default") => {}
            ("graphml", "graph") if !self.has_graph => self.has_graph = true,
            ("graph", "node") => {
                self.nodes.push(Node { id: need("id")?, line, values: Values::new() });
            }
            ("graph", "edge") => {
                let ends = [need("source")?, need("target")?];
                self.edges.push(Edge { ends, line, values: Values::new() });
            }
            ("graphml" | "graph" | "node" | "edge", "data") => {
                let key = need("key")?;
                if !self.keys.contains_key(&key) {
                    let problem = format!("<data> with the key {key:?}, which is not declared");
                    return Err(Mistake::new(line, problem, "the id of a <key>"));
                }
                self.key = Some(key);
            }
            // Editors put drawings into the data of nodes, in elements of their own.
            ("data" | "default", _) => {
                self.passed = 1;
                return Ok(());
            }
            ("", _) => {
                return Err(Mistake::new(line, format!("<{name}> as the outermost element"), ELEMENTS));
            }
            _ => return Err(Mistake::new(line, format!("<{name}> in <{around}>"), ELEMENTS)),
        }
        self.open.push(name);
        Ok(())
    }

    /// A text, which may come in parts.
    fn text(&mut self, line: usize, text: &str) {
        let [.., around, inner] = &self.open[..] else { return };
        let Some(key) = self.key.as_ref().and_then(|key| self.keys.get_mut(key)) else { return };
        if inner == "default" {
            key.default.push_str(text);
        }
        let (true, Some(field)) = (inner == "data", key.field) else { return };
        let values = match around.as_str() {
            "graph" => Some(&mut self.graph),
            "node" => self.nodes.last_mut().map(|node| &mut node.values),
            "edge" => self.edges.last_mut().map(|edge| &mut edge.values),
            _ => None,
        };
        if let Some(values) = values {
            values.entry(field).or_insert_with(|| (String::new(), line)).0.push_str(text);
        }
    }

    /// The defaults of keys, where there is no value.
    fn complete(&mut self) {
        for key in self.keys.values().filter(|key| !key.default.trim().is_empty()) {
            let Some(field) = key.field else { continue };
            let of = |kind: &str| key.element == kind || key.element == "all";
            for node in self.nodes.iter_mut().filter(|_| of("node")) {
                node.values.entry(field).or_insert_with(|| (key.default.clone(), node.line));
            }
            for edge in self.edges.iter_mut().filter(|_| of("edge")) {
                edge.values.entry(field).or_insert_with(|| (key.default.clone(), edge.line));
            }
        }
    }

    /// The graph that the document describes.
    fn graph(mut self, defaults: &Defaults) -> Result<Graph, Mistake> {
        self.complete();
        let mut builder = Builder::new(Repeated::Merge);
        builder.graph.name = self.graph.get(&Field::Label).map(|(label, _)| label.trim().to_owned());
        let Placed { by_id, places } = self.add_nodes(&mut builder)?;
        let mut assumed = Assumed::default();
        for edge in &self.edges {
            let [from, to] = [0, 1].map(|end| by_id.get(edge.ends[end].as_str()).ok_or(&edge.ends[end]));
            let unknown = |id: &String| {
                let problem = format!("an edge to {id:?}, which no node has as its id");
                Mistake::new(edge.line, problem, "the ids of two nodes")
            };
            let (from, to) = (*from.map_err(unknown)?, *to.map_err(unknown)?);
            if from == to {
                assumed.loops.add(edge.line);
                continue;
            }
            let rate = assumed.rate(edge, defaults)?;
            let latency_ps = assumed.latency(edge, places[from], places[to], defaults)?;
            builder.link(GraphLink { from, to, rate, latency_ps, weight: None, line: edge.line })?;
        }
        assumed.tell(&mut builder, defaults);
        Ok(builder.finish())
    }

    /// Adds the nodes, each by a name of its own.
    fn add_nodes(&self, builder: &mut Builder) -> Result<Placed<'_>, Mistake> {
        let label =
            |node: &Node| node.values.get(&Field::Label).map_or("", |(label, _)| label.trim()).to_owned();
        let mut counts = BTreeMap::new();
        for node in &self.nodes {
            *counts.entry(label(node)).or_insert(0) += 1;
        }
        let (mut by_id, mut places, mut renamed) = (BTreeMap::new(), Vec::new(), Lines::default());
        for node in &self.nodes {
            let label = label(node);
            let name = match (label.is_empty(), counts[&label]) {
                (true, _) => node.id.clone(),
                (false, 1) => label,
                (false, _) => {
                    renamed.add(node.line);
                    format!("{label} ({})", node.id)
                }
            };
            let number = builder.node(&name, node.line)?;
            // A name that was there already: an id, or a label with its id, may be the label of another node.
            if number < places.len() || by_id.insert(node.id.as_str(), number).is_some() {
                let problem = format!("a second node {name:?} with the id {:?}", node.id);
                return Err(Mistake::new(node.line, problem, "each id once, and each name once"));
            }
            places.push(place(node)?);
        }
        if renamed.count() > 0 {
            builder.graph.notices.push(format!(
                "{} nodes have a label that others have too: their names are the label and the id ({})",
                renamed.count(),
                renamed.named()
            ));
        }
        Ok(Placed { by_id, places })
    }
}

/// Where a node is; nothing where the file does not say.
fn place(node: &Node) -> Result<Option<Place>, Mistake> {
    let degrees = |field, most: f64| {
        let Some((text, line)) = node.values.get(&field) else { return Ok(None) };
        let refuse = || {
            let problem = format!("a {field:?} of {:?}", text.trim());
            Mistake::new(*line, problem, format!("degrees from -{most} to {most}"))
        };
        let degrees: f64 = text.trim().parse().map_err(|_| refuse())?;
        if degrees.abs() <= most { Ok(Some(degrees)) } else { Err(refuse()) }
    };
    let (latitude, longitude) = (degrees(Field::Latitude, 90.0)?, degrees(Field::Longitude, 180.0)?);
    Ok(latitude.zip(longitude).map(|(latitude, longitude)| Place { latitude, longitude }))
}

/// The lines of edges for which something was taken that the file does not say.
#[derive(Default)]
struct Assumed {
    rate: Lines,
    latency: Lines,
    circle: Lines,
    short: Lines,
    loops: Lines,
}

/// The least latency of a link, a microsecond: 200 m of fibre. Nodes in one town often have the same place.
const LATENCY_MIN_PS: u64 = 1_000_000;

/// The longest a link can be, in kilometres: to the moon and back.
const LENGTH_MAX_KM: f64 = 1e6;

impl Assumed {
    fn rate(&mut self, edge: &Edge, defaults: &Defaults) -> Result<u64, Mistake> {
        let Some((text, line)) = edge.values.get(&Field::Speed) else {
            self.rate.add(edge.line);
            return Ok(defaults.rate);
        };
        let rate = Decimal::parse(text.trim()).and_then(|rate| rate.scaled(0));
        rate.filter(|rate| (1..=1_000_000_000_000_000).contains(rate)).ok_or_else(|| {
            let problem = format!("a LinkSpeedRaw of {:?}", text.trim());
            Mistake::new(*line, problem, "bits a second, from 1 to 10^15")
        })
    }

    fn latency(
        &mut self,
        edge: &Edge,
        from: Option<Place>,
        to: Option<Place>,
        defaults: &Defaults,
    ) -> Result<u64, Mistake> {
        let km = match (edge.values.get(&Field::Length), from.zip(to)) {
            (Some((text, line)), _) => {
                let km: Option<f64> = text.trim().parse().ok();
                km.filter(|km| (0.0..=LENGTH_MAX_KM).contains(km)).ok_or_else(|| {
                    let problem = format!("a length of {:?}", text.trim());
                    Mistake::new(*line, problem, format!("kilometres, from 0 to {LENGTH_MAX_KM}"))
                })?
            }
            (None, Some((from, to))) => {
                self.circle.add(edge.line);
                distance_km(from, to)
            }
            (None, None) => {
                self.latency.add(edge.line);
                return Ok(defaults.latency_ps);
            }
        };
        let latency_ps = fibre_ps(km);
        if latency_ps < LATENCY_MIN_PS {
            self.short.add(edge.line);
        }
        Ok(latency_ps.max(LATENCY_MIN_PS))
    }

    /// Says it all.
    fn tell(self, builder: &mut Builder, defaults: &Defaults) {
        let rate = format!("{} is taken", show_rate(defaults.rate));
        builder.notice_default(&self.rate, "rate (LinkSpeedRaw)", &rate);
        let circle = "the great circle between the ends is taken, at two thirds of the speed of light";
        builder.notice_default(&self.circle, "length", circle);
        let latency = format!("a latency of {} is taken", show_time(defaults.latency_ps));
        builder.notice_default(&self.latency, "length, nor places at both ends", &latency);
        let least = format!("a latency of {} is taken", show_time(LATENCY_MIN_PS));
        builder.notice_default(&self.short, "length to speak of", &least);
        builder.notice_default(&self.loops, "other end", "an edge from a node to itself is left out");
    }
}
