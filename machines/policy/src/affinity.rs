//! Where a VCPU may run, and where it prefers to: Xen's hard and soft affinity.
//!
//! The hard affinity is a pin or everything. The soft one is the setting `soft_affinity` of a domain, which
//! holds for all its VCPUs: a list as `xl` takes it for `cpus_soft`, such as `"0-3,6"`, `"all"` or
//! `"0-7,^2"`.
//!
//! Invariant: a soft affinity that leaves out no PCPU, or that has none in common with the hard one, is the
//! same as none (Xen's `has_soft_affinity`).

use crate::PcpuId;
use crate::PolicyError;
use crate::settings::{Setting, Settings, bad};

/// Where a VCPU may run, and where it prefers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Affinity {
    pin: Option<PcpuId>,
    /// By PCPU: whether it is preferred; empty without a preference.
    soft: Vec<bool>,
}

impl Affinity {
    /// Reads the setting `soft_affinity`; without it there is no preference.
    pub(crate) fn soft(settings: &mut Settings, pcpus: u32) -> Result<Self, PolicyError> {
        Self::changed_soft(settings, pcpus, None)
    }

    /// The same; without the setting it is that of `old`.
    pub(crate) fn changed_soft(
        settings: &mut Settings,
        pcpus: u32,
        old: Option<Self>,
    ) -> Result<Self, PolicyError> {
        let soft = match settings.word("soft_affinity")? {
            None => return Ok(old.unwrap_or_default()),
            Some(list) => read(&list, pcpus).ok_or_else(|| {
                let allowed = format!(
                    "a list of PCPUs from 0 to {} such as \"0-3,^2\", of which some are left, or \"all\"",
                    pcpus - 1
                );
                bad("soft_affinity", &Setting::Word(list), allowed)
            })?,
        };
        Ok(Self { pin: None, soft: if soft.iter().all(|is_in| *is_in) { Vec::new() } else { soft } })
    }

    /// The same preference, with this pin.
    pub(crate) fn pinned(&self, pin: Option<PcpuId>) -> Self {
        Self { pin, soft: self.soft.clone() }
    }

    /// The only PCPU that the VCPU may run on, where there is one.
    pub(crate) fn pin(&self) -> Option<PcpuId> {
        self.pin
    }

    /// Whether there is a preference that makes a difference.
    pub(crate) fn has_preference(&self) -> bool {
        !self.soft.is_empty() && self.pin.is_none()
    }

    pub(crate) fn may_run_on(&self, pcpu: PcpuId) -> bool {
        self.pin.is_none_or(|pin| pin == pcpu)
    }

    /// Whether there is a preference, and it is for `pcpu`.
    pub(crate) fn prefers(&self, pcpu: PcpuId) -> bool {
        self.has_preference() && self.soft[pcpu.index()]
    }

    /// Whether the VCPU would rather run elsewhere than on `pcpu`.
    pub(crate) fn avoids(&self, pcpu: PcpuId) -> bool {
        self.has_preference() && !self.soft[pcpu.index()]
    }
}

/// By PCPU, whether `list` has it; parts are taken in turn, and `^` takes away. None for what is no such
/// list, or an empty one.
fn read(list: &str, pcpus: u32) -> Option<Vec<bool>> {
    let mut all = vec![false; pcpus as usize];
    for part in list.split(',').map(str::trim) {
        let (is_in, range) = part.strip_prefix('^').map_or((true, part), |range| (false, range));
        let (first, last) = match range.split_once('-') {
            _ if range == "all" => (0, pcpus - 1),
            Some((first, last)) => (first.trim().parse().ok()?, last.trim().parse().ok()?),
            None => {
                let one: u32 = range.parse().ok()?;
                (one, one)
            }
        };
        if first > last || last >= pcpus {
            return None;
        }
        all[first as usize..=last as usize].fill(is_in);
    }
    all.contains(&true).then_some(all)
}
