//! Properties of the whole model on random worlds; a failure prints the world's seed.

mod connectors;
mod drive;
mod journeys;
mod junctions;
mod parts;
mod scenarios;
mod shortest;
mod undo;
mod worlds;
