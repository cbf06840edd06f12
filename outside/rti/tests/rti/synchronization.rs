//! Synchronization points, with and without a set, with failures, late joiners and federates that leave.

use paceline_hla::{
    Bytes, Callback, FederateHandle, FederateHandleSet, ResignAction, SynchronizationPointFailureReason,
    request,
};

use crate::harness::Harness;

const TAG: Bytes = Bytes::from_static(b"tag");

fn handles(federates: &[u32]) -> FederateHandleSet {
    let handle = |federate: &u32| FederateHandle { data: Bytes::copy_from_slice(&federate.to_be_bytes()) };
    FederateHandleSet { federate_handle: federates.iter().map(handle).collect() }
}

fn register(harness: &mut Harness, federate: u32, label: &str, set: Option<&[u32]>) {
    let synchronization_point_label = label.to_owned();
    match set {
        None => harness.ask(
            federate,
            request::RegisterFederationSynchronizationPoint {
                synchronization_point_label,
                user_supplied_tag: TAG,
            },
        ),
        Some(set) => harness.ask(
            federate,
            request::RegisterFederationSynchronizationPointWithSet {
                synchronization_point_label,
                user_supplied_tag: TAG,
                synchronization_set: Some(handles(set)),
            },
        ),
    };
}

fn achieved(label: &str, successfully: bool) -> request::SynchronizationPointAchieved {
    let synchronization_point_label = label.to_owned();
    request::SynchronizationPointAchieved { synchronization_point_label, successfully }
}

/// In words: what a federate is called with.
fn taken(harness: &mut Harness, federate: u32) -> Vec<String> {
    let words = |callback| match callback {
        Callback::SynchronizationPointRegistrationSucceeded(c) => {
            format!("registered {}", c.synchronization_point_label)
        }
        Callback::SynchronizationPointRegistrationFailed(c) => {
            let reason = SynchronizationPointFailureReason::try_from(c.reason).unwrap();
            format!("not registered {}: {reason:?}", c.synchronization_point_label)
        }
        Callback::AnnounceSynchronizationPoint(c) => {
            assert_eq!(c.user_supplied_tag, TAG);
            format!("announced {}", c.synchronization_point_label)
        }
        Callback::FederationSynchronized(c) => {
            let failed = c.failed_to_sync_set.unwrap().federate_handle;
            format!("reached {}, but for {}", c.synchronization_point_label, failed.len())
        }
        other => panic!("{other:?}"),
    };
    harness.taken(federate).into_iter().map(words).collect()
}

#[test]
fn a_point_for_all_waits_for_who_joins_later() {
    let mut harness = Harness::joined(2);
    register(&mut harness, 1, "go", None);
    assert_eq!(taken(&mut harness, 1), ["registered go", "announced go"]);
    assert_eq!(taken(&mut harness, 2), ["announced go"]);
    harness.ask(1, achieved("go", true));
    harness.refused(1, achieved("go", true), "RTIinternalError");
    harness.ask(3, request::Connect {});
    let (federate_type, federation_name) = ("late".to_owned(), "F".to_owned());
    harness.ask(3, request::JoinFederationExecution { federate_type, federation_name });
    assert_eq!(taken(&mut harness, 3), ["announced go"]);
    harness.ask(2, achieved("go", false));
    assert_eq!(taken(&mut harness, 1), [""; 0]);
    harness.ask(3, achieved("go", true));
    (1..=3).for_each(|federate| assert_eq!(taken(&mut harness, federate), ["reached go, but for 1"]));
    harness.refused(1, achieved("go", true), "SynchronizationPointLabelNotAnnounced");
    register(&mut harness, 2, "go", None);
    assert_eq!(taken(&mut harness, 2), ["registered go", "announced go"], "the label is free again");
}

#[test]
fn a_point_with_a_set_concerns_nobody_else() {
    let mut harness = Harness::joined(3);
    register(&mut harness, 1, "go", Some(&[2, 3]));
    assert_eq!(taken(&mut harness, 1), ["registered go"]);
    harness.refused(1, achieved("go", true), "SynchronizationPointLabelNotAnnounced");
    harness.ask(2, achieved("go", true));
    harness.ask(3, achieved("go", true));
    assert_eq!(taken(&mut harness, 1), [""; 0]);
    (2..=3).for_each(|federate| {
        assert_eq!(taken(&mut harness, federate), ["announced go", "reached go, but for 0"]);
    });
}

#[test]
fn registration_fails_by_a_callback() {
    let mut harness = Harness::joined(2);
    register(&mut harness, 1, "go", None);
    taken(&mut harness, 1);
    taken(&mut harness, 2);
    register(&mut harness, 2, "go", Some(&[2]));
    register(&mut harness, 2, "stop", Some(&[2, 3]));
    assert_eq!(
        taken(&mut harness, 2),
        [
            "not registered go: SynchronizationPointLabelNotUnique",
            "not registered stop: SynchronizationSetMemberNotJoined"
        ]
    );
    let set =
        Some(FederateHandleSet { federate_handle: vec![FederateHandle { data: Bytes::from_static(b"1") }] });
    let call = request::RegisterFederationSynchronizationPointWithSet {
        synchronization_point_label: "go on".to_owned(),
        synchronization_set: set,
        ..Default::default()
    };
    assert_eq!(harness.refused(2, call, "InvalidFederateHandle"), "a handle has 4 bytes, this one has 1");
}

#[test]
fn a_point_has_a_label() {
    let mut harness = Harness::joined(1);
    for label in ["", "  "] {
        let synchronization_point_label = label.to_owned();
        let call = request::RegisterFederationSynchronizationPoint {
            synchronization_point_label,
            ..Default::default()
        };
        harness.refused(1, call, "RTIinternalError");
    }
    assert_eq!(taken(&mut harness, 1), [""; 0]);
}

#[test]
fn who_leaves_is_not_waited_for() {
    let mut harness = Harness::joined(3);
    register(&mut harness, 1, "go", None);
    harness.ask(1, achieved("go", true));
    harness.ask(2, request::ResignFederationExecution { resign_action: ResignAction::NoAction.into() });
    assert_eq!(taken(&mut harness, 1), ["registered go", "announced go"]);
    harness.lose(3);
    assert_eq!(taken(&mut harness, 1), ["reached go, but for 0"]);
}
