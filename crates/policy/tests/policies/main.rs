//! Schedules computed by hand, and properties of every policy, one module for each, in the laboratory of `lab`.

mod arinc653;
mod boost;
mod bvt;
mod churn;
mod credit;
mod credit2;
mod csde;
mod every;
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
mod psx_plus_promises;
mod round_robin;
mod rt;
mod sedf;
mod watch;
