//! A graph from a file: nodes, links, and what was taken for what the file does not say.

use std::collections::BTreeMap;

use super::Mistake;

/// What a link has where its file does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Bits a second.
    pub rate: u64,
    /// Picoseconds one way.
    pub latency_ps: u64,
}

/// A node as a file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// The name: no other node has it.
    pub name: String,
    /// The line that names it first.
    pub line: usize,
}

/// A link of a graph, alike in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLink {
    /// The place of one end among the nodes.
    pub from: usize,
    /// The place of the other end.
    pub to: usize,
    /// Bits a second.
    pub rate: u64,
    /// Picoseconds one way.
    pub latency_ps: u64,
    /// What routes add up, in thousandths; none where the file has no weights.
    pub weight: Option<u64>,
    /// The line of the file.
    pub line: usize,
}

/// A graph with what is to be told about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The name that the file gives it.
    pub name: Option<String>,
    /// The nodes in the order of the file.
    pub nodes: Vec<GraphNode>,
    /// The links in the order of the file. No two join the same nodes, and none leads to where it begins.
    pub links: Vec<GraphLink>,
    /// What was taken that the file does not say, or otherwise than it says: a sentence each.
    pub notices: Vec<String>,
}

/// What happens to links of which there are several, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// A second link between two nodes, in either direction, is a mistake.
    Refuse,
    /// A second one in the same direction is a mistake; the other direction repeats the link.
    Direction,
    /// Parallel links become one.
    Merge,
}

/// Collects nodes by name and links by their ends.
pub(super) struct Builder {
    pub(super) graph: Graph,
    nodes: BTreeMap<String, usize>,
    /// By the ends of a link, the lesser first: its place, and whether both directions were seen.
    links: BTreeMap<(usize, usize), (usize, bool)>,
    repeated: Repeated,
    merged: Lines,
    unequal: Lines,
}

/// Numbers of lines for a notice: how many, and the first few.
#[derive(Default)]
pub(super) struct Lines {
    count: usize,
    first: Vec<usize>,
}

/// How many lines a notice names.
const LINES_NAMED: usize = 5;

impl Lines {
    pub(super) fn add(&mut self, line: usize) {
        self.count += 1;
        if self.first.len() < LINES_NAMED {
            self.first.push(line);
        }
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// "line 7", "lines 7, 9" or "lines 7, 9, 11, 12, 20 and 3 more".
    pub(super) fn named(&self) -> String {
        let numbers: Vec<String> = self.first.iter().map(usize::to_string).collect();
        let plural = if self.count == 1 { "" } else { "s" };
        let more = self.count - self.first.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("line{plural} {}{more}", numbers.join(", "))
    }
}

impl Builder {
    pub(super) fn new(repeated: Repeated) -> Self {
        let (nodes, links) = (BTreeMap::new(), BTreeMap::new());
        let (merged, unequal) = (Lines::default(), Lines::default());
        Self { graph: Graph::default(), nodes, links, repeated, merged, unequal }
    }

    /// The place of the node of that name, which is added where there is none.
    pub(super) fn node(&mut self, name: &str, line: usize) -> Result<usize, Mistake> {
        if let Some(place) = self.nodes.get(name) {
            return Ok(*place);
        }
        if name.is_empty() {
            return Err(Mistake::new(line, "a node without a name", "a name that is not empty"));
        }
        let place = self.graph.nodes.len();
        self.graph.nodes.push(GraphNode { name: name.to_owned(), line });
        self.nodes.insert(name.to_owned(), place);
        Ok(place)
    }

    /// Adds a link, or joins it with one between the same nodes.
    pub(super) fn link(&mut self, link: GraphLink) -> Result<(), Mistake> {
        let name = |place: usize| &self.graph.nodes[place].name;
        if link.from == link.to {
            let problem = format!("a link from {:?} to itself", name(link.from));
            return Err(Mistake::new(link.line, problem, "a link between two nodes"));
        }
        let ends = (link.from.min(link.to), link.from.max(link.to));
        let Some((place, is_twofold)) = self.links.get_mut(&ends) else {
            self.links.insert(ends, (self.graph.links.len(), false));
            self.graph.links.push(link);
            return Ok(());
        };
        let before = &mut self.graph.links[*place];
        let is_reverse = before.from == link.to;
        match self.repeated {
            Repeated::Direction if is_reverse && !*is_twofold => {
                *is_twofold = true;
                let same = |link: &GraphLink| (link.rate, link.latency_ps, link.weight);
                // A link is alike in both directions: the first one is taken, and the difference told.
                if same(before) != same(&link) {
                    self.unequal.add(link.line);
                }
                Ok(())
            }
            Repeated::Merge => {
                // A network has one link between two nodes: it stands for all of them.
                before.rate = before.rate.saturating_add(link.rate);
                before.latency_ps = before.latency_ps.min(link.latency_ps);
                self.merged.add(link.line);
                Ok(())
            }
            Repeated::Refuse | Repeated::Direction => {
                let first = before.line;
                let problem = format!(
                    "the link from {:?} to {:?} is given twice, first at line {first}",
                    name(link.from),
                    name(link.to)
                );
                Err(Mistake::new(link.line, problem, "one link between two nodes"))
            }
        }
    }

    /// Says how many links have no value of a kind, and which one they have therefore.
    pub(super) fn notice_default(&mut self, lines: &Lines, what: &str, taken: &str) {
        if lines.count() > 0 {
            let links =
                if lines.count() == 1 { "1 link has" } else { &format!("{} links have", lines.count()) };
            self.graph.notices.push(format!("{links} no {what} ({}): {taken}", lines.named()));
        }
    }

    /// The graph with all notices.
    pub(super) fn finish(mut self) -> Graph {
        if self.merged.count() > 0 {
            self.graph.notices.push(format!(
                "parallel links are one with the sum of their rates and the least latency ({})",
                self.merged.named()
            ));
        }
        if self.unequal.count() > 0 {
            self.graph.notices.push(format!(
                "links have other values in the other direction: those of the first are taken ({})",
                self.unequal.named()
            ));
        }
        self.graph
    }
}

/// A rate for a notice.
pub(super) fn show_rate(rate: u64) -> String {
    for (unit, size) in [("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1000)] {
        if rate >= size && rate.is_multiple_of(size) {
            return format!("{}{unit}", rate / size);
        }
    }
    format!("{rate}bps")
}

/// A time for a notice.
pub(super) fn show_time(ps: u64) -> String {
    for (unit, size) in [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1000)] {
        if ps >= size && ps.is_multiple_of(size) {
            return format!("{}{unit}", ps / size);
        }
    }
    format!("{ps}ps")
}
