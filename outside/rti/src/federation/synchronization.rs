//! Synchronization points: labels that federates reach, each by itself, and all learn when the last has.
//!
//! Invariants: a point waits for somebody; whoever it waits for has had it announced; who joins after a point
//! for all was registered is waited for too.

use std::collections::BTreeSet;

use paceline_hla::{
    Bytes, FederateHandle, FederateHandleSet, Response, SynchronizationPointFailureReason, callback, request,
    response,
};

use super::Federation;
use crate::exception::{Answer, CallError, Exception};
use crate::handles::{Handle, number};

/// A point that is not reached yet.
#[derive(Debug)]
pub(super) struct Point {
    tag: Bytes,
    /// Who joins is waited for as well.
    is_for_all: bool,
    /// Who learns when all have reached it.
    members: BTreeSet<u32>,
    /// Those that have not reached it.
    waiting: BTreeSet<u32>,
    /// Those that have said that they failed to.
    failed: BTreeSet<u32>,
}

impl Federation {
    pub(super) fn register_point(
        &mut self,
        federate: u32,
        label: String,
        tag: Bytes,
        set: Option<FederateHandleSet>,
    ) -> Answer<()> {
        // Clients send a label that is missing as one without letters.
        if label.trim().is_empty() {
            return Err(CallError::new(Exception::RTIinternalError, "the label of a point is empty"));
        }
        let handles = set.unwrap_or_default().federate_handle;
        let named: BTreeSet<u32> =
            handles.iter().map(|handle| number(Some(handle))).collect::<Answer<_>>()?;
        let failure = if self.points.contains_key(&label) {
            Some(SynchronizationPointFailureReason::SynchronizationPointLabelNotUnique)
        } else if named.iter().any(|member| !self.federates.contains_key(member)) {
            Some(SynchronizationPointFailureReason::SynchronizationSetMemberNotJoined)
        } else {
            None
        };
        if let Some(reason) = failure {
            let (synchronization_point_label, reason) = (label, reason.into());
            let failed =
                callback::SynchronizationPointRegistrationFailed { synchronization_point_label, reason };
            self.tell(federate, failed);
            return Ok(());
        }
        let synchronization_point_label = label.clone();
        self.tell(
            federate,
            callback::SynchronizationPointRegistrationSucceeded { synchronization_point_label },
        );
        // The standard takes an empty set for all federates.
        let is_for_all = named.is_empty();
        let members = if is_for_all { self.federates.keys().copied().collect() } else { named };
        let (waiting, failed) = (members.clone(), BTreeSet::new());
        let point = Point { tag, is_for_all, members, waiting, failed };
        for member in &point.members {
            self.announce(*member, &label, &point.tag);
        }
        self.points.insert(label, point);
        Ok(())
    }

    fn announce(&mut self, federate: u32, label: &str, tag: &Bytes) {
        let (synchronization_point_label, user_supplied_tag) = (label.to_owned(), tag.clone());
        let announced =
            callback::AnnounceSynchronizationPoint { synchronization_point_label, user_supplied_tag };
        self.tell(federate, announced);
    }

    /// Announces the points that wait for all to a federate that has joined.
    pub(super) fn announce_to(&mut self, federate: u32) {
        let mut announced = Vec::new();
        for (label, point) in self.points.iter_mut().filter(|(_, point)| point.is_for_all) {
            point.members.insert(federate);
            point.waiting.insert(federate);
            announced.push((label.clone(), point.tag.clone()));
        }
        announced.iter().for_each(|(label, tag)| self.announce(federate, label, tag));
    }

    pub(super) fn achieve_point(
        &mut self,
        federate: u32,
        request: &request::SynchronizationPointAchieved,
    ) -> Answer<Response> {
        let label = &request.synchronization_point_label;
        let point = self.points.get_mut(label).filter(|point| point.members.contains(&federate));
        let point = point.ok_or_else(|| {
            let details = format!("{label:?} was not announced to this federate, or is reached by all");
            CallError::new(Exception::SynchronizationPointLabelNotAnnounced, details)
        })?;
        if !point.waiting.remove(&federate) {
            let details = format!("this federate has said of {label:?} already that it is there");
            return Err(CallError::new(Exception::RTIinternalError, details));
        }
        if !request.successfully {
            point.failed.insert(federate);
        }
        self.finish_points();
        Ok(response::SynchronizationPointAchieved {}.into())
    }

    /// Who has resigned is not waited for.
    pub(super) fn forget_in_points(&mut self, federate: u32) {
        for point in self.points.values_mut() {
            point.members.remove(&federate);
            point.waiting.remove(&federate);
            point.failed.remove(&federate);
        }
        self.finish_points();
    }

    /// The points of this label, or all: who is waited for (2), and who waits for others (3).
    pub(super) fn point_states(&self, wanted: Option<&str>) -> Vec<(String, Vec<(u32, u32)>)> {
        let points = self.points.iter().filter(|(label, _)| wanted.is_none_or(|wanted| wanted == *label));
        let states = points.map(|(label, point)| {
            let state = |member: &u32| (*member, if point.waiting.contains(member) { 2 } else { 3 });
            (label.clone(), point.members.iter().map(state).collect())
        });
        states.collect()
    }

    fn finish_points(&mut self) {
        let reached = self.points.iter().filter(|(_, point)| point.waiting.is_empty());
        for label in reached.map(|(label, _)| label.clone()).collect::<Vec<_>>() {
            let Some(point) = self.points.remove(&label) else { continue };
            let failed: Vec<_> = point.failed.iter().map(|member| FederateHandle::of(*member)).collect();
            for member in point.members {
                let synchronization_point_label = label.clone();
                let failed_to_sync_set = Some(FederateHandleSet { federate_handle: failed.clone() });
                let reached =
                    callback::FederationSynchronized { synchronization_point_label, failed_to_sync_set };
                self.tell(member, reached);
            }
        }
    }
}
