//! Whatever is wrong with a scenario or an option: one message that says where and what is allowed, status 2,
//! and nothing written.

use std::fs;

use crate::{error_text, folder_of, paceline, says, stderr};

const PHOLD: &str = r#"[model]
kind = "phold"
lps = 16
lookahead = "1s"
mean = "1s"

[run]
until = "20s"
protocol = "window"
federates = 2
threads = 2
"#;

/// Runs a scenario that must be refused, with its folder and the words of the one message.
fn refused(text: &str, options: &[&str], words: &[&str]) {
    let folder = folder_of(&[("bad.toml", text)]);
    for command in [&["run", "bad.toml", "--out", "out"][..], &["check", "bad.toml"]] {
        let arguments: Vec<&str> = command.iter().chain(options).copied().collect();
        let output = paceline(folder.path(), &arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert_eq!(message.lines().count(), 1, "one message: {message}");
        says(&message, words);
        assert!(output.stdout.is_empty(), "nothing but the message is printed");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["bad.toml"], "nothing is written");
    }
}

/// A mistake made by replacing `from` with `to`; the same as an override where there is a key to override.
fn mistake(from: &str, to: &str, words: &[&str]) {
    let text = PHOLD.replacen(from, to, 1);
    assert_ne!(text, PHOLD, "{from:?} is in the scenario");
    refused(&text, &[], words);
}

#[test]
fn mistakes_in_changes_of_parameters() {
    let streets = "[model]\nkind = \"traffic\"\ngrid = 2\nlights = true\n[run]\nuntil = \"10min\"\n";
    let change =
        |at: &str, set: &str, to: &str| format!("[[run.change]]\nat = {at}\nset = {set}\nto = {to}\n");
    let good = change("\"60s\"", "\"model.cycle\"", "\"20s\"");
    for (model, table, words) in [
        (
            streets,
            change("\"1s\"", "\"model.grid\"", "4"),
            &["bad.toml:9:7:", "model.grid cannot be changed", "model.cycle, model.demand"][..],
        ),
        (
            streets,
            change("\"1s\"", "\"model.cycle\"", "\"25h\""),
            &["bad.toml:10:6:", "cannot be 90000s", "from 0.1s to 86400s"],
        ),
        (
            streets,
            change("\"1s\"", "\"model.cycle\"", "20"),
            &["bad.toml:10:6:", "cannot be 20", "a duration from"],
        ),
        (streets, change("\"1s\"", "\"model.demand\"", "-0.1"), &["bad.toml:10:6:", "a number from 0 to 1"]),
        (
            streets,
            change("\"1s\"", "\"model.demand\"", "true"),
            &["bad.toml:10:6:", "`to`", "a number, or a duration"],
        ),
        (streets, change("\"-1s\"", "\"model.cycle\"", "\"20s\""), &["bad.toml:8:6:", "`at`", "duration"]),
        (
            streets,
            change("\"10min\"", "\"model.cycle\"", "\"20s\""),
            &["bad.toml:8:6:", "the run ends at 600s", "before `until`"],
        ),
        (streets, good.clone() + &good, &["bad.toml:12:6:", "changes twice at 60s"]),
        (streets, good.replace("to =", "too ="), &["bad.toml:10:", "`to"]),
        (
            PHOLD,
            change("\"1s\"", "\"model.mean\"", "\"2s\""),
            &["model.mean", "none: the model declares no such parameter"],
        ),
    ] {
        refused(&format!("{model}{table}"), &[], words);
    }
}

#[test]
fn mistakes_in_the_model() {
    mistake("mean", "maen", &["bad.toml:5:1:", "`maen`", "did you mean `mean`", "lookahead, lps"]);
    mistake("phold", "phodl", &["bad.toml:2:8:", "`kind`", "did you mean \"phold\""]);
    mistake("kind = \"phold\"", "", &["bad.toml:1:2:", "`kind`", "\"phold\""]);
    mistake("16", "\"16\"", &["bad.toml:3:7:", "`lps`", "the string \"16\"", "whole number"]);
    mistake("16", "0", &["bad.toml:3:7:", "1 to 4294967295"]);
    mistake("16", "16\nremote = 1.5", &["bad.toml:4:10:", "`remote`", "from 0 to 1"]);
    mistake("16", "16\nmessages_per_lp = -1", &["bad.toml:4:19:", "`messages_per_lp`", "from 0"]);
    mistake(
        "16",
        "16\ndestination = \"group\"\nlocality = 1\ngroups = 17",
        &["bad.toml:6:10:", "17 groups", "1 to 16"],
    );
    mistake("16", "16\nlocality = 0.5", &["bad.toml:4:1:", "unknown key `locality`"]);
    mistake(
        "\"1s\"",
        "\"1 parsec\"",
        &["bad.toml:4:13:", "`lookahead`", "\"parsec\"", "ns, us, ms, s, min, h, d"],
    );
    mistake(
        "\"1s\"\nmean = \"1s\"",
        "\"0s\"\nmean = \"0s\"",
        &["bad.toml:5:8:", "`mean`", "time would stand still"],
    );
}

#[test]
fn mistakes_in_the_run() {
    mistake("\"20s\"", "\"-5s\"", &["bad.toml:8:9:", "`until`", "\"-5s\"", "not negative"]);
    mistake("\"20s\"", "20", &["bad.toml:8:9:", "`until`", "the integer 20", "it has no unit", "\"300s\""]);
    mistake(
        "\"window\"",
        "\"windows\"",
        &["bad.toml:9:12:", "`protocol`", "did you mean \"window\"", "\"time-step\""],
    );
    mistake(
        "federates = 2",
        "federates = 17",
        &["bad.toml:10:13:", "16 LPs", "17 federates", "from 1 to 16"],
    );
    mistake("federates = 2", "federates = 0", &["bad.toml:10:13:", "0 federates", "from 1 to 16"]);
    mistake("threads = 2", "checkpoint = \"0s\"", &["bad.toml:11:14:", "checkpoints", "above zero"]);
    mistake("threads = 2", "checkpoint = 10", &["bad.toml:11:14:", "`checkpoint`", "no unit"]);
    mistake("threads = 2", "threads = 0", &["bad.toml:11:11:", "0 threads", "from 1"]);
    mistake(
        "threads = 2",
        "queue = \"heap\"",
        &["bad.toml:11:1:", "the queue is no longer chosen", "every run has the bucket queue"],
    );
    mistake("threads = 2", "ties = \"any\"", &["bad.toml:11:8:", "`ties`", "\"fixed\", \"random\""]);
    mistake(
        "threads = 2",
        "frame_bytes = \"on\"",
        &["bad.toml:11:15:", "`frame_bytes`", "\"adaptive\", \"off\"", "16kB"],
    );
    mistake(
        "threads = 2",
        "frame_bytes = 0",
        &["bad.toml:11:15:", "`frame_bytes`", "the integer 0", "above zero"],
    );
    mistake(
        "threads = 2",
        "frame_time = \"off\"",
        &["bad.toml:11:14:", "`frame_time`", "\"adaptive\", or a duration"],
    );
    mistake("threads = 2", "frame_time = 50", &["bad.toml:11:14:", "`frame_time`", "no unit", "50us"]);
    mistake("threads", "thraeds", &["bad.toml:11:1:", "`thraeds`", "did you mean `threads`"]);
    mistake("[run]", "[Run]", &["bad.toml:7:2:", "[Run]", "did you mean [run]"]);
    mistake("[run]", "[run", &["bad.toml:7:5:", "not valid TOML"]);
}

#[test]
fn a_run_that_the_model_does_not_allow() {
    let zero = PHOLD.replacen("lookahead = \"1s\"", "lookahead = \"0s\"", 1);
    for protocol in ["time-step", "window", "null-message", "null-message-on-demand", "mixed"] {
        let text = zero.replace("\"window\"", &format!("{protocol:?}"));
        refused(&text, &[], &["bad.toml:9:12:", protocol, "lookahead", "\"sequential\", \"optimistic\""]);
    }
    let steps = PHOLD.replace("\"window\"", "\"time-step\"");
    for step in ["2s", "0s"] {
        let argument = format!("run.step={step}");
        refused(
            &steps,
            &["--set", &argument],
            &[&format!("--set {argument}:"), "lookahead of 1s", "at most \"1s\""],
        );
    }
}

#[test]
fn mistakes_in_overrides_and_options() {
    refused(
        PHOLD,
        &["--set", "model.lps=many"],
        &["--set model.lps=many:", "the string \"many\"", "whole number"],
    );
    refused(PHOLD, &["--set", "model.lsp=4"], &["--set model.lsp=4:", "did you mean `lps`"]);
    refused(PHOLD, &["--set", "lps=4"], &["--set lps=4:", "section.key=value"]);
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["run", "nowhere.toml"][..], &["run", "."], &["check", "nowhere.toml"]] {
        says(&error_text(folder.path(), arguments, 2), &[&format!("{}: cannot be read", arguments[1])]);
    }
    for arguments in
        [&[][..], &["run"], &["fly"], &["run", "bad.toml", "--fast"], &["run", "bad.toml", "--out"]]
    {
        assert_eq!(paceline(folder.path(), arguments).status.code(), Some(2), "{arguments:?}");
    }
    for (option, words) in [
        (
            "--queue",
            "there is no option --queue: the queue is no longer chosen: every run has the bucket queue",
        ),
        ("--threads", "there is no option --threads: it is a key of the scenario; say `--set run.threads=2`"),
    ] {
        says(&error_text(folder.path(), &["run", "bad.toml", option, "2"], 2), &[words]);
    }
}

#[test]
fn numbers_of_another_type_are_reported_the_range_that_holds() {
    let chord = "[model]\nkind = \"chord\"\npeers = 20\n[run]\nuntil = \"5s\"\n";
    let allowed = |what: &str| format!("; allowed: a whole number from 1{what}");
    for (text, key, range) in [
        (PHOLD, "threads", " to 4096"),
        (PHOLD, "federates", " to the number of LPs"),
        (PHOLD, "groups", ""),
        (chord, "threads", " to 1024"),
        (chord, "federates", " to 20, the number of hosts"),
    ] {
        for value in ["abc", "-1", "99999999999"] {
            let argument = format!("run.{key}={value}");
            let end = format!("{}\n", allowed(range));
            refused(text, &["--set", &argument], &[&format!("--set {argument}:"), &format!("`{key}`"), &end]);
        }
    }
}

#[test]
fn a_file_for_another_command_names_that_command() {
    let folder = folder_of(&[("run.toml", PHOLD)]);
    fs::write(folder.path().join("machine.toml"), "[machine]\n[host]\ncores = 1\n[run]\nuntil = \"1s\"\n")
        .unwrap();
    // As a checkpoint begins: that there is no more of it does not matter to who wants a scenario.
    fs::write(folder.path().join("run.checkpoint"), b"PACELINE\x02\x00\x00\x00\xff\xff").unwrap();
    for (arguments, words) in [
        (&["machine", "run.toml"][..], "`paceline run` runs"),
        (&["compare", "--policies", "credit,psx", "run.toml"], "`paceline run` runs"),
        (&["run", "machine.toml"], "`paceline machine` runs"),
        (&["run", "run.checkpoint"], "`paceline resume run.checkpoint`"),
        (&["check", "run.checkpoint"], "`paceline resume run.checkpoint`"),
        (&["machine", "run.checkpoint"], "`paceline resume run.checkpoint`"),
        (&["replicate", "run.checkpoint", "--replications", "2"], "`paceline resume run.checkpoint`"),
        (&["resume", "run.toml"], "`paceline run run.toml`"),
    ] {
        let message = error_text(folder.path(), arguments, 2);
        assert!(message.contains(words) && message.contains("allowed: "), "{arguments:?}: {message}");
    }
}

#[test]
fn mistakes_in_files_that_a_scenario_names() {
    let text = "[model]\nkind = \"traffic\"\nnetwork = \"net.tntp\"\ntrips = \"trips.tntp\"\n[run]\nuntil = \"1h\"\n";
    refused(text, &[], &["bad.toml:3:11:", "there is no file net.tntp", "`network`"]);
    let folder = folder_of(&[("bad.toml", text)]);
    fs::write(folder.path().join("net.tntp"), "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> two\n").unwrap();
    fs::write(folder.path().join("trips.tntp"), "<NUMBER OF ZONES> 2\n").unwrap();
    says(&error_text(folder.path(), &["run", "bad.toml"], 2), &["net.tntp:2:"]);
}
