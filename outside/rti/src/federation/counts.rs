//! What one federate has sent and received since it joined, as the management object model counts it.

use std::collections::BTreeMap;

use paceline_hla::{
    Bytes, Call, Callback, InteractionClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};

use super::Federation;
use crate::handles::number;

/// Messages by transportation type and class.
#[derive(Debug, Default)]
pub(super) struct Traffic(BTreeMap<(u32, u32), u32>);

impl Traffic {
    pub(super) fn add(&mut self, transportation: u32, class: u32) {
        let count = self.0.entry((transportation, class)).or_default();
        *count = count.wrapping_add(1);
    }

    pub(super) fn total(&self) -> u32 {
        self.0.values().fold(0, |total, count| total.wrapping_add(*count))
    }

    /// The classes that had some by this transportation type, with how many.
    pub(super) fn by_class(&self, transportation: u32) -> impl Iterator<Item = (u32, u32)> {
        let rows = self.0.range((transportation, 0)..=(transportation, u32::MAX));
        rows.map(|((_, class), count)| (*class, *count))
    }
}

/// Each count is of services or callbacks, but for the two tables of instances.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// By object class, as which the federate knew the instances.
    pub(super) reflections_received: Traffic,
    pub(super) updates_sent: Traffic,
    /// Directed ones too.
    pub(super) interactions_received: Traffic,
    pub(super) interactions_sent: Traffic,
    pub(super) directed_received: Traffic,
    pub(super) directed_sent: Traffic,
    pub(super) deleted: u32,
    pub(super) removed: u32,
    pub(super) registered: u32,
    pub(super) discovered: u32,
    /// The classes of instances that were updated.
    pub(super) updated: BTreeMap<u32, u32>,
    /// The classes of those that were reflected, by the bytes of their handles.
    pub(super) reflected: BTreeMap<Bytes, u32>,
}

/// A call that is counted if it is not refused. What is sent is counted where it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    Deletion,
    Registration,
}

impl Counted {
    /// As what a call is counted.
    pub(super) fn of(call: &Call) -> Option<Self> {
        match call {
            Call::DeleteObjectInstance(_) | Call::DeleteObjectInstanceWithTime(_) => Some(Self::Deletion),
            Call::RegisterObjectInstance(_) | Call::RegisterObjectInstanceWithName(_) => {
                Some(Self::Registration)
            }
            _ => None,
        }
    }
}

impl Counts {
    /// Counts a callback. `known` has the classes of the instances that the federate knows.
    pub(super) fn receive(&mut self, callback: &Callback, known: &BTreeMap<u32, u32>) {
        match callback {
            Callback::ReflectAttributeValues(c) => {
                self.reflect(c.object_instance.as_ref(), c.transportation_type.as_ref(), known);
            }
            Callback::ReflectAttributeValuesWithTime(c) => {
                self.reflect(c.object_instance.as_ref(), c.transportation_type.as_ref(), known);
            }
            Callback::ReceiveInteraction(c) => {
                let (class, by) = (c.interaction_class.as_ref(), c.transportation_type.as_ref());
                self.interact(class, by, false);
            }
            Callback::ReceiveInteractionWithTime(c) => {
                let (class, by) = (c.interaction_class.as_ref(), c.transportation_type.as_ref());
                self.interact(class, by, false);
            }
            Callback::ReceiveDirectedInteraction(c) => {
                let (class, by) = (c.interaction_class.as_ref(), c.transportation_type.as_ref());
                self.interact(class, by, true);
            }
            Callback::ReceiveDirectedInteractionWithTime(c) => {
                let (class, by) = (c.interaction_class.as_ref(), c.transportation_type.as_ref());
                self.interact(class, by, true);
            }
            Callback::RemoveObjectInstance(_) | Callback::RemoveObjectInstanceWithTime(_) => {
                self.removed += 1;
            }
            Callback::DiscoverObjectInstance(_) => self.discovered += 1,
            _ => {}
        }
    }

    fn reflect(
        &mut self,
        object: Option<&ObjectInstanceHandle>,
        transportation: Option<&TransportationTypeHandle>,
        known: &BTreeMap<u32, u32>,
    ) {
        let Some(handle) = object else { return };
        // Most reflections are of an instance that is in the table already.
        let class = match self.reflected.get(&handle.data) {
            Some(class) => *class,
            None => {
                let class = number(object).ok().and_then(|object| known.get(&object).copied());
                self.reflected.insert(handle.data.clone(), class.unwrap_or_default());
                class.unwrap_or_default()
            }
        };
        self.reflections_received.add(number(transportation).unwrap_or_default(), class);
    }

    fn interact(
        &mut self,
        class: Option<&InteractionClassHandle>,
        transportation: Option<&TransportationTypeHandle>,
        is_directed: bool,
    ) {
        let (class, transportation) =
            (number(class).unwrap_or_default(), number(transportation).unwrap_or_default());
        self.interactions_received.add(transportation, class);
        if is_directed {
            self.directed_received.add(transportation, class);
        }
    }
}

impl Federation {
    /// Counts a call that was not refused.
    pub(super) fn count(&mut self, federate: u32, counted: Option<Counted>) {
        let Some((counted, member)) = counted.zip(self.federates.get_mut(&federate)) else { return };
        match counted {
            Counted::Deletion => member.counts.deleted += 1,
            Counted::Registration => member.counts.registered += 1,
        }
    }
}
