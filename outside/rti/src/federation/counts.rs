//! What one federate has sent and received since it joined, as the management object model counts it.

use std::collections::BTreeSet;

use paceline_hla::{Bytes, Call, Callback, ObjectInstanceHandle};

use super::Federation;
use crate::handles::number;

/// Each count is of services or callbacks, but for the two sets, which are of instances.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) reflections_received: u32,
    pub(super) updates_sent: u32,
    pub(super) interactions_received: u32,
    pub(super) interactions_sent: u32,
    pub(super) directed_received: u32,
    pub(super) directed_sent: u32,
    pub(super) deleted: u32,
    pub(super) removed: u32,
    pub(super) registered: u32,
    pub(super) discovered: u32,
    pub(super) updated: BTreeSet<u32>,
    /// By the bytes of their handles.
    pub(super) reflected: BTreeSet<Bytes>,
}

/// A call that is counted if it is not refused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    /// Of this instance.
    Update(u32),
    Interaction,
    Directed,
    Deletion,
    Registration,
}

impl Counted {
    /// As what a call is counted.
    pub(super) fn of(call: &Call) -> Option<Self> {
        let update = |object: Option<&ObjectInstanceHandle>| number(object).ok().map(Self::Update);
        match call {
            Call::UpdateAttributeValues(r) => update(r.object_instance.as_ref()),
            Call::UpdateAttributeValuesWithTime(r) => update(r.object_instance.as_ref()),
            Call::SendInteraction(_) | Call::SendInteractionWithTime(_) => Some(Self::Interaction),
            Call::SendDirectedInteraction(_) | Call::SendDirectedInteractionWithTime(_) => {
                Some(Self::Directed)
            }
            Call::DeleteObjectInstance(_) | Call::DeleteObjectInstanceWithTime(_) => Some(Self::Deletion),
            Call::RegisterObjectInstance(_) | Call::RegisterObjectInstanceWithName(_) => {
                Some(Self::Registration)
            }
            _ => None,
        }
    }
}

impl Counts {
    /// Counts a callback.
    pub(super) fn receive(&mut self, callback: &Callback) {
        let mut reflect = |object: Option<&ObjectInstanceHandle>| {
            self.reflections_received += 1;
            // Most reflections are of an instance that is in the set already.
            if let Some(handle) = object.filter(|handle| !self.reflected.contains(&handle.data)) {
                self.reflected.insert(handle.data.clone());
            }
        };
        match callback {
            Callback::ReflectAttributeValues(c) => reflect(c.object_instance.as_ref()),
            Callback::ReflectAttributeValuesWithTime(c) => reflect(c.object_instance.as_ref()),
            Callback::ReceiveInteraction(_) | Callback::ReceiveInteractionWithTime(_) => {
                self.interactions_received += 1;
            }
            Callback::ReceiveDirectedInteraction(_) | Callback::ReceiveDirectedInteractionWithTime(_) => {
                self.interactions_received += 1;
                self.directed_received += 1;
            }
            Callback::RemoveObjectInstance(_) | Callback::RemoveObjectInstanceWithTime(_) => {
                self.removed += 1;
            }
            Callback::DiscoverObjectInstance(_) => self.discovered += 1,
            _ => {}
        }
    }

    fn send(&mut self, counted: Counted) {
        match counted {
            Counted::Update(object) => {
                self.updates_sent += 1;
                self.updated.insert(object);
            }
            Counted::Interaction => self.interactions_sent += 1,
            Counted::Directed => {
                self.interactions_sent += 1;
                self.directed_sent += 1;
            }
            Counted::Deletion => self.deleted += 1,
            Counted::Registration => self.registered += 1,
        }
    }
}

impl Federation {
    /// Counts a call that was not refused.
    pub(super) fn count(&mut self, federate: u32, counted: Option<Counted>) {
        if let Some((counted, member)) = counted.zip(self.federates.get_mut(&federate)) {
            member.counts.send(counted);
        }
    }
}
