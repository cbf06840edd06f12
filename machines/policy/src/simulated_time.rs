//! Simulated time: the VCPU that is furthest behind runs first, by the LVT that its guest reports ([`psx`],
//! [`psx_plus`]) or by a virtual clock that the hypervisor keeps for it ([`nsx`], [`nsx_plus`]).

pub mod nsx;
pub mod nsx_plus;
pub mod psx;
pub mod psx_plus;
