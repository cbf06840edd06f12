//! A simulated machine as a Perfetto trace: a process per host with a track per PCPU, on which slices say
//! whose VCPU ran, and a process with two tracks per domain: its local virtual time as a counter, and its
//! messages with arrows between domains.
//!
//! Entries are written as they come, so memory stays bounded; a slice or a message is written when it is
//! over, and readers sort by time. Times are those of the machine.
//!
//! Invariant: slices of one PCPU do not overlap if those given do not.

use std::path::Path;

use paceline_kernel::Time;

use super::TraceError;
use super::file::{PacketFile, event};
use super::packet::{
    CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName, ThreadDescriptor,
    TrackDescriptor, TrackEvent,
};

/// The number of the process to which the tracks of domains belong; hosts follow.
const DOMAINS: u64 = 1;
/// Names of slices that belong to no domain.
const SENDS: u64 = 1;
const RECEIVES: u64 = 2;
/// The first name that is a domain's.
const FIRST_NAME: u64 = 3;
/// The only annotation.
const VCPU: u64 = 1;

/// A host in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceHost {
    /// As the viewer shows it.
    pub name: String,
    /// Its PCPUs, numbered on from those of the hosts before it.
    pub pcpus: u32,
}

/// A trace of a machine that is being written.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_report::{MachineTrace, TraceHost};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("machine.perfetto");
/// let hosts = [TraceHost { name: "host".into(), pcpus: 1 }];
/// let mut trace = MachineTrace::create(&path, &hosts, &["one".into(), "two".into()])?;
/// trace.ran(0, 0, 0, 0, 5_000);
/// trace.lvt(0, 4_000, Time::secs(1));
/// trace.message(0, 1, 4_500, 7_000);
/// trace.ran(0, 1, 0, 6_000, 9_000);
/// trace.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MachineTrace {
    file: PacketFile,
    hosts: u64,
    pcpus: u64,
    messages: u64,
}

impl MachineTrace {
    /// Makes the file, in place of one that may be there, for a machine of `hosts` on which the domains
    /// called `domains` run, the privileged ones included.
    pub fn create(path: &Path, hosts: &[TraceHost], domains: &[String]) -> Result<Self, TraceError> {
        let pcpus = hosts.iter().map(|host| u64::from(host.pcpus)).sum();
        let file = PacketFile::create(path)?;
        let mut trace = Self { file, hosts: hosts.len() as u64, pcpus, messages: 0 };
        trace.introduce(hosts, domains);
        Ok(trace)
    }

    /// A VCPU of `domain`, its `vcpu`th, has run on `pcpu`.
    pub fn ran(&mut self, pcpu: u32, domain: u32, vcpu: u32, from_ns: u64, to_ns: u64) {
        let track = self.pcpu(pcpu);
        let note = DebugAnnotation { name_iid: Some(VCPU), uint_value: Some(vcpu.into()) };
        self.file.event(
            from_ns,
            TrackEvent {
                debug_annotations: vec![note],
                name_iid: Some(FIRST_NAME + u64::from(domain)),
                ..event(EventType::SliceBegin, track)
            },
        );
        self.file.event(to_ns, event(EventType::SliceEnd, track));
    }

    /// A process of `domain` has reached `lvt`.
    pub fn lvt(&mut self, domain: u32, at_ns: u64, lvt: Time) {
        let track = self.lvt_track(domain);
        let double_counter_value = Some(lvt.as_secs_f64());
        self.file.event(at_ns, TrackEvent { double_counter_value, ..event(EventType::Counter, track) });
    }

    /// A message that was sent at `sent_ns` has come from one domain to another.
    pub fn message(&mut self, from: u32, to: u32, sent_ns: u64, at_ns: u64) {
        self.messages += 1;
        let flow = vec![self.messages];
        let (out, into) = (self.lvt_track(from) + 1, self.lvt_track(to) + 1);
        let (sends, receives) = (event(EventType::Instant, out), event(EventType::Instant, into));
        self.file.event(sent_ns, TrackEvent { name_iid: Some(SENDS), flow_ids: flow.clone(), ..sends });
        self.file
            .event(at_ns, TrackEvent { name_iid: Some(RECEIVES), terminating_flow_ids: flow, ..receives });
    }

    /// Writes what is left. The error is the first one that there was since the file was made.
    pub fn finish(self) -> Result<(), TraceError> {
        self.file.finish()
    }

    fn host(&self, host: u64) -> u64 {
        DOMAINS + 1 + host
    }

    fn pcpu(&self, pcpu: u32) -> u64 {
        self.host(self.hosts) + u64::from(pcpu)
    }

    /// The track of a domain's LVT; that of its messages comes next.
    fn lvt_track(&self, domain: u32) -> u64 {
        self.host(self.hosts) + self.pcpus + 2 * u64::from(domain)
    }

    fn introduce(&mut self, hosts: &[TraceHost], domains: &[String]) {
        let name = |iid: u64, name: &str| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
        let mut event_names = vec![name(SENDS, "sends"), name(RECEIVES, "receives")];
        event_names.extend(domains.iter().zip(FIRST_NAME..).map(|(domain, iid)| name(iid, domain)));
        let debug_annotation_names = vec![name(VCPU, "vcpu")];
        self.file.intern(InternedData { event_names, debug_annotation_names });
        let mut pcpu = 0;
        for (host, number) in hosts.iter().zip(0..) {
            let process = self.host(number);
            self.file.group(process, host.name.clone());
            for local in 0..host.pcpus {
                // Threads have numbers of their own, beyond those of the processes.
                let tid = Some((self.pcpu(pcpu)) as i64);
                let thread_name = Some(format!("PCPU {local}"));
                let thread = Some(ThreadDescriptor { pid: Some(process as i32), tid, thread_name });
                self.file.track(TrackDescriptor {
                    uuid: Some(self.pcpu(pcpu)),
                    thread,
                    ..TrackDescriptor::default()
                });
                pcpu += 1;
            }
        }
        self.file.group(DOMAINS, "domains".to_owned());
        for (domain, number) in domains.iter().zip(0..) {
            let uuid = self.lvt_track(number);
            let child = |uuid: u64, name: String, rank: u64| TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name),
                parent_uuid: Some(DOMAINS),
                sibling_order_rank: Some(i32::try_from(rank).unwrap_or(i32::MAX)),
                ..TrackDescriptor::default()
            };
            let rank = 2 * u64::from(number);
            let counter = Some(CounterDescriptor { unit_name: Some("s".to_owned()) });
            self.file.track(TrackDescriptor { counter, ..child(uuid, format!("LVT of {domain}"), rank) });
            self.file.track(child(uuid + 1, format!("messages of {domain}"), rank + 1));
        }
    }
}
