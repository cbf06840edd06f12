//! The table against the descriptors of a public client, which nobody here wrote.
//!
//! `PACELINE_FEDPRO_DESCRIPTORS` names the folder with the files that the compiler of protocol buffers made
//! for Python. Each holds the descriptor of its schema as a literal of bytes.

use std::collections::BTreeMap;
use std::path::Path;

use paceline_hla::callbacks::CALLBACKS;
use paceline_hla::calls::CALLS;
use paceline_hla::data::{ENUMERATIONS, MESSAGES};
use paceline_hla::{Kind, Message, MessageRow};

/// The parts of `google/protobuf/descriptor.proto` that are compared.
#[derive(Clone, PartialEq, Message)]
struct FileDescriptor {
    #[prost(message, repeated, tag = 4)]
    messages: Vec<MessageDescriptor>,
    #[prost(message, repeated, tag = 5)]
    enumerations: Vec<EnumerationDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct MessageDescriptor {
    #[prost(string, tag = 1)]
    name: String,
    #[prost(message, repeated, tag = 2)]
    fields: Vec<FieldDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldDescriptor {
    #[prost(string, tag = 1)]
    name: String,
    #[prost(uint32, tag = 3)]
    number: u32,
    #[prost(uint32, tag = 4)]
    label: u32,
    #[prost(uint32, tag = 5)]
    kind: u32,
    #[prost(string, tag = 6)]
    type_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct EnumerationDescriptor {
    #[prost(string, tag = 1)]
    name: String,
    #[prost(message, repeated, tag = 2)]
    values: Vec<ValueDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueDescriptor {
    #[prost(string, tag = 1)]
    name: String,
    #[prost(int32, tag = 2)]
    number: i32,
}

/// The first literal of bytes behind `marker` in a source in Python.
fn python_literal(source: &str, marker: &str) -> Option<Vec<u8>> {
    let start = source.find(marker)? + marker.len();
    let (mut bytes, mut rest) = (Vec::new(), source[start..].bytes());
    loop {
        match rest.next()? {
            b'\'' => return Some(bytes),
            b'\\' => match rest.next()? {
                b'n' => bytes.push(b'\n'),
                b'r' => bytes.push(b'\r'),
                b't' => bytes.push(b'\t'),
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                }
                first @ b'0'..=b'7' => {
                    let digits = [first, rest.next()?, rest.next()?];
                    bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?);
                }
                other => bytes.push(other),
            },
            byte => bytes.push(byte),
        }
    }
}

fn read_descriptor(folder: &Path, schema: &str) -> FileDescriptor {
    let path = folder.join(format!("{schema}_pb2.py"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // Old compilers named the literal, later ones hand it to a function.
    let literal = ["serialized_pb=b'", "AddSerializedFile(b'"];
    let literal = literal.iter().find_map(|marker| python_literal(&source, marker));
    let literal = literal.unwrap_or_else(|| panic!("{} has no descriptor", path.display()));
    FileDescriptor::decode(&*literal).expect("a descriptor is a message")
}

/// In snake case, as this table writes it.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let is_start = place > 0
            && letter.is_uppercase()
            && (letters[place - 1].is_lowercase()
                || letters.get(place + 1).is_some_and(|next| next.is_lowercase()));
        if is_start {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// As (number, name, kind), in words of this table.
type Fields = Vec<(u32, String, String)>;

fn their_fields(message: &MessageDescriptor) -> Fields {
    let fields = message.fields.iter().map(|field| {
        let name = field.type_name.rsplit('.').next().unwrap_or_default();
        let kind = match field.kind {
            1 => "double",
            8 => "bool",
            9 => "string",
            11 | 14 => name,
            12 => "bytes",
            13 => "uint32",
            other => panic!("{}.{}: kind {other}", message.name, field.name),
        };
        let kind = match (field.kind, field.label) {
            (14, 1) => format!("({kind})"),
            (_, 3) => format!("[{kind}]"),
            _ => kind.to_owned(),
        };
        (field.number, snake(&field.name), kind)
    });
    let mut fields: Vec<_> = fields.collect();
    fields.sort();
    fields
}

fn our_fields(row: &MessageRow) -> Fields {
    let fields = row.fields.iter().map(|field| {
        let kind = match field.kind {
            Kind::One(name) => name.to_owned(),
            Kind::Enumeration(name) => format!("({name})"),
            Kind::List(name) => format!("[{name}]"),
        };
        (field.number, field.name.trim_start_matches("r#").to_owned(), kind)
    });
    fields.collect()
}

/// The messages that the table has not as rows, as the types in the code are.
fn wrappers() -> Vec<(String, Fields)> {
    let field = |number: u32, name: &str, kind: &str| (number, snake(name), kind.to_owned());
    let tail = |name: &str, tail: &str| format!("{name}{tail}");
    let requests = CALLS
        .iter()
        .map(|(number, row, ..)| field(*number, &tail(row.name, "Request"), &tail(row.name, "Request")));
    let responses = CALLS
        .iter()
        .map(|(_, row, number, _)| field(*number, &tail(row.name, "Response"), &tail(row.name, "Response")));
    let exception = field(1, "exceptionData", "ExceptionData");
    vec![
        ("CallRequest".to_owned(), requests.collect()),
        ("CallResponse".to_owned(), [exception].into_iter().chain(responses).collect()),
        (
            "CallbackRequest".to_owned(),
            CALLBACKS.iter().map(|(n, row)| field(*n, row.name, row.name)).collect(),
        ),
        (
            "CallbackResponse".to_owned(),
            vec![
                field(1, "callbackSucceeded", "CallbackSucceeded"),
                field(2, "callbackFailed", "ExceptionData"),
            ],
        ),
        ("CallbackSucceeded".to_owned(), vec![]),
        (
            "FomModule".to_owned(),
            vec![
                field(1, "file", "FileFomModule"),
                field(2, "compressedModule", "bytes"),
                field(3, "url", "string"),
            ],
        ),
    ]
}

fn our_messages() -> BTreeMap<String, Fields> {
    let mut messages: BTreeMap<String, Fields> = wrappers().into_iter().collect();
    for (_, request, _, response) in CALLS {
        messages.insert(format!("{}Request", request.name), our_fields(request));
        messages.insert(format!("{}Response", response.name), our_fields(response));
    }
    let rest = CALLBACKS.iter().map(|(_, row)| row).chain(MESSAGES);
    messages.extend(rest.map(|row| (row.name.to_owned(), our_fields(row))));
    messages
}

#[test]
fn the_table_is_that_of_a_public_client() {
    let Some(folder) = std::env::var_os("PACELINE_FEDPRO_DESCRIPTORS") else {
        eprintln!("skipped: PACELINE_FEDPRO_DESCRIPTORS names no folder with descriptors to compare with");
        return;
    };
    let schemas = ["datatypes", "RTIambassador", "FederateAmbassador"];
    let files: Vec<_> = schemas.iter().map(|schema| read_descriptor(Path::new(&folder), schema)).collect();
    let messages = files.iter().flat_map(|file| &file.messages);
    let theirs: BTreeMap<_, _> =
        messages.map(|message| (message.name.clone(), their_fields(message))).collect();
    let ours = our_messages();
    for (name, fields) in &theirs {
        assert_eq!(ours.get(name), Some(fields), "{name}");
    }
    assert_eq!(ours.len(), theirs.len());

    let enumerations = files.iter().flat_map(|file| &file.enumerations);
    let theirs = enumerations.map(|one| {
        let values = one.values.iter().map(|value| (value.number, value.name.to_lowercase()));
        (one.name.clone(), values.collect::<Vec<_>>())
    });
    let ours = ENUMERATIONS.iter().map(|row| {
        let values = row.values.iter().map(|(number, name)| (*number, snake(name)));
        (row.name.to_owned(), values.collect::<Vec<_>>())
    });
    assert_eq!(ours.collect::<BTreeMap<_, _>>(), theirs.collect::<BTreeMap<_, _>>());
}
