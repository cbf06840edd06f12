//! Ownership of attributes: who gives away, who gets, and who is told.

use paceline_hla::{
    AttributeHandle, AttributeHandleSet, Bytes, Call, Callback, ObjectInstanceHandle, ResignAction, Response,
    request,
};

use crate::harness::Harness;

const TAG: Bytes = Bytes::from_static(b"tag");

/// A federation of a Ship's attributes, of which the first federate owns all that it publishes.
struct Fleet {
    harness: Harness,
    ship: Option<ObjectInstanceHandle>,
    /// Position, Name, and the privilege to delete.
    attributes: Vec<AttributeHandle>,
}

const NAMES: [&str; 3] = ["Position", "Name", "HLAprivilegeToDeleteObject"];

impl Fleet {
    /// The first federate registers a ship, which all others know.
    fn new(federates: u32) -> Self {
        let mut harness = Harness::joined(federates);
        for federate in 1..=federates {
            harness.publish(federate, "Ship", &["Position", "Name"]);
            harness.subscribe(federate, "Ship", &["Position", "Name"]);
        }
        let ship = harness.register(1, "Ship");
        let attributes = harness.object_class("Ship", &NAMES).1.attribute_handle;
        (1..=federates).for_each(|federate| drop(harness.taken(federate)));
        Self { harness, ship, attributes }
    }

    /// Attributes by their places in `NAMES`.
    fn set(&self, places: &[usize]) -> Option<AttributeHandleSet> {
        let attribute_handle = places.iter().map(|place| self.attributes[*place].clone()).collect();
        Some(AttributeHandleSet { attribute_handle })
    }

    fn names(&self, set: Option<AttributeHandleSet>) -> String {
        let place = |handle: &AttributeHandle| self.attributes.iter().position(|known| known == handle);
        let set = set.unwrap_or_default().attribute_handle;
        set.iter().map(|handle| &NAMES[place(handle).expect("of a ship")][..4]).collect::<Vec<_>>().join("+")
    }

    /// In words: what a federate is called with.
    fn taken(&mut self, federate: u32) -> String {
        let tagged = |words: String, tag: &Bytes| if *tag == TAG { words + "*" } else { words };
        let mut words = Vec::new();
        for callback in self.harness.taken(federate) {
            words.push(match callback {
                Callback::RequestAttributeOwnershipAssumption(c) => {
                    tagged(format!("offered {}", self.names(c.offered_attributes)), &c.user_supplied_tag)
                }
                Callback::RequestDivestitureConfirmation(c) => {
                    tagged(format!("confirm {}?", self.names(c.released_attributes)), &c.user_supplied_tag)
                }
                Callback::AttributeOwnershipAcquisitionNotification(c) => {
                    tagged(format!("got {}", self.names(c.secured_attributes)), &c.user_supplied_tag)
                }
                Callback::AttributeOwnershipUnavailable(c) => {
                    tagged(format!("no {}", self.names(c.attributes)), &c.user_supplied_tag)
                }
                Callback::RequestAttributeOwnershipRelease(c) => {
                    tagged(format!("release {}?", self.names(c.candidate_attributes)), &c.user_supplied_tag)
                }
                Callback::ConfirmAttributeOwnershipAcquisitionCancellation(c) => {
                    format!("cancelled {}", self.names(c.attributes))
                }
                Callback::InformAttributeOwnership(c) => {
                    format!("{} of {:?}", self.names(c.attributes), c.federate.expect("its owner").data[3])
                }
                Callback::AttributeIsNotOwned(c) => format!("{} of nobody", self.names(c.attributes)),
                Callback::RemoveObjectInstance(_) => "removed".to_owned(),
                Callback::DiscoverObjectInstance(_) => "discovered".to_owned(),
                other => panic!("{other:?}"),
            });
        }
        words.join(", ")
    }

    fn owns(&mut self, federate: u32, place: usize) -> bool {
        let attribute = Some(self.attributes[place].clone());
        let call = request::IsAttributeOwnedByFederate { object_instance: self.ship.clone(), attribute };
        matches!(self.harness.call(federate, call), Response::IsAttributeOwnedByFederate(r) if r.result)
    }

    #[track_caller]
    fn ask(&mut self, federate: u32, service: Service, places: &[usize]) {
        let call = service.call(self.ship.clone(), self.set(places));
        self.harness.ask(federate, call);
    }

    #[track_caller]
    fn refused(&mut self, federate: u32, service: Service, places: &[usize], exception: &str) {
        let call = service.call(self.ship.clone(), self.set(places));
        self.harness.refused(federate, call, exception);
    }
}

/// The services that have an instance and attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Divest,
    Negotiate,
    Confirm,
    Acquire,
    AcquireIfAvailable,
    Deny,
    DivestIfWanted,
    CancelNegotiation,
    CancelAcquisition,
    Query,
}

pub const SERVICES: [Service; 10] = [
    Service::Divest,
    Service::Negotiate,
    Service::Confirm,
    Service::Acquire,
    Service::AcquireIfAvailable,
    Service::Deny,
    Service::DivestIfWanted,
    Service::CancelNegotiation,
    Service::CancelAcquisition,
    Service::Query,
];

impl Service {
    pub fn call(
        self,
        object_instance: Option<ObjectInstanceHandle>,
        attributes: Option<AttributeHandleSet>,
    ) -> Call {
        let (desired_attributes, confirmed_attributes) = (attributes.clone(), attributes.clone());
        let user_supplied_tag = TAG;
        macro_rules! call {
            ($name:ident { $($field:ident),* }) => { request::$name { object_instance, $($field),* }.into() };
        }
        match self {
            Self::Divest => {
                call!(UnconditionalAttributeOwnershipDivestiture { attributes, user_supplied_tag })
            }
            Self::Negotiate => {
                call!(NegotiatedAttributeOwnershipDivestiture { attributes, user_supplied_tag })
            }
            Self::Confirm => call!(ConfirmDivestiture { confirmed_attributes, user_supplied_tag }),
            Self::Acquire => call!(AttributeOwnershipAcquisition { desired_attributes, user_supplied_tag }),
            Self::AcquireIfAvailable => {
                call!(AttributeOwnershipAcquisitionIfAvailable { desired_attributes, user_supplied_tag })
            }
            Self::Deny => call!(AttributeOwnershipReleaseDenied { attributes, user_supplied_tag }),
            Self::DivestIfWanted => {
                call!(AttributeOwnershipDivestitureIfWanted { attributes, user_supplied_tag })
            }
            Self::CancelNegotiation => call!(CancelNegotiatedAttributeOwnershipDivestiture { attributes }),
            Self::CancelAcquisition => call!(CancelAttributeOwnershipAcquisition { attributes }),
            Self::Query => call!(QueryAttributeOwnership { attributes }),
        }
    }
}

#[test]
fn what_is_divested_is_offered_and_the_first_who_asks_gets_it() {
    let mut fleet = Fleet::new(3);
    fleet.refused(2, Service::Divest, &[0], "AttributeNotOwned");
    fleet.ask(1, Service::Divest, &[0, 1]);
    assert_eq!((fleet.taken(1), fleet.taken(2)), (String::new(), "offered Posi+Name*".to_owned()));
    fleet.ask(3, Service::Query, &[0, 1, 2]);
    assert_eq!(fleet.taken(3), "offered Posi+Name*, Posi+Name of nobody, HLAp of 1");
    fleet.ask(2, Service::AcquireIfAvailable, &[0]);
    fleet.ask(3, Service::Acquire, &[1]);
    assert_eq!((fleet.taken(2), fleet.taken(3)), ("got Posi".to_owned(), "got Name".to_owned()));
    fleet.refused(2, Service::Acquire, &[0], "FederateOwnsAttributes");
    fleet.ask(3, Service::AcquireIfAvailable, &[0]);
    assert_eq!(fleet.taken(3), "no Posi", "it has an owner who keeps it");
    assert!(fleet.owns(2, 0) && fleet.owns(3, 1) && fleet.owns(1, 2) && !fleet.owns(1, 0));
}

#[test]
fn a_negotiated_divestiture_ends_when_the_owner_confirms() {
    let mut fleet = Fleet::new(3);
    fleet.refused(1, Service::Confirm, &[0], "AttributeDivestitureWasNotRequested");
    fleet.refused(1, Service::CancelNegotiation, &[0], "AttributeDivestitureWasNotRequested");
    fleet.ask(1, Service::Negotiate, &[0, 1]);
    fleet.refused(1, Service::Negotiate, &[1], "AttributeAlreadyBeingDivested");
    fleet.refused(1, Service::Confirm, &[0], "NoAcquisitionPending");
    assert_eq!((fleet.taken(2), fleet.taken(3)), ("offered Posi+Name*".into(), "offered Posi+Name*".into()));
    fleet.ask(2, Service::Acquire, &[0]);
    fleet.ask(3, Service::AcquireIfAvailable, &[0, 1]);
    assert_eq!(fleet.taken(1), "confirm Posi?*, confirm Name?*", "it is asked once for each");
    assert!(fleet.owns(1, 0), "until it has confirmed");
    fleet.ask(1, Service::Confirm, &[0, 1]);
    assert_eq!(fleet.taken(2), "got Posi*");
    assert_eq!(fleet.taken(3), "no Posi, got Name*", "it takes only what is offered");
    assert!(fleet.owns(2, 0) && fleet.owns(3, 1));
    // An owner that takes its offer back is asked by those who want it in earnest.
    fleet.ask(2, Service::Negotiate, &[0]);
    fleet.ask(1, Service::AcquireIfAvailable, &[0]);
    fleet.ask(3, Service::Acquire, &[0]);
    fleet.ask(2, Service::CancelNegotiation, &[0]);
    assert_eq!(fleet.taken(2), "confirm Posi?*, release Posi?*");
    assert_eq!((fleet.taken(1), fleet.taken(3)), ("offered Posi*, no Posi".into(), "offered Posi*".into()));
    fleet.ask(2, Service::Divest, &[0]);
    assert_eq!((fleet.taken(1), fleet.taken(3)), (String::new(), "got Posi*".into()), "who waits is first");
}

#[test]
fn an_acquisition_is_granted_denied_or_cancelled() {
    let mut fleet = Fleet::new(3);
    fleet.ask(2, Service::Acquire, &[0, 1]);
    assert_eq!(fleet.taken(1), "release Posi+Name?*");
    fleet.refused(2, Service::AcquireIfAvailable, &[0], "AttributeAlreadyBeingAcquired");
    fleet.refused(2, Service::Deny, &[0], "AttributeNotOwned");
    fleet.ask(1, Service::Deny, &[0]);
    assert_eq!(fleet.taken(2), "no Posi*");
    fleet.refused(2, Service::CancelAcquisition, &[0], "AttributeAcquisitionWasNotRequested");
    fleet.refused(1, Service::CancelAcquisition, &[0], "AttributeAlreadyOwned");
    fleet.ask(3, Service::Acquire, &[1]);
    let set = fleet.set(&[0, 1]);
    let call = Service::DivestIfWanted.call(fleet.ship.clone(), set);
    let Response::AttributeOwnershipDivestitureIfWanted(divested) = fleet.harness.ask(1, call) else {
        panic!("its response")
    };
    assert_eq!(fleet.names(divested.result), "Name", "nobody wants the other one any more");
    assert_eq!(fleet.taken(2), "got Name*, release Name?*", "the next one asks the new owner");
    fleet.ask(3, Service::CancelAcquisition, &[1]);
    assert_eq!(fleet.taken(3), "cancelled Name");
    fleet.ask(2, Service::Negotiate, &[1]);
    fleet.ask(3, Service::Acquire, &[1]);
    fleet.ask(3, Service::CancelAcquisition, &[1]);
    fleet.refused(2, Service::Confirm, &[1], "NoAcquisitionPending");
    assert_eq!(fleet.taken(2), "confirm Name?*");
    fleet.ask(3, Service::AcquireIfAvailable, &[1]);
    assert_eq!(fleet.taken(2), "confirm Name?*", "it is asked again, for another one");
    fleet.refused(3, Service::CancelAcquisition, &[1], "AttributeAcquisitionWasNotRequested");
}

#[test]
fn who_owns_an_attribute_publishes_it() {
    let mut fleet = Fleet::new(3);
    let object_class = Some(fleet.harness.object_class("Ship", &[]).0);
    let unpublish = request::UnpublishObjectClass { object_class: object_class.clone() };
    let unpublish_position =
        request::UnpublishObjectClassAttributes { object_class, attributes: fleet.set(&[0]) };
    fleet.harness.ask(3, unpublish_position.clone());
    fleet.refused(3, Service::Acquire, &[0], "AttributeNotPublished");
    fleet.ask(3, Service::Acquire, &[1]);
    fleet.harness.refused(3, unpublish.clone(), "OwnershipAcquisitionPending");
    let local = request::LocalDeleteObjectInstance { object_instance: fleet.ship.clone() };
    fleet.harness.refused(3, local, "OwnershipAcquisitionPending");
    fleet.harness.ask(2, unpublish.clone());
    fleet.refused(2, Service::Acquire, &[0], "ObjectClassNotPublished");
    assert_eq!(fleet.taken(1), "release Name?*");
    fleet.harness.ask(1, unpublish);
    assert_eq!((fleet.taken(2), fleet.taken(3)), (String::new(), "got Name, offered HLAp".to_owned()));
    fleet.ask(2, Service::Query, &[0, 1, 2]);
    assert_eq!(fleet.taken(2), "HLAp+Posi of nobody, Name of 3");
    let delete =
        request::DeleteObjectInstance { object_instance: fleet.ship.clone(), user_supplied_tag: TAG };
    fleet.harness.refused(1, delete.clone(), "DeletePrivilegeNotHeld");
    fleet.ask(3, Service::Acquire, &[2]);
    fleet.harness.ask(3, delete);
    assert_eq!((fleet.taken(1), fleet.taken(3)), ("removed".into(), "got HLAp".into()));
    fleet.refused(3, Service::Query, &[0], "ObjectInstanceNotKnown");
}

#[test]
fn an_attribute_with_a_new_owner_makes_its_instance_known() {
    let mut harness = Harness::joined(3);
    harness.publish(1, "Ship", &["Name"]);
    harness.publish(2, "Ship", &["Position"]);
    harness.subscribe(2, "Ship", &["Name"]);
    harness.subscribe(3, "Ship", &["Position"]);
    let ship = harness.register(1, "Ship");
    harness.taken(2);
    assert_eq!(harness.taken(3), [], "nobody owns the position");
    let (_, position) = harness.object_class("Ship", &["Position"]);
    harness.ask(2, Service::Acquire.call(ship, Some(position)));
    assert!(matches!(&harness.taken(3)[..], [Callback::DiscoverObjectInstance(_)]));
}

/// The first federate owns all, the second waits for the position, and offers the name.
#[test]
fn resigning_by_each_action_leaves_what_it_says() {
    use ResignAction::*;
    for (action, exception, owner_gets, acquirer_gets) in [
        (UnconditionallyDivestAttributes, "OwnershipAcquisitionPending", "", ""),
        (DeleteObjects, "OwnershipAcquisitionPending", "", ""),
        (DeleteObjectsThenDivest, "OwnershipAcquisitionPending", "", ""),
        (NoAction, "OwnershipAcquisitionPending", "", ""),
        (CancelPendingOwnershipAcquisitions, "FederateOwnsAttributes", "", ""),
        (CancelThenDeleteThenDivest, "", "offered Name", "offered Name"),
    ] {
        let mut fleet = Fleet::new(3);
        fleet.ask(1, Service::Divest, &[1]);
        fleet.ask(2, Service::Acquire, &[0, 1]);
        (1..=3).for_each(|federate| drop(fleet.taken(federate)));
        let resign = request::ResignFederationExecution { resign_action: action.into() };
        if exception.is_empty() {
            fleet.harness.ask(2, resign);
        } else {
            fleet.harness.refused(2, resign, exception);
        }
        assert_eq!((fleet.taken(1), fleet.taken(3)), (owner_gets.into(), acquirer_gets.into()), "{action:?}");
        fleet.ask(1, Service::DivestIfWanted, &[0]);
        assert_eq!(fleet.owns(1, 0), exception.is_empty(), "{action:?}: nobody waits if it has resigned");
    }
    // Without anything to wait for.
    for (action, exception, other_gets) in [
        (UnconditionallyDivestAttributes, "", "got Posi, offered HLAp+Name"),
        (DeleteObjects, "", "removed"),
        (DeleteObjectsThenDivest, "", "removed"),
        (CancelThenDeleteThenDivest, "", "removed"),
        (CancelPendingOwnershipAcquisitions, "FederateOwnsAttributes", ""),
        (NoAction, "FederateOwnsAttributes", ""),
    ] {
        let mut fleet = Fleet::new(2);
        fleet.ask(2, Service::Acquire, &[0]);
        let resign = request::ResignFederationExecution { resign_action: action.into() };
        if exception.is_empty() {
            fleet.harness.ask(1, resign);
        } else {
            fleet.harness.refused(1, resign, exception);
        }
        assert_eq!(fleet.taken(2), other_gets, "{action:?}");
    }
    // Without the privilege an instance stays, so that its attributes would be left.
    for (action, exception, other_gets) in [
        (DeleteObjects, "FederateOwnsAttributes", "got HLAp"),
        (DeleteObjectsThenDivest, "", "got HLAp, offered Posi+Name"),
        (CancelThenDeleteThenDivest, "", "got HLAp, offered Posi+Name"),
    ] {
        let mut fleet = Fleet::new(2);
        fleet.ask(2, Service::Acquire, &[2]);
        fleet.ask(1, Service::DivestIfWanted, &[2]);
        let resign = request::ResignFederationExecution { resign_action: action.into() };
        if exception.is_empty() {
            fleet.harness.ask(1, resign);
        } else {
            fleet.harness.refused(1, resign, exception);
        }
        assert_eq!(fleet.taken(2), other_gets.replace("got HLAp", "got HLAp*"), "{action:?}");
    }
    // A federate that is lost leaves nothing, whatever its directive.
    let mut fleet = Fleet::new(2);
    fleet.harness.ask(1, request::SetAutomaticResignDirective { value: NoAction.into() });
    fleet.harness.lose(1);
    assert_eq!(fleet.taken(2), "offered HLAp+Posi+Name");
}
