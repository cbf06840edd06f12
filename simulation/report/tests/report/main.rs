//! Findings as pages, JSON and traces.

mod findings;
mod page;
mod wire;
