//! Object instances: registration, discovery, deletion, and who owns which attribute.
//!
//! Invariants: handles rise and are not used again; an attribute has one owner or none; the owners of
//! attributes of an instance know it; whoever knows an instance has discovered or registered it.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{Bytes, Call, ObjectInstanceHandle, ResignAction, Response, callback, response};

use super::Federation;
use super::carriage::Carriage;
use super::declaration::PRIVILEGE;
use super::ownership::Transfer;
use crate::exception::{Answer, CallError, Exception};
use crate::handles::{Handle, attribute_set, number};

/// An instance.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) name: String,
    /// The one that it was registered as.
    pub(super) class: u32,
    /// Who has registered it.
    pub(super) producer: u32,
    /// By attribute. Those that nobody owns are missing.
    pub(super) owners: BTreeMap<u32, u32>,
    /// By attribute: those that are offered or waited for.
    pub(super) transfers: BTreeMap<u32, Transfer>,
    /// By attribute: what its owner has changed.
    pub(super) carriages: BTreeMap<u32, Carriage>,
}

impl Object {
    /// One that nobody owns anything of.
    pub(super) fn new(name: String, class: u32, producer: u32) -> Self {
        let (owners, transfers, carriages) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { name, class, producer, owners, transfers, carriages }
    }
}

impl Federation {
    /// An instance that the federate knows, and the class it knows it as.
    pub(super) fn known_object(
        &self,
        federate: u32,
        handle: Option<&ObjectInstanceHandle>,
    ) -> Answer<(u32, u32)> {
        let object = number(handle)?;
        let class = self.federates[&federate].known.get(&object);
        let details = || format!("this federate knows no instance with the handle {object}");
        let class = class.ok_or_else(|| CallError::new(Exception::ObjectInstanceNotKnown, details()))?;
        Ok((object, *class))
    }

    fn register(&mut self, federate: u32, class: u32, name: Option<String>) -> Answer<u32> {
        let Some(published) = self.federates[&federate].declarations.published.get(&class).cloned() else {
            let details = "this federate does not publish the class".to_owned();
            return Err(CallError::new(Exception::ObjectClassNotPublished, details));
        };
        let handle = self.last_object + 1;
        let name = match name {
            Some(name) => self.take_name(federate, &name).map(|()| name)?,
            None => self.free_name(class, handle),
        };
        // Only now, as a refused call changes nothing: the name may be taken.
        self.last_object = handle;
        self.named.insert(name.clone(), handle);
        self.objects.insert(handle, Object::new(name, class, federate));
        self.learn(federate, handle, class);
        published.into_iter().for_each(|attribute| self.set_owner(federate, handle, attribute));
        // In the order of handles, so that callbacks do not depend on anything else.
        let others: Vec<u32> = self.federates.keys().copied().filter(|other| *other != federate).collect();
        others.into_iter().for_each(|other| self.discover(other, handle));
        Ok(handle)
    }

    /// A federate knows an instance from now on, as one of this class.
    pub(super) fn learn(&mut self, federate: u32, object: u32, class: u32) {
        self.federates.get_mut(&federate).expect("it has joined").known.insert(object, class);
        self.knowers.entry(object).or_default().insert(federate);
    }

    /// A federate forgets an instance. False if it did not know it.
    pub(super) fn unlearn(&mut self, federate: u32, object: u32) -> bool {
        if let Some(knowers) = self.knowers.get_mut(&object) {
            knowers.remove(&federate);
            if knowers.is_empty() {
                self.knowers.remove(&object);
            }
        }
        let member = self.federates.get_mut(&federate);
        member.is_some_and(|member| member.known.remove(&object).is_some())
    }

    /// A federate resigns: it knows nothing any more.
    pub(super) fn unlearn_all(&mut self, federate: u32) {
        let known: Vec<u32> = self.federates[&federate].known.keys().copied().collect();
        for object in known {
            self.unlearn(federate, object);
        }
    }

    /// Who knows an instance, but for `federate`.
    pub(super) fn others_that_know(&self, federate: u32, object: u32) -> Vec<u32> {
        let knowers = self.knowers.get(&object).into_iter().flatten();
        knowers.copied().filter(|other| *other != federate).collect()
    }

    /// The closest class that the federate subscribes to of all that `class` is.
    pub(super) fn closest_subscribed(&self, federate: u32, class: u32) -> Option<u32> {
        let subscribed = &self.federates[&federate].declarations.subscribed;
        self.fom.objects.lineage(class).find(|above| subscribed.contains_key(above))
    }

    /// Tells the federate of an instance if it does not know it, and subscribes to something of it that
    /// another one owns.
    pub(super) fn discover(&mut self, federate: u32, object: u32) {
        let member = &self.federates[&federate];
        let instance = &self.objects[&object];
        // What is about to be deleted at a time is discovered by nobody any more.
        if member.known.contains_key(&object) || self.doomed.contains_key(&object) {
            return;
        }
        let Some(class) = self.closest_subscribed(federate, instance.class) else { return };
        let wanted: BTreeSet<u32> = member.declarations.subscribed[&class]
            .iter()
            .copied()
            .filter(|attribute| instance.owners.get(attribute).is_some_and(|owner| *owner != federate))
            .collect();
        // Nothing of it could ever be reflected to this federate: it is told once somebody owns such an
        // attribute.
        if wanted.is_empty() {
            return;
        }
        let discovered = callback::DiscoverObjectInstance {
            object_instance: Handle::some(object),
            object_class: Handle::some(class),
            object_instance_name: instance.name.clone(),
            producing_federate: Handle::some(instance.producer),
        };
        self.learn(federate, object, class);
        self.tell(federate, discovered);
        if Self::is_managed(object) {
            // From now on changes of such objects are looked for.
            self.watch.watchers.insert(federate);
        }
        if self.provides_automatically() {
            self.ask_owners(federate, object, &wanted, &Bytes::new());
        }
    }

    /// Tells the federate of all instances that it has come to subscribe to.
    pub(super) fn discover_all(&mut self, federate: u32) {
        let objects: Vec<u32> = self.objects.keys().copied().collect();
        objects.into_iter().for_each(|object| self.discover(federate, object));
    }

    /// Asks the owners of these attributes, but for `federate` itself, for values.
    pub(super) fn ask_owners(&mut self, federate: u32, object: u32, attributes: &BTreeSet<u32>, tag: &Bytes) {
        if Self::is_managed(object) {
            self.provide_managed(object, attributes);
            return;
        }
        let mut asked: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (attribute, owner) in &self.objects[&object].owners {
            if attributes.contains(attribute) && *owner != federate {
                asked.entry(*owner).or_default().push(*attribute);
            }
        }
        for (owner, attributes) in asked {
            let object_instance = Handle::some(object);
            let (attributes, user_supplied_tag) = (attribute_set(attributes), tag.clone());
            self.tell(
                owner,
                callback::ProvideAttributeValueUpdate { object_instance, attributes, user_supplied_tag },
            );
        }
    }

    pub(super) fn check_privilege(&self, federate: u32, object: u32) -> Answer<()> {
        let instance = &self.objects[&object];
        let privilege = self.fom.objects.member_of(instance.class, PRIVILEGE);
        if privilege.and_then(|privilege| instance.owners.get(&privilege)) == Some(&federate) {
            return Ok(());
        }
        let details = format!("this federate does not own {PRIVILEGE} of {:?}", instance.name);
        Err(CallError::new(Exception::DeletePrivilegeNotHeld, details))
    }

    fn owns_some(&self, federate: u32, object: u32) -> bool {
        self.objects[&object].owners.values().any(|owner| *owner == federate)
    }

    /// Whether a federate may resign by this action.
    pub(super) fn check_resignation(&self, federate: u32, action: ResignAction) -> Answer<()> {
        let keeps = |object: &u32| match action {
            ResignAction::NoAction | ResignAction::CancelPendingOwnershipAcquisitions => {
                self.owns_some(federate, *object)
            }
            ResignAction::DeleteObjects => {
                self.owns_some(federate, *object) && self.check_privilege(federate, *object).is_err()
            }
            _ => false,
        };
        let cancels = matches!(
            action,
            ResignAction::CancelPendingOwnershipAcquisitions | ResignAction::CancelThenDeleteThenDivest
        );
        if let Some(object) =
            self.objects.keys().find(|object| !cancels && self.awaits_some(federate, **object))
        {
            let details =
                format!("this federate waits for attributes of {:?}; cancel that", self.objects[object].name);
            return Err(CallError::new(Exception::OwnershipAcquisitionPending, details));
        }
        let Some(object) = self.objects.keys().find(|object| keeps(object)) else { return Ok(()) };
        let details = format!("attributes of {:?} would be left; divest them", self.objects[object].name);
        Err(CallError::new(Exception::FederateOwnsAttributes, details))
    }

    /// What becomes of the instances of a federate that resigns.
    pub(super) fn give_up_objects(&mut self, federate: u32, action: ResignAction) {
        let deletes = [
            ResignAction::DeleteObjects,
            ResignAction::DeleteObjectsThenDivest,
            ResignAction::CancelThenDeleteThenDivest,
        ];
        // It gets nothing any more: no attribute is handed over to a federate that resigns.
        self.withdraw_acquisitions(federate);
        let mut objects: Vec<u32> = self.objects.keys().copied().collect();
        objects.retain(|object| deletes.contains(&action) && self.check_privilege(federate, *object).is_ok());
        objects.into_iter().for_each(|object| self.delete(federate, object, &Bytes::new()));
        // What is not deleted is offered to those who are left; by actions that forbid that, nothing was
        // left.
        self.divest_where(federate, |_, _, _| true);
        self.reserved.retain(|_, holder| *holder != federate);
    }

    /// Answers a call about instances; others go on to the next group of services.
    pub(super) fn manage_objects(&mut self, federate: u32, call: Call) -> Answer<Response> {
        match call {
            Call::RegisterObjectInstance(r) => {
                let class = self.object_class(r.object_class.as_ref());
                class
                    .and_then(|class| self.register(federate, class, None))
                    .map(|object| response::RegisterObjectInstance { result: Handle::some(object) }.into())
            }
            Call::RegisterObjectInstanceWithName(r) => {
                let class = self.object_class(r.object_class.as_ref());
                let name = Some(r.object_instance_name);
                class.and_then(|class| self.register(federate, class, name)).map(|object| {
                    response::RegisterObjectInstanceWithName { result: Handle::some(object) }.into()
                })
            }
            Call::DeleteObjectInstance(r) => {
                let known = self.known_object(federate, r.object_instance.as_ref());
                let held =
                    known.and_then(|(object, _)| self.check_privilege(federate, object).map(|()| object));
                held.map(|object| {
                    self.delete(federate, object, &r.user_supplied_tag);
                    response::DeleteObjectInstance {}.into()
                })
            }
            Call::DeleteObjectInstanceWithTime(r) => self.delete_at(federate, &r),
            Call::LocalDeleteObjectInstance(r) => self.forget(federate, r.object_instance.as_ref()),
            Call::GetKnownObjectClassHandle(r) => self
                .known_object(federate, r.object_instance.as_ref())
                .map(|(_, class)| response::GetKnownObjectClassHandle { result: Handle::some(class) }.into()),
            Call::GetObjectInstanceName(r) => {
                self.known_object(federate, r.object_instance.as_ref()).map(|(object, _)| {
                    response::GetObjectInstanceName { result: self.objects[&object].name.clone() }.into()
                })
            }
            Call::GetObjectInstanceHandle(r) => {
                let object = self.named.get(&r.object_instance_name);
                // A name must not tell of an instance that the federate has not discovered.
                let known = object.filter(|object| self.federates[&federate].known.contains_key(object));
                let details =
                    || format!("this federate knows no instance called {:?}", r.object_instance_name);
                let known = known.ok_or_else(|| CallError::new(Exception::ObjectInstanceNotKnown, details()));
                known.map(|object| response::GetObjectInstanceHandle { result: Handle::some(*object) }.into())
            }
            call => self.name_objects(federate, call),
        }
    }

    /// A federate wants no more of an instance than if it had not discovered it.
    fn forget(&mut self, federate: u32, handle: Option<&ObjectInstanceHandle>) -> Answer<Response> {
        let (object, _) = self.known_object(federate, handle)?;
        if self.owns_some(federate, object) {
            let details = format!("attributes of {:?} are its own", self.objects[&object].name);
            return Err(CallError::new(Exception::FederateOwnsAttributes, details));
        }
        if self.awaits_some(federate, object) {
            let details = format!("it waits for attributes of {:?}", self.objects[&object].name);
            return Err(CallError::new(Exception::OwnershipAcquisitionPending, details));
        }
        self.unlearn(federate, object);
        self.remove_doomed();
        Ok(response::LocalDeleteObjectInstance {}.into())
    }
}
