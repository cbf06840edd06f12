//! Real machines under simulated time, after NetWarp (NSX paper, section 1-C): unmodified guests are hosts of
//! a packet network, and their clocks are its simulated time.
//!
//! - [`guest`] is one guest: a process of QEMU whose virtual clock advances only as far as it is granted.
//! - [`image`] packs programs of this machine or of Debian's packages into what a guest boots.
//! - [`run`] joins guests to the network: each is an outside federate of the engine.
//! - [`scenario`] reads all of that from a scenario, and starts the guests.
//!
//! Invariant: what a guest sees and sends depends on the scenario alone, never on how fast the host is.

pub mod guest;
pub mod image;
pub mod run;
pub mod scenario;
