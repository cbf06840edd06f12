//! The infrastructure from outside: object models, and federations by their calls.

mod fom;
mod strangers;
