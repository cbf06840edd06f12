//! Lists of edges: two names a line, and a number. Rocketfuel's backbone maps (Spring, Mahajan and Wetherall,
//! 2002) are such lists, `latencies.intra` with milliseconds and `weights.intra` with weights.

use super::graph::{Builder, Lines, Repeated, show_rate, show_time};
use super::links::{WEIGHT, weight};
use super::number::{TIME, time_in};
use super::{Defaults, FileError, Graph, GraphLink, Mistake, lines};

/// What the number of an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeNumber {
    /// The latency one way in milliseconds.
    LatencyMs,
    /// What routes add up.
    Weight,
}

/// Reads a list of edges. Names are separated by blanks, so that they hold none; the number may be missing.
/// An edge may stand in the list once in each direction: that is one link. Nodes are numbered as they come.
///
/// # Errors
/// A line is not such a one; a link leads to where it begins, or is given twice in one direction.
pub fn edges(file: &str, text: &str, number: EdgeNumber, defaults: &Defaults) -> Result<Graph, FileError> {
    read(text, number, defaults).map_err(|mistake| mistake.of(file))
}

fn read(text: &str, number: EdgeNumber, defaults: &Defaults) -> Result<Graph, Mistake> {
    let mut builder = Builder::new(Repeated::Direction);
    let (mut no_rate, mut no_latency) = (Lines::default(), Lines::default());
    for (line, words) in lines(text) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (from, to, value) = match words[..] {
            [from, to] => (from, to, None),
            [from, to, value] => (from, to, Some(value)),
            _ => {
                let problem = format!("{} words in an edge", words.len());
                return Err(Mistake::new(line, problem, "two names and a number, or two names"));
            }
        };
        let (from, to) = (builder.node(from, line)?, builder.node(to, line)?);
        let (mut latency_ps, mut of_routes) = (None, None);
        match (number, value) {
            (_, None) => {}
            (EdgeNumber::LatencyMs, Some(text)) => {
                let allowed = format!("milliseconds: {TIME} without the unit");
                let refuse = || Mistake::new(line, format!("a latency of {text:?}"), allowed);
                latency_ps = Some(time_in(text, 9).ok_or_else(refuse)?);
            }
            (EdgeNumber::Weight, Some(text)) => {
                let refuse = || Mistake::new(line, format!("a weight of {text:?}"), WEIGHT);
                of_routes = Some(weight(text).ok_or_else(refuse)?);
            }
        }
        no_rate.add(line);
        if latency_ps.is_none() {
            no_latency.add(line);
        }
        let latency_ps = latency_ps.unwrap_or(defaults.latency_ps);
        builder.link(GraphLink { from, to, rate: defaults.rate, latency_ps, weight: of_routes, line })?;
    }
    builder.notice_default(&no_rate, "rate", &format!("{} is taken", show_rate(defaults.rate)));
    builder.notice_default(&no_latency, "latency", &format!("{} is taken", show_time(defaults.latency_ps)));
    Ok(builder.finish())
}
