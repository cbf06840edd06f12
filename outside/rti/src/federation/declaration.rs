//! What federates publish and subscribe to, and the update rates that they name, which thin no updates yet.
//!
//! Invariants: who publishes attributes of a class publishes the privilege to delete, too; no entry is empty.
//! A passive subscription is like an active one, but that nobody is advised of it.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{AttributeHandleSet, Call, InteractionClassHandle, ObjectClassHandle, Response, response};

use super::Federation;
use crate::exception::{Answer, CallError, Exception, not_yet};
use crate::handles::number;

/// The attribute whose owner may delete an instance.
pub(super) const PRIVILEGE: &str = "HLAprivilegeToDeleteObject";

/// What one federate has declared.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    /// Attributes by object class.
    pub(super) published: BTreeMap<u32, BTreeSet<u32>>,
    pub(super) subscribed: BTreeMap<u32, BTreeSet<u32>>,
    /// Those attributes that it subscribes to passively, by object class.
    pub(super) passive: BTreeSet<(u32, u32)>,
    /// The names of update rates, by object class and attribute.
    pub(super) rates: BTreeMap<(u32, u32), String>,
    pub(super) published_interactions: BTreeSet<u32>,
    pub(super) subscribed_interactions: BTreeSet<u32>,
    pub(super) passive_interactions: BTreeSet<u32>,
    /// Object class and interaction class.
    pub(super) directed_published: BTreeSet<(u32, u32)>,
    /// By both: whether for all instances that it knows, and not only for those of which it owns something.
    pub(super) directed_subscribed: BTreeMap<(u32, u32), bool>,
}

fn add(table: &mut BTreeMap<u32, BTreeSet<u32>>, class: u32, attributes: BTreeSet<u32>) {
    if !attributes.is_empty() {
        table.entry(class).or_default().extend(attributes);
    }
}

/// Takes out these attributes, or all of the class.
fn remove(table: &mut BTreeMap<u32, BTreeSet<u32>>, class: u32, attributes: Option<&BTreeSet<u32>>) {
    let left = table.entry(class).or_default();
    left.retain(|attribute| attributes.is_some_and(|removed| !removed.contains(attribute)));
    if left.is_empty() {
        table.remove(&class);
    }
}

impl Federation {
    pub(super) fn object_class(&self, handle: Option<&ObjectClassHandle>) -> Answer<u32> {
        let class = number(handle)?;
        let details = || format!("no object class has the handle {class}");
        self.fom
            .objects
            .class(class)
            .ok_or_else(|| CallError::new(Exception::ObjectClassNotDefined, details()))?;
        Ok(class)
    }

    pub(super) fn interaction_class(&self, handle: Option<&InteractionClassHandle>) -> Answer<u32> {
        let class = number(handle)?;
        let details = || format!("no interaction class has the handle {class}");
        let row = self.fom.interactions.class(class);
        row.ok_or_else(|| CallError::new(Exception::InteractionClassNotDefined, details()))?;
        Ok(class)
    }

    /// Attributes that the class has.
    pub(super) fn attributes_of(
        &self,
        class: u32,
        set: Option<&AttributeHandleSet>,
    ) -> Answer<BTreeSet<u32>> {
        let handles = set.into_iter().flat_map(|set| &set.attribute_handle);
        let attributes = handles.map(|handle| {
            let attribute = number(Some(handle))?;
            if self.fom.objects.has_member(class, attribute) {
                return Ok(attribute);
            }
            let class = self.fom.objects.class(class).map(|class| class.name.as_str()).unwrap_or_default();
            let details = format!("{class} has no attribute with the handle {attribute}");
            Err(CallError::new(Exception::AttributeNotDefined, details))
        });
        attributes.collect()
    }

    pub(super) fn declarations(&mut self, federate: u32) -> &mut Declarations {
        &mut self.federates.get_mut(&federate).expect("who calls has joined").declarations
    }

    fn publish(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&AttributeHandleSet>,
    ) -> Answer<()> {
        let class = self.object_class(class)?;
        let mut attributes = self.attributes_of(class, set)?;
        if !attributes.is_empty() {
            // Published with any other attribute: who registers an instance may delete it.
            attributes.extend(self.fom.objects.member_of(class, PRIVILEGE));
        }
        add(&mut self.declarations(federate).published, class, attributes);
        Ok(())
    }

    fn unpublish(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&AttributeHandleSet>,
    ) -> Answer<()> {
        let class = self.object_class(class)?;
        let attributes = set.map(|set| self.attributes_of(class, Some(set))).transpose()?;
        // Who waits for an attribute must be able to own it.
        self.check_not_awaited(federate, class, attributes.as_ref())?;
        remove(&mut self.declarations(federate).published, class, attributes.as_ref());
        self.divest_unpublished(federate);
        Ok(())
    }

    fn subscribe(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&AttributeHandleSet>,
        is_passive: bool,
    ) -> Answer<()> {
        let class = self.object_class(class)?;
        let attributes = self.attributes_of(class, set)?;
        let declared = self.declarations(federate);
        let pairs = attributes.iter().map(|attribute| (class, *attribute));
        if is_passive {
            declared.passive.extend(pairs);
        } else {
            // Subscribed actively again, it is no longer passive.
            for pair in pairs {
                declared.passive.remove(&pair);
            }
        }
        // A subscription replaces the one before with its rate; one at a rate adds that afterwards.
        declared.rates.retain(|(known, attribute), _| *known != class || !attributes.contains(attribute));
        add(&mut declared.subscribed, class, attributes);
        self.discover_all(federate);
        Ok(())
    }

    /// The same, where a rate is named. Rates are upper limits for what is sent without reliability; all is
    /// sent reliably.
    fn subscribe_at_rate(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&AttributeHandleSet>,
        rate: &str,
        is_passive: bool,
    ) -> Answer<()> {
        if self.fom.update_rate(rate).is_none() {
            let details = format!("no module defines the update rate {rate:?}");
            return Err(CallError::new(Exception::InvalidUpdateRateDesignator, details));
        }
        self.subscribe(federate, class, set, is_passive)?;
        let class = self.object_class(class)?;
        let named = self.attributes_of(class, set)?.into_iter();
        let rates = named.map(|attribute| ((class, attribute), rate.to_owned()));
        self.declarations(federate).rates.extend(rates);
        Ok(())
    }

    fn unsubscribe(
        &mut self,
        federate: u32,
        class: Option<&ObjectClassHandle>,
        set: Option<&AttributeHandleSet>,
    ) -> Answer<()> {
        let class = self.object_class(class)?;
        let attributes = set.map(|set| self.attributes_of(class, Some(set))).transpose()?;
        remove(&mut self.declarations(federate).subscribed, class, attributes.as_ref());
        Ok(())
    }

    /// Answers a call about object classes; others go on to the next group of services.
    pub(super) fn declare_objects(&mut self, federate: u32, call: Call) -> Answer<Response> {
        match call {
            Call::PublishObjectClassAttributes(r) => self
                .publish(federate, r.object_class.as_ref(), r.attributes.as_ref())
                .map(|()| response::PublishObjectClassAttributes {}.into()),
            Call::UnpublishObjectClass(r) => self
                .unpublish(federate, r.object_class.as_ref(), None)
                .map(|()| response::UnpublishObjectClass {}.into()),
            Call::UnpublishObjectClassAttributes(r) => self
                .unpublish(federate, r.object_class.as_ref(), Some(&r.attributes.unwrap_or_default()))
                .map(|()| response::UnpublishObjectClassAttributes {}.into()),
            Call::SubscribeObjectClassAttributes(r) => self
                .subscribe(federate, r.object_class.as_ref(), r.attributes.as_ref(), false)
                .map(|()| response::SubscribeObjectClassAttributes {}.into()),
            Call::SubscribeObjectClassAttributesPassively(r) => self
                .subscribe(federate, r.object_class.as_ref(), r.attributes.as_ref(), true)
                .map(|()| response::SubscribeObjectClassAttributesPassively {}.into()),
            Call::SubscribeObjectClassAttributesWithRate(r) => {
                let (class, set) = (r.object_class.as_ref(), r.attributes.as_ref());
                self.subscribe_at_rate(federate, class, set, &r.update_rate_designator, false)
                    .map(|()| response::SubscribeObjectClassAttributesWithRate {}.into())
            }
            Call::SubscribeObjectClassAttributesPassivelyWithRate(r) => {
                let (class, set) = (r.object_class.as_ref(), r.attributes.as_ref());
                self.subscribe_at_rate(federate, class, set, &r.update_rate_designator, true)
                    .map(|()| response::SubscribeObjectClassAttributesPassivelyWithRate {}.into())
            }
            Call::UnsubscribeObjectClass(r) => self
                .unsubscribe(federate, r.object_class.as_ref(), None)
                .map(|()| response::UnsubscribeObjectClass {}.into()),
            Call::UnsubscribeObjectClassAttributes(r) => self
                .unsubscribe(federate, r.object_class.as_ref(), Some(&r.attributes.unwrap_or_default()))
                .map(|()| response::UnsubscribeObjectClassAttributes {}.into()),
            call => self.declare_interactions(federate, call),
        }
    }

    /// Answers a call about interaction classes; others go on to the next group of services.
    pub(super) fn declare_interactions(&mut self, federate: u32, call: Call) -> Answer<Response> {
        let class = match &call {
            Call::PublishInteractionClass(r) => r.interaction_class.as_ref(),
            Call::UnpublishInteractionClass(r) => r.interaction_class.as_ref(),
            Call::SubscribeInteractionClass(r) => r.interaction_class.as_ref(),
            Call::SubscribeInteractionClassPassively(r) => r.interaction_class.as_ref(),
            Call::UnsubscribeInteractionClass(r) => r.interaction_class.as_ref(),
            _ => {
                return self
                    .support_object_model(&call)
                    .unwrap_or_else(|| self.support_federate(federate, &call));
            }
        };
        let class = self.interaction_class(class)?;
        let declared = self.declarations(federate);
        Ok(match call {
            Call::PublishInteractionClass(_) => {
                declared.published_interactions.insert(class);
                response::PublishInteractionClass {}.into()
            }
            Call::UnpublishInteractionClass(_) => {
                declared.published_interactions.remove(&class);
                response::UnpublishInteractionClass {}.into()
            }
            Call::SubscribeInteractionClass(_) => {
                declared.subscribed_interactions.insert(class);
                declared.passive_interactions.remove(&class);
                self.receivers.entry(class).or_default().insert(federate);
                response::SubscribeInteractionClass {}.into()
            }
            Call::SubscribeInteractionClassPassively(_) => {
                declared.subscribed_interactions.insert(class);
                declared.passive_interactions.insert(class);
                self.receivers.entry(class).or_default().insert(federate);
                response::SubscribeInteractionClassPassively {}.into()
            }
            Call::UnsubscribeInteractionClass(_) => {
                declared.subscribed_interactions.remove(&class);
                self.receivers.entry(class).or_default().remove(&federate);
                response::UnsubscribeInteractionClass {}.into()
            }
            call => return Err(not_yet(&call)),
        })
    }
}
