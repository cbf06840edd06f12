//! Packet networks: hosts, switches and routers as LPs, links with rate, latency and loss, queues at ports, UDP
//! and TCP. A pure model on the kernel: no thread, clock, socket or file.

#![forbid(unsafe_code)]

pub mod files;
pub mod flows;
pub mod loss;
pub mod queue;
pub mod tcp;
pub mod topology;
