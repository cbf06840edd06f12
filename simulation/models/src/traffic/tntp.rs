//! Reads road networks and trip tables in TNTP format ("Transportation Networks for Research").
//!
//! Tolerant of form: white space, line ends, comments (`~`), order of metadata, a missing `;` at the end of a
//! line, more columns than needed. Strict about content: a truncated or contradictory file, or one with
//! impossible values, is refused with the place of the mistake. So is metadata that is not known: `<DEMAND
//! MULTIPLIER>` changes what all numbers of a file mean, and so could others. Invariant: no text makes a
//! reader panic; no file is accepted from which anything that is read has been cut off, as far as the file
//! says how much there should be (NUMBER OF LINKS, TOTAL OD FLOW).

mod columns;
mod network;
mod text;
mod trips;

pub(crate) use network::{NetworkFile, Units, read_network};
pub(crate) use trips::read_trips;

#[cfg(test)]
mod tests;
