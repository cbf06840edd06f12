//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod boost;
mod arinc653;
mod bvt;
mod credit;
mod credit2;
mod churn;
mod csde;
mod flexible;
mod gang;
mod govindan;
mod implicit;
mod lab;
mod mix;
mod nsx;
mod nsx_plus;
mod psx;
mod psx_plus;
mod round_robin;
mod sedf;
mod watch;
mod rt;
