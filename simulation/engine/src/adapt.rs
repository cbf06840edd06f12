//! What changes while a run goes on: its protocol, where LPs are, when it pauses.
//!
//! Invariant: changes happen between two legs only, and no result depends on them.

pub(crate) mod auto;
pub(crate) mod balance;
pub(crate) mod steward;
