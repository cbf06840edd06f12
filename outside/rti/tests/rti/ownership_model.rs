//! Ownership under random calls: at most one owner for each attribute, none that does not publish it, and
//! each federate can tell from answers and callbacks alone what it owns.

use std::collections::BTreeSet;

use paceline_hla::{
    AttributeHandle, AttributeHandleSet, Bytes, Callback, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, ResignAction, Response, request,
};
use proptest::prelude::*;

use crate::harness::Harness;
use crate::ownership::{SERVICES, Service};

const FEDERATES: u32 = 4;

/// What a federate does: a service about an instance and the attributes whose bits are set, or another step.
#[derive(Clone, Debug)]
enum Step {
    Service { service: Service, object: usize, attributes: u8 },
    Publish(u8),
    Unpublish(u8),
    UnpublishClass,
    Register,
    Delete(usize),
    DeleteAtTime(usize),
    Forget(usize),
    Resign(i32),
    Lose,
}

fn any_step() -> impl Strategy<Value = (u32, Step)> {
    let service = (0..SERVICES.len(), 0..3_usize, 1..8_u8).prop_map(|(service, object, attributes)| {
        Step::Service { service: SERVICES[service], object, attributes }
    });
    let step = prop_oneof![
        40 => service,
        4 => (1..8_u8).prop_map(Step::Publish),
        3 => (1..8_u8).prop_map(Step::Unpublish),
        1 => Just(Step::UnpublishClass),
        3 => Just(Step::Register),
        1 => (0..3_usize).prop_map(Step::Delete),
        1 => (0..3_usize).prop_map(Step::DeleteAtTime),
        1 => (0..3_usize).prop_map(Step::Forget),
        1 => (0..6).prop_map(Step::Resign),
        1 => Just(Step::Lose),
    ];
    (1..=FEDERATES, step)
}

/// What a federate believes.
#[derive(Default)]
struct Belief {
    published: BTreeSet<usize>,
    /// Instances and attributes.
    owned: BTreeSet<(Bytes, usize)>,
    is_gone: bool,
}

struct World {
    harness: Harness,
    class: ObjectClassHandle,
    attributes: Vec<AttributeHandle>,
    /// Their handles.
    objects: Vec<Bytes>,
    beliefs: Vec<Belief>,
}

impl World {
    fn new() -> Self {
        let mut harness = Harness::joined(FEDERATES);
        let names = ["Position", "Name", "HLAprivilegeToDeleteObject"];
        let (class, attributes) = harness.object_class("Ship", &names);
        let attributes = attributes.attribute_handle;
        let beliefs = (0..FEDERATES).map(|_| Belief::default()).collect();
        let mut world = Self { harness, class, attributes, objects: Vec::new(), beliefs };
        for federate in 1..=FEDERATES {
            world.harness.subscribe(federate, "Ship", &names);
            // All but the last one publish everything.
            if federate < FEDERATES {
                world.step(federate, &Step::Publish(7));
            }
        }
        world.step(1, &Step::Register);
        world
    }

    fn places(attributes: u8) -> BTreeSet<usize> {
        (0..3).filter(|place| attributes & 1 << place != 0).collect()
    }

    fn set(&self, attributes: u8) -> Option<AttributeHandleSet> {
        let handles = Self::places(attributes).into_iter().map(|place| self.attributes[place].clone());
        Some(AttributeHandleSet { attribute_handle: handles.collect() })
    }

    fn place(&self, handle: &AttributeHandle) -> usize {
        self.attributes.iter().position(|known| known == handle).expect("one of a ship")
    }

    fn belief(&mut self, federate: u32) -> &mut Belief {
        &mut self.beliefs[federate as usize - 1]
    }

    fn object(&self, place: usize) -> Option<ObjectInstanceHandle> {
        let data = self.objects.get(self.objects.len().checked_sub(1 + place)?).cloned()?;
        Some(ObjectInstanceHandle { data })
    }

    /// Makes the call, and changes what the federate believes as the answer says.
    fn step(&mut self, federate: u32, step: &Step) {
        let object_class = Some(self.class.clone());
        match step {
            Step::Service { service, object, attributes } => {
                let (object, set) = (self.object(*object), self.set(*attributes));
                let response = self.harness.call(federate, service.call(object.clone(), set));
                let lost = match response {
                    Response::AttributeOwnershipDivestitureIfWanted(r) => {
                        let set = r.result.unwrap_or_default().attribute_handle;
                        set.iter().map(|handle| self.place(handle)).collect()
                    }
                    Response::UnconditionalAttributeOwnershipDivestiture(_)
                    | Response::ConfirmDivestiture(_) => Self::places(*attributes),
                    _ => return,
                };
                let object = object.expect("the call was answered").data;
                let owned = &mut self.belief(federate).owned;
                owned.retain(|(known, place)| *known != object || !lost.contains(place));
            }
            Step::Publish(places) => {
                let attributes = self.set(*places);
                let call = request::PublishObjectClassAttributes { object_class, attributes };
                if let Response::PublishObjectClassAttributes(_) = self.harness.call(federate, call) {
                    // The privilege is published with whatever is.
                    self.belief(federate).published.extend(Self::places(*places | 4));
                }
            }
            Step::Unpublish(places) => {
                let attributes = self.set(*places);
                let call = request::UnpublishObjectClassAttributes { object_class, attributes };
                if let Response::UnpublishObjectClassAttributes(_) = self.harness.call(federate, call) {
                    self.unpublish(federate, &Self::places(*places));
                }
            }
            Step::UnpublishClass => {
                let call = request::UnpublishObjectClass { object_class };
                if let Response::UnpublishObjectClass(_) = self.harness.call(federate, call) {
                    self.unpublish(federate, &Self::places(7));
                }
            }
            Step::Register => {
                let call = request::RegisterObjectInstance { object_class };
                if let Response::RegisterObjectInstance(r) = self.harness.call(federate, call) {
                    let object = r.result.expect("a handle").data;
                    self.objects.push(object.clone());
                    let belief = self.belief(federate);
                    belief.owned.extend(belief.published.iter().map(|place| (object.clone(), *place)));
                }
            }
            Step::Delete(object) => {
                let object_instance = self.object(*object);
                let object = object_instance.clone().unwrap_or_default().data;
                let call = request::DeleteObjectInstance { object_instance, ..Default::default() };
                if let Response::DeleteObjectInstance(_) = self.harness.call(federate, call) {
                    self.belief(federate).owned.retain(|(known, _)| *known != object);
                }
            }
            Step::DeleteAtTime(object) => {
                let object_instance = self.object(*object);
                let object = object_instance.clone().unwrap_or_default().data;
                let time = Some(LogicalTime { data: 5.0_f64.to_be_bytes().to_vec().into() });
                let call =
                    request::DeleteObjectInstanceWithTime { object_instance, time, ..Default::default() };
                if let Response::DeleteObjectInstanceWithTime(_) = self.harness.call(federate, call) {
                    self.belief(federate).owned.retain(|(known, _)| *known != object);
                }
            }
            Step::Forget(object) => {
                let object_instance = self.object(*object);
                self.harness.call(federate, request::LocalDeleteObjectInstance { object_instance });
            }
            Step::Resign(action) => {
                let call = request::ResignFederationExecution { resign_action: *action };
                if let Response::ResignFederationExecution(_) = self.harness.call(federate, call) {
                    assert_ne!(
                        (
                            *action == i32::from(ResignAction::NoAction),
                            self.belief(federate).owned.is_empty()
                        ),
                        (true, false)
                    );
                    *self.belief(federate) = Belief { is_gone: true, ..Belief::default() };
                }
            }
            Step::Lose => {
                self.harness.lose(federate);
                *self.belief(federate) = Belief { is_gone: true, ..Belief::default() };
            }
        }
    }

    fn unpublish(&mut self, federate: u32, places: &BTreeSet<usize>) {
        let belief = self.belief(federate);
        belief.published.retain(|place| !places.contains(place));
        let published = belief.published.clone();
        belief.owned.retain(|(_, place)| published.contains(place));
    }

    fn lose(&mut self, federate: u32, object: Option<ObjectInstanceHandle>) {
        let object = object.expect("a handle").data;
        self.belief(federate).owned.retain(|(known, _)| *known != object);
    }

    /// Changes what federates believe as callbacks say.
    fn listen(&mut self) {
        for federate in 1..=FEDERATES {
            for callback in self.harness.taken(federate) {
                match callback {
                    Callback::AttributeOwnershipAcquisitionNotification(c) => {
                        let object = c.object_instance.expect("a handle").data;
                        for handle in c.secured_attributes.unwrap_or_default().attribute_handle {
                            let place = self.place(&handle);
                            let is_new = self.belief(federate).owned.insert((object.clone(), place));
                            assert!(is_new, "{federate} has it already");
                        }
                    }
                    Callback::RemoveObjectInstance(c) => self.lose(federate, c.object_instance),
                    Callback::RemoveObjectInstanceWithTime(c) => self.lose(federate, c.object_instance),
                    _ => {}
                }
            }
        }
    }

    fn check(&mut self) {
        let mut all = BTreeSet::new();
        for federate in 1..=FEDERATES {
            let mut owned = BTreeSet::new();
            for (object, (place, attribute)) in self
                .objects
                .iter()
                .flat_map(|object| self.attributes.iter().enumerate().map(move |a| (object, a)))
            {
                let object_instance = Some(ObjectInstanceHandle { data: object.clone() });
                let attribute = Some(attribute.clone());
                let call = request::IsAttributeOwnedByFederate { object_instance, attribute };
                if matches!(self.harness.call(federate, call), Response::IsAttributeOwnedByFederate(r) if r.result)
                {
                    owned.insert((object.clone(), place));
                    assert!(all.insert((object.clone(), place)), "two own attribute {place} of {object:?}");
                }
            }
            let belief = self.belief(federate);
            assert_eq!(owned, belief.owned, "what {federate} owns, and what it was told");
            let unpublished = owned.iter().find(|(_, place)| !belief.published.contains(place));
            assert_eq!(unpublished, None, "{federate} does not publish it");
            assert!(!belief.is_gone || owned.is_empty());
        }
    }
}

proptest! {
    #[test]
    fn an_attribute_has_one_owner_who_publishes_it(steps in prop::collection::vec(any_step(), 1..80)) {
        let mut world = World::new();
        for (federate, step) in steps {
            world.step(federate, &step);
            world.listen();
            world.check();
        }
    }
}
