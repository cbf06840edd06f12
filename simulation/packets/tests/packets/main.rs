//! The model under the engine: against formulas and ns-3, and the same under every protocol.

mod applications;
mod capture;
mod codel;
mod digests;
mod errors;
mod failures;
mod frames;
mod networks;
mod pcap;
mod random;
mod rdma;
mod routes;
mod switches;
mod tcp;
mod traces;
mod tshark;
mod udp;
mod validation;
mod web;
