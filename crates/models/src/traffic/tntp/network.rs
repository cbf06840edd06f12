//! Reads `*_net.tntp`: one road a record.
//!
//! Columns: tail, head, capacity (vehicles an hour), length, free-flow time; further columns are ignored. The file does not give
//! lanes: their number is the capacity divided by 1800 vehicles an hour and lane, rounded up, at least one. Without `<FIRST THRU
//! NODE>` it is 1: every node may be driven through.

use paceline_kernel::Time;

use super::Flaw;
use super::text::{Header, Word, lines, words};
use crate::traffic::network::{Network, RoadSpec};

/// The capacity of a lane in vehicles an hour.
const LANE_CAPACITY: f64 = 1800.0;
/// More nodes than any city has.
const MAX_NODES: u32 = 2_000_000;
/// Columns that are read.
const COLUMNS: usize = 5;
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

/// Reads the network and its number of zones (the nodes, from 0 on, where trips may start and end).
pub(crate) fn read_network(text: &str, units: Units) -> Result<(Network, u32), Flaw> {
    let header = Header::read(text)?;
    let nodes = header.count("NUMBER OF NODES", 1, MAX_NODES)?;
    let zones = header.count("NUMBER OF ZONES", 1, nodes)?;
    let first_through = header.count_or("FIRST THRU NODE", 1, 1, nodes.saturating_add(1))?;
    let promised = header.count("NUMBER OF LINKS", 0, u32::MAX)?;
    let mut roads = Vec::new();
    let mut columns = None;
    for line in lines(text, header.end()) {
        let closed = line.ended || line.text.trim_end().ends_with(';');
        let mut start = line.start;
        for record in line.text.split(';') {
            let fields: Vec<Word> = words(record, start).collect();
            start += record.len() + 1;
            let (Some(first), Some(last)) = (fields.first(), fields.last()) else { continue };
            let whole = first.start..last.span().end;
            if roads.len() as u64 == u64::from(promised) {
                let problem = format!("more roads than <NUMBER OF LINKS>, which is {promised}");
                return Err(Flaw::new(whole, problem, format!("{promised} records")));
            }
            // If the record is not closed by `;` or a line end, its last column itself may be truncated.
            let expected = *columns.get_or_insert(fields.len());
            let cut = !closed && (fields.len() == COLUMNS || fields.len() < expected);
            if fields.len() < COLUMNS || cut {
                let problem = format!("a record that was cut after {} columns", fields.len());
                let allowed = "tail, head, capacity, length, free-flow time, any more columns, and `;`";
                return Err(Flaw::new(whole, problem, allowed));
            }
            roads.push(road(&fields, nodes, units)?);
        }
    }
    if (roads.len() as u64) < u64::from(promised) {
        let end = text.trim_end().len();
        let problem = format!("the file ends after {} of {promised} roads", roads.len());
        return Err(Flaw::new(
            end..end,
            problem,
            format!("as many records as <NUMBER OF LINKS> says, {promised}"),
        ));
    }
    let network = Network::new(nodes, first_through - 1, roads).map_err(|node| {
        let problem = format!("node {} has too many roads", node + 1);
        let most = crate::traffic::network::MAX_DEGREE;
        Flaw::new(0..header.end(), problem, format!("at most {most} roads to and from a node"))
    })?;
    Ok((network, zones))
}

fn road(fields: &[Word], nodes: u32, units: Units) -> Result<RoadSpec, Flaw> {
    let from = fields[0].count("the tail", 1, nodes)? - 1;
    let to = fields[1].count("the head", 1, nodes)? - 1;
    let capacity = fields[2].amount("the capacity")?;
    let length_m = fields[3].amount("the length")? * units.length_m;
    let time_s = fields[4].amount("the free-flow time")? * units.time_s;
    if length_m > MAX_LENGTH_M {
        let problem = format!("a road of {length_m:e} m");
        return Err(Flaw::new(fields[3].span(), problem, "at most 40075 km; see `length_unit` in [model]"));
    }
    if time_s > MAX_TIME_S {
        let problem = format!("a road that takes {time_s:e} s");
        return Err(Flaw::new(fields[4].span(), problem, "at most 30 days; see `time_unit` in [model]"));
    }
    Ok(RoadSpec {
        from,
        to,
        free_flow: Time::from_secs_f64(time_s),
        length_mm: (length_m * 1000.0).round() as u64,
        lanes: units.lanes.unwrap_or((capacity / LANE_CAPACITY).ceil().clamp(1.0, 10_000.0) as u32),
        group: None,
    })
}
