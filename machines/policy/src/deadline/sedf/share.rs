//! What a domain is promised under SEDF, and which PCPU can promise it.
//!
//! Invariant: on no PCPU do the promised parts add up to more than the whole.

use crate::settings::bad;
use crate::{DomId, MILLISECOND, NewDomain, PcpuId, PolicyError, Setting, Settings};

/// All of a PCPU, in the fixed-point parts that promises are added in.
const WHOLE: u64 = 1 << 40;

/// What every VCPU of a domain gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub period_ns: u64,
    /// The time that is guaranteed in every period.
    pub slice_ns: u64,
    /// Whether it also takes extra time.
    pub extra: bool,
}

impl Share {
    /// The defaults of Xen 4.1: DOM0 has three quarters of every 20 ms, guests have extra time only.
    pub fn of_newcomer(privileged: bool) -> Self {
        match privileged {
            true => Self { period_ns: 20 * MILLISECOND, slice_ns: 15 * MILLISECOND, extra: true },
            false => Self { period_ns: 100 * MILLISECOND, slice_ns: 0, extra: true },
        }
    }

    /// This share with the changes of `settings`. A new period without a new slice keeps the promised part of
    /// the time.
    pub fn read(self, settings: &mut Settings, who: DomId) -> Result<Self, PolicyError> {
        let period_ns = settings.nanos("period", self.period_ns, 10_000, 10_000 * MILLISECOND)?;
        let same_part = u128::from(self.slice_ns) * u128::from(period_ns) / u128::from(self.period_ns);
        let slice_ns = settings.nanos("slice", same_part as u64, 0, period_ns)?;
        let extra = settings.flag("extra", self.extra)?;
        settings.finish(who.to_string())?;
        if slice_ns == 0 && !extra {
            return Err(bad("extra", &Setting::Flag(false), "true where `slice` is 0".into()));
        }
        Ok(Self { period_ns, slice_ns, extra })
    }

    fn parts(self) -> u64 {
        (u128::from(self.slice_ns) * u128::from(WHOLE) / u128::from(self.period_ns)) as u64
    }
}

/// The promises of the PCPUs.
#[derive(Clone, Debug)]
pub(super) struct Loads(Vec<Load>);

#[derive(Clone, Copy, Debug, Default)]
struct Load {
    vcpus: u32,
    parts: u64,
}

impl Loads {
    pub fn new(pcpus: u32) -> Self {
        Self(vec![Load::default(); pcpus as usize])
    }

    /// A PCPU for every VCPU of `domain`, in order: its pin, or the one with fewest VCPUs among those that
    /// can promise it.
    pub fn place(&mut self, domain: &NewDomain, share: Share) -> Result<Vec<PcpuId>, PolicyError> {
        let mut homes = Vec::with_capacity(domain.vcpus.len());
        for pin in &domain.pins {
            let pcpu = pin.unwrap_or_else(|| self.best(share));
            self.check(domain.dom, pcpu, share)?;
            self.give(pcpu, share);
            homes.push(pcpu);
        }
        Ok(homes)
    }

    /// The PCPU with fewest VCPUs among those that can promise `share`; if none can, the one that comes
    /// nearest.
    fn best(&self, share: Share) -> PcpuId {
        let by_need = |(number, load): (usize, &Load)| {
            let short_of = (load.parts + share.parts()).saturating_sub(WHOLE);
            (short_of, load.vcpus, load.parts, number)
        };
        let (.., number) = self.0.iter().enumerate().map(by_need).min().expect("a host has a PCPU");
        PcpuId(number as u32)
    }

    /// Whether `pcpu` can promise `share` on top.
    pub fn check(&self, dom: DomId, pcpu: PcpuId, share: Share) -> Result<(), PolicyError> {
        let parts = self.0[pcpu.index()].parts + share.parts();
        if share.slice_ns > 0 && parts > WHOLE {
            let percent = (u128::from(parts) * 100).div_ceil(u128::from(WHOLE)) as u64;
            return Err(PolicyError::Oversubscribed { dom, pcpu, percent });
        }
        Ok(())
    }

    pub fn give(&mut self, pcpu: PcpuId, share: Share) {
        let load = &mut self.0[pcpu.index()];
        load.vcpus += 1;
        load.parts += share.parts();
    }

    pub fn take(&mut self, pcpu: PcpuId, share: Share) {
        let load = &mut self.0[pcpu.index()];
        load.vcpus -= 1;
        load.parts -= share.parts();
    }
}
