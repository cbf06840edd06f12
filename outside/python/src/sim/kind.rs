//! Kinds of resources, and the two sides of each. `rules.rs` says how each kind serves, `resource_types.rs`
//! which type it has.

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A subclass of `BaseResource` alone, whose rules are in Python.
    Base,
    Resource,
    Priority,
    Preemptive,
    Container,
    Store,
    PriorityStore,
    FilterStore,
}

/// The queue of a resource in which a request waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Put,
    Get,
}
