//! What the reader of scenarios accepts and refuses.

mod fuzz;
mod inputs;
mod keys;
mod messages;
mod parameters;
mod shapes;
mod tables;
