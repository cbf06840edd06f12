//! The models that come with Paceline: PHOLD (the field's synthetic benchmark), road traffic on generated
//! grids and real networks, wireless ad hoc networks, packet networks, and models whose answers are known:
//! queueing networks, cellular phones, epidemics, supply chains; and models of processes: Chord,
//! BitTorrent, a farm of workers that fail, master and workers, and replayed MPI programs.
//!
//! To add a model, write a module with `from_section` and `Results`, and name it in `PROGRAM` of
//! `command/src/models.rs`.

#![forbid(unsafe_code)]

pub mod bittorrent;
pub mod cellular;
pub mod chord;
pub mod farm;
mod inbox;
mod input;
pub mod master_workers;
mod measured;
pub mod mpi_trace;
pub mod packets;
pub mod phold;
pub mod queueing;
pub mod seir;
pub mod supply_chain;
pub mod traffic;
pub mod wireless;
pub mod wireless_csma;
