//! Kinds of resources, and the two sides of each.

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

/// Which queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Put,
    Get,
}
