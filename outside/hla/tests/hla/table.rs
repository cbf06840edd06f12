//! What holds of the table without a look at anybody else's.

use std::collections::BTreeSet;

use paceline_hla::callbacks::CALLBACKS;
use paceline_hla::calls::CALLS;
use paceline_hla::data::{ENUMERATIONS, MESSAGES};
use paceline_hla::{Kind, MessageRow};

/// The one message that the table of data does not have as a row.
const SOURCES: &str = "FomModule";

fn all_rows() -> impl Iterator<Item = MessageRow> {
    let calls = CALLS.iter().flat_map(|(_, request, _, response)| [*request, *response]);
    calls.chain(CALLBACKS.iter().map(|(_, row)| *row)).chain(MESSAGES.iter().copied())
}

#[test]
fn the_table_has_all_calls_callbacks_messages_and_enumerations() {
    assert_eq!((CALLS.len(), CALLBACKS.len(), ENUMERATIONS.len()), (178, 62, 10));
    // Beside the rows: FomModule; CallRequest, CallResponse; CallbackRequest, CallbackResponse,
    // CallbackSucceeded.
    assert_eq!(all_rows().count() + 6, 470);
}

#[test]
fn numbers_rise_by_one() {
    for (place, (request, row, response, _)) in CALLS.iter().enumerate() {
        let number = place as u32 + 1;
        assert_eq!((*request, *response), (number, number + 1), "{}", row.name);
    }
    for (place, (number, row)) in CALLBACKS.iter().enumerate() {
        assert_eq!(*number, place as u32 + 1, "{}", row.name);
    }
    for row in all_rows() {
        let numbers: Vec<u32> = row.fields.iter().map(|field| field.number).collect();
        assert_eq!(numbers, (1..=row.fields.len() as u32).collect::<Vec<_>>(), "{}", row.name);
    }
}

#[test]
fn names_differ() {
    let mut names = BTreeSet::new();
    let calls = CALLS.iter().map(|(_, row, ..)| row.name);
    let rest = CALLBACKS.iter().map(|(_, row)| row.name).chain(MESSAGES.iter().map(|row| row.name));
    for name in calls.chain(rest).chain(ENUMERATIONS.iter().map(|row| row.name)) {
        assert!(names.insert(name), "{name} stands twice");
    }
}

#[test]
fn kinds_are_those_that_the_table_has() {
    let messages: BTreeSet<_> = MESSAGES.iter().map(|row| row.name).chain([SOURCES]).collect();
    for row in all_rows() {
        for field in row.fields {
            let is_there = match field.kind {
                Kind::One("string" | "bytes" | "bool" | "uint32" | "double") | Kind::List("string") => true,
                Kind::One(name) | Kind::List(name) => messages.contains(name),
                Kind::Enumeration(name) => ENUMERATIONS.iter().any(|row| row.name == name),
            };
            assert!(is_there, "{}: {:?}", row.name, field);
        }
    }
}
