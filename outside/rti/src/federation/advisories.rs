//! Advisories say to a federate that others want, or no longer want, what it may register, send, update or
//! receive.
//!
//! Each federate has, for each of its advisory switches that is on, the set of what it was last advised is
//! relevant. After a call that may change one of them the sets are worked out again from what all have
//! declared, know and own, and the federate is advised of the difference. Turning a switch on tells all that
//! is relevant by then.
//!
//! An attribute is relevant if an update of it would reach somebody who subscribes to it actively, and in
//! scope if an update of it by its owner would reach this federate. What a federate has itself unpublished,
//! given away or forgotten it is not advised of.

use std::collections::{BTreeMap, BTreeSet};

use paceline_hla::{Call, callback};

use super::Federation;
use super::switches::Switch;
use crate::handles::{Handle, attribute_set};

/// Attributes of instances.
type Attributes = BTreeSet<(u32, u32)>;

/// What a federate was last advised is relevant.
#[derive(Debug, Default)]
pub(super) struct Advised {
    /// Classes of which instances are wanted.
    registrations: BTreeSet<u32>,
    /// Classes of interactions that are wanted.
    interactions: BTreeSet<u32>,
    /// Attributes that it owns and others want.
    updates: Attributes,
    /// What it would receive.
    scope: Attributes,
}

impl Advised {
    fn is_empty(&self) -> bool {
        let Self { registrations, interactions, updates, scope } = self;
        registrations.is_empty() && interactions.is_empty() && updates.is_empty() && scope.is_empty()
    }
}

/// Calls that change nothing that is relevant to anybody, and come most often.
pub(super) fn is_irrelevant(call: &Call) -> bool {
    call.is_sending()
        || matches!(
            call,
            Call::TimeAdvanceRequest(_)
                | Call::TimeAdvanceRequestAvailable(_)
                | Call::NextMessageRequest(_)
                | Call::NextMessageRequestAvailable(_)
                | Call::FlushQueueRequest(_)
                | Call::QueryLogicalTime(_)
                | Call::QueryGALT(_)
                | Call::QueryLITS(_)
        )
}

fn by_object(attributes: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, Vec<u32>> {
    let mut objects: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    attributes.for_each(|(object, attribute)| objects.entry(object).or_default().push(attribute));
    objects
}

impl Federation {
    /// Tells all whose switches are on what has become relevant to them, and what no longer is.
    pub(super) fn advise(&mut self) {
        let advisories = [
            Switch::ObjectClassRelevance,
            Switch::InteractionRelevance,
            Switch::AttributeRelevance,
            Switch::AttributeScope,
        ];
        // Most federates have no advisory switch on, and cost nothing here.
        let is_concerned = |row: &super::Federate| !row.switches.is_empty() || !row.advised.is_empty();
        let concerned = self.federates.iter().filter(|(_, row)| is_concerned(row));
        for federate in concerned.map(|(federate, _)| *federate).collect::<Vec<_>>() {
            for switch in advisories {
                let is_on = self.federates[&federate].switches.contains(&switch);
                match switch {
                    Switch::ObjectClassRelevance => self.advise_of_registrations(federate, is_on),
                    Switch::InteractionRelevance => self.advise_of_interactions(federate, is_on),
                    Switch::AttributeRelevance => self.advise_of_updates(federate, is_on),
                    _ => self.advise_of_scope(federate, is_on),
                }
            }
        }
    }

    fn advised(&mut self, federate: u32) -> &mut Advised {
        &mut self.federates.get_mut(&federate).expect("it is one of the federation").advised
    }

    /// Whether another federate subscribes actively, at the class or above it, to one of these attributes.
    fn is_class_wanted(&self, federate: u32, class: u32, attributes: &BTreeSet<u32>) -> bool {
        let others = self.federates.iter().filter(|(other, _)| **other != federate);
        others.map(|(_, member)| &member.declarations).any(|declared| {
            self.fom.objects.lineage(class).any(|above| {
                let subscribed = declared.subscribed.get(&above);
                let is_active = |attribute: &&u32| !declared.passive.contains(&(above, **attribute));
                subscribed.is_some_and(|set| set.iter().filter(is_active).any(|one| attributes.contains(one)))
            })
        })
    }

    fn advise_of_registrations(&mut self, federate: u32, is_on: bool) {
        let published = self.federates[&federate].declarations.published.iter().filter(|_| is_on);
        let wanted = published.filter(|(class, set)| self.is_class_wanted(federate, **class, set));
        let wanted: BTreeSet<u32> = wanted.map(|(class, _)| *class).collect();
        let before = std::mem::replace(&mut self.advised(federate).registrations, wanted.clone());
        // Switched off, it is not told that anything has ended; the set is forgotten, so that switching on
        // tells all.
        if !is_on {
            return;
        }
        for class in before.difference(&wanted) {
            // What it has unpublished itself it knows.
            if self.federates[&federate].declarations.published.contains_key(class) {
                let object_class = Handle::some(*class);
                self.tell(federate, callback::StopRegistrationForObjectClass { object_class });
            }
        }
        for class in wanted.difference(&before) {
            let object_class = Handle::some(*class);
            self.tell(federate, callback::StartRegistrationForObjectClass { object_class });
        }
    }

    fn is_interaction_wanted(&self, federate: u32, class: u32) -> bool {
        let others = self.federates.iter().filter(|(other, _)| **other != federate);
        others.map(|(_, member)| &member.declarations).any(|declared| {
            self.fom.interactions.lineage(class).any(|above| {
                declared.subscribed_interactions.contains(&above)
                    && !declared.passive_interactions.contains(&above)
            })
        })
    }

    fn advise_of_interactions(&mut self, federate: u32, is_on: bool) {
        let published = self.federates[&federate].declarations.published_interactions.iter().copied();
        let wanted: BTreeSet<u32> =
            published.filter(|class| is_on && self.is_interaction_wanted(federate, *class)).collect();
        let before = std::mem::replace(&mut self.advised(federate).interactions, wanted.clone());
        if !is_on {
            return;
        }
        for class in before.difference(&wanted) {
            if self.federates[&federate].declarations.published_interactions.contains(class) {
                let interaction_class = Handle::some(*class);
                self.tell(federate, callback::TurnInteractionsOff { interaction_class });
            }
        }
        for class in wanted.difference(&before) {
            let interaction_class = Handle::some(*class);
            self.tell(federate, callback::TurnInteractionsOn { interaction_class });
        }
    }

    /// The attributes of an instance that a federate subscribes to, and whether actively.
    fn subscribed_of(&self, federate: u32, object: u32) -> impl Iterator<Item = (u32, bool)> {
        let member = &self.federates[&federate];
        let class = member.known.get(&object).and_then(|class| self.closest_subscribed(federate, *class));
        let declared = &member.declarations;
        class.into_iter().flat_map(move |class| {
            let attributes = declared.subscribed[&class].iter();
            attributes.map(move |attribute| (*attribute, !declared.passive.contains(&(class, *attribute))))
        })
    }

    fn wanted_updates(&self, federate: u32) -> Attributes {
        let mut wanted = BTreeSet::new();
        for (object, instance) in &self.objects {
            let is_owned = |attribute: &u32| instance.owners.get(attribute) == Some(&federate);
            // Most instances are those of others.
            if !instance.owners.values().any(|owner| *owner == federate) {
                continue;
            }
            for other in self.federates.keys().filter(|other| **other != federate) {
                let active = self.subscribed_of(*other, *object).filter(|(_, is_active)| *is_active);
                let owned = active.map(|(attribute, _)| attribute).filter(is_owned);
                wanted.extend(owned.map(|attribute| (*object, attribute)));
            }
        }
        wanted
    }

    fn advise_of_updates(&mut self, federate: u32, is_on: bool) {
        let wanted = if is_on { self.wanted_updates(federate) } else { BTreeSet::new() };
        let before = std::mem::replace(&mut self.advised(federate).updates, wanted.clone());
        if !is_on {
            return;
        }
        let is_owned = |(object, attribute): &(u32, u32)| {
            let instance = self.objects.get(object);
            instance.is_some_and(|instance| instance.owners.get(attribute) == Some(&federate))
        };
        for (object, attributes) in by_object(before.difference(&wanted).copied().filter(is_owned)) {
            let (object_instance, attributes) = (Handle::some(object), attribute_set(attributes));
            self.tell(federate, callback::TurnUpdatesOffForObjectInstance { object_instance, attributes });
        }
        for (object, attributes) in by_object(wanted.difference(&before).copied()) {
            let (object_instance, attributes) = (Handle::some(object), attribute_set(attributes));
            self.tell(federate, callback::TurnUpdatesOnForObjectInstance { object_instance, attributes });
        }
    }

    fn attributes_in_scope(&self, federate: u32) -> Attributes {
        let known = self.federates[&federate].known.keys().copied();
        let attributes = known.filter_map(|object| Some((object, self.objects.get(&object)?)));
        let attributes = attributes.flat_map(|(object, instance)| {
            let subscribed = self.subscribed_of(federate, object).map(|(attribute, _)| attribute);
            let foreign = subscribed.filter(move |attribute| {
                instance.owners.get(attribute).is_some_and(|owner| *owner != federate)
            });
            foreign.map(move |attribute| (object, attribute))
        });
        attributes.collect()
    }

    fn advise_of_scope(&mut self, federate: u32, is_on: bool) {
        let inside = if is_on { self.attributes_in_scope(federate) } else { BTreeSet::new() };
        let before = std::mem::replace(&mut self.advised(federate).scope, inside.clone());
        if !is_on {
            return;
        }
        let is_known = |(object, _): &(u32, u32)| self.federates[&federate].known.contains_key(object);
        for (object, attributes) in by_object(before.difference(&inside).copied().filter(is_known)) {
            let (object_instance, attributes) = (Handle::some(object), attribute_set(attributes));
            self.tell(federate, callback::AttributesOutOfScope { object_instance, attributes });
        }
        for (object, attributes) in by_object(inside.difference(&before).copied()) {
            let (object_instance, attributes) = (Handle::some(object), attribute_set(attributes));
            self.tell(federate, callback::AttributesInScope { object_instance, attributes });
        }
    }
}
