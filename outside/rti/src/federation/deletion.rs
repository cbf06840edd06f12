//! Deletion of instances, at once or at a logical time.
//!
//! An instance that is deleted at once is known to nobody any more. One that is deleted at a time stays known
//! to each federate until the callback of its removal: at once if it is not constrained, otherwise when it
//! is granted the time. Until then it may update what it owns of the instance, which is gone once nobody
//! knows it any more and the deletion can no longer be retracted. A retraction brings the instance back to
//! all who knew it, with those owners that it had.

use std::collections::BTreeMap;

use paceline_hla::{Bytes, Callback, Response, callback, request, response};

use super::Federation;
use super::declaration::PRIVILEGE;
use super::message::{Body, Stamp};
use crate::exception::Answer;
use crate::handles::{Handle, number};
use crate::time::LogicalTime;

/// A deletion at a time, and what was before it.
#[derive(Debug)]
pub(super) struct Doom {
    deleter: u32,
    /// The time of the deletion, and the deleter's count.
    message: (LogicalTime, u64),
    /// Those that have lost attributes by it, by attribute.
    owners: BTreeMap<u32, u32>,
    /// Those that know the instance no more, and the class as which they did.
    known: BTreeMap<u32, u32>,
}

fn removal(federate: u32, object: u32, tag: &Bytes) -> Body {
    Body::Remove(callback::RemoveObjectInstance {
        object_instance: Handle::some(object),
        user_supplied_tag: tag.clone(),
        producing_federate: Handle::some(federate),
    })
}

impl Federation {
    pub(super) fn delete_at(
        &mut self,
        federate: u32,
        request: &request::DeleteObjectInstanceWithTime,
    ) -> Answer<Response> {
        let (object, _) = self.known_object(federate, request.object_instance.as_ref())?;
        self.check_privilege(federate, object)?;
        let privilege = self.fom.objects.member_of(self.objects[&object].class, PRIVILEGE);
        let is_timestamped = privilege.is_some_and(|privilege| self.carriage_of(object, privilege).1);
        let time = request.time.clone().unwrap_or_default();
        let stamp = self.check_stamp(federate, &time, is_timestamped)?;
        self.doom(federate, object, &request.user_supplied_tag, stamp);
        self.grant_all();
        let result = Stamp::retraction_return(Some(stamp));
        Ok(response::DeleteObjectInstanceWithTime { result }.into())
    }

    /// Deletes an instance, and tells all who know it but `federate`.
    pub(super) fn delete(&mut self, federate: u32, object: u32, tag: &Bytes) {
        let Some(instance) = self.objects.remove(&object) else { return };
        self.named.remove(&instance.name);
        self.doomed.remove(&object);
        let knowing = self.others_that_know(federate, object);
        self.unlearn(federate, object);
        for other in knowing {
            self.unlearn(other, object);
            self.deliver(other, removal(federate, object, tag), None);
        }
    }

    /// Deletes it at a time.
    fn doom(&mut self, federate: u32, object: u32, tag: &Bytes, stamp: Stamp) {
        let Some(instance) = self.objects.get_mut(&object) else { return };
        let mut owners = BTreeMap::new();
        instance.owners.retain(|attribute, owner| {
            let stays = *owner != federate;
            if !stays {
                owners.insert(*attribute, *owner);
            }
            stays
        });
        instance.transfers.clear();
        let known = self.federates[&federate].known.get(&object);
        let known = known.map(|class| (federate, *class)).into_iter().collect();
        self.unlearn(federate, object);
        let (deleter, message) = (federate, (stamp.time, stamp.count));
        self.doomed.insert(object, Doom { deleter, message, owners, known });
        for other in self.others_that_know(federate, object) {
            self.transmit(other, removal(federate, object, tag), Some(stamp));
        }
        self.remove_doomed();
    }

    /// A federate is about to get the removal of an instance at a time. False if it has forgotten the
    /// instance by itself and does not have to know.
    pub(super) fn meets_its_end(&mut self, federate: u32, callback: &Callback) -> bool {
        let Callback::RemoveObjectInstanceWithTime(removal) = callback else { return true };
        let Ok(object) = number(removal.object_instance.as_ref()) else { return true };
        let Some(member) = self.federates.get(&federate) else { return true };
        let class = member.known.get(&object).copied();
        self.unlearn(federate, object);
        let (Some(instance), Some(doom)) = (self.objects.get_mut(&object), self.doomed.get_mut(&object))
        else {
            return class.is_some();
        };
        doom.known.extend(class.map(|class| (federate, class)));
        instance.owners.retain(|attribute, owner| {
            let stays = *owner != federate;
            if !stays {
                doom.owners.insert(*attribute, federate);
            }
            stays
        });
        self.remove_doomed();
        class.is_some()
    }

    /// Brings back the instance that a message has deleted, if it has; returns which one.
    pub(super) fn restore(&mut self, deleter: u32, message: (LogicalTime, u64)) -> Option<u32> {
        let is_it = |doom: &Doom| doom.deleter == deleter && doom.message == message;
        let object = *self.doomed.iter().find(|(_, doom)| is_it(doom))?.0;
        let Doom { owners, known, .. } = self.doomed.remove(&object)?;
        for (federate, class) in known {
            if self.federates.contains_key(&federate) {
                self.learn(federate, object, class);
            }
        }
        let instance = self.objects.get_mut(&object)?;
        for (attribute, owner) in owners {
            // Somebody may have acquired it, or resigned.
            if self.federates.contains_key(&owner) {
                instance.owners.entry(attribute).or_insert(owner);
            }
        }
        Some(object)
    }

    /// Whether a deletion can still be retracted.
    fn is_retractable(&self, doom: &Doom) -> bool {
        let deleter = self.federates.get(&doom.deleter);
        deleter.is_some_and(|deleter| deleter.clock.retractable.contains_key(&doom.message))
    }

    /// Removes the deleted instances that nobody knows any more, if their deletion is final.
    pub(super) fn remove_doomed(&mut self) {
        if self.doomed.is_empty() {
            return;
        }
        let is_known = |object: &u32| self.knowers.contains_key(object);
        let is_gone = |(object, doom): &(&u32, &Doom)| !self.is_retractable(doom) && !is_known(object);
        let gone: Vec<u32> = self.doomed.iter().filter(is_gone).map(|(object, _)| *object).collect();
        for object in gone {
            self.doomed.remove(&object);
            if let Some(instance) = self.objects.remove(&object) {
                self.named.remove(&instance.name);
            }
        }
    }
}
