//! Interest management: finds out which published data concerns which receivers.
//!
//! A sender declares *update regions*, a receiver *subscription regions*: boxes in a space of one or more dimensions. Data is sent
//! only from update regions to the subscription regions that they overlap. The High Level Architecture calls this data distribution
//! management (IEEE 1516.1-2010, chapter 9). A matcher holds the regions of both roles and reports which of them overlap:
//!
//! - all pairs, one by one ([`Matcher::pairs`]),
//! - the regions that overlap one region, inserted or not ([`Matcher::partners`], [`Matcher::overlapping`]),
//! - the changes when a region moves ([`Matcher::modify_and_compare`]).
//!
//! The matchers: [`Sorted`] for regions of any sizes; [`Grid`] for regions of similar size at uniformly distributed places;
//! [`BruteForce`] is the reference. [`Nearby`] is no matcher: it finds points within a radius of each other, all in one pass.
//!
//! Invariants:
//! - All matchers report the same pairs, each once. A matcher's reports and their order depend on the regions alone.
//! - This crate uses no threads, clocks, random numbers or hashes.
//!
//! ```
//! use paceline_interest::{BruteForce, Matcher, Region, RegionId, Space};
//!
//! // A torus of 100 by 100 m. A radio at (1, 50) reaches 5 m; hosts are places.
//! let mut matcher = BruteForce::new(Space::torus([(0.0, 100.0), (0.0, 100.0)])?);
//! matcher.insert(RegionId::subscription(0), Region::point([97.0, 50.0]))?;
//! matcher.insert(RegionId::subscription(1), Region::point([50.0, 50.0]))?;
//! matcher.insert(RegionId::update(0), Region::around([1.0, 50.0], [5.0, 5.0]))?;
//! let mut hears = Vec::new();
//! matcher.partners(RegionId::update(0), &mut hears)?;
//! assert_eq!(hears, [0]);
//! # Ok::<(), paceline_interest::Error>(())
//! ```

mod brute_force;
mod coordinate;
mod error;
mod grid;
mod keys;
mod matcher;
mod nearby;
mod regions;
mod sorted;
mod space;
mod tiled;
mod tiles;

pub use brute_force::BruteForce;
pub use coordinate::Coordinate;
pub use error::Error;
pub use grid::Grid;
pub use matcher::{Change, Matcher, RegionId, Role};
pub use nearby::{Nearby, Numbered, Window};
pub use sorted::Sorted;
pub use space::{Axis, Region, Space};
