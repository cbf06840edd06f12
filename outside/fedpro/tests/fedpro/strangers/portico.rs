//! poRTIco's tests of the IEEE 1516-2010 interface, sources unchanged, each class in a virtual machine of its
//! own.
//!
//! `PACELINE_PORTICO` names poRTIco's folder `codebase`, `PACELINE_PORTICO_CLASSES` a class path for Java:
//! the tests, stand-ins for the classes of poRTIco that they name, Pitch's client for HLA Evolved, and
//! TestNG.

use std::collections::{BTreeMap, BTreeSet};
use std::env::var;
use std::path::Path;
use std::process::Command;

use crate::client::Inside;
use crate::running::Running;

mod exempt;

use exempt::EXEMPT;

const TESTS: &str = "src/java/test/hlaunit/ieee1516e";
/// The folders with tests of services, and how many tests each has. Those in the folder `mom` go through
/// interactions of the management object model, which are not there.
const FOLDERS: [(&str, usize); 6] = [
    ("federation", 41),
    ("declaration", 76),
    ("object", 91),
    ("synchronization", 28),
    ("time", 83),
    ("support", 4),
];

/// Runs a class; names of its tests with whether each has passed.
fn run(codebase: &str, class_path: &str, class: &str) -> BTreeMap<String, bool> {
    let server = Running::start(Inside::default());
    let port = format!("-DFedPro.connect.port={}", server.address.port());
    let mut program = Command::new("java");
    program.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    program
        .arg(format!("{class_path}:{codebase}/resources/test-data"))
        .args(["-DFedPro.connect.hostname=localhost"]);
    // Of the ways to connect that the tests know, this is the one with which they wait for a second.
    program.args([&port, "-Dtest.connection=unicast", "-Dtest.loglevel=OFF", "org.testng.TestNG"]);
    program.args(["-usedefaultlisteners", "false", "-listener", "PorticoTestListener", "-testclass"]);
    let output = program.arg(format!("hlaunit.ieee1516e.{class}")).current_dir(codebase).output();
    let output = output.expect("there is a virtual machine for Java");
    server.end();
    let text = String::from_utf8_lossy(&output.stdout);
    let is_test = |name: &&str| name.starts_with("test");
    let tests = text.lines().filter_map(|line| {
        let (passed, name) = match line.split_at_checked(5)? {
            ("     ", name) => (true, name),
            ("FAIL " | "SKIP ", name) => (false, name),
            _ => return None,
        };
        name.split_whitespace().next().filter(is_test).map(|name| (name.to_owned(), passed))
    });
    tests.collect()
}

fn classes(codebase: &str, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(Path::new(codebase).join(TESTS).join(folder)).expect("poRTIco's sources");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter_map(|name| name.strip_suffix("Test.java").map(str::to_owned)).collect();
    names.sort();
    names
}

#[test]
fn tests_of_another_infrastructure_pass() {
    let [Ok(codebase), Ok(class_path)] = ["", "_CLASSES"].map(|name| var(format!("PACELINE_PORTICO{name}")))
    else {
        eprintln!("skipped: PACELINE_PORTICO and PACELINE_PORTICO_CLASSES name no tests");
        return;
    };
    let exempt: BTreeSet<&str> = EXEMPT.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
    let mut wrong = Vec::new();
    for (folder, count) in FOLDERS {
        let mut results = BTreeMap::new();
        for class in classes(&codebase, folder) {
            let tests = run(&codebase, &class_path, &format!("{folder}.{class}Test"));
            results.extend(tests.into_iter().map(|(name, passed)| (format!("{class}.{name}"), passed)));
        }
        let passed = results.values().filter(|passed| **passed).count();
        eprintln!("{folder}: {passed} of {} pass", results.len());
        if results.len() != count {
            wrong.push(format!("{folder}: {} tests, not {count}", results.len()));
        }
        for (name, passed) in results {
            if passed == exempt.contains(name.as_str()) {
                wrong.push(format!("{name} {}", if passed { "passes, but is exempt" } else { "fails" }));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
