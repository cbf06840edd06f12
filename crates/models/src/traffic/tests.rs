//! Properties of the whole model, on random worlds: whoever fails prints the seed of the world.

mod drive;
mod journeys;
mod junctions;
mod parts;
mod scenarios;
mod shortest;
mod undo;
mod worlds;
