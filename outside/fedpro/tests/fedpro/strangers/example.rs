//! poRTIco's example federate, through Pitch's client for HLA Evolved: two run side by side.
//!
//! `PACELINE_PORTICO` names poRTIco's folder `codebase`, `PACELINE_PORTICO_CLASSES` a class path for Java
//! with the compiled example, Pitch's client and what it needs.

use std::env::var;

use super::{Chat, java};
use crate::client::Inside;
use crate::running::Running;

#[test]
fn two_examples_run_to_their_end() {
    let [Ok(codebase), Ok(class_path)] = ["", "_CLASSES"].map(|name| var(format!("PACELINE_PORTICO{name}")))
    else {
        eprintln!("skipped: PACELINE_PORTICO and PACELINE_PORTICO_CLASSES name no example");
        return;
    };
    let server = Running::start(Inside::default());
    let mut examples = ["one", "two"].map(|name| {
        let mut program = java(&class_path, "ieee1516e.ExampleFederate");
        program.arg(name).current_dir(format!("{codebase}/src/java/examples/ieee1516e"));
        let port = server.address.port();
        let settings = format!("-DFedPro.connect.hostname=localhost -DFedPro.connect.port={port}");
        program.env("JAVA_TOOL_OPTIONS", settings);
        let mut example = Chat::start(program);
        example.wait_for("Press Enter to Continue");
        example
    });
    examples.iter_mut().for_each(|example| example.type_line(""));
    for mut example in examples {
        example.wait_for("Time Advanced to 20.0");
        example.wait_for("Interaction Received");
        example.wait_for("Resigned from Federation");
        example.wait_for("Disconnected");
        example.assert_success();
    }
    server.end();
}
