//! The network: rings between guests and the privileged domain, its back-ends and bridge, NICs and links.
//!
//! The six delays of reference 4, section 4.2.1, are nowhere in here: they arise where a packet waits for a VCPU to get a
//! PCPU, on its way there (sender, privileged domain, link, privileged domain, receiver) and back.
//!
//! Invariants: a ring holds no more packets than it has slots, those in hand included; packets of one pair of processes stay
//! in order; a packet is in exactly one place.

use crate::MachineError;
use crate::calendar::Event;
use crate::machine::Machine;
use crate::process::Stage;
use crate::program::{Message, Outgoing, ProcessId};
use crate::state::{Doing, Errand, Packet};

/// One way of a link.
#[derive(Debug)]
pub struct Link {
    pub latency_ns: u64,
    pub bits_per_second: u64,
    /// From then on it can take another packet.
    pub free_ns: u64,
}

impl Machine<'_> {
    /// A process sends, having paid for it. Gives the message back if the ring is full.
    pub fn send(&mut self, from: ProcessId, outgoing: Outgoing) -> Result<(), Outgoing> {
        let guest = self.processes[from.index()].guest;
        let Some(to) = self.processes.get(outgoing.to.index()).map(|process| process.guest) else {
            let (domain, processes) = (self.guests[guest as usize].name.clone(), self.processes.len() as u32);
            self.fault = Some(MachineError::NoProcess { from: domain, to: outgoing.to.0, processes });
            return Ok(());
        };
        let (host, other) = (self.guests[guest as usize].host, self.guests[to as usize].host);
        if host != other && !self.links.contains_key(&(host, other)) {
            let name = |guest: u32| self.guests[guest as usize].name.clone();
            self.fault = Some(MachineError::NoLink { from: name(guest), to: name(to) });
            return Ok(());
        }
        if to != guest && self.guests[guest as usize].transmit.len() >= self.costs.ring_slots as usize {
            self.guests[guest as usize].stalled.push_back(from);
            return Err(outgoing);
        }
        let Outgoing { to: process, bytes, payload } = outgoing;
        let message = Message { from, bytes, payload };
        if to == guest {
            self.hand_over(process, message, self.now_ns);
            return Ok(());
        }
        let packet = Packet { message, to: process, sent_ns: self.now_ns };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.packets.push(None);
                self.packets.len() as u32 - 1
            }
        };
        self.packets[slot as usize] = Some(packet);
        self.in_flight += u64::from(!self.guests[to as usize].background);
        let own = &mut self.guests[guest as usize];
        own.transmit.push_back(slot);
        let known = std::mem::replace(&mut own.announced, true);
        self.expects(host, 1);
        if !known {
            let vcpu = self.backend(host, guest);
            self.vcpus[vcpu as usize].errands.push_back(Errand::Transmit(guest));
            self.notify(vcpu);
        }
        Ok(())
    }

    /// The VCPU of the privileged domain that serves a guest.
    fn backend(&self, host: u32, guest: u32) -> u32 {
        let dom0 = &self.hosts[host as usize].dom0;
        dom0[guest as usize % dom0.len()]
    }

    /// So many more messages wait for the privileged domain of `host`.
    fn expects(&mut self, host: u32, more: i32) {
        let own = &mut self.hosts[host as usize];
        own.pending = own.pending.checked_add_signed(more).expect("no more are carried than were sent");
        let pending = own.pending;
        self.tell_pending(host, host, pending);
    }

    /// Lets a VCPU of the privileged domain go on with what it has to carry.
    pub fn proceed_dom0(&mut self, vcpu: u32) {
        loop {
            let own = &mut self.vcpus[vcpu as usize];
            if let Some(errand) = own.errand {
                if own.kernel_ns > 0 {
                    let left_ns = own.kernel_ns;
                    return self.begin(vcpu, Doing::Kernel, Some(left_ns));
                }
                own.errand = None;
                self.carried(vcpu, errand);
                continue;
            }
            let resumed = own.resumed.pop_front();
            let Some(errand) = resumed.or_else(|| own.errands.pop_front()) else {
                own.attends = false;
                return self.block(vcpu);
            };
            if let Some(cost_ns) = self.take_up(vcpu, errand, resumed.is_some()) {
                let event_ns = self.attend(vcpu);
                let own = &mut self.vcpus[vcpu as usize];
                (own.errand, own.kernel_ns) = (Some(errand), event_ns + cost_ns);
            }
        }
    }

    /// The kernel of `vcpu` takes up a packet: what it costs to come to it.
    pub fn attend(&mut self, vcpu: u32) -> u64 {
        match std::mem::replace(&mut self.vcpus[vcpu as usize].attends, true) {
            true => 0,
            false => self.costs.event_ns,
        }
    }

    /// What an errand costs; `None` where there is nothing to do, or no place in the ring that it leads to. A place is kept for
    /// one that is resumed.
    fn take_up(&mut self, vcpu: u32, errand: Errand, resumed: bool) -> Option<u64> {
        let (slot, from_nic) = match errand {
            Errand::Transmit(guest) => {
                let own = &mut self.guests[guest as usize];
                let Some(slot) = own.transmit.front().copied() else {
                    own.announced = false;
                    return None;
                };
                (slot, false)
            }
            Errand::Receive(slot) => (slot, true),
            Errand::Response | Errand::Switch => unreachable!("the privileged domain is no guest"),
        };
        let packet = self.packets[slot as usize].as_ref().expect("a packet in a ring is there");
        let (to, bytes) = (self.processes[packet.to.index()].guest, packet.message.bytes);
        let here = self.guests[to as usize].host == self.vcpus[vcpu as usize].host;
        if here && !resumed {
            let own = &mut self.guests[to as usize];
            // Packets for a guest that is gone are carried and dropped: nobody would ever make place for them.
            if own.here && own.receive.len() as u32 + own.kept >= self.costs.ring_slots {
                own.blocked.push_back((vcpu, errand));
                return None;
            }
            own.kept += 1;
        }
        let nic_ns = if from_nic || !here { self.costs.nic_ns } else { 0 };
        Some(self.costs.backend_ns + nic_ns + self.costs.copy_ns(bytes))
    }

    /// An errand is done.
    fn carried(&mut self, vcpu: u32, errand: Errand) {
        let host = self.vcpus[vcpu as usize].host;
        let slot = match errand {
            Errand::Receive(slot) => slot,
            Errand::Response | Errand::Switch => unreachable!("the privileged domain is no guest"),
            Errand::Transmit(guest) => {
                let own = &mut self.guests[guest as usize];
                let slot = own.transmit.pop_front().expect("the packet in hand is in the ring");
                if own.transmit.is_empty() {
                    own.announced = false;
                } else {
                    self.vcpus[vcpu as usize].errands.push_back(errand);
                }
                self.respond(guest);
                let own = &mut self.guests[guest as usize];
                if let Some(process) = own.stalled.pop_front() {
                    let own = &mut self.processes[process.index()];
                    if let Stage::Stalled(outgoing) = std::mem::replace(&mut own.stage, Stage::Done) {
                        own.stage = Stage::Sending(0, outgoing);
                        self.make_ready(process);
                    }
                }
                slot
            }
        };
        self.hosts[host as usize].report.packets += 1;
        self.expects(host, -1);
        let packet = self.packets[slot as usize].as_ref().expect("a packet in hand is there");
        let (to, bytes) = (self.processes[packet.to.index()].guest, packet.message.bytes);
        let other = self.guests[to as usize].host;
        if other != host {
            let link = self.links.get_mut(&(host, other)).expect("there was a link when it was sent");
            let bits = u128::from(bytes) * 8;
            let span_ns = (bits * 1_000_000_000).div_ceil(link.bits_per_second.into());
            let span_ns = u64::try_from(span_ns).unwrap_or(u64::MAX);
            link.free_ns = link.free_ns.max(self.now_ns).saturating_add(span_ns);
            let at_ns = link.free_ns.saturating_add(link.latency_ns);
            self.calendar.plan(at_ns, Event::Arrival { packet: slot });
            return;
        }
        let own = &mut self.guests[to as usize];
        own.kept -= 1;
        if !own.here {
            return self.drop_packet(slot);
        }
        own.receive.push_back(slot);
        let first = own.first_vcpu;
        self.tell_waiting(to);
        self.notify(first);
    }

    /// A packet of a guest has left.
    fn respond(&mut self, guest: u32) {
        let own = &mut self.guests[guest as usize];
        if self.costs.response_ns > 0 && own.here && !std::mem::replace(&mut own.responded, true) {
            let first = own.first_vcpu;
            self.tell_waiting(guest);
            self.notify(first);
        }
    }

    /// A guest's kernel takes note that packets have left, if any have since it last did.
    pub fn take_response(&mut self, guest: u32) -> bool {
        let responded = std::mem::take(&mut self.guests[guest as usize].responded);
        if responded {
            self.tell_waiting(guest);
        }
        responded
    }

    /// What waits for a guest has changed: packets, and the event that others have left.
    fn tell_waiting(&mut self, guest: u32) {
        let own = &self.guests[guest as usize];
        let (host, waiting) = (own.host, own.receive.len() as u32 + u32::from(own.responded));
        self.tell_pending(host, self.dom_of(guest), waiting);
    }

    /// A packet comes out of a link.
    pub fn arrives(&mut self, slot: u32) {
        let packet = self.packets[slot as usize].as_ref().expect("a packet on a link is there");
        let to = self.processes[packet.to.index()].guest;
        let host = self.guests[to as usize].host;
        let vcpu = self.backend(host, to);
        self.vcpus[vcpu as usize].errands.push_back(Errand::Receive(slot));
        self.expects(host, 1);
        self.notify(vcpu);
    }

    /// A guest's kernel takes the next packet from its ring, which has a place more then.
    pub fn take_from_ring(&mut self, guest: u32) -> Option<u32> {
        let own = &mut self.guests[guest as usize];
        let slot = own.receive.pop_front()?;
        self.resume(guest);
        self.tell_waiting(guest);
        Some(slot)
    }

    /// A guest's kernel has taken a packet in.
    pub fn deliver(&mut self, slot: u32) {
        let Packet { message, to, sent_ns } = self.take_out(slot);
        self.hand_over(to, message, sent_ns);
    }

    /// A packet is lost: its receiver is gone.
    pub fn drop_packet(&mut self, slot: u32) {
        self.take_out(slot);
    }

    fn take_out(&mut self, slot: u32) -> Packet {
        let packet = self.packets[slot as usize].take().expect("a packet is in one place");
        self.free.push(slot);
        let to = self.processes[packet.to.index()].guest as usize;
        self.in_flight -= u64::from(!self.guests[to].background);
        packet
    }

    /// A guest is gone: what waits for it is dropped; what it has sent still goes.
    pub fn empty_rings(&mut self, guest: u32) {
        let own = &mut self.guests[guest as usize];
        let slots = std::mem::take(&mut own.receive);
        own.stalled.clear();
        for slot in slots {
            self.drop_packet(slot);
        }
        while self.resume(guest) {}
    }

    /// The errand that has waited longest for a place in the ring to `guest`, if any, gets one: it is kept for it, so that no
    /// packet that has come later takes it.
    fn resume(&mut self, guest: u32) -> bool {
        let own = &mut self.guests[guest as usize];
        let Some((vcpu, errand)) = own.blocked.pop_front() else { return false };
        own.kept += 1;
        self.vcpus[vcpu as usize].resumed.push_back(errand);
        self.notify(vcpu);
        true
    }
}
