//! Flush queue requests, retraction, lookaheads that become smaller, and grants where nobody regulates.

use paceline_hla::{
    Bytes, Callback, FomModuleSet, MessageRetractionHandle, MessageRetractionReturn, Response, request,
};

use crate::harness::{Harness, module, small_module};
use crate::time::{advance, galt, interval, next_message, regulating, send, taken, time};

fn flush(to: i64) -> request::FlushQueueRequest {
    request::FlushQueueRequest { time: time(to) }
}

/// Sends, and returns what the message is retracted by.
fn sent(harness: &mut Harness, federate: u32, tag: &'static str, at: i64) -> request::Retract {
    let message = send(harness, tag, at);
    let Response::SendInteractionWithTime(sent) = harness.ask(federate, message) else { panic!() };
    let MessageRetractionReturn { retraction_handle_is_valid, message_retraction_handle } =
        sent.result.expect("there is one");
    assert!(retraction_handle_is_valid);
    request::Retract { retraction: message_retraction_handle }
}

fn lookahead(harness: &mut Harness, federate: u32) -> i64 {
    let Response::QueryLookahead(found) = harness.ask(federate, request::QueryLookahead {}) else { panic!() };
    i64::from_be_bytes((*found.result.expect("it regulates").data).try_into().expect("8 bytes"))
}

#[test]
fn a_flush_hands_over_all_and_grants_what_is_safe() {
    let mut harness = regulating(&[1, 5]);
    for (tag, at) in [("far", 90), ("near", 30)] {
        sent(&mut harness, 2, tag, at);
    }
    harness.ask(1, flush(200));
    assert_eq!(taken(&mut harness, 1), ["near of 30", "far of 90", "flushed at 5, optimistic 30"]);
    harness.ask(2, advance(60));
    harness.ask(1, flush(40));
    assert_eq!(taken(&mut harness, 1), ["flushed at 40, optimistic 40"]);
    assert_eq!(taken(&mut harness, 2), [""; 0]);
    harness.refused(1, flush(39), "LogicalTimeAlreadyPassed");
    harness.ask(1, advance(200));
    assert_eq!(taken(&mut harness, 2), ["granted 60"], "1 does not act before 200");
    harness.refused(1, flush(300), "InTimeAdvancingState");
}

#[test]
fn a_message_below_one_that_was_flushed_still_comes() {
    let mut harness = regulating(&[1, 5]);
    sent(&mut harness, 2, "far", 90);
    harness.ask(1, flush(100));
    sent(&mut harness, 2, "straggler", 20);
    harness.ask(1, flush(100));
    assert_eq!(
        taken(&mut harness, 1),
        ["far of 90", "flushed at 5, optimistic 90", "straggler of 20", "flushed at 5, optimistic 20"]
    );
}

#[test]
fn a_message_that_waits_is_retracted_without_a_word() {
    let mut harness = regulating(&[1, 5]);
    let (first, second) = (sent(&mut harness, 2, "a", 20), sent(&mut harness, 2, "b", 20));
    harness.ask(1, next_message(50));
    harness.ask(2, first.clone());
    harness.refused(2, first, "MessageCanNoLongerBeRetracted");
    harness.refused(1, second.clone(), "InvalidMessageRetractionHandle");
    harness.ask(2, advance(40));
    assert_eq!(taken(&mut harness, 1), ["b of 20", "granted 20"]);
    harness.refused(2, second, "MessageCanNoLongerBeRetracted");
    let unknown = request::Retract { retraction: Some(MessageRetractionHandle { data: Bytes::new() }) };
    harness.refused(2, unknown, "InvalidMessageRetractionHandle");
}

#[test]
fn a_retraction_lets_a_next_message_request_go_on() {
    let mut harness = regulating(&[1, 5]);
    let message = sent(&mut harness, 2, "a", 20);
    harness.ask(2, request::TimeAdvanceRequestAvailable { time: time(2) });
    harness.ask(1, next_message(6));
    assert_eq!((taken(&mut harness, 1).len(), taken(&mut harness, 2).len()), (1, 1));
    harness.ask(1, next_message(30));
    assert_eq!(galt(&mut harness, 2), Some(8), "1 could answer a message of 7");
    harness.ask(2, message);
    assert_eq!(galt(&mut harness, 2), Some(8));
    harness.ask(2, advance(30));
    assert_eq!(taken(&mut harness, 1), ["granted 30"]);
}

#[test]
fn who_has_got_a_message_is_asked_to_take_it_back() {
    let mut harness = regulating(&[1, 5, 5]);
    harness.ask(3, request::DisableTimeConstrained {});
    let message = sent(&mut harness, 2, "a", 20);
    harness.ask(1, flush(20));
    let Some(Callback::ReceiveInteractionWithTime(received)) = harness.taken(1).into_iter().next() else {
        panic!("the message comes first")
    };
    assert_eq!(received.optional_retraction, message.retraction, "both know it by the same handle");
    assert_eq!(taken(&mut harness, 3), ["a of 20, not in order"]);
    harness.ask(2, message);
    assert_eq!(
        (taken(&mut harness, 1), taken(&mut harness, 3)),
        (vec!["retract".into()], vec!["retract".into()])
    );
}

#[test]
fn what_is_sent_at_the_bound_itself_is_final() {
    let mut harness = regulating(&[1, 5]);
    let message = sent(&mut harness, 2, "a", 5);
    harness.ask(1, request::TimeAdvanceRequestAvailable { time: time(5) });
    assert_eq!(taken(&mut harness, 1), ["a of 5", "granted 5"]);
    harness.refused(2, message.clone(), "MessageCanNoLongerBeRetracted");
    harness.ask(2, request::DisableTimeRegulation {});
    harness.refused(2, message, "TimeRegulationIsNotEnabled");
}

#[test]
fn a_smaller_lookahead_counts_as_time_passes() {
    let mut harness = regulating(&[10, 0]);
    harness.ask(1, request::ModifyLookahead { lookahead: interval(3) });
    assert_eq!((lookahead(&mut harness, 1), galt(&mut harness, 2)), (10, Some(10)));
    let early = send(&mut harness, "a", 9);
    harness.refused(1, early, "InvalidLogicalTime");
    sent(&mut harness, 1, "b", 10);
    let step = |harness: &mut Harness, to| {
        (1..=2).for_each(|federate| drop(harness.ask(federate, advance(to))));
        (1..=2).for_each(|federate| drop(harness.taken(federate)));
    };
    step(&mut harness, 4);
    assert_eq!((lookahead(&mut harness, 1), galt(&mut harness, 2)), (6, Some(10)));
    // It grows beyond what is left of the old one, and shrinks again to less.
    harness.ask(1, request::ModifyLookahead { lookahead: interval(8) });
    harness.ask(1, request::ModifyLookahead { lookahead: interval(1) });
    assert_eq!((lookahead(&mut harness, 1), galt(&mut harness, 2)), (8, Some(12)));
    step(&mut harness, 11);
    assert_eq!((lookahead(&mut harness, 1), galt(&mut harness, 2)), (1, Some(12)));
    step(&mut harness, 20);
    assert_eq!((lookahead(&mut harness, 1), galt(&mut harness, 2)), (1, Some(21)));
}

#[test]
fn who_reacts_keeps_what_a_greater_lookahead_promised() {
    let mut harness = regulating(&[10, 1]);
    harness.ask(1, request::ModifyLookahead { lookahead: interval(0) });
    harness.ask(1, next_message(50));
    // What 2 sends at 1 makes 1 act then, but it answers at 10.
    assert_eq!(galt(&mut harness, 2), Some(10));
}

/// Two federates, of which nobody regulates; modules say this of the switch.
fn without_regulation(switch: &str) -> Harness {
    let mut harness = Harness::default();
    for client in 1..=2 {
        harness.ask(client, request::Connect {});
    }
    let tables = format!(r#"<switches><nonRegulatedGrant isEnabled="{switch}"/></switches>"#);
    let fom_modules = Some(FomModuleSet { fom_module: vec![small_module(), module("2025", &tables)] });
    let create = request::CreateFederationExecutionWithModulesAndTime {
        federation_name: "F".to_owned(),
        fom_modules,
        logical_time_implementation_name: "HLAinteger64Time".to_owned(),
    };
    harness.ask(1, create);
    for client in 1..=2 {
        let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
        harness.ask(client, request::JoinFederationExecution { federate_type, federation_name });
    }
    let Response::GetNonRegulatedGrantSwitch(found) = harness.ask(1, request::GetNonRegulatedGrantSwitch {})
    else {
        panic!()
    };
    assert_eq!(found.result.to_string(), switch);
    harness
}

#[test]
fn nobody_goes_on_without_a_regulating_federate_unless_the_switch_is_on() {
    let mut harness = without_regulation("true");
    harness.ask(1, request::EnableTimeConstrained {});
    harness.ask(1, advance(5));
    assert_eq!(taken(&mut harness, 1), ["constrained at 0", "granted 5"]);
    let mut harness = without_regulation("false");
    harness.ask(1, request::EnableTimeConstrained {});
    harness.ask(1, flush(5));
    harness.ask(1, advance(0));
    harness.ask(1, next_message(5));
    assert_eq!(taken(&mut harness, 1), ["constrained at 0", "flushed at 0, optimistic 5", "granted 0"]);
    harness.ask(2, advance(9));
    assert_eq!(taken(&mut harness, 2), ["granted 9"], "who is not constrained needs nobody");
    harness.ask(2, request::EnableTimeRegulation { lookahead: interval(1) });
    assert_eq!(taken(&mut harness, 1), ["granted 5"]);
    harness.ask(2, request::EnableTimeConstrained {});
    harness.ask(2, advance(10));
    assert_eq!(taken(&mut harness, 2), ["regulates at 9", "constrained at 9"], "it leads only others");
    harness.ask(1, advance(6));
    harness.lose(2);
    harness.ask(1, advance(7));
    assert_eq!(taken(&mut harness, 1), ["granted 6"]);
    harness.ask(1, request::DisableTimeConstrained {});
    assert_eq!(taken(&mut harness, 1), ["granted 7"]);
}

#[test]
fn an_end_of_regulation_or_constraint_grants_what_waited_for_it() {
    let mut harness = regulating(&[0, 0]);
    harness.ask(1, next_message(9));
    harness.ask(1, request::DisableTimeConstrained {});
    assert_eq!(taken(&mut harness, 1), ["granted 9"]);
    harness.ask(2, advance(20));
    harness.ask(1, request::DisableTimeRegulation {});
    assert_eq!(taken(&mut harness, 2), ["granted 20"]);
    harness.ask(2, next_message(30));
    assert_eq!(taken(&mut harness, 2), ["granted 30"]);
}
