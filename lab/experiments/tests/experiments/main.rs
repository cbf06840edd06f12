//! Experiments in a short form, and the scenarios of machines that they are made of.

mod cs;
mod nsx;
mod scenario;
