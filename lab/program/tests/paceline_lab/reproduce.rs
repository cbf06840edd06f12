//! `reproduce`: its page, and parameters from a file or the command line; and with `--on xen` what it knows
//! and refuses before anything is fetched, built or booted.

use std::path::Path;

use crate::{lab, stderr, stdout};

#[test]
fn what_runs_in_xen_is_listed_apart() {
    let folder = tempfile::tempdir().unwrap();
    let list = |on: &str| {
        let output = lab(folder.path(), &["reproduce", "--on", on, "--list"]);
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
fn mistakes_are_reported_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], because: &str| {
        let output = lab(folder.path(), &[&["reproduce", "--on"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(because), "{}", stderr(&output));
    };
    refused(&["xen", "psx-fig10"], "there are xen-");
    refused(&["xen", "xen-psx", "--sensitivity"], "for simulated machines");
    refused(&["xen", "xen-psx", "--set", "runs=5"], "--set is for simulated machines");
    refused(
        &["machine", "--calibrate", "moon"],
        "nothing of \"moon\" is open: choose one of psx, nsx, cs, artis",
    );
    refused(&["moon", "xen-psx"], "machine, xen");
    refused(&["machine", "xen-psx"], "xen-psx");
    assert!(!Path::new(folder.path()).join("xen").exists());
}

#[test]
fn a_page_says_its_form_program_and_source() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(folder.path(), &["reproduce", "artis-fig4", "--quick", "--out", "page"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("page/report.html")).unwrap();
    let version = format!("Made by paceline {} on 20", env!("CARGO_PKG_VERSION"));
    let fitted = ["What was fitted, and what was predicted", "artis.smt = ", "error in tolerances"];
    for printed in [&["The quick form", &version, "Source: L. Bononi"][..], &fitted].concat() {
        assert!(page.contains(printed), "{printed}");
    }
    let json = std::fs::read_to_string(folder.path().join("page/report.json")).unwrap();
    assert!(json.contains("\"fit\":{\"vector\":{") && json.contains("\"half\":\"predicted\""), "{json}");
}

#[test]
fn parameters_are_printed_and_run_from_a_file_and_the_report_tells_them() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(folder.path(), &["reproduce", "nsx-dynamic", "--parameters"]);
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("name = \"nsx-dynamic\""), "{text}");
    let changed = text.replace("rounds = 1000", "rounds = 200").replace("runs = 20", "runs = 2");
    assert_ne!(changed, text);
    std::fs::write(folder.path().join("own.toml"), changed).unwrap();
    let arguments = ["reproduce", "--from", "own.toml", "--quick", "--out", "page", "--set", "tick=80us"];
    let output = lab(folder.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = "With other parameters than the built-in ones: rounds = 200 in place of 1000; runs = 2 in place of 20; \
                tick = \"80us\" in place of \"100us\".";
    assert!(stdout(&output).contains(printed), "{}", stdout(&output));
    let page = |name: &str| std::fs::read_to_string(folder.path().join("page").join(name)).unwrap();
    assert!(page("report.json").contains(&printed.replace('"', "\\\"")), "{}", page("report.json"));
    assert!(page("report.html").contains("With other parameters than the built-in ones: rounds = 200"));
}

#[test]
fn mistakes_in_parameters_are_reported_with_their_places_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], because: &str| {
        let output = lab(folder.path(), &[&["reproduce", "--out", "page"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(because), "{}", stderr(&output));
        assert!(!folder.path().join("page").exists());
    };
    let changed = "[experiment]\nname = \"nsx-dynamic\"\n\n[parameters]\ntick = \"100us\"\ndom0_tikcs = 2\n";
    std::fs::write(folder.path().join("own.toml"), changed).unwrap();
    refused(
        &["--from", "own.toml"],
        "own.toml:6:1: missing key `dom0_ticks` in [parameters]; is `dom0_tikcs` meant to be it?",
    );
    refused(&["--from", "no.toml"], "no.toml: cannot be read");
    refused(
        &["nsx-fig10", "--set", "ticks=[\"60us\", 80]"],
        "--set parameters.ticks=[\"60us\", 80]: `ticks` in [parameters] cannot be an array: it holds the integer 80; allowed: a list",
    );
    refused(
        &["psx-fig10", "--quick", "--set", "constants.psx.sned=5000"],
        "there is no constant `psx.sned`; did you mean `send`?; allowed: event, ",
    );
    refused(&["nsx-fig10", "nsx-fig11", "--set", "runs=5"], "--set is for one experiment, and 2 are named");
}
