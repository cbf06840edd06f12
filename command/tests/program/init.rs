//! `init` writes what runs, and overwrites nothing; `completions` and `man` know every command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{error_text, paceline, says, stderr, stdout};

// The programs that `init --rust` writes compile, and the tests in them pass.
#[path = "../../src/init/start/lps.rs"]
mod lps;
#[path = "../../src/init/start/processes.rs"]
#[allow(dead_code, reason = "it has no tests: that it compiles is the test")]
mod processes;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the source tree").to_owned()
}

/// The models of this program, as `list` shows them.
fn models(folder: &Path) -> Vec<String> {
    let listed = stdout(&paceline(folder, &["list"]));
    let models = listed.lines().skip_while(|line| !line.starts_with("Models")).skip(1);
    let models = models.take_while(|line| !line.is_empty());
    let models: Vec<_> = models.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(models.len() >= 14 && models.iter().any(|model| model == "traffic"), "{models:?}");
    models
}

#[test]
fn every_model_has_a_start_that_can_run_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    for model in models(folder.path()) {
        let all = ["init", &model, "--rust", "--python", "--folder", &model];
        let output = paceline(folder.path(), &all);
        assert!(output.status.success(), "{model}: {}", stderr(&output));
        let here = folder.path().join(&model);
        let scenario = format!("{model}.toml");
        says(&stdout(&output), &["Written: ", &format!("paceline run {scenario}"), "cargo run"]);
        let checked = paceline(&here, &["check", &scenario]);
        assert!(checked.status.success(), "{model}: {}", stderr(&checked));
        let module = fs::read_to_string(here.join(format!("{}.py", model.replace('-', "_")))).unwrap();
        says(&module, &[&format!("with_name(\"{scenario}\")")]);
        let manifest = here.join(format!("{model}-program/Cargo.toml"));
        let read = Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--offline", "--format-version=1", "--manifest-path"])
            .arg(&manifest)
            .output()
            .unwrap();
        says(&stdout(&read), &[&format!("\"name\":\"{model}-program\""), "simulation/paceline", "\"app\""]);
        // Twice is once too often, and then nothing else is written either.
        fs::write(here.join(&scenario), "mine").unwrap();
        fs::remove_dir_all(here.join(format!("{model}-program"))).unwrap();
        let message = error_text(folder.path(), &all, 2);
        says(&message, &[&scenario, "is there already, and stays as it is; allowed: a folder without it"]);
        assert_eq!(fs::read_to_string(here.join(&scenario)).unwrap(), "mine");
        assert!(!here.join(format!("{model}-program")).exists(), "{model}");
    }
    let unknown = paceline(folder.path(), &["init", "trafic"]);
    assert_eq!(unknown.status.code(), Some(2));
    says(&stderr(&unknown), &["traffic", "phold"]);
}

#[test]
fn starts_are_the_scenarios_of_the_source_tree() {
    let starts = project().join("command/src/init/start");
    let mut compared = 0;
    for entry in fs::read_dir(&starts).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        let name = if name == "packets.toml" { "packets-dumbbell.toml".to_owned() } else { name };
        let folders = ["", "platforms", "deployments", "traces"];
        let mut same = folders.iter().map(|folder| project().join("scenarios").join(folder).join(&name));
        if let Some(same) = same.find(|path| path.is_file()) {
            assert_eq!(fs::read(&entry).unwrap(), fs::read(same).unwrap(), "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 18, "fourteen scenarios, and four files that they name");
}

#[test]
fn shells_complete_and_manuals_say_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = paceline(folder.path(), &["completions", shell]);
        assert!(output.status.success(), "{shell}: {}", stderr(&output));
        says(&stdout(&output), &["paceline", "replicate", "checkpoint"]);
    }
    let bash = stdout(&paceline(folder.path(), &["completions", "bash"]));
    let complete =
        "COMP_WORDS=(paceline init pho); COMP_CWORD=2; _paceline paceline pho init; echo \"${COMPREPLY[*]}\"";
    if let Ok(output) = Command::new("bash").arg("-c").arg(format!("{bash}\n{complete}")).output() {
        assert_eq!(stdout(&output).trim(), "phold", "{}", stderr(&output));
    }
    let output = paceline(folder.path(), &["man", "man1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = |name: &str| fs::read_to_string(folder.path().join("man1").join(name)).expect("a page");
    says(&page("paceline.1"), &[".TH paceline", "replicate", "study"]);
    says(&page("paceline-run.1"), &[".TH paceline-run", "\\-\\-out", "SCENARIO.toml"]);
    says(&page("paceline-ctl-pause.1"), &["pause"]);
}
