//! Reads topologies, flow sizes and lists of flows that others wrote: pure functions from a text to a value.
//! Whoever calls them reads the files.
//!
//! | function | reads |
//! |---|---|
//! | [`graphml`] | GraphML, as of the Internet Topology Zoo |
//! | [`edges`] | lists of edges, as of Rocketfuel: two names and a number a line |
//! | [`links`] | links as CSV |
//! | [`Cdf::read`] | a distribution of flow sizes, as those of pFabric and HPCC |
//! | [`flow_list`] | flows as CSV, or as HPCC's generator writes them |
//! | [`trace`] | packets of a flow as CSV: when each is sent, and its length |
//!
//! Invariants: no text makes a reader panic; time and memory are proportional to the text; equal texts give
//! equal values on every machine; what a file does not say is taken from [`Defaults`] and said in
//! [`Graph::notices`], and nothing is left out without a notice. Rates are in bits a second, times in
//! picoseconds, sizes in bytes.

mod cdf;
mod csv;
mod edges;
mod flow_list;
mod geography;
mod graph;
mod graphml;
mod links;
mod number;
mod trace;
mod xml;

#[cfg(test)]
mod test;

use thiserror::Error;

pub use cdf::Cdf;
pub use edges::{EdgeNumber, edges};
pub use flow_list::{FlowList, ListedFlow, flow_list};
pub use graph::{Defaults, Graph, GraphLink, GraphNode};
pub use graphml::graphml;
pub use links::links;
pub use trace::trace;

/// A mistake in a file: its place, what is wrong, and what is allowed instead.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}; allowed: {allowed}")]
pub struct FileError {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What is allowed instead.
    pub allowed: String,
}

paceline_kernel::debug_tells!(FileError);

/// A mistake at a line of the text being read, without the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    line: usize,
    problem: String,
    allowed: String,
}

/// The most characters of a problem in a message: names in a file may be long.
const PROBLEM_MAX: usize = 300;

impl Mistake {
    fn new(line: usize, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { line, problem: problem.into(), allowed: allowed.into() }
    }

    /// Adds the file's name. The text stays on one line: control characters are escaped, and what is too long
    /// is cut off.
    fn of(self, file: &str) -> FileError {
        let mut problem = String::new();
        for (count, letter) in self.problem.chars().enumerate() {
            if count == PROBLEM_MAX {
                problem.push_str(" ...");
                break;
            }
            match letter.is_control() {
                true => problem.extend(letter.escape_default()),
                false => problem.push(letter),
            }
        }
        FileError { file: file.to_owned(), line: self.line, problem, allowed: self.allowed }
    }
}

/// The lines of a text that hold something, with their numbers from 1: blank ones and those that begin with
/// `#` are left out, and so is a byte order mark.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    lines.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}
