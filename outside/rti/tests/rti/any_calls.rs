//! Any bytes as calls of three federates: each is answered by its own response or an exception that says
//! something, the same calls give the same bytes, times do not go back, and nothing in timestamp order comes
//! below a granted time. The fuzz target of calls is this file too.
//!
//! Bytes choose a caller, a call and what is in its fields, by their kinds: few names, small handles and
//! small times, so that many calls are allowed.

use std::collections::BTreeMap;

use paceline_hla::calls::CALLS;
use paceline_hla::data::MESSAGES;
use paceline_hla::{
    Call, CallRequest, CallResponse, Callback, CallbackRequest, FieldRow, Kind, LogicalTime, Message,
    MessageRow, Response,
};
use paceline_rti::{Client, Rti};

const FEDERATES: u32 = 3;

const MODULE: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects><objectClass>
<name>HLAobjectRoot</name><objectClass><name>A</name><attribute><name>a</name><order>TimeStamp</order></attribute>
<objectClass><name>B</name><attribute><name>b</name></attribute></objectClass></objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>X</name>
<order>TimeStamp</order><parameter><name>x</name></parameter></interactionClass></interactionClass></interactions>
<dimensions><dimension><name>D</name><upperBound>10</upperBound></dimension></dimensions></objectModel>"#;

const NAMES: [&str; 12] =
    ["F", "G", "f1", "f2", "A", "A.B", "a", "X", "x", "D", "HLAinteger64Time", "HLAmanager.HLAfederate"];

/// Calls with which most others are allowed; half of all are of these.
const LIKELY: [&str; 30] = [
    "EnableTimeRegulation",
    "EnableTimeConstrained",
    "DisableTimeRegulation",
    "DisableTimeConstrained",
    "TimeAdvanceRequest",
    "TimeAdvanceRequest",
    "TimeAdvanceRequestAvailable",
    "NextMessageRequest",
    "NextMessageRequestAvailable",
    "FlushQueueRequest",
    "ModifyLookahead",
    "Retract",
    "EnableAsynchronousDelivery",
    "QueryGALT",
    "QueryLITS",
    "PublishInteractionClass",
    "SubscribeInteractionClass",
    "SendInteraction",
    "SendInteractionWithTime",
    "SendInteractionWithTime",
    "PublishObjectClassAttributes",
    "SubscribeObjectClassAttributes",
    "RegisterObjectInstance",
    "UpdateAttributeValues",
    "UpdateAttributeValuesWithTime",
    "DeleteObjectInstance",
    "ResignFederationExecution",
    "JoinFederationExecution",
    "AttributeOwnershipAcquisition",
    "UnconditionalAttributeOwnershipDivestiture",
];

/// Bytes, one after the other, and zeros after the last.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.next()) % end
    }
}

/// A number in groups of 7 bits, as protocol buffers have it.
fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field with bytes.
fn put_bytes(field: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_number(u64::from(field) << 3 | 2, out);
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A time, mostly a small one.
fn time(source: &mut Source) -> [u8; 8] {
    match source.next() {
        255 => i64::MAX.to_be_bytes(),
        254 => i64::MIN.to_be_bytes(),
        253 => f64::NAN.to_be_bytes(),
        small => i64::from(small % 40).to_be_bytes(),
    }
}

/// What the only field of a message of this name holds, where bytes have a meaning.
fn meaning(message: &str, source: &mut Source) -> Vec<u8> {
    match message {
        "LogicalTime" | "LogicalTimeInterval" => time(source).to_vec(),
        "MessageRetractionHandle" => {
            let sender = source.below(4) as u32;
            let count = source.below(6) as u64;
            [&sender.to_be_bytes()[..], &count.to_be_bytes(), &time(source)].concat()
        }
        _ if message.ends_with("Handle") => (source.below(8) as u32).to_be_bytes().to_vec(),
        _ => vec![source.next(); source.below(4)],
    }
}

fn put_module(source: &mut Source, out: &mut Vec<u8>) {
    let mut file = Vec::new();
    put_bytes(1, b"module.xml", &mut file);
    let mut text = MODULE.as_bytes().to_vec();
    if source.below(4) == 0 {
        let place = source.below(text.len());
        text[place] = source.next();
    }
    put_bytes(2, &text, &mut file);
    put_bytes(1, &file, out);
}

fn put_value(message: &str, field: &FieldRow, kind: &str, source: &mut Source, out: &mut Vec<u8>) {
    match kind {
        "string" => put_bytes(field.number, NAMES[source.below(NAMES.len())].as_bytes(), out),
        "bytes" => put_bytes(field.number, &meaning(message, source), out),
        "bool" | "uint32" => {
            put_number(u64::from(field.number) << 3, out);
            put_number(u64::from(source.next() % 2), out);
        }
        "double" => {
            put_number(u64::from(field.number) << 3 | 1, out);
            out.extend_from_slice(&time(source));
        }
        "FomModule" => {
            let mut inner = Vec::new();
            put_module(source, &mut inner);
            put_bytes(field.number, &inner, out);
        }
        name => {
            let row = MESSAGES.iter().find(|row| row.name == name).expect("kinds are messages of the table");
            put_bytes(field.number, &fields(row, source), out);
        }
    }
}

/// The fields of a message, some of which are missing.
fn fields(row: &MessageRow, source: &mut Source) -> Vec<u8> {
    let mut out = Vec::new();
    for field in row.fields {
        if source.next() >= 240 {
            continue;
        }
        match field.kind {
            Kind::One(kind) => put_value(row.name, field, kind, source, &mut out),
            Kind::Enumeration(_) => {
                put_number(u64::from(field.number) << 3, &mut out);
                put_number(source.below(7) as u64, &mut out);
            }
            Kind::List(kind) => {
                (0..source.below(3)).for_each(|_| put_value(row.name, field, kind, source, &mut out));
            }
        }
    }
    out
}

/// A caller and its call.
fn next_call(source: &mut Source) -> (u32, Call) {
    let client = source.below(FEDERATES as usize) as u32 + 1;
    let choice = usize::from(source.next());
    let row = if choice < 128 {
        CALLS.iter().find(|row| row.1.name == LIKELY[choice % LIKELY.len()]).expect("the name of a call")
    } else {
        &CALLS[source.below(CALLS.len())]
    };
    let mut bytes = Vec::new();
    put_bytes(row.0, &fields(&row.1, source), &mut bytes);
    let call =
        CallRequest::decode(&*bytes).expect("fields are of their kinds").call.expect("one of the table");
    assert_eq!(call.name(), row.1.name);
    (client, call)
}

/// What is known of a client from what it is called with.
#[derive(Default)]
struct Seen(BTreeMap<u32, i64>);

fn as_number(time: Option<&LogicalTime>) -> i64 {
    i64::from_be_bytes((*time.expect("a time").data).try_into().expect("8 bytes"))
}

impl Seen {
    fn check(&mut self, client: u32, callback: &Callback) {
        assert!((1..=FEDERATES).contains(&client), "{client} is none of ours");
        let (granted, received) = match callback {
            Callback::TimeRegulationEnabled(c) => (c.time.as_ref(), None),
            Callback::TimeConstrainedEnabled(c) => (c.time.as_ref(), None),
            Callback::TimeAdvanceGrant(c) => (c.time.as_ref(), None),
            Callback::FlushQueueGrant(c) => (c.time.as_ref(), None),
            Callback::ReceiveInteractionWithTime(c) if c.received_order_type == 1 => (None, c.time.as_ref()),
            Callback::ReflectAttributeValuesWithTime(c) if c.received_order_type == 1 => {
                (None, c.time.as_ref())
            }
            _ => return,
        };
        let now = self.0.entry(client).or_insert(0);
        if granted.is_some() {
            assert!(as_number(granted) >= *now, "time of {client} goes back from {now}: {callback:?}");
            *now = as_number(granted);
        }
        assert!(received.is_none() || as_number(received) >= *now, "below {now} of {client}: {callback:?}");
    }
}

/// Whether the response is that of the call. Its number is the first thing that it is sent with.
fn is_response_to(call: &str, response: &Response) -> bool {
    let bytes = CallResponse { response: Some(response.clone()) }.encode_to_vec();
    let mut number = 0_u32;
    for (place, byte) in bytes.iter().enumerate() {
        number |= u32::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            break;
        }
    }
    CALLS.iter().any(|row| row.1.name == call && row.2 == number >> 3)
}

/// All that comes of the calls, as it is sent.
fn answer_all(bytes: &[u8]) -> Vec<u8> {
    let (mut rti, mut seen, mut sent) = (Rti::default(), Seen::default(), Vec::new());
    let mut source = Source(bytes);
    let begin = (1..=FEDERATES).map(|client| (client, named("Connect", &[])));
    let create =
        named("CreateFederationExecutionWithTime", &[(1, "F"), (2, MODULE), (3, "HLAinteger64Time")]);
    let join =
        (1..=FEDERATES).map(|client| (client, named("JoinFederationExecution", &[(1, "test"), (2, "F")])));
    let mut begin = begin.chain([(1, create)]).chain(join).collect::<Vec<_>>().into_iter();
    while begin.len() > 0 || !source.0.is_empty() {
        let (client, call) = begin.next().unwrap_or_else(|| next_call(&mut source));
        let (name, mut callbacks) = (call.name(), Vec::new());
        let response = rti.call(Client(client), call, &mut callbacks);
        match &response {
            Response::Exception(exception) => {
                assert!(!exception.exception_name.is_empty() && !exception.details.is_empty(), "{name}");
            }
            response => assert!(is_response_to(name, response), "{name} is answered by {response:?}"),
        }
        // Another federation begins at its own times.
        if matches!(&response, Response::ResignFederationExecution(_)) {
            seen.0.remove(&client);
        }
        sent.extend(CallResponse { response: Some(response) }.encode_to_vec());
        for (Client(client), callback) in callbacks {
            seen.check(client, &callback);
            sent.extend(client.to_be_bytes());
            sent.extend(CallbackRequest { callback: Some(callback) }.encode_to_vec());
        }
    }
    for client in 1..=FEDERATES {
        rti.remove(Client(client), &mut Vec::new());
    }
    sent
}

/// A call with texts in its fields; a module where one is wanted.
fn named(name: &str, texts: &[(u32, &str)]) -> Call {
    let row = CALLS.iter().find(|row| row.1.name == name).expect("the name of a call");
    let (mut fields, mut bytes) = (Vec::new(), Vec::new());
    for (field, text) in texts {
        if *text == MODULE {
            let mut module = Vec::new();
            put_module(&mut Source(&[1]), &mut module);
            put_bytes(*field, &module, &mut fields);
        } else {
            put_bytes(*field, text.as_bytes(), &mut fields);
        }
    }
    put_bytes(row.0, &fields, &mut bytes);
    CallRequest::decode(&*bytes).expect("texts").call.expect("a call of the table")
}

/// Takes bytes as calls.
pub fn check(bytes: &[u8]) {
    assert!(answer_all(bytes) == answer_all(bytes), "the same calls give other bytes");
}
