//! Which tracks a trace has, and what they and their slices are called.
//!
//! The run is a process; every worker is a thread of it; every federate has a track for slices and one for
//! its local virtual time (LVT). Numbers of tracks follow from those of workers and federates, so that
//! whoever writes events needs to know nothing else.

use super::Activity;
use super::packet::{
    CounterDescriptor, EXPLICIT_ORDERING, INCREMENTAL_STATE_CLEARED, InternedData, InternedName,
    ProcessDescriptor, ThreadDescriptor, TracePacket, TrackDescriptor,
};

/// The number of the process; no number of the machine, so that a trace says nothing about it.
const PID: i32 = 1;
/// The sequence of what belongs to no worker.
const SHARED: u32 = 1;

/// Annotations of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Federate = 1,
    Events = 2,
    Worker = 3,
}

impl Note {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Federate, "federate"), (Self::Events, "events"), (Self::Worker, "worker")];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Track {
    Process,
    /// What the run does as a whole.
    Run,
    Gvt,
    Worker(u32),
    Federate(u32),
    Lvt(u32),
}

impl Track {
    pub(super) const fn uuid(self) -> u64 {
        match self {
            Self::Process => 1,
            Self::Run => 2,
            Self::Gvt => 3,
            Self::Worker(worker) => 4 + 4 * worker as u64,
            Self::Federate(federate) => 5 + 4 * federate as u64,
            Self::Lvt(federate) => 6 + 4 * federate as u64,
        }
    }

    /// The packet that introduces it; `run` is the name of the run.
    pub(super) fn packet(self, run: &str) -> TracePacket {
        let mut track = TrackDescriptor { uuid: Some(self.uuid()), ..Default::default() };
        let (mut sequence, mut names) = (SHARED, None);
        match self {
            Self::Process => {
                let process_name = Some(run.to_owned());
                track.process = Some(ProcessDescriptor { pid: Some(PID), process_name });
                track.child_ordering = Some(EXPLICIT_ORDERING);
                names = Some(all_names());
            }
            Self::Worker(worker) => {
                let tid = Some(i64::from(PID) + 1 + i64::from(worker));
                let thread_name = Some(format!("worker {worker}"));
                track.thread = Some(ThreadDescriptor { pid: Some(PID), tid, thread_name });
                sequence = self::sequence(Some(worker));
                names = Some(all_names());
            }
            Self::Run => child(&mut track, "run", 0),
            Self::Gvt => child(&mut track, "GVT", 1),
            Self::Federate(federate) => child(&mut track, &format!("federate {federate}"), rank(federate)),
            Self::Lvt(federate) => {
                child(&mut track, &format!("LVT of federate {federate}"), rank(federate).saturating_add(1));
            }
        }
        if matches!(self, Self::Gvt | Self::Lvt(_)) {
            track.counter = Some(CounterDescriptor { unit_name: Some("s".to_owned()) });
        }
        TracePacket {
            trusted_packet_sequence_id: Some(sequence),
            sequence_flags: names.is_some().then_some(INCREMENTAL_STATE_CLEARED),
            interned_data: names,
            track_descriptor: Some(track),
            ..Default::default()
        }
    }
}

fn child(track: &mut TrackDescriptor, name: &str, rank: i32) {
    track.name = Some(name.to_owned());
    track.parent_uuid = Some(Track::Process.uuid());
    track.sibling_order_rank = Some(rank);
}

/// The place of a federate's slices among the tracks of the run; its LVT comes next.
fn rank(federate: u32) -> i32 {
    i32::try_from(u64::from(federate) * 2 + 2).unwrap_or(i32::MAX)
}

/// The sequence of packets of a worker, or of the run as a whole.
pub(super) fn sequence(worker: Option<u32>) -> u32 {
    worker.map_or(SHARED, |worker| SHARED.saturating_add(1).saturating_add(worker))
}

fn all_names() -> InternedData {
    let name = |iid: u64, name: &str| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
    InternedData {
        event_names: Activity::ALL.iter().map(|(activity, text)| name(*activity as u64, text)).collect(),
        debug_annotation_names: Note::ALL.iter().map(|(note, text)| name(*note as u64, text)).collect(),
    }
}
