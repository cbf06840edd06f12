//! Interest management: finds out which published data concerns which receivers.
//!
//! A sender declares *update regions*, a receiver *subscription regions*: boxes in a space of one or more
//! dimensions. Data is sent only from update regions to the subscription regions that they overlap. The High
//! Level Architecture calls this data distribution management (IEEE 1516.1-2010, chapter 9).
//! [`RegionMatcher`] holds the regions of both roles and reports
//!
//! - all overlapping pairs, one by one ([`RegionMatcher::pairs`]),
//! - the regions that overlap one region, inserted or not ([`RegionMatcher::partners`],
//!   [`RegionMatcher::overlapping`]),
//! - the changes when a region moves ([`RegionMatcher::modify_and_compare`]).
//!
//! [`Nearby`] answers another question: which points are within a radius of each other, for all points in one
//! pass. The wireless models use it.
//!
//! Invariants:
//! - Every overlapping pair is reported once. Reports and their order depend on the regions alone, not on the
//!   calls that made them, so federates with the same regions act alike.
//! - This crate uses no threads, clocks, random numbers or hashes, and depends on no other crate of the
//!   workspace.

mod error;
mod matcher;
mod nearby;
mod region;

pub use error::Error;
pub use matcher::{Change, RegionMatcher};
pub use nearby::{Nearby, Numbered, Window};
pub use region::{Region, RegionId, Role};
