//! Frames, sessions, archives, the host behind them, and the server on TCP, from outside.

mod archives;
mod client;
mod cuts;
mod folders;
mod frames;
mod hosts;
mod proxy;
mod servers;
mod sessions;
mod strangers;
