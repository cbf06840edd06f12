//! Reads `*_net.tntp`: one road a record.
//!
//! Columns: tail, head, capacity (vehicles an hour), length, free-flow time; of the further columns the
//! number of lanes, if a comment names it ([`columns`](super::columns)). Otherwise the number of lanes is the
//! capacity divided by 1800 vehicles an hour and lane, rounded up, at least one: the capacity is used for
//! nothing else. Without `<FIRST THRU NODE>` it is 1: every node may be driven through. A `<TOLL FACTOR>` or
//! `<DISTANCE FACTOR>` other than 0 is refused, because routes depend on times only.
//!
//! Nodes are numbered from 1 to `<NUMBER OF NODES>`; not all need have roads. If there are other numbers,
//! they are to be exactly as many as there are nodes: then the file numbers its nodes in its own way, and
//! results do the same.

use std::collections::BTreeSet;
use std::ops::Range;

use paceline_kernel::Time;

use super::columns::{Columns, NEEDED};
use super::text::{Header, Word, clip, lines, words};
use crate::input::Flaw;
use crate::traffic::network::{Network, Numbering, RoadSpec};

/// The capacity of a lane in vehicles an hour.
const LANE_CAPACITY: f64 = 1800.0;
/// More nodes than any city has.
const MAX_NODES: u32 = 2_000_000;
const MAX_LANES: u32 = 10_000;
const KNOWN: [&str; 8] = [
    "NUMBER OF ZONES",
    "NUMBER OF NODES",
    "FIRST THRU NODE",
    "NUMBER OF LINKS",
    "DISTANCE FACTOR",
    "TOLL FACTOR",
    "ORIGINAL HEADER",
    "SCENARIO",
];
/// No road takes longer than a month or is longer than the equator.
const MAX_TIME_S: f64 = 30.0 * 86_400.0;
const MAX_LENGTH_M: f64 = 40_075_000.0;

/// The units of a file, which the file does not state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// Seconds in a unit of free-flow time.
    pub time_s: f64,
    /// Metres in a unit of length.
    pub length_m: f64,
    /// Lanes of every road; `None` to derive them from its capacity.
    pub lanes: Option<u32>,
}

/// A network as it was read.
#[derive(Debug)]
pub(crate) struct NetworkFile {
    pub network: Network,
    /// The number of zones: nodes where trips may start and end.
    pub zones: u32,
    /// Columns that are not read, by name.
    pub unused: Vec<String>,
}

/// A record whose ends are not nodes yet.
struct Record<'t> {
    ends: [Word<'t>; 2],
    numbers: [u32; 2],
    road: RoadSpec,
}

/// Reads the network. Unless nodes are numbered in another way, the first ones are the zones.
pub(crate) fn read_network(text: &str, units: Units) -> Result<NetworkFile, Flaw> {
    let header = Header::read(text, &KNOWN)?;
    let nodes = header.count("NUMBER OF NODES", 1, MAX_NODES)?;
    let zones = header.count("NUMBER OF ZONES", 1, nodes)?;
    header.no_factor("DISTANCE FACTOR", "lengths")?;
    header.no_factor("TOLL FACTOR", "tolls")?;
    let (records, unused) = read_records(text, &header, units)?;
    let numbering = numbering(&records, nodes)?;
    let first_through = match &numbering {
        Numbering::From(_) => header.count_or("FIRST THRU NODE", 1, 1, nodes.saturating_add(1))? - 1,
        Numbering::Listed(numbers) => {
            let first = header.count_or("FIRST THRU NODE", 0, 0, u32::MAX)?;
            numbers.partition_point(|number| *number < first) as u32
        }
    };
    let node = |number: u32| match &numbering {
        Numbering::From(first) => number - first,
        Numbering::Listed(numbers) => numbers.partition_point(|other| *other < number) as u32,
    };
    let placed = |record: Record<'_>| {
        let [from, to] = record.numbers.map(node);
        RoadSpec { from, to, ..record.road }
    };
    let roads = records.into_iter().map(placed).collect();
    let network = Network::new(nodes, first_through, roads).map_err(|node| {
        let problem = format!("node {} has too many roads", numbering.number(node));
        let most = crate::traffic::network::MAX_DEGREE;
        Flaw::new(0..header.end(), problem, format!("at most {most} roads to and from a node"))
    })?;
    Ok(NetworkFile { network: network.numbered(numbering), zones, unused })
}

/// All records, and the names of columns that are not read.
fn read_records<'t>(
    text: &'t str,
    header: &Header<'t>,
    units: Units,
) -> Result<(Vec<Record<'t>>, Vec<String>), Flaw> {
    let promised = header.count("NUMBER OF LINKS", 0, u32::MAX)?;
    let mut records = Vec::new();
    let mut known: Option<(Columns, usize)> = None;
    for line in lines(text, header.end()) {
        let closed = line.ended || line.text.trim_end().ends_with(';');
        let mut start = line.start;
        for piece in line.text.split(';') {
            let fields: Vec<Word> = words(piece, start).collect();
            start += piece.len() + 1;
            let (Some(first), Some(last)) = (fields.first(), fields.last()) else { continue };
            let whole = first.start..last.span().end;
            if records.len() as u64 == u64::from(promised) {
                let problem = format!("more roads than <NUMBER OF LINKS>, which is {promised}");
                return Err(Flaw::new(whole, problem, format!("{promised} records")));
            }
            let (columns, expected) = match &mut known {
                Some(known) => &*known,
                none => &*none.insert((Columns::find(text, first.start)?, fields.len())),
            };
            // If the record is not closed by `;` or a line end, its last column itself may be truncated.
            let cut = !closed && (fields.len() == NEEDED || fields.len() < *expected);
            if fields.len() < NEEDED || cut {
                return Err(cut_after(whole, fields.len()));
            }
            records.push(record(&fields, columns, units)?);
        }
    }
    if (records.len() as u64) < u64::from(promised) {
        let end = text.trim_end().len();
        let problem = format!("the file ends after {} of {promised} roads", records.len());
        let allowed = format!("as many records as <NUMBER OF LINKS> says, {promised}");
        return Err(Flaw::new(end..end, problem, allowed));
    }
    let unused = known.map(|(columns, expected)| columns.unused(expected, units.lanes.is_some()));
    Ok((records, unused.unwrap_or_default()))
}

fn cut_after(whole: Range<usize>, columns: usize) -> Flaw {
    let problem = format!("a record that was cut after {columns} columns");
    Flaw::new(whole, problem, "tail, head, capacity, length, free-flow time, any more columns, and `;`")
}

/// How nodes are numbered: from 1, or in the file's own way.
fn numbering(records: &[Record<'_>], nodes: u32) -> Result<Numbering, Flaw> {
    let beyond = records.iter().find_map(|record| {
        let outside = record.numbers.iter().position(|number| !(1..=nodes).contains(number));
        outside.map(|end| record.ends[end])
    });
    let Some(beyond) = beyond else { return Ok(Numbering::From(1)) };
    let numbers: BTreeSet<u32> = records.iter().flat_map(|record| record.numbers).collect();
    if numbers.len() as u64 == u64::from(nodes) {
        return Ok(Numbering::Listed(numbers.into_iter().collect()));
    }
    let problem = format!("there is a node {}", clip(beyond.text));
    let allowed = format!(
        "numbers from 1 to {nodes}, or any {nodes} different ones, as <NUMBER OF NODES> says; these are {}",
        numbers.len()
    );
    Err(beyond.refuse(problem, allowed))
}

fn record<'t>(fields: &[Word<'t>], columns: &Columns, units: Units) -> Result<Record<'t>, Flaw> {
    let numbers = [fields[0].count("the tail", 0, u32::MAX)?, fields[1].count("the head", 0, u32::MAX)?];
    let capacity = fields[2].amount("the capacity")?;
    if capacity == 0.0 {
        let problem = "a road with a capacity of 0, which nobody could use";
        return Err(fields[2].refuse(problem, "above 0; a closed road is left out of the file"));
    }
    let length_m = fields[3].amount("the length")? * units.length_m;
    let time_s = fields[4].amount("the free-flow time")? * units.time_s;
    if length_m > MAX_LENGTH_M {
        let problem = format!("a road of {length_m:e} m");
        return Err(fields[3].refuse(problem, "at most 40075 km; see `length_unit` in [model]"));
    }
    if time_s > MAX_TIME_S {
        let problem = format!("a road that takes {time_s:e} s");
        return Err(fields[4].refuse(problem, "at most 30 days; see `time_unit` in [model]"));
    }
    let lanes = match (units.lanes, columns.lanes) {
        (Some(lanes), _) => lanes,
        (None, Some(place)) => {
            let last = fields[fields.len() - 1].span().end;
            let field = fields.get(place).ok_or_else(|| cut_after(fields[0].start..last, fields.len()))?;
            field.count("the number of lanes", 1, MAX_LANES)?
        }
        (None, None) => (capacity / LANE_CAPACITY).ceil().clamp(1.0, f64::from(MAX_LANES)) as u32,
    };
    let road = RoadSpec {
        from: 0,
        to: 0,
        free_flow: Time::from_secs_f64(time_s),
        length_mm: (length_m * 1000.0).round() as u64,
        lanes,
        group: None,
    };
    Ok(Record { ends: [fields[0], fields[1]], numbers, road })
}
