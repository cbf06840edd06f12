//! Traces of packets as CSV.

use super::csv::table;
use super::number::{Decimal, TIME, time, time_in};
use super::{FileError, Mistake};
use crate::{PacketError, Trace};

/// Reads a trace: CSV with a header and the columns `time` ("1.5ms", or a number of seconds, read to the
/// picosecond) and `bytes` (of the packet on the wire). Times count from the start of the flow.
///
/// ```
/// use paceline_packets::files::trace;
/// let trace = trace("voice.csv", "time,bytes\n0,200\n20ms,200\n0.0400000005,1230\n")?;
/// assert_eq!(trace.packets(), [(0, 200), (20_000_000_000, 200), (40_000_000_500, 1230)]);
/// # Ok::<(), paceline_packets::files::FileError>(())
/// ```
///
/// # Errors
///
/// The text is no such table; a packet is sent before the one before it, or is shorter than its headers or
/// longer than a packet may be; there is none.
pub fn trace(file: &str, text: &str) -> Result<Trace, FileError> {
    read(text).map_err(|mistake| mistake.of(file))
}

fn read(text: &str) -> Result<Trace, Mistake> {
    let rows = table(text, &["time", "bytes"], &[])?;
    let packet = |row: &super::csv::Row| {
        let [at, bytes] = [&row.values[0], &row.values[1]];
        let Some(at_ps) = time(at).or_else(|| time_in(at, 12)) else {
            let allowed = format!("{TIME}, or a number of seconds");
            return Err(Mistake::new(row.line, format!("a time of {at:?}"), allowed));
        };
        let bytes_read = Decimal::parse(bytes).and_then(Decimal::whole);
        let Some(bytes) = bytes_read.and_then(|bytes| u32::try_from(bytes).ok()) else {
            let allowed = "a whole number from 30, headers and no data, to 1,000,000";
            return Err(Mistake::new(row.line, format!("{bytes:?} bytes"), allowed));
        };
        Ok((at_ps, bytes))
    };
    let packets = rows.iter().map(packet).collect::<Result<Vec<_>, _>>()?;
    Trace::new(packets).map_err(|error| match error {
        // The place of the packet is that of its row; a file without rows has only its header.
        PacketError::Trace { packet, problem, allowed } => {
            let line = rows.get(packet - 1).map_or(1, |row| row.line);
            Mistake::new(line, format!("packet {packet} {problem}"), allowed)
        }
        other => Mistake::new(1, other.to_string(), "a trace"),
    })
}
