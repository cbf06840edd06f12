//! `paceline rti --trace FILE`: what each federate did, its logical time and its GALT, as a Perfetto trace.
//!
//! Invariant: what a federate does is one of granted, advancing and in a callback, from its joining until it
//! has left.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use paceline_fedpro::{Client, FederateActivity, FederateObserver, FederateTimes, LogicalTime, Peer};
use paceline_report::{FederationTrace, TraceError, TracedFederate};

/// A trace that is being written.
#[derive(Clone, Debug)]
pub struct FederateTracks(Arc<Mutex<Tracks>>);

#[derive(Debug)]
struct Tracks {
    /// Nothing once it is finished.
    file: Option<FederationTrace>,
    federates: BTreeMap<Client, Traced>,
    /// The latest time at which something was shown, in nanoseconds.
    now_ns: u64,
}

#[derive(Debug)]
struct Traced {
    federate: TracedFederate,
    /// What it does, and since when in nanoseconds.
    activity: Option<(FederateActivity, u64)>,
    time: Option<LogicalTime>,
    galt: Option<LogicalTime>,
}

fn describe(activity: FederateActivity) -> &'static str {
    match activity {
        FederateActivity::Granted => "granted",
        FederateActivity::Advancing => "advancing",
        FederateActivity::InCallback => "in a callback",
    }
}

impl FederateTracks {
    /// Makes the file, in place of one that may be there.
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let file = Some(FederationTrace::create(path)?);
        Ok(Self(Arc::new(Mutex::new(Tracks { file, federates: BTreeMap::new(), now_ns: 0 }))))
    }

    /// Writes what is left: what each federate has done until now.
    pub fn finish(&self) -> Result<(), TraceError> {
        let mut tracks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Tracks { file, federates, now_ns } = &mut *tracks;
        let Some(mut file) = file.take() else { return Ok(()) };
        for traced in std::mem::take(federates).into_values() {
            traced.end(&mut file, *now_ns);
        }
        file.finish()
    }

    fn with(
        &self,
        at: Option<Duration>,
        write: impl FnOnce(&mut FederationTrace, &mut BTreeMap<Client, Traced>, u64),
    ) {
        let mut tracks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Tracks { file, federates, now_ns } = &mut *tracks;
        if let Some(at) = at {
            *now_ns = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        }
        if let Some(file) = file {
            write(file, federates, *now_ns);
        }
    }
}

impl Traced {
    /// Writes what it has done last.
    fn end(&self, file: &mut FederationTrace, now_ns: u64) {
        if let Some((activity, since_ns)) = self.activity {
            file.did(self.federate, describe(activity), since_ns, now_ns);
        }
    }
}

impl FederateObserver for FederateTracks {
    fn joined(&mut self, client: Client, federation: &str, name: &str, _peer: Option<Peer>) {
        self.with(None, |file, federates, _| {
            let federate = file.join(federation, name);
            federates.insert(client, Traced { federate, activity: None, time: None, galt: None });
        });
    }

    fn changed(&mut self, client: Client, activity: FederateActivity, times: FederateTimes, at: Duration) {
        self.with(Some(at), |file, federates, now_ns| {
            let Some(traced) = federates.get_mut(&client) else { return };
            if traced.activity.is_none_or(|(known, _)| known != activity) {
                traced.end(file, now_ns);
                traced.activity = Some((activity, now_ns));
            }
            if traced.time.replace(times.now) != Some(times.now) {
                file.time(traced.federate, now_ns, times.now.to_f64());
            }
            // Where nobody may send, it stays what it was: a counter has no value for "none".
            if let Some(galt) = times.galt
                && traced.galt.replace(galt) != Some(galt)
            {
                file.galt(traced.federate, now_ns, galt.to_f64());
            }
        });
    }

    fn left(&mut self, client: Client, at: Duration) {
        self.with(Some(at), |file, federates, now_ns| {
            if let Some(traced) = federates.remove(&client) {
                traced.end(file, now_ns);
            }
        });
    }

    fn follows_waiting(&self) -> bool {
        true
    }
}
