//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod lab;
mod nsx;
mod nsx_plus;
mod psx;
mod psx_plus;
mod round_robin;
mod watch;
