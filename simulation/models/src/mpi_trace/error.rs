//! Mistakes in traces: where they are, and what is allowed there.

use thiserror::Error;

/// A mistake in a trace.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}; allowed: {allowed}")]
pub struct TraceError {
    /// The name of the file, as the caller or the list of files gave it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What is allowed there.
    pub allowed: String,
}

paceline_kernel::debug_tells!(TraceError);
