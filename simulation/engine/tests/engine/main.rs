//! Runs of the engine, property by property: one program for all of them, as each would compile the engine
//! for its models anew.
#![cfg(not(paceline_shuttle))]

#[path = "../facts/mod.rs"]
mod facts;
#[path = "../mesh/mod.rs"]
mod mesh;

mod ahead;
mod auto;
mod balance;
mod cancel;
mod channels;
mod determinism;
mod digest;
mod distances;
mod gauges;
mod gears;
mod hard;
mod layout;
mod legs;
mod links;
#[cfg(target_os = "linux")]
mod lvt;
mod migration;
mod observer;
mod optimistic;
mod origin;
mod outside;
mod panics;
mod processes;
mod rules;
mod script;
mod steps;
mod together;
mod trace;
mod trouble;
mod undo;
mod way;

/// Sizes that the hard models take from the bench `limits`.
mod groups {
    pub const LPS: u32 = 2_048;
    pub const MESSAGES: u32 = 16;
}
