//! `paceline reproduce`: its page; and with `--on xen` what it knows and refuses before anything is fetched, built or booted.

use std::path::Path;

use crate::{paceline, stderr, stdout};

#[test]
fn what_runs_in_xen_is_listed_apart() {
    let folder = tempfile::tempdir().unwrap();
    let list = |on: &str| {
        let output = paceline(folder.path(), &["reproduce", "--on", on, "--list"]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let (xen, machine) = (list("xen"), list("machine"));
    for name in ["xen-nsx", "xen-psx", "xen-cs"] {
        assert!(xen.contains(name) && !machine.contains(name), "{name}: {xen}");
    }
    assert!(machine.contains("psx-fig10"), "{machine}");
}

#[test]
fn mistakes_are_told_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], because: &str| {
        let output = paceline(folder.path(), &[&["reproduce", "--on"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(because), "{}", stderr(&output));
    };
    refused(&["xen", "psx-fig10"], "there are xen-");
    refused(&["xen", "xen-psx", "--sensitivity"], "for simulated machines");
    refused(&["moon", "xen-psx"], "machine, xen");
    refused(&["machine", "xen-psx"], "xen-psx");
    assert!(!Path::new(folder.path()).join("xen").exists());
}

#[test]
fn a_page_says_its_form_program_and_source() {
    let folder = tempfile::tempdir().unwrap();
    let output = paceline(folder.path(), &["reproduce", "artis-fig4", "--quick", "--out", "page"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("page/report.html")).unwrap();
    let version = format!("Made by paceline {} on 20", env!("CARGO_PKG_VERSION"));
    for told in ["The quick form", &version, "Source: L. Bononi"] {
        assert!(page.contains(told), "{told}");
    }
}
