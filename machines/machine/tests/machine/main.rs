//! The machine by hand and by properties: what takes time where, who burns what, what can go wrong.

mod comings;
mod errors;
mod federates;
mod guests;
mod hypervisor;
mod lab;
mod path;
mod picture;
mod plan;
mod policy_calls;
mod programs;
mod random;
mod rings;
mod script;
mod siblings;
mod waits;
