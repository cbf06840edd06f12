//! A VCPU under borrowed virtual time: how its virtual times advance, and when it is warped.
//!
//! Invariants: AVT never falls; a VCPU is warped for at most its limit of CPU time in one go, and not before
//! its time without warp is over.

use crate::settings::{Setting, Settings, bad};
use crate::{DomId, PcpuId, PolicyError};

/// How far virtual time advances per unit of CPU time, unless a domain's setting differs. Warps are in CPU
/// time at this rate.
const COMMON_ADVANCE: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub advance: u64,
    warp_ns: u64,
    limit_ns: u64,
    unwarp_ns: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { advance: COMMON_ADVANCE, warp_ns: 0, limit_ns: 0, unwarp_ns: 0 }
    }
}

impl Terms {
    /// `mcu_advance` (10), `warp` (none), `warp_limit` (none) and, if that is set, `unwarp`; `old` has the
    /// defaults.
    pub(super) fn from_settings(dom: DomId, settings: &mut Settings, old: Self) -> Result<Self, PolicyError> {
        const MOST: u64 = 1_000_000_000_000;
        let terms = Self {
            advance: settings.count("mcu_advance", old.advance, 1, 10_000)?,
            warp_ns: settings.nanos("warp", old.warp_ns, 0, MOST)?,
            limit_ns: settings.nanos("warp_limit", old.limit_ns, 0, MOST)?,
            unwarp_ns: settings.nanos("unwarp", old.unwarp_ns, 0, MOST)?,
        };
        settings.finish(dom.to_string())?;
        if terms.limit_ns > 0 && terms.unwarp_ns == 0 {
            let allowed = "more than 0 ns where there is a `warp_limit`".into();
            return Err(bad("unwarp", &Setting::Nanos(0), allowed));
        }
        Ok(terms)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Vcpu {
    pub dom: DomId,
    pub terms: Terms,
    pub pin: Option<PcpuId>,
    pub awake: bool,
    pub avt: i64,
    pub home: PcpuId,
    pub runs_on: Option<PcpuId>,
    charged_ns: u64,
    /// How long it has run warped in this go.
    warped_ns: u64,
    /// Whether its limit was reached and its time without warp is not over.
    resting: bool,
}

impl Vcpu {
    pub(super) fn new(
        dom: DomId,
        terms: Terms,
        pin: Option<PcpuId>,
        home: PcpuId,
        svt: i64,
        now_ns: u64,
    ) -> Self {
        Self {
            dom,
            terms,
            pin,
            awake: false,
            avt: svt,
            home,
            runs_on: None,
            charged_ns: now_ns,
            warped_ns: 0,
            resting: false,
        }
    }

    pub(super) fn warped(&self) -> bool {
        self.terms.warp_ns > 0 && !self.resting
    }

    /// By how much its EVT is less than its AVT.
    pub(super) fn loan(&self) -> i64 {
        let warp = if self.warped() { self.terms.warp_ns * COMMON_ADVANCE } else { 0 };
        warp as i64
    }

    pub(super) fn evt(&self) -> i64 {
        self.avt - self.loan()
    }

    /// The AVT of a VCPU that has run since it was last charged.
    pub(super) fn avt_at(&self, now_ns: u64) -> i64 {
        self.avt + ((now_ns - self.charged_ns) * self.terms.advance) as i64
    }

    /// How much longer it may run warped.
    pub(super) fn warp_left_ns(&self) -> Option<u64> {
        (self.warped() && self.terms.limit_ns > 0).then(|| self.terms.limit_ns - self.warped_ns)
    }

    pub(super) fn wake(&mut self, svt: i64) {
        self.awake = true;
        self.avt = self.avt.max(svt);
        self.warped_ns = 0;
    }

    pub(super) fn starts(&mut self, pcpu: PcpuId, now_ns: u64) {
        self.home = pcpu;
        self.runs_on = Some(pcpu);
        self.charged_ns = now_ns;
    }

    /// Charges it for running until now. If its warp limit is reached here, returns until when it is not
    /// warped.
    pub(super) fn charge(&mut self, now_ns: u64) -> Option<u64> {
        let ran_ns = now_ns - self.charged_ns;
        self.avt = self.avt_at(now_ns);
        self.charged_ns = now_ns;
        let left_ns = self.warp_left_ns()?;
        self.warped_ns += ran_ns.min(left_ns);
        self.resting = ran_ns >= left_ns;
        self.resting.then_some(now_ns + self.terms.unwarp_ns)
    }

    pub(super) fn rewarp(&mut self) {
        self.resting = false;
        self.warped_ns = 0;
    }

    /// Sets other terms, and ends a go at warping.
    pub(super) fn adjust(&mut self, terms: Terms) {
        self.terms = terms;
        self.rewarp();
    }
}
