//! The machine by hand and by properties: what takes time where, who burns what, what can go wrong.

mod comings;
mod errors;
mod guests;
mod hypervisor;
mod lab;
mod path;
mod plan;
mod random;
mod rings;
mod script;
mod siblings;
mod told;
mod waits;
