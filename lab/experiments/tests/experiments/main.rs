//! Experiments in a short form.

mod cs;
mod nsx;
