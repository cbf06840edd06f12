//! The network: rings between guests and the privileged domain, its back-ends and bridge, NICs and links.
//!
//! The six delays of the co-scheduling thesis, section 4.2.1, are nowhere in here: they arise where a packet
//! waits for a VCPU to get a PCPU, on its way there (sender, privileged domain, link, privileged domain,
//! receiver) and back.
//!
//! Invariants: a ring holds no more packets than it has slots, those being processed included; packets of one
//! pair of processes stay in order; a packet is in exactly one place.

use std::collections::BTreeMap;

use super::Machine;
use crate::MachineError;
use crate::calendar::Event;
use crate::ids::{DomId, GuestId, HostId, PacketId, VcpuId};
use crate::packets::{Packet, Packets};
use crate::process::Stage;
use crate::program::{Message, Outgoing, ProcessId};
use crate::state::{Doing, Errand};

/// What joins the hosts, and what is on its way.
#[derive(Debug, Default)]
pub struct Network {
    /// By hosts at both ends.
    pub links: BTreeMap<(HostId, HostId), Link>,
    pub packets: Packets,
}

/// One way of a link.
#[derive(Debug)]
pub struct Link {
    latency_ns: u64,
    bits_per_second: u64,
    /// From then on it can take another packet.
    free_ns: u64,
}

impl Link {
    /// One that is free.
    pub fn new(latency_ns: u64, bits_per_second: u64) -> Self {
        Self { latency_ns, bits_per_second, free_ns: 0 }
    }

    /// A packet of so many bytes goes at `now_ns`, or when the link is free. When it arrives.
    fn carry(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let bits = u128::from(bytes) * 8;
        let span_ns = (bits * 1_000_000_000).div_ceil(self.bits_per_second.into());
        let span_ns = u64::try_from(span_ns).unwrap_or(u64::MAX);
        self.free_ns = self.free_ns.max(now_ns).saturating_add(span_ns);
        self.free_ns.saturating_add(self.latency_ns)
    }
}

impl Machine<'_> {
    /// A process sends, having paid for it. Gives the message back if the ring is full.
    pub fn send(&mut self, from: ProcessId, outgoing: Outgoing) -> Result<(), Outgoing> {
        let guest = self.processes[from].guest;
        let Some(to) = self.processes.get(outgoing.to).map(|process| process.guest) else {
            let (domain, processes) = (self.guests[guest].name.clone(), self.processes.len());
            self.fault = Some(MachineError::NoProcess { from: domain, to: outgoing.to.0, processes });
            return Ok(());
        };
        let (host, other) = (self.guests[guest].host, self.guests[to].host);
        if host != other && !self.network.links.contains_key(&(host, other)) {
            let name = |guest: GuestId| self.guests[guest].name.clone();
            self.fault = Some(MachineError::NoLink { from: name(guest), to: name(to) });
            return Ok(());
        }
        // Messages within a guest do not go through the ring.
        if to != guest && self.guests[guest].transmit.packets.len() >= self.costs.ring_slots as usize {
            self.guests[guest].transmit.stalled.push_back(from);
            return Err(outgoing);
        }
        let Outgoing { to: process, bytes, payload } = outgoing;
        let message = Message { from, bytes, payload };
        if to == guest {
            self.hand_over(process, message, self.now_ns);
            return Ok(());
        }
        let awaited = !self.guests[to].background;
        let slot = self.network.packets.put(Packet { message, to: process, sent_ns: self.now_ns, awaited });
        let guest_state = &mut self.guests[guest];
        guest_state.transmit.packets.push_back(slot);
        let known = std::mem::replace(&mut guest_state.transmit.announced, true);
        self.expects(host, 1);
        // A back-end that knows of packets comes back for each further one by itself, in `carried`.
        if !known {
            let vcpu = self.backend(host, guest);
            self.vcpus[vcpu].kernel.errands.push_back(Errand::Transmit(guest));
            self.notify(vcpu);
        }
        Ok(())
    }

    /// The VCPU of the privileged domain that serves a guest.
    fn backend(&self, host: HostId, guest: GuestId) -> VcpuId {
        let dom0 = self.hosts[host].dom0;
        dom0.at(guest.0 % dom0.count())
    }

    /// So many more messages wait for the privileged domain of `host`.
    fn expects(&mut self, host: HostId, more: i32) {
        let host_state = &mut self.hosts[host];
        host_state.pending =
            host_state.pending.checked_add_signed(more).expect("no more are carried than were sent");
        let pending = host_state.pending;
        self.report_pending(host, DomId(host.0), pending);
    }

    /// Starts the next packet that a VCPU of the privileged domain has to carry.
    pub fn proceed_dom0(&mut self, vcpu: VcpuId) {
        loop {
            let vcpu_state = &mut self.vcpus[vcpu];
            if let Some(errand) = vcpu_state.kernel.errand {
                if vcpu_state.kernel.left_ns > 0 {
                    let left_ns = vcpu_state.kernel.left_ns;
                    return self.begin(vcpu, Doing::Kernel, Some(left_ns));
                }
                vcpu_state.kernel.errand = None;
                self.carried(vcpu, errand);
                continue;
            }
            let resumed = vcpu_state.kernel.resumed.pop_front();
            let Some(errand) = resumed.or_else(|| vcpu_state.kernel.errands.pop_front()) else {
                vcpu_state.kernel.attends = false;
                return self.block(vcpu);
            };
            if let Some(cost_ns) = self.take_up(vcpu, errand, resumed.is_some()) {
                let event_ns = self.attend(vcpu);
                let vcpu_state = &mut self.vcpus[vcpu];
                (vcpu_state.kernel.errand, vcpu_state.kernel.left_ns) = (Some(errand), event_ns + cost_ns);
            }
        }
    }

    /// The kernel of `vcpu` takes up a packet: what it costs to come to it.
    pub fn attend(&mut self, vcpu: VcpuId) -> u64 {
        match std::mem::replace(&mut self.vcpus[vcpu].kernel.attends, true) {
            true => 0,
            false => self.costs.event_ns,
        }
    }

    /// What an errand costs; `None` where there is nothing to do, or no place in the ring that it leads to. A
    /// place is kept for one that is resumed.
    fn take_up(&mut self, vcpu: VcpuId, errand: Errand, resumed: bool) -> Option<u64> {
        let (slot, from_nic) = match errand {
            Errand::Transmit(guest) => {
                let guest_state = &mut self.guests[guest];
                let Some(slot) = guest_state.transmit.packets.front().copied() else {
                    guest_state.transmit.announced = false;
                    return None;
                };
                (slot, false)
            }
            Errand::Receive(slot) => (slot, true),
            Errand::Response | Errand::Switch => unreachable!("the privileged domain is no guest"),
        };
        let packet = self.network.packets.get(slot);
        let (to, bytes) = (self.processes[packet.to].guest, packet.message.bytes);
        let here = self.guests[to].host == self.vcpus[vcpu].host;
        if here && !resumed {
            let guest_state = &mut self.guests[to];
            // Packets for a guest that has left are carried and dropped: no process would ever free their
            // places in the ring.
            if guest_state.here
                && guest_state.receive.packets.len() as u32 + guest_state.receive.kept
                    >= self.costs.ring_slots
            {
                guest_state.receive.blocked.push_back((vcpu, errand));
                return None;
            }
            guest_state.receive.kept += 1;
        }
        let nic_ns = if from_nic || !here { self.costs.nic_ns } else { 0 };
        Some(self.costs.backend_ns + nic_ns + self.costs.copy_ns(bytes))
    }

    /// An errand is done.
    fn carried(&mut self, vcpu: VcpuId, errand: Errand) {
        let host = self.vcpus[vcpu].host;
        let slot = match errand {
            Errand::Receive(slot) => slot,
            Errand::Response | Errand::Switch => unreachable!("the privileged domain is no guest"),
            Errand::Transmit(guest) => {
                let guest_state = &mut self.guests[guest];
                let slot =
                    guest_state.transmit.packets.pop_front().expect("the packet in hand is in the ring");
                if guest_state.transmit.packets.is_empty() {
                    guest_state.transmit.announced = false;
                } else {
                    // Behind the errands of other guests: the back-end serves the rings in turn.
                    self.vcpus[vcpu].kernel.errands.push_back(errand);
                }
                self.respond(guest);
                let guest_state = &mut self.guests[guest];
                if let Some(process) = guest_state.transmit.stalled.pop_front() {
                    let process_state = &mut self.processes[process];
                    if let Stage::Stalled(outgoing) = std::mem::replace(&mut process_state.stage, Stage::Done)
                    {
                        // It has paid for the sending already.
                        process_state.stage = Stage::Sending(0, outgoing);
                        self.make_ready(process);
                    }
                }
                slot
            }
        };
        self.hosts[host].report.packets += 1;
        self.expects(host, -1);
        let packet = self.network.packets.get(slot);
        let (to, bytes) = (self.processes[packet.to].guest, packet.message.bytes);
        let other = self.guests[to].host;
        if other != host {
            let link = self.network.links.get_mut(&(host, other)).expect("there was a link when it was sent");
            let at_ns = link.carry(self.now_ns, bytes);
            self.calendar.plan(at_ns, Event::Arrival { packet: slot });
            return;
        }
        let guest_state = &mut self.guests[to];
        guest_state.receive.kept -= 1;
        if !guest_state.here {
            return self.drop_packet(slot);
        }
        guest_state.receive.packets.push_back(slot);
        let first = guest_state.vcpus.first();
        self.report_waiting(to);
        self.notify(first);
    }

    /// A packet of a guest has left.
    fn respond(&mut self, guest: GuestId) {
        let guest_state = &mut self.guests[guest];
        // One event stands for all packets that leave before the guest looks.
        if self.costs.response_ns > 0
            && guest_state.here
            && !std::mem::replace(&mut guest_state.transmit.responded, true)
        {
            let first = guest_state.vcpus.first();
            self.report_waiting(guest);
            self.notify(first);
        }
    }

    /// A guest's kernel takes note that packets have left, if any have since it last did.
    pub fn take_response(&mut self, guest: GuestId) -> bool {
        let responded = std::mem::take(&mut self.guests[guest].transmit.responded);
        if responded {
            self.report_waiting(guest);
        }
        responded
    }

    /// What waits for a guest has changed: packets, and the event that others have left.
    fn report_waiting(&mut self, guest: GuestId) {
        let guest_state = &self.guests[guest];
        let (host, waiting) = (
            guest_state.host,
            guest_state.receive.packets.len() as u32 + u32::from(guest_state.transmit.responded),
        );
        self.report_pending(host, self.dom_of(guest), waiting);
    }

    /// A packet comes out of a link.
    pub fn arrives(&mut self, slot: PacketId) {
        let to = self.processes[self.network.packets.get(slot).to].guest;
        let host = self.guests[to].host;
        let vcpu = self.backend(host, to);
        self.vcpus[vcpu].kernel.errands.push_back(Errand::Receive(slot));
        self.expects(host, 1);
        self.notify(vcpu);
    }

    /// A guest's kernel takes the next packet from its ring, which has a place more then.
    pub fn take_from_ring(&mut self, guest: GuestId) -> Option<PacketId> {
        let guest_state = &mut self.guests[guest];
        let slot = guest_state.receive.packets.pop_front()?;
        self.resume(guest);
        self.report_waiting(guest);
        Some(slot)
    }

    /// A guest's kernel has taken a packet in.
    pub fn deliver(&mut self, slot: PacketId) {
        let Packet { message, to, sent_ns, .. } = self.network.packets.take(slot);
        self.hand_over(to, message, sent_ns);
    }

    /// A packet is lost: its receiver has left.
    pub fn drop_packet(&mut self, slot: PacketId) {
        self.network.packets.take(slot);
    }

    /// A guest has left: packets that wait for it are dropped; those that it has sent are still carried.
    pub fn empty_rings(&mut self, guest: GuestId) {
        let guest_state = &mut self.guests[guest];
        let slots = std::mem::take(&mut guest_state.receive.packets);
        // Its processes are no more, so none of them takes a place that becomes free.
        guest_state.transmit.stalled.clear();
        for slot in slots {
            self.drop_packet(slot);
        }
        // What the back-end could not put into the ring is carried and dropped now.
        while self.resume(guest) {}
    }

    /// The errand that has waited longest for a place in the ring to `guest`, if any, gets one: it is kept
    /// for it, so that no packet that has come later takes it.
    fn resume(&mut self, guest: GuestId) -> bool {
        let guest_state = &mut self.guests[guest];
        let Some((vcpu, errand)) = guest_state.receive.blocked.pop_front() else { return false };
        guest_state.receive.kept += 1;
        self.vcpus[vcpu].kernel.resumed.push_back(errand);
        self.notify(vcpu);
        true
    }
}
