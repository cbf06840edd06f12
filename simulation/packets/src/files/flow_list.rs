//! Lists of flows: as CSV, or as the generator of HPCC (Li et al., 2019) and those of the simulators after it
//! write them.

use super::csv::table;
use super::number::{Decimal, TIME, time, time_in};
use super::{FileError, Mistake, lines};

/// A flow as a list gives it, with names of hosts that need not be in a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// When it starts, in picoseconds.
    pub start_ps: u64,
    /// The name of the host that sends; in HPCC's format its number.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// What it sends, in bytes.
    pub bytes: u64,
    /// The line of the file.
    pub line: usize,
}

/// A list of flows, with what is to be told about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowList {
    /// The flows in the order of the file.
    pub flows: Vec<ListedFlow>,
    /// What was not read: a sentence each.
    pub notices: Vec<String>,
}

/// Reads a list of flows. Either CSV with a header and the columns `start` ("1.5ms", or a number of seconds),
/// `from`, `to` and `bytes`; or HPCC's format: the number of flows, then for each a line of the sender, the
/// receiver, a priority, a port, the bytes and the start in seconds. Priority and port are not looked at.
/// What follows the last of so many flows is not read, as by HPCC; a notice says so.
///
/// ```
/// use paceline_packets::files::flow_list;
/// let flows = flow_list("flows.csv", "start,from,to,bytes\n1.5ms,left-0,right-0,1448000\n")?.flows;
/// assert_eq!((flows[0].start_ps, flows[0].bytes), (1_500_000_000, 1_448_000));
/// let flows = flow_list("flows.txt", "1\n0 5 3 100 1448000 2.000001\n")?.flows;
/// assert_eq!((flows[0].start_ps, flows[0].to.as_str()), (2_000_001_000_000, "5"));
/// # Ok::<(), paceline_packets::files::FileError>(())
/// ```
///
/// # Errors
/// The text is neither; a flow leads to where it begins, or has no bytes; in HPCC's format, there are
/// fewer flows than it says.
pub fn flow_list(file: &str, text: &str) -> Result<FlowList, FileError> {
    let is_hpcc =
        lines(text).next().is_some_and(|(_, line)| line.trim().bytes().all(|sign| sign.is_ascii_digit()));
    let flows = if is_hpcc { hpcc(text) } else { csv(text) };
    flows.map_err(|mistake| mistake.of(file))
}

fn csv(text: &str) -> Result<FlowList, Mistake> {
    let rows = table(text, &["start", "from", "to", "bytes"], &[])?;
    let flows = rows.into_iter().map(|row| {
        let Ok([start, from, to, bytes]) = <[String; 4]>::try_from(row.values) else {
            unreachable!("a row has the values that were asked for")
        };
        let start_ps = time(&start).or_else(|| time_in(&start, 12));
        let words = Words { line: row.line, start: &start, bytes: &bytes };
        words.flow(start_ps, from, to)
    });
    Ok(FlowList { flows: flows.collect::<Result<_, _>>()?, notices: Vec::new() })
}

fn hpcc(text: &str) -> Result<FlowList, Mistake> {
    let mut lines = lines(text);
    let Some((first, count_text)) = lines.next() else { return Ok(FlowList::default()) };
    let few = |found: usize| {
        let problem = format!("{found} flows in a file that says {}", count_text.trim());
        Mistake::new(first, problem, "the number of flows in the first line")
    };
    let count: usize = count_text.trim().parse().map_err(|_| few(0))?;
    let mut list = FlowList::default();
    for (line, words) in lines.by_ref().take(count) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let [from, to, _priority, _port, bytes, start] = words[..] else {
            let problem = format!("{} words in a flow", words.len());
            return Err(Mistake::new(line, problem, "sender, receiver, priority, port, bytes and start"));
        };
        let words = Words { line, start, bytes };
        list.flows.push(words.flow(time_in(start, 12), from.to_owned(), to.to_owned())?);
    }
    if list.flows.len() < count {
        return Err(few(list.flows.len()));
    }
    if let Some((line, _)) = lines.next() {
        list.notices.push(format!("line {first} says {count} flows: from line {line} on nothing is read"));
    }
    Ok(list)
}

/// The words of a flow that are numbers.
struct Words<'a> {
    line: usize,
    start: &'a str,
    bytes: &'a str,
}

impl Words<'_> {
    fn flow(&self, start_ps: Option<u64>, from: String, to: String) -> Result<ListedFlow, Mistake> {
        let refuse = |problem: String, allowed: &str| Mistake::new(self.line, problem, allowed);
        let Some(start_ps) = start_ps else {
            let problem = format!("a start of {:?}", self.start);
            return Err(refuse(problem, &format!("{TIME}, or a number of seconds")));
        };
        let bytes = Decimal::parse(self.bytes).and_then(Decimal::whole).filter(|bytes| *bytes > 0);
        let Some(bytes) = bytes else {
            return Err(refuse(format!("{:?} bytes", self.bytes), "a whole number above 0"));
        };
        if from.is_empty() || to.is_empty() {
            return Err(refuse("a flow without a sender or a receiver".into(), "the names of two hosts"));
        }
        if from == to {
            return Err(refuse(format!("a flow from {from:?} to itself"), "a flow between two hosts"));
        }
        Ok(ListedFlow { start_ps, from, to, bytes, line: self.line })
    }
}
