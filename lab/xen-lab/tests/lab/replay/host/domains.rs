//! Domains that come and go.
//!
//! Invariant: numbers of domains and VCPUs are dense and never used again.

use paceline_policy::{DomId, NewDomain, Orders, PcpuId, Settings, VcpuId};

use super::{Host, Vcpu};

/// The numbers of VCPUs and domains that the shim has room for.
const VCPUS_MAX: u32 = 250;
const DOMAINS_MAX: u32 = 60;

impl Host {
    /// The so-manieth of the domains.
    pub fn dom(&self, number: usize) -> Option<u32> {
        let doms: Vec<_> = self.doms.keys().copied().collect();
        (!doms.is_empty()).then(|| doms[number % doms.len()])
    }

    /// A domain comes, unless there are too many, or its share is too much for the PCPUs.
    pub fn add(&mut self, privileged: bool, pins: Vec<Option<u32>>) {
        let (first, dom) = self.next;
        let end = first + pins.len() as u32;
        if end > VCPUS_MAX || dom >= DOMAINS_MAX {
            return;
        }
        self.next = (end, dom + 1);
        let ids: Vec<_> = (first..end).collect();
        let mut line = format!("add {dom} {}", u32::from(privileged));
        for (id, pin) in ids.iter().zip(&pins) {
            line += &format!(" {id}:{}", pin.map_or("-".into(), |pin| pin.to_string()));
        }
        let domain = NewDomain {
            dom: DomId(dom),
            privileged,
            vcpus: ids.iter().map(|id| VcpuId(*id)).collect(),
            pins: pins.into_iter().map(|pin| pin.map(PcpuId)).collect(),
        };
        let mut orders = Orders::default();
        let added = self.policy.add(self.now_ns, &domain, &mut Settings::default(), &mut orders);
        if self.plugin.has_shares && added.is_err() {
            return;
        }
        added.expect("there is room");
        self.note(format!("{} {line}", self.now_ns), None, orders);
        self.vcpus.extend(ids.iter().map(|id| (*id, Vcpu::default())));
        self.doms.insert(dom, ids);
    }

    /// A domain goes. Its VCPUs sleep before that.
    pub fn remove(&mut self, dom: u32) {
        let ids = self.doms[&dom].clone();
        for id in &ids {
            if self.vcpus[id].awake {
                self.sleep(*id, true);
            }
        }
        self.settle(false);
        self.act(format!("remove {dom}"), |policy, now_ns, orders| policy.remove(now_ns, DomId(dom), orders));
        for id in ids {
            self.vcpus.remove(&id);
        }
        self.doms.remove(&dom);
        self.messages.remove(&dom);
    }
}
