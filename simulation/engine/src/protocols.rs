//! What a leg of each protocol does: workers run the given federates on a board until the run is over or
//! pauses.
//!
//! A board ([`scaffold`]) is the state that the workers of a protocol share. To add a protocol, write its
//! board beside [`windowed`], and name it in `kinds.rs` and [`leg`].

pub(crate) mod channelled;
pub(crate) mod leg;
pub(crate) mod optimistic;
pub(crate) mod outcome;
pub(crate) mod scaffold;
pub(crate) mod windowed;
