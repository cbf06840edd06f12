//! Interest management: who publishes where somebody else looks.
//!
//! Whoever sends declares *update regions*, whoever receives *subscription regions*, boxes in a space of one or more dimensions.
//! Data is sent only from regions to those that they overlap. The High Level Architecture calls this data distribution
//! management (IEEE 1516.1-2010, chapter 9). A matcher holds the regions of both roles and tells which overlap:
//!
//! - all pairs, streamed ([`Matcher::pairs`]),
//! - those that overlap one region, inserted or not ([`Matcher::partners`], [`Matcher::overlapping`]),
//! - what changes when a region moves ([`Matcher::modify_and_compare`]).
//!
//! The matchers: [`Sorted`] for regions of any sizes, [`Grid`] for those of similar size, spread evenly; [`BruteForce`] is the
//! reference.
//!
//! Invariants:
//! - All matchers tell the same pairs, each once. What they tell, and its order, depends on the regions alone.
//! - There is no thread, clock, random number or hash in here.
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
pub use sorted::Sorted;
pub use space::{Axis, Region, Space};
