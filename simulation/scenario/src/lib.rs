//! Reads scenario files (TOML). For every mistake it reports the place, the problem, and what is allowed.
//!
//! A [`Scenario`] is a file with its `--set` overrides. A [`Section`] hands out its keys one by one and
//! remembers which were requested: a key that was never requested is a mistake too, and the nearest known key
//! is suggested. A [`ScenarioError`] has a place: file, line and column, or the override that holds the
//! mistake.
//!
//! ```
//! use paceline_kernel::Time;
//! use paceline_scenario::Scenario;
//!
//! let text = "[run]\nuntil = \"1.5h\"\nthreads = \"two\"\n";
//! let mut scenario = Scenario::parse("demo.toml", text, ".".as_ref(), &["run.seed=7".into()])?;
//! let mut run = scenario.section("run")?;
//! assert_eq!(run.required::<Time>("until")?, Time::secs(5400));
//! assert_eq!(run.or("seed", 1u64)?, 7);
//! let mistake = run.optional::<u32>("threads").unwrap_err();
//! assert_eq!(
//!     mistake.one_line(),
//!     "demo.toml:3:11: `threads` in [run] cannot be the string \"two\"; allowed: a whole number from 0 to 4294967295"
//! );
//! # Ok::<(), paceline_scenario::ScenarioError>(())
//! ```
//!
//! Invariant: no text, however broken, makes the reader panic.

#![forbid(unsafe_code)]

mod decimal;
mod document;
mod duration;
mod error;
mod excerpt;
mod given;
pub mod inputs;
pub mod keys;
mod overrides;
mod parameters;
mod physical;
mod section;
mod size;
pub mod time;
mod value;

pub use document::Scenario;
pub use duration::{DurationError, duration};
pub use error::ScenarioError;
pub use given::Given;
pub use inputs::InputFile;
pub use physical::{Picoseconds, Rate};
pub use section::{Section, nearest};
pub use size::Size;
pub use value::{Raw, Unfit, Value};
