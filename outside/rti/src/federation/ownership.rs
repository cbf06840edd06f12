//! Ownership of attributes: how one federate gives an attribute away, and how another one gets it.
//!
//! Invariants: an attribute has at most one owner; an owner knows the instance, and publishes the attribute
//! for the class that it knows it as. An attribute without an owner is offered once, to those who may own it
//! when it loses its owner; whoever comes to publish it later asks for it.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{AttributeHandleSet, Bytes, ObjectInstanceHandle, callback};

use super::Federation;
use crate::exception::{Answer, CallError, Exception};
use crate::handles::{Handle, attribute_set};

mod calls;
mod transfer;

pub(super) use transfer::Transfer;
use transfer::{Acquirer, Divestiture, Notice, Notices};

/// The owner of the attributes of the management object model. No federate has this handle.
pub(super) const INFRASTRUCTURE: u32 = 0;

/// An instance and some attributes of it.
type Attributes = (u32, BTreeSet<u32>);

impl Federation {
    /// How messages call an attribute of an instance.
    fn attribute_text(&self, object: u32, attribute: u32) -> String {
        let row = self.fom.objects.member(attribute);
        let name = row.map(|row| row.name.as_str()).unwrap_or_default();
        format!("{name} of {:?}", self.objects[&object].name)
    }

    /// Attributes of an instance that the federate knows, none of which `refused` has a reason to refuse.
    fn checked_attributes(
        &self,
        federate: u32,
        object: Option<&ObjectInstanceHandle>,
        set: Option<&AttributeHandleSet>,
        refused: impl Fn(u32, u32) -> Option<(Exception, &'static str)>,
    ) -> Answer<Attributes> {
        let (object, class) = self.known_object(federate, object)?;
        let attributes = self.attributes_of(class, set)?;
        for attribute in &attributes {
            if let Some((exception, reason)) = refused(object, *attribute) {
                let details = format!("{} {reason}", self.attribute_text(object, *attribute));
                return Err(CallError::new(exception, details));
            }
        }
        Ok((object, attributes))
    }

    fn is_owner(&self, federate: u32, object: u32, attribute: u32) -> bool {
        self.objects[&object].owners.get(&attribute) == Some(&federate)
    }

    fn divestiture(&self, object: u32, attribute: u32) -> Divestiture {
        let transfer = self.objects[&object].transfers.get(&attribute);
        transfer.map(|transfer| transfer.divestiture).unwrap_or_default()
    }

    fn is_awaited_by(&self, federate: u32, object: u32, attribute: u32) -> bool {
        let transfer = self.objects[&object].transfers.get(&attribute);
        transfer.is_some_and(|transfer| transfer.is_awaited_by(federate))
    }

    /// Whether the federate waits for it in earnest: who only takes what is offered cannot cancel.
    fn is_requested_by(&self, federate: u32, object: u32, attribute: u32) -> bool {
        let transfer = self.objects[&object].transfers.get(&attribute);
        let mut acquirers = transfer.into_iter().flat_map(|transfer| &transfer.acquirers);
        acquirers.any(|acquirer| acquirer.federate == federate && !acquirer.is_if_available)
    }

    fn is_awaited(&self, object: u32, attribute: u32) -> bool {
        let transfer = self.objects[&object].transfers.get(&attribute);
        transfer.is_some_and(|transfer| !transfer.acquirers.is_empty())
    }

    /// Attributes that the federate owns, none of which `refused` has a reason to refuse.
    pub(super) fn owned_attributes(
        &self,
        federate: u32,
        object: Option<&ObjectInstanceHandle>,
        set: Option<&AttributeHandleSet>,
        refused: impl Fn(u32, u32) -> Option<(Exception, &'static str)>,
    ) -> Answer<Attributes> {
        self.checked_attributes(federate, object, set, |object, attribute| {
            if self.is_owner(federate, object, attribute) {
                refused(object, attribute)
            } else {
                Some((Exception::AttributeNotOwned, "is not its own"))
            }
        })
    }

    fn divest_unconditionally(&mut self, (object, attributes): Attributes, tag: &Bytes) {
        let mut notices = Notices::default();
        for attribute in attributes {
            self.release(object, attribute, tag, &mut notices);
        }
        self.send_notices(object, notices);
    }

    fn negotiate(&mut self, federate: u32, (object, attributes): Attributes, tag: &Bytes) {
        let mut notices = Notices::default();
        for attribute in attributes {
            self.transfer(object, attribute).divestiture = Divestiture::Offered;
            if self.is_awaited(object, attribute) {
                self.ask_to_confirm(federate, object, attribute, &mut notices);
            } else {
                self.offer(object, attribute, federate, tag, &mut notices);
            }
        }
        self.send_notices(object, notices);
    }

    /// Somebody wants what the owner has offered. It is asked once, however many there are.
    fn ask_to_confirm(&mut self, owner: u32, object: u32, attribute: u32, notices: &mut Notices) {
        let transfer = self.transfer(object, attribute);
        if transfer.divestiture == Divestiture::Offered {
            transfer.divestiture = Divestiture::ConfirmationRequested;
            let tag = transfer.acquirers.first().map(|acquirer| acquirer.tag.clone()).unwrap_or_default();
            notices.add(Notice::ConfirmationRequested, owner, &tag, attribute);
        }
    }

    fn confirm(&mut self, (object, attributes): Attributes, tag: &Bytes) {
        let mut notices = Notices::default();
        for attribute in attributes {
            self.hand_over(object, attribute, tag, &mut notices);
        }
        self.send_notices(object, notices);
    }

    /// Gives away what others wait for, and returns it.
    fn divest_if_wanted(&mut self, (object, mut attributes): Attributes, tag: &Bytes) -> BTreeSet<u32> {
        let mut notices = Notices::default();
        attributes.retain(|attribute| self.hand_over(object, *attribute, tag, &mut notices));
        self.send_notices(object, notices);
        attributes
    }

    fn deny(&mut self, (object, attributes): Attributes, tag: &Bytes) {
        let mut notices = Notices::default();
        for attribute in attributes {
            let transfer = self.transfer(object, attribute);
            let asking = transfer.acquirers.iter().filter(|acquirer| !acquirer.is_if_available);
            for federate in asking.map(|acquirer| acquirer.federate).collect::<Vec<_>>() {
                transfer.withdraw(federate);
                notices.add(Notice::Unavailable, federate, tag, attribute);
            }
        }
        self.send_notices(object, notices);
    }

    fn cancel_negotiation(&mut self, federate: u32, (object, attributes): Attributes) {
        let mut notices = Notices::default();
        for attribute in attributes {
            self.transfer(object, attribute).divestiture = Divestiture::Unwanted;
            self.ask_for_release(object, attribute, federate, &mut notices);
        }
        self.send_notices(object, notices);
    }

    /// What may be acquired: what the federate publishes and does not own.
    fn wanted_attributes(
        &self,
        federate: u32,
        handle: Option<&ObjectInstanceHandle>,
        set: Option<&AttributeHandleSet>,
        refused: impl Fn(u32, u32) -> Option<(Exception, &'static str)>,
    ) -> Answer<Attributes> {
        let (_, class) = self.known_object(federate, handle)?;
        if !self.federates[&federate].declarations.published.contains_key(&class) {
            let class = self.fom.objects.class(class).map(|class| class.name.as_str()).unwrap_or_default();
            let details = format!("this federate does not publish {class}, which it knows the instance as");
            return Err(CallError::new(Exception::ObjectClassNotPublished, details));
        }
        self.checked_attributes(federate, handle, set, |object, attribute| {
            if self.is_owner(federate, object, attribute) {
                Some((Exception::FederateOwnsAttributes, "is its own already"))
            } else if self.may_own(federate, object, attribute) {
                refused(object, attribute)
            } else {
                Some((Exception::AttributeNotPublished, "is not published by this federate"))
            }
        })
    }

    fn acquire(
        &mut self,
        federate: u32,
        (object, attributes): Attributes,
        tag: &Bytes,
        is_if_available: bool,
    ) {
        let mut notices = Notices::default();
        for attribute in attributes {
            match self.objects[&object].owners.get(&attribute).copied() {
                None if self.doomed.contains_key(&object) => {
                    notices.add(Notice::Unavailable, federate, &Bytes::new(), attribute);
                }
                None => {
                    self.set_owner(federate, object, attribute);
                    notices.add(Notice::Secured, federate, &Bytes::new(), attribute);
                }
                Some(INFRASTRUCTURE) => {
                    notices.add(Notice::Unavailable, federate, &Bytes::new(), attribute);
                }
                Some(owner) => {
                    let transfer = self.transfer(object, attribute);
                    let is_offered = transfer.divestiture != Divestiture::Unwanted;
                    if is_if_available && !is_offered {
                        notices.add(Notice::Unavailable, federate, &Bytes::new(), attribute);
                        continue;
                    }
                    // Who asks again keeps its place; who only took what is offered asks for it now.
                    let mut acquirers = transfer.acquirers.iter_mut();
                    let acquirer = Acquirer { federate, tag: tag.clone(), is_if_available };
                    match acquirers.find(|known| known.federate == federate) {
                        Some(known) => *known = acquirer,
                        None => transfer.acquirers.push(acquirer),
                    }
                    if is_offered {
                        self.ask_to_confirm(owner, object, attribute, &mut notices);
                    } else {
                        notices.add(Notice::ReleaseRequested, owner, tag, attribute);
                    }
                }
            }
        }
        self.send_notices(object, notices);
    }

    fn cancel_acquisition(&mut self, federate: u32, (object, attributes): Attributes) {
        let mut notices = Notices::default();
        for attribute in attributes {
            self.transfer(object, attribute).withdraw(federate);
            notices.add(Notice::CancellationConfirmed, federate, &Bytes::new(), attribute);
        }
        self.send_notices(object, notices);
    }

    fn query_ownership(&mut self, federate: u32, (object, attributes): Attributes) {
        let mut by_owner: BTreeMap<Option<u32>, BTreeSet<u32>> = BTreeMap::new();
        for attribute in attributes {
            let owner = self.objects[&object].owners.get(&attribute).copied();
            by_owner.entry(owner).or_default().insert(attribute);
        }
        for (owner, attributes) in by_owner {
            let (object_instance, attributes) = (Handle::some(object), attribute_set(attributes));
            match owner {
                None => self.tell(federate, callback::AttributeIsNotOwned { object_instance, attributes }),
                Some(INFRASTRUCTURE) => {
                    self.tell(federate, callback::AttributeIsOwnedByRTI { object_instance, attributes });
                }
                Some(owner) => {
                    let owner = Handle::some(owner);
                    self.tell(
                        federate,
                        callback::InformAttributeOwnership { object_instance, attributes, federate: owner },
                    );
                }
            }
        }
    }

    /// Whether the federate waits for some attribute of the instance.
    pub(super) fn awaits_some(&self, federate: u32, object: u32) -> bool {
        self.objects[&object].transfers.values().any(|transfer| transfer.is_awaited_by(federate))
    }

    /// Who waits for an attribute goes on publishing it.
    pub(super) fn check_not_awaited(
        &self,
        federate: u32,
        class: u32,
        attributes: Option<&BTreeSet<u32>>,
    ) -> Answer<()> {
        let known = self.federates[&federate].known.iter().filter(|(_, known)| **known == class);
        let is_awaited = |(attribute, transfer): (&u32, &Transfer)| {
            transfer.is_awaited_by(federate)
                && attributes.is_none_or(|attributes| attributes.contains(attribute))
        };
        let mut objects = known.map(|(object, _)| &self.objects[object]);
        let Some(instance) = objects.find(|instance| instance.transfers.iter().any(is_awaited)) else {
            return Ok(());
        };
        let details = format!("this federate waits for attributes of {:?}; cancel that", instance.name);
        Err(CallError::new(Exception::OwnershipAcquisitionPending, details))
    }

    /// The federate waits for no attribute any more; there is no callback of that.
    pub(super) fn withdraw_acquisitions(&mut self, federate: u32) {
        for instance in self.objects.values_mut() {
            instance.transfers.values_mut().for_each(|transfer| transfer.withdraw(federate));
        }
    }

    /// Takes from a federate those of its attributes for which `is_left` holds.
    pub(super) fn divest_where(&mut self, federate: u32, is_left: impl Fn(&Self, u32, u32) -> bool) {
        let objects: Vec<u32> = self.objects.keys().copied().collect();
        for object in objects {
            let owners = self.objects[&object].owners.iter();
            let left: BTreeSet<u32> = owners
                .filter(|(attribute, owner)| **owner == federate && is_left(self, object, **attribute))
                .map(|(attribute, _)| *attribute)
                .collect();
            if !left.is_empty() {
                self.divest_unconditionally((object, left), &Bytes::new());
            }
        }
    }

    /// What a federate owns has to be published by it.
    pub(super) fn divest_unpublished(&mut self, federate: u32) {
        self.divest_where(federate, |federation, object, attribute| {
            !federation.may_own(federate, object, attribute)
        });
    }
}
