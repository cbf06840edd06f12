//! Which packets are captured.

use std::path::Path;

use paceline_kernel::Time;

use super::{DUMBBELL, mistake, read, run};

/// The dumbbell with these keys before its flows.
fn with(keys: &str) -> String {
    DUMBBELL.replace("pairs = 4", &format!("pairs = 4\n{keys}"))
}

#[test]
fn each_direction_and_each_port_is_a_file() {
    let names = |keys: &str| {
        let files = run(&with(keys), Time::millis(100)).files.into_iter();
        let names = files
            .map(|file| file.name.into_owned())
            .filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "pcap"));
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("").len(), 0);
    assert_eq!(names("capture = []").len(), 0);
    let slow = "capture = [\"router-left -> router-right\", \"left-1 <-> *\"]\nsnap = 200";
    assert_eq!(names(slow), ["left-1-and-router-left.pcap", "router-left-to-router-right.pcap"]);
    // Nine links.
    assert_eq!(names("capture = [\"* -> *\"]").len(), 18);
}

#[test]
fn what_was_not_captured_cannot_be_resumed() {
    use paceline_kernel::Model;
    let parameters = |keys: &str| read(&with(keys)).unwrap().parameters();
    let captured = parameters("capture = [\"left-0\"]");
    assert_ne!(captured, parameters(""));
    assert_ne!(captured, parameters("capture = [\"left-1\"]"));
    assert_eq!(captured, parameters("capture = [\"left-0\"]\nsnap = 1500"));
}

#[test]
fn mistakes_in_captures() {
    let capture = |value: &str, words: &[&str]| mistake("pairs = 4", &format!("pairs = 4\n{value}"), words);
    capture("capture = \"left-0\"", &["net.toml:4:11", "the string", "a list of strings"]);
    capture("capture = [1]", &["net.toml:4:11", "it holds the integer 1", "a list of strings"]);
    capture("capture = [\"lefd-0\"]", &["net.toml:4:11", "neither a node nor a link", "\"A -> B\""]);
    capture("capture = [\"left-0 -> rigth\"]", &["net.toml:4:11", "\"rigth\"", "\"left-0\""]);
    capture("capture = [\"left-0 -> left-1\"]", &["names no link", "\"left-0 -> router-left\""]);
    capture("capture = [\"*\"]\nsnap = 10", &["net.toml:5:8", "10 bytes", "from 22 to 262144"]);
    capture("snap = 100", &["net.toml:4:1", "unknown key `snap`"]);
}
