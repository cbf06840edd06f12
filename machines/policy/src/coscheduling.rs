//! Co-scheduling: VCPUs that work together run together, by design ([`gang`], [`flexible`]) or by the
//! messages that they exchange ([`implicit`]).

mod class;
pub mod flexible;
pub mod gang;
pub mod implicit;
