//! TCP: scripts of single rules, streams over a bad network, and the formulas of a bottleneck.

mod bottleneck;
mod garbage;
mod handshake;
mod network;
mod rack;
mod ranges;
mod receiving;
mod recovering;
mod script;
mod sending;
mod shape;
mod streams;
