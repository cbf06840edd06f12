//! Actions as messages name them, as a trace would.

use std::fmt;

use super::{ANY, Action, Ends, Message};

/// A rank or a tag that may be left open.
struct Open(u32);

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == ANY { f.write_str("any") } else { self.0.fmt(f) }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = |f: &mut fmt::Formatter<'_>, name: &str, Message { other, tag, .. }: &Message| {
            write!(f, "`{name} {} {}`", Open(*other), Open(*tag))
        };
        let request = |f: &mut fmt::Formatter<'_>, name: &str, (from, to, tag): &Ends| {
            write!(f, "`{name} {} {} {}`", Open(*from), Open(*to), Open(*tag))
        };
        match self {
            Self::Send(sent) => message(f, "send", sent),
            Self::StartSend(sent) => message(f, "isend", sent),
            Self::Receive(received) => message(f, "recv", received),
            Self::StartReceive(received) => message(f, "irecv", received),
            Self::Wait(ends) => request(f, "wait", ends),
            Self::Test(ends) => request(f, "test", ends),
            Self::Broadcast { root, .. } => write!(f, "`bcast` from {root}"),
            Self::Reduce { root, .. } => write!(f, "`reduce` to {root}"),
            Self::Gather { root, .. } => write!(f, "`gather` to {root}"),
            Self::Scatter { root, .. } | Self::ScatterEach { root, .. } => write!(f, "`scatter` from {root}"),
            Self::Compute(_) => f.write_str("`compute`"),
            Self::Sleep(_) => f.write_str("`sleep`"),
            Self::SendReceive { .. } => f.write_str("`sendRecv`"),
            Self::WaitAll => f.write_str("`waitall`"),
            Self::Barrier => f.write_str("`barrier`"),
            Self::ReduceAll { .. } => f.write_str("`allreduce`"),
            Self::ReduceScatter { .. } => f.write_str("`reducescatter`"),
            Self::Scan { .. } => f.write_str("`scan`"),
            Self::Exchange { .. } => f.write_str("`alltoall`"),
            Self::ExchangeEach { .. } => f.write_str("`alltoallv`"),
            Self::GatherAll { .. } => f.write_str("`allgather`"),
        }
    }
}
