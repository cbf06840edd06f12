//! Switches whose ports share a buffer, with priority-based flow control: what users say of them, and what
//! one switch counts.
//!
//! The buffer has two parts. Each port has `xoff` and the headroom of each class under flow control, for what
//! comes in by it; the rest is shared by the queues of the other classes with dynamic thresholds.
//!
//! Invariant: the parts that ports have to themselves fit the buffer, so that no packet of a class under flow
//! control is dropped where the headroom is enough.

pub(crate) mod results;

use serde::{Deserialize, Serialize};

use crate::clock::PS_PER_TICK;
use crate::network::{Network, NodeKind};
use crate::packet::Held;
use crate::port::Port;
use crate::queue::pfc::PAUSE_BYTES;
use crate::queue::{Alpha, Classes, PauseSignal, Pfc, PfcSettings, QueueError, SharedBuffer};
use crate::{LinkSpec, PacketError};

/// The classes of a port.
const CLASSES: usize = 8;

/// What all switches and routers of a network have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SwitchSettings {
    /// The buffer of each switch, in bytes.
    pub buffer: u64,
    /// A queue of a class that is not under flow control holds up to this many times what is free of the
    /// shared part.
    pub alpha: Alpha,
    /// Which classes are paused instead of dropped, and when.
    pub pfc: Option<FlowControl>,
}

/// Priority-based flow control of some classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowControl {
    /// The classes that are never dropped.
    pub classes: Classes,
    /// With more bytes of a class that came in by a port, the neighbour there is paused.
    pub xoff: u64,
    /// With so many bytes or fewer it goes on; without a number, two of the longest packets below `xoff`.
    pub xon: Option<u64>,
    /// What may come in beyond `xoff`; without a number, what the links of the switch need
    /// ([`PfcSettings::headroom`]).
    pub headroom: Option<u64>,
}

/// The settings, and what the model computes with besides.
#[derive(Clone, Debug)]
pub(crate) struct Switches {
    pub settings: SwitchSettings,
    /// The longest packet of any flow, in bytes.
    mtu: u32,
    /// By node and port: the port at the other end of the link.
    back: Vec<Vec<u16>>,
}

impl Switches {
    /// The same settings for all switches of `network`, whose longest packet has `mtu` bytes.
    ///
    /// # Errors
    ///
    /// [`PacketError::Switch`] where a switch cannot have them.
    pub fn new(network: &Network, settings: SwitchSettings, mtu: u32) -> Result<Self, PacketError> {
        let back = |node: u32| {
            let ports = 0..network.ports(node);
            let back = |port| network.port_to(network.peer(node, port), node).unwrap_or(0) as u16;
            ports.map(back).collect()
        };
        let switches = Self { settings, mtu, back: (0..network.nodes()).map(back).collect() };
        for node in (0..network.nodes()).filter(|node| network.kind(*node) != NodeKind::Host) {
            let refuse = |error| PacketError::Switch { node: network.name(node).to_owned(), error };
            switches.switch(network, node).map_err(refuse)?;
        }
        Ok(switches)
    }

    /// The port at the other end of the link at a port.
    pub fn back(&self, node: u32, port: u32) -> u16 {
        self.back[node as usize][port as usize]
    }

    /// The switch `node`, with nothing in its buffer.
    pub fn switch(&self, network: &Network, node: u32) -> Result<Switch, QueueError> {
        let ports = network.ports(node) as usize;
        let SwitchSettings { buffer, alpha, ref pfc } = self.settings;
        let (mut classes, mut reserved) = ([None; CLASSES], 0);
        if let Some(control) = pfc {
            let settings = self.thresholds(control, (0..ports as u32).map(|port| network.link(node, port)));
            for class in (0..).take(CLASSES).filter(|class| control.classes.contains(*class)) {
                classes[usize::from(class)] = Some(settings);
                reserved += ports as u64 * settings.xoff.saturating_add(settings.headroom).min(1 << 48);
            }
        }
        let Some(shared) = buffer.checked_sub(reserved).filter(|shared| *shared > 0) else {
            let what = format!(
                "a buffer of {buffer} bytes, of which its {ports} ports need {reserved} for xoff and headroom"
            );
            return Err(QueueError { what, allowed: "a larger buffer, or a lower xoff" });
        };
        let is_controlled = classes.map(|class| class.is_some());
        let buffer = SharedBuffer::new(shared, alpha, ports.max(1) * CLASSES)?;
        Ok(Switch { is_controlled, pfc: Pfc::new(classes, ports)?, buffer })
    }

    fn thresholds<'a>(
        &self,
        control: &FlowControl,
        links: impl Iterator<Item = &'a LinkSpec>,
    ) -> PfcSettings {
        // A frame may have to wait for another one. An event comes up to a tick late, and a packet that
        // starts in that tick is sent as if the frame had not been there yet.
        let of_link = |link: &LinkSpec| {
            PfcSettings::headroom(link.rate, link.latency_ps + PS_PER_TICK, self.mtu.max(PAUSE_BYTES))
        };
        let headroom = control.headroom.or_else(|| links.map(of_link).max()).unwrap_or(0);
        let xon = control.xon.unwrap_or(control.xoff.saturating_sub(2 * u64::from(self.mtu)));
        PfcSettings { xoff: control.xoff, xon, headroom }
    }
}

/// What a switch counts of the packets in it. A packet counts from its arrival until it has been sent whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Switch {
    is_controlled: [bool; CLASSES],
    pfc: Pfc,
    /// A queue for each port and class that is not under flow control.
    buffer: SharedBuffer,
}

impl Switch {
    /// A packet has come in that is to leave by `egress`: whether it has room, and whether the neighbour that
    /// sent it is to pause.
    pub(crate) fn arrive(&mut self, held: Held, egress: u32) -> (bool, Option<PauseSignal>) {
        if !self.is_controlled[usize::from(held.class)] {
            return (self.buffer.admit(queue(egress, held.class), held.bytes), None);
        }
        let arrival = self.pfc.arrive(usize::from(held.ingress), held.class, held.bytes);
        (arrival.is_accepted, arrival.signal)
    }

    /// A packet has left by `egress`, or was lost in its queue: whether the neighbour that sent it may go on.
    pub(crate) fn depart(&mut self, held: Held, egress: u32) -> Option<PauseSignal> {
        if !self.is_controlled[usize::from(held.class)] {
            self.buffer.release(queue(egress, held.class), held.bytes);
            return None;
        }
        self.pfc.depart(usize::from(held.ingress), held.class, held.bytes)
    }

    /// The bytes of packets that it counts.
    pub fn counted_bytes(&self) -> u64 {
        let ports = 0..self.pfc.ports();
        let controlled = ports.flat_map(|port| (0..8).map(move |class| (port, class)));
        controlled.map(|(port, class)| self.pfc.counted(port, class)).sum::<u64>() + self.buffer.used()
    }

    /// The heap memory of it, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        // A count and two words of the shared part for each class of a port.
        size_of::<Self>() + self.pfc.ports() * CLASSES * 3 * size_of::<u64>()
    }

    /// Whether it is what a switch like `fresh` counts of the packets in these ports: for states that come
    /// from a file.
    pub(crate) fn holds(&self, fresh: &Self, ports: &[Port]) -> bool {
        let mut controlled = vec![[0u64; CLASSES]; ports.len()];
        let mut shared = vec![0u64; ports.len().max(1) * CLASSES];
        for (egress, held) in (0..)
            .zip(ports)
            .flat_map(|(egress, port)| port.held().into_iter().map(move |held| (egress, held)))
        {
            let (ingress, class) = (usize::from(held.ingress), usize::from(held.class));
            if ingress >= ports.len() || class >= CLASSES {
                return false;
            }
            let count = match self.is_controlled[class] {
                true => &mut controlled[ingress][class],
                false => &mut shared[queue(egress, held.class)],
            };
            *count += u64::from(held.bytes);
        }
        self.is_controlled == fresh.is_controlled
            && self.pfc.holds(&fresh.pfc, &controlled)
            && self.buffer.holds(&fresh.buffer, &shared)
    }
}

/// The queue of a port's class in the shared part.
fn queue(port: u32, class: u8) -> usize {
    port as usize * CLASSES + usize::from(class)
}
