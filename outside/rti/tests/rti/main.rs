//! The infrastructure from outside: object models, and federations by their calls.

mod calls;
mod federation;
mod fom;
mod harness;
mod strangers;
mod support;
mod synchronization;
