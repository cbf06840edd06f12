//! The costs of the machine's operations.
//!
//! Invariant: no cost depends on the policy: the same table serves every policy that is compared.
//!
//! To add a cost, also give scenarios its key (`costs` in `machines/scenarios/src/scenario/hosts.rs`), and
//! experiments its value with a reason (`lab/experiments/src/calibration.rs`).

/// CPU times in nanoseconds on a core that is not shared, unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A decision of the hypervisor's scheduler: the interrupt, and asking the policy.
    pub decision_ns: u64,
    /// Each run-queue entry or pending bit that a decision looked at, in picoseconds.
    pub examined_ps: u64,
    /// Switching from one VCPU to another: registers, page tables, TLB.
    pub switch_ns: u64,
    /// A VCPU that continues on another PCPU than before: its cache is cold.
    pub migration_ns: u64,
    /// Speed of each of two siblings that share a core, in thousandths of a core.
    pub smt_permille: u64,
    /// A write to the page that a guest shares with the hypervisor: a system call.
    pub page_write_ns: u64,
    /// Sending a packet: system call, TCP/IP, front-end driver, event channel.
    pub send_ns: u64,
    /// Taking note that packets have left, however many: interrupt, front-end driver. 0 where front-ends ask
    /// for no event of that and free their buffers when they send next.
    pub response_ns: u64,
    /// Taking a packet in: interrupt, front-end driver, TCP/IP.
    pub receive_ns: u64,
    /// A packet in the back-end driver and the bridge of the privileged domain.
    pub backend_ns: u64,
    /// Coming to packets, in a guest and in the privileged domain, once for as many as are taken up in a
    /// row: the interrupt, and whom it wakes. What a kernel does one by one costs more than what has
    /// piled up while it had no PCPU. 0 where that is part of the cost of each packet.
    pub event_ns: u64,
    /// A packet between the privileged domain and the NIC, either way.
    pub nic_ns: u64,
    /// Copying, per byte and side, in picoseconds.
    pub byte_ps: u64,
    /// A message between two processes of one guest.
    pub loopback_ns: u64,
    /// How long the guest's scheduler lets a process run while others wait.
    pub guest_quantum_ns: u64,
    /// Switching from one process of a guest to another on the same VCPU.
    pub guest_switch_ns: u64,
    /// Packets that a ring holds, either way.
    pub ring_slots: u32,
}

impl Default for Costs {
    /// Estimates for a server of 2010: tens of thousands of cycles a packet over all sides, some microseconds
    /// a switch with its cold cache. Cherkasova and Gardner (2005, cited by the co-scheduling thesis)
    /// measured which share of a core such packets take, not how many cycles each.
    fn default() -> Self {
        Self {
            decision_ns: 500,
            examined_ps: 1_000,
            switch_ns: 1_500,
            migration_ns: 2_000,
            smt_permille: 625,
            page_write_ns: 300,
            send_ns: 5_000,
            response_ns: 0,
            receive_ns: 5_000,
            backend_ns: 5_000,
            event_ns: 0,
            nic_ns: 3_000,
            byte_ps: 500,
            loopback_ns: 2_000,
            guest_quantum_ns: 4_000_000,
            guest_switch_ns: 1_500,
            ring_slots: 256,
        }
    }
}

impl Costs {
    /// Copying `bytes` bytes on one side.
    pub(crate) fn copy_ns(&self, bytes: u32) -> u64 {
        u64::from(bytes) * self.byte_ps / 1_000
    }
}
