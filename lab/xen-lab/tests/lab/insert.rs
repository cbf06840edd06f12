//! `lab/xen/insert` on trees that have just the lines that hooks stand beside: it puts everything in, once,
//! and takes it out again; where a line is missing or there twice it says which, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn xen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../xen").canonicalize().expect("the project has this folder")
}

/// By file, the lines that the hooks stand beside.
fn places() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for script in ["insert", "report/hooks", "sched/hooks"] {
        let text = fs::read_to_string(xen().join(script)).expect("the script is there");
        for hook in text.lines().filter_map(|line| line.strip_prefix("hook ")) {
            let mut words = hook.splitn(3, ' ');
            let (file, _, rest) = (words.next(), words.next(), words.next().expect("a hook has three words"));
            let line = rest.split('\'').nth(1).expect("the line is quoted").to_owned();
            let line = line.strip_suffix('@').map(|begin| format!("{begin}and so on")).unwrap_or(line);
            let lines = found.entry(file.expect("the first word is there").into()).or_default();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    found
}

fn tree(places: &BTreeMap<String, Vec<String>>) -> TempDir {
    let folder = TempDir::new().expect("there is room");
    fs::create_dir_all(folder.path().join("xen/include/xen")).expect("there is room");
    for (file, lines) in places {
        let path = folder.path().join("xen").join(file);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
        fs::write(path, format!("first line\n{}\nlast line\n", lines.join("\nbetween\n")))
            .expect("there is room");
    }
    folder
}

fn insert(tree: &Path) -> Output {
    Command::new(xen().join("insert")).arg(tree).output().expect("the script can be run")
}

/// All files below the tree's hypervisor, with what they hold.
fn contents(tree: &Path) -> BTreeMap<PathBuf, String> {
    let (mut open, mut found) = (vec![tree.to_owned()], BTreeMap::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("it is a folder") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("all files are text");
                found.insert(path, text);
            }
        }
    }
    found
}

#[test]
fn all_is_put_in_once() {
    let tree = tree(&places());
    let before = contents(tree.path());
    let output = insert(tree.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let after = contents(tree.path());
    for (path, text) in &before {
        let without: Vec<_> = {
            let mut inside = false;
            let outside = |line: &&str| {
                inside |= line.contains("Paceline: ") && line.contains(" begins");
                let keep = !inside;
                inside &= !(line.contains("Paceline: ") && line.contains(" ends"));
                keep
            };
            after[path].lines().filter(outside).collect()
        };
        assert_ne!(*text, after[path], "{path:?} has a hook");
        assert_eq!(without, text.lines().collect::<Vec<_>>(), "{path:?} keeps what it had");
    }
    for name in ["psx.c", "psxplus.c", "nsx.c", "sedf.c", "lvt_report.c", "paceline.h"] {
        assert!(after.contains_key(&tree.path().join("xen/common/sched").join(name)), "{name} is there");
    }
    let makefile = &after[&tree.path().join("xen/common/sched/Makefile")];
    assert!(makefile.contains("\nobj-y += psx.o\n"), "{makefile}");
    let again = insert(tree.path());
    assert!(String::from_utf8_lossy(&again.stdout).contains("insert: 0 files"), "{again:?}");
    assert_eq!(contents(tree.path()), after);
}

#[test]
fn a_stale_hook_goes() {
    let tree = tree(&places());
    assert!(insert(tree.path()).status.success());
    let after = contents(tree.path());
    let path = tree.path().join("xen/common/sched/core.c");
    let stale = "/* Paceline: gone begins */\nold text\n/* Paceline: gone ends */\n";
    fs::write(&path, format!("{}{stale}", after[&path])).expect("there is room");
    assert!(insert(tree.path()).status.success());
    assert_eq!(contents(tree.path()), after);
}

#[test]
fn another_tree_is_refused_whole() {
    let places = places();
    for (file, lines) in &places {
        for (number, line) in lines.iter().enumerate() {
            for copies in [0, 2] {
                let mut other = places.clone();
                other.get_mut(file).expect("it is there").splice(number..=number, vec![line.clone(); copies]);
                let tree = tree(&other);
                let before = contents(tree.path());
                let output = insert(tree.path());
                let printed = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(1), "{printed}");
                let line = line.trim_end_matches("and so on");
                assert!(
                    printed.contains(file)
                        && printed.contains(line)
                        && printed.contains("Nothing was changed"),
                    "{printed}"
                );
                assert_eq!(contents(tree.path()), before);
            }
        }
    }
}

#[test]
fn no_tree_is_refused() {
    let empty = TempDir::new().expect("there is room");
    let output = insert(empty.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is no source tree of Xen"), "{output:?}");
}
