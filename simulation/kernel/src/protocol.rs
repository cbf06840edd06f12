//! How far a federate may go, as state machines without threads: the conservative protocols, and GVT for the
//! optimistic one.
//!
//! - *Sequential* needs no protocol: one federate, [`crate::Federate::step_on`] up to the horizon.
//! - *Time step* and *synchronous window* ([`Windows`]): all federates run up to a common bound, then a
//!   barrier.
//! - *Windows by distance* ([`DistanceWindows`]): a barrier too, but each federate has a bound of its own, as
//!   far off as the channels between federates allow (Lubachevsky, 1989).
//! - *Null messages* ([`Links`]): each federate has a bound of its own, the least promise of those who may
//!   send to it (Chandy and Misra, 1979; Bryant, 1977).
//! - *Time Warp* ([`Gvt`], [`MovingWindow`]): all federates may run ahead ([`crate::Warp`]), as far as it
//!   pays; everything before global virtual time is final.
//! - *Members outside* ([`SendBounds`]): who grants time to programs that send whenever they like, as an HLA
//!   run-time infrastructure does, takes the least promise of the others.
//!
//! All rest on one fact: an event at `t` cannot cause an event at another LP before `t` + lookahead.
//!
//! To add a protocol, write its state machine here, name it in `Protocol` (`simulation/engine/src/kinds.rs`),
//! drive it as `protocols/windowed.rs` of the engine does, and choose it in `protocols/leg.rs` there.

mod channels;
mod distances;
mod gvt;
mod links;
mod moving_window;
mod send_bounds;
mod table;
mod windows;

pub use channels::LinkError;
pub use distances::{DistanceWindows, Distances};
pub use gvt::{Gvt, GvtKind};
pub use links::{Links, Promise};
pub use moving_window::{Effort, MovingWindow};
pub use send_bounds::{SendBound, SendBounds, SendDelay, SendTime, Sender};
pub use table::ChannelTable;
pub use windows::Windows;
