//! Stands for the other processes of a run in builds without the feature `net`. No value of these types
//! exists, so that the compiler leaves out whatever the engine would do with one.
//!
//! Invariant: the interface is that of `net.rs`, as far as the rest of the engine uses it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use paceline_kernel::{Event, Mail, Migrants, Model, Part, Partition, Promise, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Contribution, Counts, Delivery, DeliveryError, Joined, Met, Settled};
use crate::watch::monitor::Halt;
use crate::{RunError, Simulation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Never {}

/// How another process was reached: there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(Never);

/// Why a run of several processes cannot start, or has ended: there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeersError(Never);

impl fmt::Display for PeersError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl std::error::Error for PeersError {}

/// The thread that gives signs of life.
#[derive(Debug)]
pub(crate) struct Pulse(Never);

/// What the settings of a run say of other processes.
pub(crate) struct Processes<M: Model>(PhantomData<fn(M)>);

impl<M: Model> Default for Processes<M> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

/// How other processes are reached.
pub(crate) trait Transport: fmt::Debug + Send + Sync {
    fn ranks(&self) -> u32;
    fn wait(&self, limit: Duration);
    fn is_pending(&self) -> bool;
    fn wake(&self);
    fn close(&self);
}

/// The other processes of a run.
pub(crate) struct Peers<M: Model>(Never, PhantomData<fn(M)>);

/// The settings say nothing of other processes.
pub(crate) fn check<M: Model>(simulation: &Simulation<M>) -> Result<(), RunError> {
    let Processes(_) = simulation.processes;
    Ok(())
}

/// There is nobody to meet.
pub(crate) fn meet<M: Model>(_: &Simulation<M>, _threads: u32) -> Result<Option<Met<M>>, RunError> {
    Ok(None)
}

/// There is nobody to give signs of life to.
pub(crate) fn start_pulse<M: Model>(
    _: &Simulation<M>,
    _: Option<&Arc<Peers<M>>>,
) -> Result<Option<Pulse>, RunError> {
    Ok(None)
}

impl<M: Model> fmt::Debug for Peers<M> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

/// Methods of which no call can be reached.
macro_rules! never {
    ($($name:ident $(<$generic:ident>)? ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        impl<M: Model> Peers<M> {
            $(pub(crate) fn $name $(<$generic: Serialize + DeserializeOwned>)? (&self, $(_: $argument),*) $(-> $result)? {
                match self.0 {}
            })*
        }
    };
}

never! {
    assign(&Partition, &[u32]) -> Result<(), PeersError>;
    cannot(&'static str) -> PeersError;
    threads_before() -> u32;
    rank() -> u32;
    transport() -> &Arc<dyn Transport>;
    owns(u32) -> bool;
    owners() -> &[u32];
    links() -> Vec<Link>;
    counts() -> Counts;
    is_pending() -> bool;
    hear(impl FnMut(Delivery<M>) -> Result<(), DeliveryError>) -> Result<bool, RunError>;
    damaged(u32, String) -> RunError;
    contribute(Contribution);
    contribute_and_ask(Contribution);
    has_contributed() -> bool;
    is_asked() -> bool;
    complete() -> Option<Contribution>;
    settle(Time, Option<Halt>, impl FnMut(Delivery<M>) -> Result<(), DeliveryError>) -> Result<Settled, RunError>;
    exchange<T>(&T) -> Result<Vec<T>, RunError>;
    share<T>(T, impl Fn(&T, u32) -> bool) -> Result<Vec<T>, RunError>;
    join(Part<M>, &Partition) -> Result<Joined<M>, RunError>;
    join_outputs(Vec<M::Output>) -> Result<Vec<M::Output>, RunError>;
    migrate(Vec<Migrants<M>>, &Partition, &Partition) -> Result<Vec<Migrants<M>>, RunError>;
    send_events(u32, &mut Vec<Event<M::Event>>);
    send_mail(u32, &mut Mail<M::Event>);
    send_promise(Promise, &mut Vec<Event<M::Event>>);
    send_request(u32, u32);
    send_failure(&str);
    send_due(u64) -> u64;
    send_before_waiting();
}
