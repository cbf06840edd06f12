//! Deployments: what is read from them, and mistakes refused with their places.

use std::fs;

use paceline_network::{Deployment, OnFailure};

use crate::{file, folder, host};

#[test]
fn both_spellings_are_read_with_all_that_they_say() {
    let platform = file("zones.xml");
    let text = fs::read_to_string(folder().join("deployment.xml")).expect("the file is there");
    let deployment =
        Deployment::read("deployment.xml", &text, &platform).unwrap_or_else(|error| panic!("{error}"));
    let [master, worker, last] = &deployment.actors[..] else { panic!("three actors: {deployment:?}") };
    assert_eq!((master.host, master.function.as_str()), (host(&platform, "f0"), "master"));
    assert_eq!(master.arguments, ["20", "a <b> \"c\"", ""]);
    assert_eq!((master.start, master.kill, master.on_failure), (0.0, None, OnFailure::Restart));
    assert_eq!(master.properties["class"], "batch");
    assert_eq!((worker.host, worker.arguments.len()), (host(&platform, "rack-7.lab"), 0));
    assert_eq!((worker.start, worker.kill, worker.on_failure), (1.5, Some(100.0), OnFailure::Die));
    // Negative times mean none.
    assert_eq!((last.start, last.kill, last.on_failure), (0.0, None, OnFailure::Die));
}

const BASE: &str = "<platform version=\"4.1\">
<actor host=\"f0\" function=\"worker\" start_time=\"5\" kill_time=\"10\" on_failure=\"DIE\">
  <argument value=\"1\"/>
</actor>
</platform>
";

/// A mistake made by replacing `from` with `to`.
#[track_caller]
fn refused(from: &str, to: &str, message: &str) {
    let text = BASE.replacen(from, to, 1);
    assert_ne!(text, BASE, "{from:?} is in the deployment");
    let mistake = Deployment::read("d.xml", &text, &file("zones.xml")).expect_err(to);
    assert_eq!(mistake.to_string(), message);
}

#[test]
fn mistakes_are_reported_with_their_place() {
    assert!(Deployment::read("d.xml", BASE, &file("zones.xml")).is_ok());
    refused(
        "\"f0\"",
        "\"g0\"",
        "d.xml:2:14: there is no host `g0`; allowed: a host of the platform, such as f0, f1, d0, d1, d2",
    );
    // A router is not a host.
    refused(
        "\"f0\"",
        "\"fr\"",
        "d.xml:2:14: there is no host `fr`; allowed: a host of the platform, such as f0, f1, d0, d1, d2",
    );
    refused(
        "host=\"f0\" ",
        "",
        "d.xml:2:1: <actor> without the attribute `host`; allowed: host=\"...\" in every <actor>",
    );
    refused(
        "function=\"worker\" ",
        "",
        "d.xml:2:1: <actor> without the attribute `function`; allowed: function=\"...\" in every <actor>",
    );
    refused("\"worker\"", "\"\"", "d.xml:2:28: an empty name of a function; allowed: a name");
    refused(
        "\"5\"",
        "\"5s\"",
        "d.xml:2:48: `start_time` cannot be \"5s\"; allowed: seconds from 0 to 1e10, or -1 for none",
    );
    refused(
        "\"10\"",
        "\"inf\"",
        "d.xml:2:62: `kill_time` cannot be \"inf\"; allowed: seconds from 0 to 1e10, or -1 for none",
    );
    refused(
        "\"10\"",
        "\"5\"",
        "d.xml:2:62: an actor that is ended at 5 s and starts at 5 s; allowed: a kill_time after the start_time, \
         or -1 for none",
    );
    refused("\"DIE\"", "\"die\"", "d.xml:2:78: `on_failure` cannot be \"die\"; allowed: DIE or RESTART");
    refused(
        "<argument value",
        "<argument val",
        "d.xml:3:18: there is no attribute `val` in <argument>; allowed: value",
    );
    refused(
        "<argument value=\"1\"/>",
        "<argument/>",
        "d.xml:3:3: <argument> without the attribute `value`; allowed: value=\"...\" in every <argument>",
    );
    refused(
        "<argument value=\"1\"/>",
        "<actor host=\"f0\" function=\"w\"/>",
        "d.xml:3:3: there is no element `actor` in <actor>; allowed: argument, prop",
    );
    refused(
        "<argument value=\"1\"/>",
        "7",
        "d.xml:3:3: a text between elements; allowed: elements; text in <trace> only",
    );
    refused("4.1", "3", "d.xml:1:20: a file of version `3`; allowed: 4 or 4.1");
    refused(
        "<platform version=\"4.1\">",
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"/>",
        "d.xml:1:25: <zone> is not supported: platforms are not read from deployments; allowed: actor, process",
    );
    refused(
        "</actor>",
        "",
        "d.xml:5:1: this is not XML: ill-formed document: expected `</actor>`, but `</platform>` was found; allowed: well-formed XML",
    );
}
