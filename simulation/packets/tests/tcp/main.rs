//! TCP: scripts of single rules, streams over a bad network, and the formulas of a bottleneck.

mod bottleneck;
mod network;
mod streams;
