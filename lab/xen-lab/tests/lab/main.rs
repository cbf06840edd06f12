//! The lab without Xen: plug-ins against their policies, programs of guests, what is put into Xen's sources,
//! and predictions.

mod conformance;
mod conformance_nsx;
mod conformance_sedf;
mod guests;
mod insert;
mod prediction;
mod replay;
