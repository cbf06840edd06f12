//! The models that come with Paceline: PHOLD, the synthetic benchmark of the field, and road traffic on generated grids
//! and real networks.

#![forbid(unsafe_code)]

pub mod phold;
pub mod results;
pub mod traffic;
