//! Schedules by hand and promises of every policy, one module for each, in the laboratory of `lab`.

mod boost;
mod churn;
mod csde;
mod flexible;
mod gang;
mod govindan;
mod implicit;
mod lab;
mod mix;
mod round_robin;
mod sedf;
