//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod credit;
mod boost;
mod csde;
mod lab;
mod mix;
mod round_robin;
mod sedf;
mod psx;
mod round_robin;
mod watch;
