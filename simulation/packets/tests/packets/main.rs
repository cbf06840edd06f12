//! The model under the engine: against formulas and ns-3, and the same under every protocol.

mod digests;
mod networks;
mod random;
mod tcp;
mod udp;
