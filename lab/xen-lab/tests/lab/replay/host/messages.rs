//! Messages and shares of domains: what Xen sees of event channels and what it does not, and what its user
//! sets.
//!
//! Invariant: the policy always knows how many ports are pending; the plug-in learns only of those that
//! become so. What a guest has on its statistics page the policy gets to know when the plug-in looks: at a
//! decision where the guest ran.

use std::collections::BTreeSet;

use paceline_policy::{DomId, Orders, Setting, Settings};

use super::Host;

/// What waits for a domain.
#[derive(Debug, Default)]
pub struct Messages {
    ports: BTreeSet<u32>,
    /// On its page, and as it was read.
    left: u32,
    read: u32,
}

impl Host {
    fn report_pending(&mut self, dom: u32, line: String) {
        let waiting = &self.messages[&dom];
        let messages = waiting.ports.len() as u32 + waiting.read;
        self.act(line, |policy, now_ns, orders| policy.pending(now_ns, DomId(dom), messages, orders));
    }

    /// Xen makes a port pending, as it does without asking whether it is.
    pub fn port(&mut self, dom: u32, port: u32) {
        self.messages.entry(dom).or_default().ports.insert(port);
        self.report_pending(dom, format!("port {dom} {port}"));
    }

    /// The guest clears the so-manieth of its pending ports.
    pub fn clear(&mut self, dom: u32, number: usize) {
        let waiting = self.messages.entry(dom).or_default();
        if let Some(port) = waiting.ports.iter().nth(number % waiting.ports.len().max(1)).copied() {
            waiting.ports.remove(&port);
            self.report_pending(dom, format!("clear {dom} {port}"));
        }
    }

    /// All ports of the domain are closed.
    pub fn close_ports(&mut self, dom: u32) {
        self.messages.entry(dom).or_default().ports.clear();
        self.report_pending(dom, format!("closed {dom}"));
    }

    /// A guest that runs writes its page.
    pub fn write_page(&mut self, vcpu: u32, left: u32) {
        let dom = self.dom_of(vcpu);
        self.messages.entry(dom).or_default().left = left;
        self.act(format!("left {dom} {left}"), |_, _, _| ());
    }

    /// Whose VCPU has run on this PCPU, its page is read before the decision, by plug-ins that have pages as
    /// well as shares.
    pub fn read_page(&mut self, pcpu: u32) {
        let running = self.pcpus[pcpu as usize].running.filter(|vcpu| self.vcpus.contains_key(vcpu));
        let Some(vcpu) = running.filter(|_| self.plugin.has_shares) else { return };
        let dom = self.dom_of(vcpu);
        let waiting = self.messages.entry(dom).or_default();
        waiting.read = waiting.left;
        let messages = waiting.ports.len() as u32 + waiting.read;
        self.policy.pending(self.now_ns, DomId(dom), messages, &mut Orders::default());
    }

    fn dom_of(&self, vcpu: u32) -> u32 {
        let found = self.doms.iter().find(|(_, vcpus)| vcpus.contains(&vcpu));
        *found.expect("a VCPU has a domain").0
    }

    /// The user wants another share for a domain. Refused are those that a PCPU cannot promise.
    pub fn adjust(&mut self, dom: u32, (period_us, slice_us, extra): (u64, u64, bool)) {
        let mut settings = Settings::default()
            .with("period", Setting::Nanos(period_us * 1000))
            .with("slice", Setting::Nanos(slice_us * 1000))
            .with("extra", Setting::Flag(extra));
        let mut orders = Orders::default();
        let result = match self.policy.adjust(self.now_ns, DomId(dom), &mut settings, &mut orders) {
            Ok(()) => 0,
            Err(paceline_policy::PolicyError::Oversubscribed { .. }) => -28,
            Err(_) => -22,
        };
        let share = format!("{dom}:{period_us}:{slice_us}:{}", u32::from(extra));
        let line = format!("{} param sedf-domain={share}", self.now_ns);
        self.note(line, Some(format!("result {result}")), orders);
    }
}
