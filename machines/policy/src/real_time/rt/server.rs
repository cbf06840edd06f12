//! A VCPU as a server: priority, budget and period, and what is left of the budget.
//!
//! Invariant: a server never has more left than its budget, and nothing is charged twice.

use crate::real_time::{LEAST_NS, MOST_NS, check_budget};
use crate::settings::Settings;
use crate::{DomId, MILLISECOND, PcpuId, PolicyError};

/// The settings of a domain; each of its VCPUs is a server of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub priority: u64,
    pub budget_ns: u64,
    pub period_ns: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { priority: 1, budget_ns: 4 * MILLISECOND, period_ns: 10 * MILLISECOND }
    }
}

impl Terms {
    /// `priority` (1), `budget` (4 ms) and `period` (10 ms), `old` has the defaults.
    pub(super) fn from_settings(dom: DomId, settings: &mut Settings, old: Self) -> Result<Self, PolicyError> {
        let terms = Self {
            priority: settings.count("priority", old.priority, 0, 1_000_000)?,
            budget_ns: settings.nanos("budget", old.budget_ns, LEAST_NS, MOST_NS)?,
            period_ns: settings.nanos("period", old.period_ns, LEAST_NS, MOST_NS)?,
        };
        settings.finish(dom.to_string())?;
        check_budget(terms.budget_ns, terms.period_ns)?;
        Ok(terms)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Server {
    pub dom: DomId,
    pub terms: Terms,
    pub pin: Option<PcpuId>,
    pub home: PcpuId,
    pub awake: bool,
    pub left_ns: u64,
    /// The PCPU that it holds, working or idling.
    pub holds: Option<PcpuId>,
    /// Its number in the order in which servers began to compete.
    pub arrival: u64,
    charged_ns: u64,
    stretch_from_ns: u64,
    stretch_ns: u64,
}

impl Server {
    pub(super) fn new(dom: DomId, terms: Terms, pin: Option<PcpuId>, home: PcpuId) -> Self {
        Self {
            dom,
            terms,
            pin,
            home,
            awake: false,
            left_ns: terms.budget_ns,
            holds: None,
            arrival: 0,
            charged_ns: 0,
            stretch_from_ns: 0,
            stretch_ns: 0,
        }
    }

    /// It holds `pcpu` from now on; `goes_on` says whether it did so until now.
    pub(super) fn starts(&mut self, pcpu: PcpuId, now_ns: u64, goes_on: bool) {
        (self.home, self.holds, self.charged_ns) = (pcpu, Some(pcpu), now_ns);
        if !goes_on {
            self.stretch_from_ns = now_ns;
        }
    }

    /// Charges it for the time since it was last charged.
    pub(super) fn charge(&mut self, now_ns: u64) {
        let ran_ns = (now_ns - self.charged_ns).min(self.left_ns);
        self.charged_ns = now_ns;
        self.left_ns -= ran_ns;
        self.stretch_ns += ran_ns;
    }

    /// Ends a stretch; returns when and how much of it is to be replenished.
    pub(super) fn ends_stretch(&mut self) -> Option<(u64, u64)> {
        let amount_ns = std::mem::take(&mut self.stretch_ns);
        (amount_ns > 0).then_some((self.stretch_from_ns + self.terms.period_ns, amount_ns))
    }

    /// Sets other terms. What is left changes by as much as the budget.
    pub(super) fn adjust(&mut self, terms: Terms) {
        self.left_ns = (self.left_ns + terms.budget_ns).saturating_sub(self.terms.budget_ns);
        self.terms = terms;
    }
}
