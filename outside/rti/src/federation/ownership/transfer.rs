//! Attributes on their way from one owner to the next: who offers, who waits, and who is called back.
//!
//! Invariants: only an attribute with an owner is offered or waited for; whoever waits does not own it, and
//! is served in the order in which all have asked.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{Bytes, callback};

use super::super::Federation;
use crate::handles::{Handle, attribute_set};

/// A federate that waits for an attribute.
#[derive(Clone, Debug)]
pub(in super::super) struct Acquirer {
    pub(super) federate: u32,
    pub(super) tag: Bytes,
    /// It takes the attribute only from an owner who offers it, and asks nobody to give it away.
    pub(super) is_if_available: bool,
}

/// How far an owner has come that wants to give an attribute away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Divestiture {
    /// It keeps the attribute.
    #[default]
    Unwanted,
    /// It has offered the attribute, which nobody has asked for yet.
    Offered,
    /// It has been asked to confirm, since somebody wants the attribute.
    ConfirmationRequested,
}

/// What goes on about one attribute of an instance.
#[derive(Debug, Default)]
pub(in super::super) struct Transfer {
    pub(super) divestiture: Divestiture,
    /// In the order in which they have asked.
    pub(super) acquirers: Vec<Acquirer>,
}

impl Transfer {
    pub(in super::super) fn is_awaited_by(&self, federate: u32) -> bool {
        self.acquirers.iter().any(|acquirer| acquirer.federate == federate)
    }

    /// The federate waits no more.
    pub(super) fn withdraw(&mut self, federate: u32) {
        self.acquirers.retain(|acquirer| acquirer.federate != federate);
        // The one for whom it was to confirm is gone: the attribute is on offer, as before.
        if self.acquirers.is_empty() && self.divestiture == Divestiture::ConfirmationRequested {
            self.divestiture = Divestiture::Offered;
        }
    }

    fn is_idle(&self) -> bool {
        self.acquirers.is_empty() && self.divestiture == Divestiture::Unwanted
    }
}

/// The callbacks of ownership that carry attributes and a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Notice {
    CancellationConfirmed,
    Unavailable,
    Secured,
    AssumptionRequested,
    ConfirmationRequested,
    ReleaseRequested,
}

/// Callbacks about one instance: attributes of which all is equal come in one callback.
#[derive(Debug, Default)]
pub(super) struct Notices(BTreeMap<(Notice, u32, Bytes), BTreeSet<u32>>);

impl Notices {
    pub(super) fn add(&mut self, notice: Notice, federate: u32, tag: &Bytes, attribute: u32) {
        self.0.entry((notice, federate, tag.clone())).or_default().insert(attribute);
    }
}

impl Federation {
    /// What goes on about an attribute of an instance that is there.
    pub(super) fn transfer(&mut self, object: u32, attribute: u32) -> &mut Transfer {
        let instance = self.objects.get_mut(&object).expect("the instance was looked up");
        instance.transfers.entry(attribute).or_default()
    }

    /// Gives an attribute to the first who waits for it. False if nobody does.
    pub(super) fn hand_over(
        &mut self,
        object: u32,
        attribute: u32,
        tag: &Bytes,
        notices: &mut Notices,
    ) -> bool {
        let instance = self.objects.get_mut(&object).expect("the instance was looked up");
        let Some(transfer) = instance.transfers.get_mut(&attribute) else { return false };
        if transfer.acquirers.is_empty() {
            return false;
        }
        let owner = transfer.acquirers.remove(0).federate;
        transfer.divestiture = Divestiture::Unwanted;
        self.set_owner(owner, object, attribute);
        notices.add(Notice::Secured, owner, tag, attribute);
        // Those who wait behind now wait for the new owner.
        self.ask_for_release(object, attribute, owner, notices);
        true
    }

    /// The owner keeps the attribute for now: whoever takes only what is offered does not get it, and those
    /// who have asked for it wait on until the owner has answered.
    pub(super) fn ask_for_release(&mut self, object: u32, attribute: u32, owner: u32, notices: &mut Notices) {
        let transfer = self.transfer(object, attribute);
        transfer.acquirers.retain(|acquirer| {
            if acquirer.is_if_available {
                notices.add(Notice::Unavailable, acquirer.federate, &Bytes::new(), attribute);
            } else {
                notices.add(Notice::ReleaseRequested, owner, &acquirer.tag, attribute);
            }
            !acquirer.is_if_available
        });
    }

    /// Takes an attribute from its owner. The first who waits for it gets it; otherwise nobody owns it, and
    /// it is offered.
    pub(super) fn release(&mut self, object: u32, attribute: u32, tag: &Bytes, notices: &mut Notices) {
        if self.hand_over(object, attribute, tag, notices) {
            return;
        }
        let instance = self.objects.get_mut(&object).expect("the instance was looked up");
        instance.transfers.remove(&attribute);
        let Some(former) = instance.owners.remove(&attribute) else { return };
        self.offer(object, attribute, former, tag, notices);
    }

    /// Asks all who may own an attribute, but for its owner, to take it.
    pub(super) fn offer(
        &mut self,
        object: u32,
        attribute: u32,
        owner: u32,
        tag: &Bytes,
        notices: &mut Notices,
    ) {
        for federate in self.others_that_know(owner, object) {
            // Others could not take it: an owner publishes the attribute for the class that it knows the
            // instance as.
            if self.may_own(federate, object, attribute) {
                notices.add(Notice::AssumptionRequested, federate, tag, attribute);
            }
        }
    }

    /// Whether a federate publishes an attribute for the class that it knows the instance as.
    pub(super) fn may_own(&self, federate: u32, object: u32, attribute: u32) -> bool {
        let member = &self.federates[&federate];
        let published = member.known.get(&object).and_then(|class| member.declarations.published.get(class));
        published.is_some_and(|published| published.contains(&attribute))
    }

    /// Calls back with all notices about an instance. Who subscribes to an attribute that nobody owned before
    /// learns of the instance now.
    pub(super) fn send_notices(&mut self, object: u32, notices: Notices) {
        let Some(instance) = self.objects.get_mut(&object) else { return };
        instance.transfers.retain(|_, transfer| !transfer.is_idle());
        // Looked at before notices are sent, which uses them up.
        let is_owner_new = notices.0.keys().any(|(notice, ..)| *notice == Notice::Secured);
        for ((notice, federate, tag), attributes) in notices.0 {
            self.send_notice(object, notice, federate, tag, attributes);
        }
        if is_owner_new {
            let federates: Vec<u32> = self.federates.keys().copied().collect();
            federates.into_iter().for_each(|federate| self.discover(federate, object));
        }
    }

    fn send_notice(
        &mut self,
        object: u32,
        notice: Notice,
        federate: u32,
        user_supplied_tag: Bytes,
        attributes: BTreeSet<u32>,
    ) {
        let (object_instance, attributes) = (Handle::some(object), attribute_set(attributes));
        match notice {
            Notice::CancellationConfirmed => self.tell(
                federate,
                callback::ConfirmAttributeOwnershipAcquisitionCancellation { object_instance, attributes },
            ),
            Notice::Unavailable => self.tell(
                federate,
                callback::AttributeOwnershipUnavailable { object_instance, attributes, user_supplied_tag },
            ),
            Notice::Secured => {
                let secured_attributes = attributes;
                self.tell(
                    federate,
                    callback::AttributeOwnershipAcquisitionNotification {
                        object_instance,
                        secured_attributes,
                        user_supplied_tag,
                    },
                );
            }
            Notice::AssumptionRequested => {
                let offered_attributes = attributes;
                self.tell(
                    federate,
                    callback::RequestAttributeOwnershipAssumption {
                        object_instance,
                        offered_attributes,
                        user_supplied_tag,
                    },
                );
            }
            Notice::ConfirmationRequested => {
                let released_attributes = attributes;
                self.tell(
                    federate,
                    callback::RequestDivestitureConfirmation {
                        object_instance,
                        released_attributes,
                        user_supplied_tag,
                    },
                );
            }
            Notice::ReleaseRequested => {
                let candidate_attributes = attributes;
                self.tell(
                    federate,
                    callback::RequestAttributeOwnershipRelease {
                        object_instance,
                        candidate_attributes,
                        user_supplied_tag,
                    },
                );
            }
        }
    }
}
