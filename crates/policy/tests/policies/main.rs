//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod boost;
mod credit;
mod csde;
mod lab;
mod mix;
mod psx;
mod round_robin;
mod sedf;
mod watch;
