//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod boost;
mod bvt;
mod credit;
mod credit2;
mod csde;
mod govindan;
mod implicit;
mod lab;
mod mix;
mod nsx;
mod psx;
mod round_robin;
mod sedf;
mod watch;
