//! The interface between a host and a policy: close to the operations table of Xen's schedulers
//! (NSX paper, figure 3; co-scheduling thesis, figure 25).
//!
//! Invariants that the host keeps: time never falls from call to call; [`Policy::wake`] and [`Policy::sleep`]
//! of a VCPU alternate, starting with a wake; after [`Policy::sleep`] or [`Policy::yields`] of a VCPU that
//! runs, and after a slice has ended, [`Policy::pick`] is called for its PCPU; every order to reschedule is
//! followed by a pick at the same instant.
//!
//! Equal calls give equal answers. No policy here draws random numbers, and this crate depends on no
//! generator: one that does would have its own in its state, with a seed among its settings.

use std::fmt;

use crate::{DomId, PcpuId, PolicyError, Settings, VcpuId};

/// What a policy has to know of the machine it schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Physical CPUs; at least one.
    pub pcpus: u32,
}

/// A domain that comes to the host, with its VCPUs, all of them asleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDomain {
    /// By which later calls name it.
    pub dom: DomId,
    /// Whether it is the privileged domain that carries the network and the devices of the others (DOM0).
    pub privileged: bool,
    /// Its VCPUs, at least one; their ids are unique over all domains.
    pub vcpus: Vec<VcpuId>,
    /// By VCPU, as in `vcpus`: the only PCPU it may run on, where there is one.
    pub pins: Vec<Option<PcpuId>>,
}

impl NewDomain {
    /// Its VCPUs, each with its pin.
    pub(crate) fn members(&self) -> impl Iterator<Item = (VcpuId, Option<PcpuId>)> {
        self.vcpus.iter().copied().zip(self.pins.iter().copied())
    }

    /// Its VCPUs, each with its pin and the PCPU that it is for at first: its pin, or else the one that its
    /// number suggests, so that the VCPUs of a host are spread evenly.
    pub(crate) fn homes(&self, pcpus: u32) -> impl Iterator<Item = (VcpuId, Option<PcpuId>, PcpuId)> {
        self.members().map(move |(id, pin)| (id, pin, pin.unwrap_or(PcpuId(id.0 % pcpus))))
    }
}

/// What a PCPU does from now on, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Pick {
    /// The VCPU that runs; `None` to leave the PCPU idle.
    pub vcpu: Option<VcpuId>,
    /// After how long to ask again, at the latest; `None`: not before something happens.
    pub slice_ns: Option<u64>,
    /// How many run-queue entries or pending bits the decision looked at, beyond its constant part. A host
    /// that models the cost of decisions charges for them.
    pub examined: u32,
}

/// What a policy asks of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// PCPUs to ask again at once (Xen's `tickle`), in the order in which the policy named them.
    pub reschedule: Vec<PcpuId>,
    /// Timers to set: number and time. A timer that is set again goes off at the new time only.
    pub timers: Vec<(u32, u64)>,
}

impl Orders {
    /// Asks the host for a decision on `pcpu` at once.
    pub fn reschedule(&mut self, pcpu: PcpuId) {
        if !self.reschedule.contains(&pcpu) {
            self.reschedule.push(pcpu);
        }
    }

    /// Asks the host to call [`Policy::timer`] with `timer` at `at_ns`.
    pub fn set_timer(&mut self, timer: u32, at_ns: u64) {
        self.timers.push((timer, at_ns));
    }
}

/// The state of a VCPU, for tests and traces: one row of what [`Policy::dump`] returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Whose row this is.
    pub vcpu: VcpuId,
    /// The PCPU on which it runs, if it runs.
    pub runs_on: Option<PcpuId>,
    /// Whether it is awake.
    pub awake: bool,
    /// What the policy orders by: names and values, such as `("credit", 120)`.
    pub keys: Vec<(&'static str, i64)>,
}

/// A scheduling policy.
///
/// Times are nanoseconds since the host started. `orders` collects what the policy asks for; the host does it
/// when the call has returned.
pub trait Policy: fmt::Debug + Send {
    /// The host starts: the first timers are set here.
    fn start(&mut self, _now_ns: u64, _orders: &mut Orders) {}

    /// A domain comes, with its settings. An error leaves the policy as it was.
    fn add(
        &mut self,
        now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError>;

    /// A domain goes; the host has put its VCPUs to sleep.
    fn remove(&mut self, now_ns: u64, dom: DomId, orders: &mut Orders);

    /// Changes the settings of a domain. An error leaves them as they were. By default domains have no
    /// settings.
    fn adjust(
        &mut self,
        _now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        settings.finish(dom.to_string())
    }

    /// A VCPU has something to do.
    fn wake(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders);

    /// A VCPU, which runs or waits to run, has nothing to do any more.
    fn sleep(&mut self, now_ns: u64, vcpu: VcpuId, orders: &mut Orders);

    /// A running VCPU yields. By default that changes nothing: the pick that follows decides who runs.
    fn yields(&mut self, _now_ns: u64, _vcpu: VcpuId, _orders: &mut Orders) {}

    /// Decides which VCPU runs on `pcpu` from now on. The VCPU that has run there until now is runnable
    /// again, unless it sleeps.
    fn pick(&mut self, now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick;

    /// A timer that was set goes off.
    fn timer(&mut self, _now_ns: u64, _timer: u32, _orders: &mut Orders) {}

    /// A VCPU that does not run is moved to `pcpu`, and pinned there if `pin`.
    fn migrate(&mut self, now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders);

    /// The number of messages pending for a domain on its event channels is `messages` now.
    fn pending(&mut self, _now_ns: u64, _dom: DomId, _messages: u32, _orders: &mut Orders) {}

    /// The guest on a VCPU has put a new LVT on the page it shares with the hypervisor; `u64::MAX`: it has
    /// nothing to do until it gets a message or reports again; that LVT may be lower than earlier ones.
    fn lvt(&mut self, _now_ns: u64, _vcpu: VcpuId, _lvt_ns: u64, _orders: &mut Orders) {}

    /// The guest on a VCPU has put on its page whether it simulates. Reports of an earlier simulation do
    /// not apply to a new one.
    fn mode(&mut self, _now_ns: u64, _vcpu: VcpuId, _simulates: bool, _orders: &mut Orders) {}

    /// The guest on a VCPU has put on its page whether it only waits for others.
    fn waiting(&mut self, _now_ns: u64, _vcpu: VcpuId, _waits: bool, _orders: &mut Orders) {}

    /// The per-VCPU state, for tests and traces.
    fn dump(&self, now_ns: u64) -> Vec<Standing>;
}
