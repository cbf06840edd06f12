//! What is shown of a run besides its numbers: today its course in time, as a trace that the Perfetto UI opens.
//!
//! It knows no engine: whoever runs something says what happened when, in terms of workers, federates and time.

#![forbid(unsafe_code)]

pub mod perfetto;

pub use perfetto::{Activity, Mark, PerfettoTrace, Slice, TraceError};
