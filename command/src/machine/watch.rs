//! Looking on while machines run: how far each has come, for the display of progress, the trace and the live
//! page.
//!
//! Invariant: cheap without trace and page - one store to an atomic number each time that a VCPU leaves its
//! PCPU.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_app::failure::CommandError;
use paceline_app::progress::Progress;
use paceline_app::text;
use paceline_kernel::Time;
use paceline_machine::{DomId, MachineSpec, Observer, PcpuId, VcpuId};
use paceline_report::{MachineTrace, TraceHost};

#[cfg(feature = "live")]
use super::live::{MachinePage, Tracks};

/// All machines that are looked at.
#[derive(Debug, Default)]
pub struct Watched {
    clocks: Vec<(&'static str, Arc<AtomicU64>)>,
}

/// Watches one machine.
#[derive(Debug)]
pub struct Watch {
    clock: Arc<AtomicU64>,
    trace: Option<Trace>,
    #[cfg(feature = "live")]
    live: Option<Tracks>,
}

#[derive(Debug)]
struct Trace {
    file: MachineTrace,
    /// The first VCPU of each domain.
    first_vcpu: Vec<u32>,
}

impl Watched {
    /// An observer of the machine under this policy.
    pub fn watch(&mut self, policy: &'static str) -> Watch {
        let clock = Arc::new(AtomicU64::new(0));
        self.clocks.push((policy, Arc::clone(&clock)));
        Watch {
            clock,
            trace: None,
            #[cfg(feature = "live")]
            live: None,
        }
    }

    /// Shows progress towards `until_ns` of every machine, if `wanted`.
    pub fn show(&self, until_ns: Option<u64>, wanted: bool) -> Progress {
        let clocks = self.clocks.clone();
        let look = move || {
            let far = |clock: &AtomicU64| Time::nanos(clock.load(Ordering::Relaxed));
            let said = |(policy, clock): &(&str, Arc<AtomicU64>)| {
                format!("{policy} {}", text::seconds(far(clock).as_secs_f64()))
            };
            let sum = clocks.iter().map(|(_, clock)| far(clock).as_nanos()).sum();
            (sum, clocks.iter().map(said).collect::<Vec<_>>().join(", "))
        };
        Progress::show(until_ns.map(|until_ns| until_ns * self.clocks.len() as u64), wanted, look, || {})
    }
}

impl Watch {
    /// Writes a trace of the machine `spec` into the file at `path`.
    pub fn trace(&mut self, path: &Path, spec: &MachineSpec) -> Result<(), CommandError> {
        let host =
            |host: &paceline_machine::HostSpec| TraceHost { name: host.name.clone(), pcpus: host.pcpus };
        let hosts: Vec<_> = spec.hosts.iter().map(host).collect();
        let privileged = |host: &TraceHost| match hosts.len() {
            1 => "dom0".to_owned(),
            _ => format!("dom0 of {}", host.name),
        };
        let mut names: Vec<_> = hosts.iter().map(privileged).collect();
        names.extend(spec.domains.iter().map(|domain| domain.name.clone()));
        let privileged = spec.hosts.iter().map(|host| host.dom0_vcpus);
        let vcpus = privileged.chain(spec.domains.iter().map(|domain| domain.vcpus));
        let first_vcpu = vcpus.scan(0, |next, vcpus| Some(std::mem::replace(next, *next + vcpus))).collect();
        let file = MachineTrace::create(path, &hosts, &names)?;
        self.trace = Some(Trace { file, first_vcpu });
        Ok(())
    }

    /// Shows the machine on this page, and waits before its first event if that is wanted.
    #[cfg(feature = "live")]
    pub fn show_on(&mut self, page: &Arc<MachinePage>) {
        self.live.insert(Tracks::new(page)).begin();
    }

    /// Ends the trace, if there is one, or says what went wrong with it.
    pub fn finish(self) -> Result<(), CommandError> {
        self.trace.map_or(Ok(()), |trace| Ok(trace.file.finish()?))
    }
}

impl Observer for Watch {
    fn ran(&mut self, pcpu: PcpuId, dom: DomId, vcpu: VcpuId, from_ns: u64, to_ns: u64) {
        self.clock.store(to_ns, Ordering::Relaxed);
        if let Some(trace) = &mut self.trace {
            let vcpu = vcpu.0 - trace.first_vcpu[dom.index()];
            trace.file.ran(pcpu.0, dom.0, vcpu, from_ns, to_ns);
        }
        #[cfg(feature = "live")]
        if let Some(live) = &mut self.live {
            live.ran(pcpu, dom, from_ns, to_ns);
        }
    }

    fn lvt(&mut self, dom: DomId, at_ns: u64, lvt_ns: u64) {
        if let Some(trace) = &mut self.trace {
            trace.file.lvt(dom.0, at_ns, Time::nanos(lvt_ns));
        }
        #[cfg(feature = "live")]
        if let Some(live) = &mut self.live {
            live.lvt(dom, lvt_ns);
        }
    }

    fn message(&mut self, from: DomId, to: DomId, sent_ns: u64, at_ns: u64) {
        if let Some(trace) = &mut self.trace
            && from != to
        {
            trace.file.message(from.0, to.0, sent_ns, at_ns);
        }
        #[cfg(feature = "live")]
        if let Some(live) = &mut self.live {
            live.message(from, to);
        }
    }
}
