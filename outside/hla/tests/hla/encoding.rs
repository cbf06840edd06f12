//! Messages against bytes written by hand after the rules of protocol buffers: a field is its number times 8
//! plus 2 (length and bytes), 0 (a number) or 1 (8 bytes, least first).

use paceline_hla::{
    Bytes, Call, CallRequest, CallResponse, Callback, CallbackRequest, CallbackResponse, CallbackResult,
    ExceptionData, LogicalTime, LogicalTimeInterval, Message, OrderType, ResignAction, Response, callback,
    request, response,
};

#[track_caller]
fn assert_bytes<T: Message + Default + PartialEq + std::fmt::Debug>(message: &T, bytes: &[u8]) {
    assert_eq!(message.encode_to_vec(), bytes);
    assert_eq!(&T::decode(bytes).expect("what was encoded is read"), message);
}

fn asked(call: impl Into<Call>) -> CallRequest {
    CallRequest { call: Some(call.into()) }
}

fn answered(response: impl Into<Response>) -> CallResponse {
    CallResponse { response: Some(response.into()) }
}

#[test]
fn a_call_has_its_number_in_one_byte_or_two() {
    assert_bytes(&asked(request::Connect {}), b"\x0a\x00");
    let lookahead = Some(LogicalTimeInterval { data: Bytes::from_static(b"1") });
    assert_bytes(&asked(request::EnableTimeRegulation { lookahead }), b"\xca\x05\x05\x0a\x03\x0a\x011");
    assert_bytes(&asked(request::GetNonRegulatedGrantSwitch {}), b"\x92\x0b\x00");
}

#[test]
fn an_enumeration_is_a_number_and_the_first_value_takes_no_bytes() {
    let resign =
        |action: ResignAction| asked(request::ResignFederationExecution { resign_action: action.into() });
    assert_bytes(&resign(ResignAction::UnconditionallyDivestAttributes), b"\x9a\x01\x00");
    assert_bytes(&resign(ResignAction::NoAction), b"\x9a\x01\x02\x08\x05");
}

#[test]
fn an_answer_has_the_next_number_and_an_exception_the_first() {
    assert_bytes(
        &answered(response::GetUpdateRateValue { result: 0.5 }),
        b"\xb2\x08\x09\x09\0\0\0\0\0\0\xe0\x3f",
    );
    let exception = ExceptionData { exception_name: "NotConnected".to_owned(), details: String::new() };
    let wanted = CallResponse { response: Some(Response::Exception(exception)) };
    assert_bytes(&wanted, b"\x0a\x0e\x0a\x0cNotConnected");
}

#[test]
fn lists_repeat_their_field() {
    let names = vec!["a".to_owned(), "b".to_owned()];
    let call = asked(request::ReserveMultipleObjectInstanceNames { object_instance_names: names });
    assert_bytes(&call, b"\xd2\x03\x06\x0a\x01a\x0a\x01b");
}

#[test]
fn a_callback_and_its_answers() {
    let time = Some(LogicalTime { data: Bytes::from_static(&[0, 7]) });
    let grant = Callback::from(callback::TimeAdvanceGrant { time });
    assert_bytes(&CallbackRequest { callback: Some(grant) }, b"\xea\x03\x06\x0a\x04\x0a\x02\0\x07");
    let order = OrderType::Timestamp.into();
    let removed = callback::RemoveObjectInstanceWithTime { received_order_type: order, ..Default::default() };
    let removed = CallbackRequest { callback: Some(removed.into()) };
    assert_bytes(&removed, b"\xb2\x02\x02\x30\x01");
    let taken = CallbackResult::Succeeded(Default::default());
    assert_bytes(&CallbackResponse { result: Some(taken) }, b"\x0a\x00");
    assert_bytes(&CallbackResponse { result: None }, b"");
}

#[test]
fn a_call_that_the_table_does_not_have_is_none() {
    let unknown = CallRequest::decode(&b"\x9a\x0b\x00"[..]).expect("field 179 is skipped");
    assert_eq!(unknown.call, None);
}
