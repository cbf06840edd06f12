//! Links as CSV: `from`, `to` and, if they differ from the defaults, `rate`, `latency` and `weight`.

use super::csv::table;
use super::graph::{Builder, Lines, Repeated, show_rate, show_time};
use super::number::{Decimal, RATE, TIME, rate, time};
use super::{Defaults, FileError, Graph, GraphLink, Mistake};

/// Reads links as CSV with a header: the columns `from` and `to` with the names of nodes, `rate` ("10Gbps"),
/// `latency` ("5ms") and `weight`, the last three if they are there. A link counts in both directions.
///
/// ```
/// use paceline_packets::files::{Defaults, links};
/// let defaults = Defaults { rate: 1_000_000_000, latency_ps: 1_000_000 };
/// let graph = links("net.csv", "from,to,rate\nKöln,Bonn,10Gbps\nBonn,Mainz,\n", &defaults)?;
/// assert_eq!((graph.links[0].rate, graph.links[1].rate), (10_000_000_000, 1_000_000_000));
/// assert_eq!(graph.notices[0], "1 link has no rate (line 3): 1Gbps is taken");
/// let mistake = links("net.csv", "from,to,rate\nBonn,Mainz,fast\n", &defaults).unwrap_err();
/// assert_eq!((mistake.line, mistake.problem.as_str()), (2, "a rate of \"fast\""));
/// # Ok::<(), paceline_packets::files::FileError>(())
/// ```
///
/// # Errors
/// The table is not such a one; a link leads to where it begins, or is given twice, in either direction.
pub fn links(file: &str, text: &str, defaults: &Defaults) -> Result<Graph, FileError> {
    read(text, defaults).map_err(|mistake| mistake.of(file))
}

fn read(text: &str, defaults: &Defaults) -> Result<Graph, Mistake> {
    let mut builder = Builder::new(Repeated::Refuse);
    let (mut no_rate, mut no_latency) = (Lines::default(), Lines::default());
    for row in table(text, &["from", "to"], &["rate", "latency", "weight"])? {
        let [from, to, rate_text, latency_text, weight_text] = &row.values[..] else {
            unreachable!("a row has the values that were asked for")
        };
        let (from, to) = (builder.node(from, row.line)?, builder.node(to, row.line)?);
        let refuse = |what: &str, text: &str, allowed: &str| {
            Mistake::new(row.line, format!("a {what} of {text:?}"), allowed)
        };
        let rate = match rate_text.as_str() {
            "" => {
                no_rate.add(row.line);
                defaults.rate
            }
            text => rate(text).ok_or_else(|| refuse("rate", text, RATE))?,
        };
        let latency_ps = match latency_text.as_str() {
            "" => {
                no_latency.add(row.line);
                defaults.latency_ps
            }
            text => time(text).ok_or_else(|| refuse("latency", text, TIME))?,
        };
        let weight = match weight_text.as_str() {
            "" => None,
            text => Some(weight(text).ok_or_else(|| refuse("weight", text, WEIGHT))?),
        };
        builder.link(GraphLink { from, to, rate, latency_ps, weight, line: row.line })?;
    }
    builder.notice_default(&no_rate, "rate", &format!("{} is taken", show_rate(defaults.rate)));
    builder.notice_default(&no_latency, "latency", &format!("{} is taken", show_time(defaults.latency_ps)));
    Ok(builder.finish())
}

/// What a weight may be, for messages.
pub(super) const WEIGHT: &str = "a weight from 0.001 to 10^9";

/// A weight in thousandths.
pub(super) fn weight(text: &str) -> Option<u64> {
    Decimal::parse(text)?.scaled(3).filter(|weight| (1..=1_000_000_000_000).contains(weight))
}
