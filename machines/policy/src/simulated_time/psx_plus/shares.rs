//! The share of a period that every VCPU is guaranteed, and when it falls due.
//!
//! Let `part` be `percent` of the period. A VCPU that is awake all through a period gets at least `share` of
//! it, which is `part` divided by the number of VCPUs per PCPU when the period begins (at least one, and at
//! least as many as are pinned to any one PCPU). A VCPU that has less when only `part + share` of the period
//! is left is *due*: due VCPUs run before all others, those pinned before others on their PCPU, each until it
//! has its share.
//!
//! Why that is in time: the due VCPUs pinned to a PCPU have it to themselves, and together need at most
//! `part`. While any other due VCPU waits, all PCPUs run due ones, which in total need at most `part` on
//! every PCPU. So it waits for at most `part`, and then needs its `share`. The bound holds for every order
//! among the due.

/// What all VCPUs may claim in a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) period_ns: u64,
    percent: u64,
    /// The share of every VCPU in this period.
    pub(super) share_ns: u64,
}

impl Shares {
    /// `percent` of the fair share, up to 50, so that a period holds `part + share`.
    pub(super) fn new(period_ns: u64, percent: u64) -> Self {
        assert!(percent <= 50, "what is due fits into a period");
        Self { period_ns, percent, share_ns: 0 }
    }

    fn part_ns(&self) -> u64 {
        self.period_ns * self.percent / 100
    }

    /// Begins a period with `awake` VCPUs awake, of which at most `pinned` are pinned to any one PCPU.
    /// Returns how long after its beginning shares fall due.
    pub(super) fn begin(&mut self, pcpus: u64, awake: u64, pinned: u64) -> u64 {
        let part_ns = self.part_ns();
        let fair = if awake > pcpus { part_ns * pcpus / awake } else { part_ns };
        self.share_ns = fair.min(part_ns / pinned.max(1));
        self.period_ns - part_ns - self.share_ns
    }
}

/// The CPU time that a VCPU has got in the period, and whether it is due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) got_ns: u64,
    /// Whether it has been awake since the period began.
    entitled: bool,
    /// Whether it runs before all that are not due, until it has its share.
    pub(super) due: bool,
}

impl Account {
    pub(super) fn begin(&mut self, awake: bool) {
        *self = Self { got_ns: 0, entitled: awake, due: false };
    }

    /// Shares fall due.
    pub(super) fn claim(&mut self, share_ns: u64) {
        self.due = self.entitled && self.got_ns < share_ns;
    }

    pub(super) fn charge(&mut self, ran_ns: u64, share_ns: u64) {
        self.got_ns += ran_ns;
        self.due &= self.got_ns < share_ns;
    }

    /// A VCPU that sleeps has no claim to a share.
    pub(super) fn sleep(&mut self) {
        self.entitled = false;
        self.due = false;
    }
}
