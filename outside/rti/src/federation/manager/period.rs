//! Reports at a period, and how long federates have been granted and advancing. The time of the host is an
//! input: nothing here looks at a clock.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::Federation;
use super::FIRST;
use super::values::periodic_attributes;

/// What of a federate depends on the host's time.
#[derive(Debug, Default)]
pub(in super::super) struct Timing {
    /// Seconds between reports; none are sent if it is 0.
    period: u32,
    /// When the next report is due.
    next: Duration,
    /// How long it has been granted, since that was said last and while somebody watched.
    pub(super) granted: Duration,
    /// How long it has waited for a time.
    pub(super) advancing: Duration,
}

impl Federation {
    pub(super) fn set_report_period(&mut self, about: u32, seconds: u32) {
        let next = self.now + Duration::from_secs(seconds.into());
        let timing = &mut self.federates.get_mut(&about).expect("it has joined").timing;
        (timing.period, timing.next) = (seconds, next);
    }

    /// Whether somebody looks at what depends on the host's time.
    pub(crate) fn needs_time(&self) -> bool {
        !self.watch.watchers.is_empty()
    }

    /// The host's time has come so far; it never goes back.
    pub(crate) fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.now);
        // What passed before the first look is nobody's.
        let is_first = std::mem::replace(&mut self.now, now) == Duration::ZERO;
        let mut due = Vec::new();
        for (handle, member) in &mut self.federates {
            let timing = &mut member.timing;
            if !is_first {
                let spent =
                    if member.clock.pending.is_some() { &mut timing.advancing } else { &mut timing.granted };
                *spent += passed;
            }
            if timing.period > 0 && now >= timing.next {
                timing.next = now + Duration::from_secs(timing.period.into());
                due.push(*handle);
            }
        }
        for federate in due {
            let object = FIRST + federate;
            let Some(class) = self.objects.get(&object).map(|row| row.class) else { continue };
            let attributes: BTreeSet<u32> = periodic_attributes()
                .iter()
                .filter_map(|name| self.fom.objects.member_of(class, name))
                .collect();
            self.provide_managed(object, &attributes);
        }
    }

    /// The times that were said begin anew.
    pub(super) fn restart_times(&mut self, object: u32, attributes: &BTreeSet<u32>) {
        let name = |attribute: &u32| self.fom.objects.member(*attribute).map(|row| row.name.as_str());
        let is_said = |wanted| attributes.iter().any(|attribute| name(attribute) == Some(wanted));
        let (granted, advancing) = (is_said("HLAtimeGrantedTime"), is_said("HLAtimeAdvancingTime"));
        let Some(member) = self.federates.get_mut(&(object - FIRST)) else { return };
        if granted {
            member.timing.granted = Duration::ZERO;
        }
        if advancing {
            member.timing.advancing = Duration::ZERO;
        }
    }
}
