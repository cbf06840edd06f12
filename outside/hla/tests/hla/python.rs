//! The table as the Python package has it, `outside/python/python/paceline/hla/messages.txt`.

use std::fmt::Write;
use std::path::Path;

use paceline_hla::callbacks::CALLBACKS;
use paceline_hla::calls::CALLS;
use paceline_hla::data::{ENUMERATIONS, MESSAGES};
use paceline_hla::{FieldRow, Kind, MessageRow};

const HEAD: &str = "# The messages of HLA 4's Federate Protocol, of outside/hla/src, whose test `python` writes this file. Fields \
                    count from 1.\n";

fn field(row: &FieldRow) -> String {
    let name = row.name.trim_start_matches("r#");
    match row.kind {
        Kind::One(kind) => format!(" {name}:{kind}"),
        Kind::Enumeration(kind) => format!(" {name}:({kind})"),
        Kind::List(kind) => format!(" {name}:[{kind}]"),
    }
}

fn fields(row: &MessageRow) -> String {
    row.fields.iter().map(field).collect()
}

/// The table as text: a message a line.
fn text() -> String {
    let mut out = HEAD.to_owned();
    for (number, request, _, response) in CALLS {
        writeln!(out, "call {number} {}{} ->{}", request.name, fields(request), fields(response)).unwrap();
    }
    for (number, row) in CALLBACKS {
        writeln!(out, "callback {number} {}{}", row.name, fields(row)).unwrap();
    }
    for row in MESSAGES {
        writeln!(out, "message {}{}", row.name, fields(row)).unwrap();
    }
    for row in ENUMERATIONS {
        let values: String = row.values.iter().map(|(_, name)| format!(" {name}")).collect();
        writeln!(out, "enumeration {}{values}", row.name).unwrap();
    }
    out
}

#[test]
fn the_python_package_has_this_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/python/paceline/hla/messages.txt");
    let wanted = text();
    if std::env::var_os("PACELINE_WRITE_BOOK").is_some_and(|value| value == "1") {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    let path = path.display();
    assert!(found == wanted, "{path} is not that of the table: PACELINE_WRITE_BOOK=1 writes it");
}
