//! How far a federate may go, as state machines without threads: the conservative protocols, and GVT for the optimistic one.
//!
//! - *Sequential* needs no protocol: one federate, [`crate::Federate::step_on`] up to the horizon.
//! - *Time step* and *synchronous window* ([`Windows`]): everybody works up to a common bound, then a barrier.
//! - *Null messages* ([`Links`]): each federate has a bound of its own, the least promise of those who
//!   may send to it (Chandy and Misra, 1979; Bryant, 1977).
//! - *Time Warp* ([`Gvt`], [`MovingWindow`]): everybody may run ahead ([`crate::Warp`]), so far as it pays; what is before
//!   global virtual time is final.
//!
//! All rest on one fact: an event at `t` cannot cause an event at another LP before `t` + lookahead.

mod gvt;
mod links;
mod moving_window;
mod windows;

pub use gvt::{Gvt, GvtKind};
pub use links::{LinkError, Links, Promise};
pub use moving_window::{Effort, MovingWindow};
pub use windows::Windows;
