//! Deletion of instances, at once or at a logical time.
//!
//! An instance that is deleted at once is known to nobody any more. One that is deleted at a time stays known
//! to each federate until that is told: at once if it is not constrained, otherwise when it is granted the
//! time. Until then it may update what it owns of the instance, which is gone once nobody knows it any more.
//!
//! A deletion cannot be retracted: no handle for that is returned.

use paceline_hla::{Bytes, Callback, MessageRetractionReturn, Response, callback, request, response};

use super::Federation;
use super::declaration::PRIVILEGE;
use super::message::{Body, Stamp};
use crate::exception::Answer;
use crate::handles::{Handle, number};

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
        self.clock(federate).retractable.remove(&(stamp.time, stamp.count));
        self.doom(federate, object, &request.user_supplied_tag, stamp);
        self.grant_all();
        let result = Some(MessageRetractionReturn::default());
        Ok(response::DeleteObjectInstanceWithTime { result }.into())
    }

    /// Deletes an instance, and tells all who know it but `federate`.
    pub(super) fn delete(&mut self, federate: u32, object: u32, tag: &Bytes) {
        let Some(instance) = self.objects.remove(&object) else { return };
        self.named.remove(&instance.name);
        self.doomed.remove(&object);
        let told = self.others_that_know(federate, object);
        self.unlearn(federate, object);
        for other in told {
            self.unlearn(other, object);
            self.deliver(other, removal(federate, object, tag), None);
        }
    }

    /// Deletes it at a time.
    fn doom(&mut self, federate: u32, object: u32, tag: &Bytes, stamp: Stamp) {
        let Some(instance) = self.objects.get_mut(&object) else { return };
        instance.owners.retain(|_, owner| *owner != federate);
        instance.transfers.clear();
        self.doomed.insert(object);
        self.unlearn(federate, object);
        for other in self.others_that_know(federate, object) {
            self.transmit(other, removal(federate, object, tag), Some(stamp));
        }
        self.remove_doomed();
    }

    /// A federate is about to be told that an instance is deleted at a time. False if it has forgotten the
    /// instance by itself and does not have to know.
    pub(super) fn meets_its_end(&mut self, federate: u32, callback: &Callback) -> bool {
        let Callback::RemoveObjectInstanceWithTime(removal) = callback else { return true };
        let Ok(object) = number(removal.object_instance.as_ref()) else { return true };
        if !self.federates.contains_key(&federate) {
            return true;
        }
        let is_known = self.unlearn(federate, object);
        if let Some(instance) = self.objects.get_mut(&object) {
            instance.owners.retain(|_, owner| *owner != federate);
        }
        self.remove_doomed();
        is_known
    }

    /// Removes the deleted instances that nobody knows any more.
    pub(super) fn remove_doomed(&mut self) {
        let is_known = |object: &u32| self.knowers.contains_key(object);
        let gone: Vec<u32> = self.doomed.iter().copied().filter(|object| !is_known(object)).collect();
        for object in gone {
            self.doomed.remove(&object);
            if let Some(instance) = self.objects.remove(&object) {
                self.named.remove(&instance.name);
            }
        }
    }
}
