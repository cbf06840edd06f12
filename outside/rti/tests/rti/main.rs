//! The infrastructure from outside: object models, and federations by their calls.

mod advisories;
mod calls;
mod carriage;
mod damaged;
mod deletion;
mod digest;
mod directed;
mod evolved;
mod exchange;
mod federation;
mod fom;
mod harness;
mod manager;
mod model;
mod not_yet;
mod objects;
mod optimistic;
mod ownership;
mod ownership_model;
mod strangers;
mod support;
mod switches;
mod synchronization;
mod time;
mod time_model;
