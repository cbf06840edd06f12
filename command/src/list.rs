//! `paceline list`: models, scenarios, names that keys of `[run]` take, policies and workloads, with a line
//! about each. What every program lists is in `simulation/app/src/list.rs`.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_app::failure::CommandError;
use paceline_app::{list, stdout, text};
use paceline_machine_scenarios::WORKLOADS;
use paceline_policy::{POLICIES, PolicyKind};

use crate::models::PROGRAM;

/// Lists models, scenarios, protocols, the ways to run ahead, frames between processes, scheduling policies
/// and workloads.
pub fn list() -> Result<(), CommandError> {
    let scenarios = match scenarios() {
        Some(folder) => ("Scenarios", files(&folder)),
        None => ("Scenarios: there is no folder of that name here", Vec::new()),
    };
    let mut all = vec![list::models(&PROGRAM), scenarios];
    all.extend(list::settings());
    all.push(("Scheduling policies (policy.kind)", POLICIES.iter().map(policy).collect()));
    all.push(("Workloads of guests (domain.workload)", list::rows(WORKLOADS)));
    stdout::print(&text::groups(&all))
}

/// A policy, with its settings and those of domains under it.
fn policy(kind: &PolicyKind) -> text::Row {
    let mut about = kind.about.to_owned();
    for (whose, keys) in [("settings", kind.keys), ("of domains", kind.domain_keys)] {
        if !keys.is_empty() {
            about.push_str(&format!("; {whose}: {}", keys.join(", ")));
        }
    }
    (kind.name.to_owned(), about)
}

/// The folder with scenarios: here, or above the program as in its source tree.
fn scenarios() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let above =
        program.iter().flat_map(|program| program.ancestors().skip(1)).map(|folder| folder.join("scenarios"));
    std::iter::once(PathBuf::from("scenarios")).chain(above).find(|folder| folder.is_dir())
}

/// Its scenarios by name, each with the first line of its opening comment.
fn files(folder: &Path) -> Vec<text::Row> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.sort();
    let about = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().next().and_then(|line| line.strip_prefix('#'));
        line.unwrap_or_default().trim().to_owned()
    };
    paths.iter().map(|path| (path.display().to_string(), about(path))).collect()
}
