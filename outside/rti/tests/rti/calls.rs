//! What holds of all calls: each is answered, and equal calls give equal bytes.

use paceline_hla::calls::CALLS;
use paceline_hla::{Call, CallRequest, CallResponse, Callback, CallbackRequest, Message, Response, request};
use paceline_rti::{Client, Rti};
use proptest::prelude::*;

use crate::harness::{Harness, small_module};

/// A call by its number, with these bytes as its fields; nothing if they are none.
pub fn call_by_number(number: u32, fields: &[u8]) -> Option<Call> {
    let mut bytes = Vec::new();
    prost_key(number, &mut bytes);
    bytes.push(fields.len() as u8);
    bytes.extend_from_slice(fields);
    CallRequest::decode(&*bytes).ok()?.call
}

/// The key of a field that has bytes, which is a number in groups of 7 bits.
fn prost_key(number: u32, bytes: &mut Vec<u8>) {
    let mut rest = number << 3 | 2;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// The number of the field in which a response is sent.
fn number_of(response: &Response) -> u32 {
    let bytes = CallResponse { response: Some(response.clone()) }.encode_to_vec();
    let (mut number, mut shift) = (0, 0);
    for byte in bytes {
        number |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    number >> 3
}

#[test]
fn every_call_is_answered_by_its_own_response_or_an_exception() {
    for (number, row, response_number, _) in CALLS {
        let call = call_by_number(*number, &[]).expect("fields may be missing");
        assert_eq!(call.name(), row.name);
        for joined in 0..2 {
            let mut harness = Harness::joined(joined);
            let response = harness.call(1, call.clone());
            match &response {
                Response::Exception(exception) if exception.details.starts_with("not yet") => {
                    assert_eq!(exception.details, format!("not yet: {}", row.name));
                    assert_eq!(exception.exception_name, "RTIinternalError");
                }
                Response::Exception(exception) => assert!(!exception.details.is_empty(), "{exception:?}"),
                response => assert_eq!(number_of(response), *response_number, "{}", row.name),
            }
        }
    }
}

/// Calls as bytes that look like fields: few numbers, names and handles, so that many of them fit.
fn any_call() -> impl Strategy<Value = (u32, Call)> {
    let field = (
        1..4_u8,
        prop::sample::select(vec![
            &b"F"[..],
            b"G",
            b"Ship",
            b"f1",
            b"f2",
            b"\0\0\0\x01",
            b"\x0a\x04\0\0\0\x02",
        ]),
    );
    let fields = prop::collection::vec(field, 0..3);
    let number = prop_oneof![1..23_u32, 1..179_u32];
    (1..4_u32, number, fields).prop_filter_map("bytes that are fields", |(client, number, fields)| {
        let mut bytes = Vec::new();
        for (field, value) in fields {
            bytes.extend([field << 3 | 2, value.len() as u8]);
            bytes.extend_from_slice(value);
        }
        Some((client, call_by_number(number, &bytes)?))
    })
}

/// All that comes of calls, as it would be sent.
fn bytes_of(calls: &[(u32, Call)]) -> Vec<u8> {
    let (mut rti, mut all) = (Rti::default(), Vec::new());
    let create = request::CreateFederationExecution {
        federation_name: "F".to_owned(),
        fom_module: Some(small_module()),
    };
    let first = (1..4).map(|client| (client, request::Connect {}.into())).chain([(1, create.into())]);
    for (client, call) in first.chain(calls.iter().cloned()) {
        let mut callbacks: Vec<(Client, Callback)> = Vec::new();
        let response = rti.call(Client(client), call, &mut callbacks);
        all.extend(CallResponse { response: Some(response) }.encode_to_vec());
        for (client, callback) in callbacks {
            all.extend(client.0.to_be_bytes());
            all.extend(CallbackRequest { callback: Some(callback) }.encode_to_vec());
        }
    }
    all
}

proptest! {
    #[test]
    fn equal_calls_give_equal_bytes(calls in prop::collection::vec(any_call(), 0..60)) {
        prop_assert_eq!(bytes_of(&calls), bytes_of(&calls));
    }
}
