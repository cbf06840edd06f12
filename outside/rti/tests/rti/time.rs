//! Time management by examples: who is granted what, and in which order messages come.

use paceline_hla::{Bytes, Callback, LogicalTime, LogicalTimeInterval, Response, TimeQueryReturn, request};

use crate::harness::Harness;

pub fn time(number: i64) -> Option<LogicalTime> {
    Some(LogicalTime { data: Bytes::copy_from_slice(&number.to_be_bytes()) })
}

pub fn interval(number: i64) -> Option<LogicalTimeInterval> {
    Some(LogicalTimeInterval { data: Bytes::copy_from_slice(&number.to_be_bytes()) })
}

pub fn number(time: Option<&LogicalTime>) -> i64 {
    i64::from_be_bytes((*time.expect("there is a time").data).try_into().expect("8 bytes"))
}

/// Federates that regulate with these lookaheads, are constrained, and send each other interactions.
pub fn regulating(lookaheads: &[i64]) -> Harness {
    let count = lookaheads.len() as u32;
    let mut harness = Harness::joined_with(count, "HLAinteger64Time");
    for (federate, lookahead) in (1..).zip(lookaheads) {
        harness.ask(federate, request::EnableTimeRegulation { lookahead: interval(*lookahead) });
        harness.ask(federate, request::EnableTimeConstrained {});
        let interaction_class = harness.interaction_class("Hit.Hard");
        harness
            .ask(federate, request::PublishInteractionClass { interaction_class: interaction_class.clone() });
        harness.ask(federate, request::SubscribeInteractionClass { interaction_class });
    }
    (1..=count).for_each(|federate| {
        assert_eq!(taken(&mut harness, federate), ["regulates at 0", "constrained at 0"])
    });
    harness
}

/// In words: what a federate is called with.
pub fn taken(harness: &mut Harness, federate: u32) -> Vec<String> {
    let words = |callback| match callback {
        Callback::TimeRegulationEnabled(c) => format!("regulates at {}", number(c.time.as_ref())),
        Callback::TimeConstrainedEnabled(c) => format!("constrained at {}", number(c.time.as_ref())),
        Callback::TimeAdvanceGrant(c) => format!("granted {}", number(c.time.as_ref())),
        Callback::FlushQueueGrant(c) => {
            let (safe, optimistic) = (number(c.time.as_ref()), number(c.optimistic_time.as_ref()));
            format!("flushed at {safe}, optimistic {optimistic}")
        }
        Callback::RequestRetraction(_) => "retract".to_owned(),
        Callback::ReceiveInteraction(_) => "message".to_owned(),
        Callback::ReceiveInteractionWithTime(c) => {
            let tag = String::from_utf8_lossy(&c.user_supplied_tag).into_owned();
            let is_in_order = c.received_order_type == 1;
            format!("{tag} of {}{}", number(c.time.as_ref()), if is_in_order { "" } else { ", not in order" })
        }
        other => panic!("{other:?}"),
    };
    harness.taken(federate).into_iter().map(words).collect()
}

pub fn advance(to: i64) -> request::TimeAdvanceRequest {
    request::TimeAdvanceRequest { time: time(to) }
}

pub fn next_message(to: i64) -> request::NextMessageRequest {
    request::NextMessageRequest { time: time(to) }
}

pub fn send(harness: &mut Harness, tag: &'static str, at: i64) -> request::SendInteractionWithTime {
    request::SendInteractionWithTime {
        interaction_class: harness.interaction_class("Hit.Hard"),
        parameter_values: None,
        user_supplied_tag: Bytes::from_static(tag.as_bytes()),
        time: time(at),
    }
}

pub fn galt(harness: &mut Harness, federate: u32) -> Option<i64> {
    let Response::QueryGALT(found) = harness.ask(federate, request::QueryGALT {}) else {
        panic!("its response")
    };
    let TimeQueryReturn { logical_time_is_valid, logical_time } = found.result.expect("there is one");
    logical_time_is_valid.then(|| number(logical_time.as_ref()))
}

#[test]
fn steps_longer_than_the_lookahead_do_not_wait_for_ever() {
    for lookahead in [0, 1, 10] {
        let mut harness = regulating(&[lookahead, lookahead]);
        for step in 1..4 {
            harness.ask(1, advance(step * 10));
            assert_eq!(taken(&mut harness, 1), [""; 0], "2 may still send below");
            harness.ask(2, advance(step * 10));
            (1..=2).for_each(|federate| {
                assert_eq!(taken(&mut harness, federate), [format!("granted {}", step * 10)]);
            });
        }
    }
}

#[test]
fn a_pending_request_counts_and_not_the_last_grant() {
    let mut harness = regulating(&[2, 3]);
    assert_eq!((galt(&mut harness, 1), galt(&mut harness, 2)), (Some(3), Some(2)));
    harness.ask(1, advance(20));
    assert_eq!((galt(&mut harness, 2), taken(&mut harness, 1)), (Some(22), vec![]));
    harness.ask(2, advance(21));
    assert_eq!(taken(&mut harness, 2), ["granted 21"]);
    assert_eq!(taken(&mut harness, 1), ["granted 20"]);
}

#[test]
fn without_a_lookahead_nothing_is_sent_at_a_time_that_was_passed() {
    let mut harness = regulating(&[0, 0]);
    harness.ask(1, advance(5));
    harness.ask(2, advance(5));
    assert_eq!((taken(&mut harness, 1).len(), taken(&mut harness, 2).len()), (1, 1));
    let at_once = send(&mut harness, "a", 5);
    harness.refused(1, at_once.clone(), "InvalidLogicalTime");
    // Asking again for the same time does not bring it back.
    harness.ask(1, request::TimeAdvanceRequestAvailable { time: time(5) });
    harness.refused(1, at_once, "InvalidLogicalTime");
    harness.ask(1, request::TimeAdvanceRequestAvailable { time: time(8) });
    harness.ask(2, request::TimeAdvanceRequestAvailable { time: time(8) });
    assert_eq!(taken(&mut harness, 1), ["granted 5", "granted 8"]);
    let at_once = send(&mut harness, "b", 8);
    harness.ask(1, at_once);
    harness.ask(2, request::TimeAdvanceRequestAvailable { time: time(8) });
    assert_eq!(taken(&mut harness, 2), ["granted 8", "b of 8", "granted 8"]);
    harness.ask(2, advance(8));
    assert_eq!(taken(&mut harness, 2), [""; 0], "1 may still send at 8");
    harness.ask(1, advance(8));
    assert_eq!((taken(&mut harness, 1).len(), taken(&mut harness, 2).len()), (1, 1));
}

#[test]
fn messages_come_in_the_order_of_time_sender_and_count() {
    let mut harness = regulating(&[1, 1, 1]);
    for (federate, tag, at) in [(3, "c", 4), (2, "b", 4), (3, "late", 9), (2, "bb", 4), (3, "a", 2)] {
        let message = send(&mut harness, tag, at);
        harness.ask(federate, message);
    }
    (1..4).for_each(|federate| drop(harness.ask(federate, advance(6))));
    assert_eq!(taken(&mut harness, 1), ["a of 2", "b of 4", "bb of 4", "c of 4", "granted 6"]);
    assert_eq!(taken(&mut harness, 2), ["a of 2", "c of 4", "granted 6"], "its own do not come back");
}

#[test]
fn a_next_message_request_stops_at_the_message() {
    let mut harness = regulating(&[1, 1]);
    let message = send(&mut harness, "a", 4);
    harness.ask(2, message);
    harness.ask(1, next_message(9));
    assert_eq!(taken(&mut harness, 1), [""; 0], "2 may still send at 1");
    assert_eq!(galt(&mut harness, 2), Some(2), "1 could answer to that");
    harness.ask(2, next_message(7));
    assert_eq!(taken(&mut harness, 1), ["a of 4", "granted 4"]);
    assert_eq!(taken(&mut harness, 2), [""; 0], "1 may now send at 5");
    harness.ask(1, next_message(9));
    assert_eq!(taken(&mut harness, 2), ["granted 7"]);
    assert_eq!(taken(&mut harness, 1), [""; 0]);
}

#[test]
fn who_begins_to_regulate_gets_a_time_in_nobodys_past() {
    let mut harness = Harness::joined_with(3, "HLAinteger64Time");
    harness.ask(1, request::EnableTimeConstrained {});
    harness.ask(1, advance(50));
    harness.ask(2, request::EnableTimeRegulation { lookahead: interval(0) });
    assert_eq!(taken(&mut harness, 2), ["regulates at 50"]);
    let interaction_class = harness.interaction_class("Hit.Hard");
    harness.ask(2, request::PublishInteractionClass { interaction_class });
    let at_once = send(&mut harness, "a", 50);
    harness.refused(2, at_once, "InvalidLogicalTime");
    harness.ask(3, advance(70));
    harness.ask(3, request::EnableTimeConstrained {});
    assert_eq!(taken(&mut harness, 3), ["granted 70"], "2 may still send in its past");
    harness.refused(3, advance(80), "RequestForTimeConstrainedPending");
    harness.ask(2, advance(70));
    assert_eq!(taken(&mut harness, 3), ["constrained at 70"]);
}

#[test]
fn receive_order_waits_for_an_advance_unless_it_is_asynchronous() {
    let mut harness = regulating(&[1, 1]);
    let interaction_class = harness.interaction_class("Hit.Hard");
    let plain =
        || request::SendInteraction { interaction_class: interaction_class.clone(), ..Default::default() };
    harness.ask(1, plain());
    assert_eq!(taken(&mut harness, 2), [""; 0]);
    harness.ask(2, advance(5));
    assert_eq!(taken(&mut harness, 2), ["message"], "it has asked for an advance");
    harness.ask(1, plain());
    assert_eq!(taken(&mut harness, 2), ["message"]);
    harness.ask(1, advance(5));
    harness.ask(1, plain());
    assert_eq!(taken(&mut harness, 2), ["granted 5"]);
    harness.ask(2, request::EnableAsynchronousDelivery {});
    harness.refused(2, request::EnableAsynchronousDelivery {}, "AsynchronousDeliveryAlreadyEnabled");
    assert_eq!(taken(&mut harness, 2), ["message"]);
    harness.ask(2, request::DisableAsynchronousDelivery {});
    let message = send(&mut harness, "a", 9);
    harness.ask(1, message);
    harness.ask(1, plain());
    harness.ask(2, request::DisableTimeConstrained {});
    assert_eq!(taken(&mut harness, 2), ["message", "a of 9, not in order"]);
}

#[test]
fn who_resigns_holds_up_nobody() {
    let mut harness = regulating(&[1, 1, 1]);
    harness.ask(1, advance(5));
    harness.ask(2, advance(5));
    harness.lose(3);
    assert_eq!(
        (taken(&mut harness, 1), taken(&mut harness, 2)),
        (vec!["granted 5".to_owned()], vec!["granted 5".to_owned()])
    );
    harness.ask(1, advance(9));
    harness.ask(2, request::DisableTimeRegulation {});
    assert_eq!(taken(&mut harness, 1), ["granted 9"]);
    assert_eq!(galt(&mut harness, 1), None, "nobody else regulates");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut harness = regulating(&[2, 2]);
    harness.refused(
        1,
        request::EnableTimeRegulation { lookahead: interval(1) },
        "TimeRegulationAlreadyEnabled",
    );
    harness.refused(1, request::EnableTimeConstrained {}, "TimeConstrainedAlreadyEnabled");
    harness.refused(1, request::EnableTimeRegulation { lookahead: interval(-1) }, "InvalidLookahead");
    harness.refused(1, advance(-1), "LogicalTimeAlreadyPassed");
    let details = harness.refused(1, request::TimeAdvanceRequest { time: None }, "InvalidLogicalTime");
    assert_eq!(details, "a HLAinteger64Time has 8 bytes, this one has 0");
    let early = send(&mut harness, "a", 1);
    harness.refused(1, early, "InvalidLogicalTime");
    harness.ask(1, advance(9));
    harness.refused(1, advance(9), "InTimeAdvancingState");
    harness.refused(1, request::ModifyLookahead { lookahead: interval(3) }, "InTimeAdvancingState");
    let early = send(&mut harness, "a", 10);
    harness.refused(1, early, "InvalidLogicalTime");
    harness.ask(2, request::ModifyLookahead { lookahead: interval(3) });
    let Response::QueryLookahead(found) = harness.ask(2, request::QueryLookahead {}) else {
        panic!("its response")
    };
    assert_eq!(found.result, interval(3));
    let mut floats = Harness::joined(1);
    let nan = Some(LogicalTime { data: Bytes::copy_from_slice(&f64::NAN.to_be_bytes()) });
    floats.refused(1, request::TimeAdvanceRequest { time: nan }, "InvalidLogicalTime");
    floats.refused(1, request::QueryLookahead {}, "TimeRegulationIsNotEnabled");
    floats.refused(1, request::DisableTimeRegulation {}, "TimeRegulationIsNotEnabled");
    floats.refused(1, request::DisableTimeConstrained {}, "TimeConstrainedIsNotEnabled");
}
