//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod arinc653;
mod bvt;
mod credit;
mod credit2;
mod every;
mod lab;
mod round_robin;
mod rt;
