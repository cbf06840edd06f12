//! The core of `paceline.sim`: SimPy's interface, whose events, processes and resources are C structures.
//!
//! The types are made by Python's C interface itself, not as classes of pyo3: making and dropping an event is
//! what a simulation spends its time on, and takes half as long so. `object` has the rules on which the
//! unsafe code stands. What is not hot, the exceptions, `run` and `step`, real time, is Python, in
//! `python/paceline/sim`.

mod call;
mod callback;
mod condition;
mod environment;
mod event;
mod kind;
mod object;
mod process;
mod queue;
mod request;
mod request_types;
mod resource;
mod resource_types;
mod rules;
mod run;
mod schedule;
mod serve;
mod statics;
mod time;
mod timeout;
mod trigger;
mod types;
mod value;
mod watch;

pub use types::add_to;
