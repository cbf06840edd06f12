//! Two federates for Pitch's client library in Java advance over connections that break, and end with the
//! digest of a run over whole ones.
//!
//! `PACELINE_STEPS_JARS` names a folder with the jars of the client library for HLA 4 and of what it needs.

use std::env::var;
use std::path::Path;
use std::process::Command;

use crate::client::Inside;
use crate::proxy::{Cut, Proxy};
use crate::running::Running;

const STEPS: &str = "3000";
const MODULE: &str = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><interactions>\
    <interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Hit</name>\
    <order>TimeStamp</order></interactionClass></interactionClass></interactions></objectModel>";

#[test]
fn a_client_library_resumes_and_loses_nothing() {
    let Ok(jars) = var("PACELINE_STEPS_JARS") else {
        eprintln!("skipped: PACELINE_STEPS_JARS names no client library");
        return;
    };
    let module = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steps.xml");
    std::fs::write(&module, MODULE).expect("there is room");
    let run = |cut: Option<Cut>| {
        let server = Running::start(Inside::default());
        let proxy = cut.map(|cut| Proxy::start(server.address, cut, 4));
        let address = proxy.as_ref().map_or(server.address, |proxy| proxy.address);
        let mut program = Command::new("java");
        program.args([
            "-XX:+UseSerialGC",
            "-cp",
            &format!("{jars}/*"),
            "-DFedPro.resume.retryDelayMillis=50",
        ]);
        program.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fedpro/strangers/Steps.java"));
        let output = program.arg(address.to_string()).arg(&module).arg(STEPS).output();
        let output = output.expect("there is a virtual machine for Java");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let digest = text.lines().find(|line| line.starts_with("digest ")).map(str::to_owned);
        let connections = proxy.map_or(0, |proxy| proxy.connections());
        server.end();
        (digest.expect("it prints one"), connections)
    };
    let (whole, _) = run(None);
    let (broken, connections) = run(Some(Cut::Milliseconds { from: 200, to: 800 }));
    assert_eq!(broken, whole);
    assert!(connections > 6, "the proxy breaks connections: {connections}");
    eprintln!("{whole}, and with {connections} connections, too");
}
