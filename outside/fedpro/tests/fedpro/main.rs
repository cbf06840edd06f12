//! Frames, sessions, archives, the host behind them, and the server on TCP, from outside.

mod archives;
mod client;
mod cuts;
mod damage;
mod folders;
mod frames;
mod guards;
mod hosts;
mod observed;
mod order;
mod pressure;
mod proxy;
mod records;
mod running;
mod servers;
mod sessions;
mod status;
mod strangers;
mod transports;
