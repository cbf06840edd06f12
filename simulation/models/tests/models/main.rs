//! The models run as a user would run them.

mod bittorrent;
mod chord;
mod chord_federates;
mod damaged_checkpoints;
mod farm;
mod interrupted;
mod master_workers;
mod mpi_collectives;
mod mpi_damaged;
mod mpi_reader;
mod mpi_requests;
mod mpi_trace;
mod phold;
mod traffic_modes;
mod wireless_modes;
