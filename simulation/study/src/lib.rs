//! Studies: one scenario at many points, each repeated until it says enough.
//!
//! A study file ([`Study`]) names a scenario, factors with their levels, and a rule for the number of
//! replications. [`design`] makes points of the factors, [`course`] decides which runs are needed,
//! [`journal`] keeps the rows of those that are done, [`sample`] computes what they say together, [`rows`]
//! and [`page()`] show it. Who runs what the course asks for is the program.
//!
//! Invariants: `design`, `course` and `sample` are pure. The final table depends on the study file alone: not
//! on how many runs were side by side, in which order they ended, nor how often the program was killed.

#![forbid(unsafe_code)]

pub mod course;
pub mod design;
pub mod journal;
mod levels;
mod page;
mod result;
pub mod row;
pub mod rows;
pub mod sample;
mod settings;

pub use levels::{Level, Levels, Span};
pub use page::{figures, page, point_table};
pub use result::{Run, StudyResult, label};
pub use settings::{Factor, Goal, Kind, Metric, Setting, Stop, Streams, Study};
