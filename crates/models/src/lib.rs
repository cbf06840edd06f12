//! The models that come with Paceline: PHOLD, the synthetic benchmark of the field, and road traffic on generated grids
//! and real networks; and Chord, whose peers are processes.

#![forbid(unsafe_code)]

pub mod chord;
pub mod mpi_trace;
pub mod phold;
pub mod results;
pub mod traffic;
