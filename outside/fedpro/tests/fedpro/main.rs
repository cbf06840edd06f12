//! Frames and sessions from outside.

mod frames;
mod sessions;
