//! Modules that others have written, where `PACELINE_FOMS` names a folder with some. All that can be read is
//! merged alone, after the standard's module. `PACELINE_OPENRTI` names the folder of OpenRTI's test of
//! modules, which says which of them do not fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use paceline_rti::fom::{Fom, FomError, Module, STANDARD_MIM};

fn modules_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder can be read").path();
        if path.is_dir() {
            modules_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "xml") {
            found.push(path);
        }
    }
}

/// Whether the name of a file says that something in it is wrong.
fn is_meant_wrong(path: &Path) -> bool {
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // poRTIco's modules with data types say in their names what is not right.
    let endings =
        ["Empty", "Missing", "Negative", "NonNumeric", "DoesntExist", "NotABasicType", "NoEnumerators"];
    let is_of_types = path.parent().is_some_and(|folder| folder.ends_with("datatypes"));
    name.to_lowercase().contains("invalid")
        || (is_of_types && endings.iter().any(|ending| name.ends_with(ending)))
}

/// A module whose file name says that it is wrong is refused, any other one is merged.
#[test]
fn modules_of_others_are_read() {
    let Some(folder) = std::env::var_os("PACELINE_FOMS") else {
        eprintln!("skipped: PACELINE_FOMS names no folder with modules");
        return;
    };
    let mut paths = Vec::new();
    modules_below(Path::new(&folder), &mut paths);
    paths.sort();
    let mut wrong = Vec::new();
    for path in &paths {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let name = path.display().to_string().to_lowercase();
        // Others of the same name differ from the standard's on purpose, and modules of 2000 have no
        // namespace.
        if name.contains("equiv") || !text.contains("//standards.ieee.org/IEEE1516-20") {
            continue;
        }
        let mut fom = Fom::default();
        fom.merge(&Module::read(STANDARD_MIM).expect("ours can be read")).expect("the first one fits");
        let result = Module::read(&text).and_then(|module| fom.merge(&module));
        let is_meant_wrong = is_meant_wrong(path);
        match result {
            // It needs other modules, or is meant for readers that add the root.
            Err(FomError::Undefined { .. } | FomError::UndefinedDataType { .. }) => {}
            Err(FomError::RootClass { .. }) => {}
            Err(error) if !is_meant_wrong => wrong.push(format!("{}: {error}", path.display())),
            Ok(()) if is_meant_wrong => wrong.push(format!("{}: it was merged", path.display())),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    eprintln!("{} modules are as their names say", paths.len());
}

/// The names in quotes on lines with `word`.
fn quoted<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.contains(word).then(|| line.split('"').nth(1)).flatten()
}

#[test]
fn modules_of_others_fit_together_as_their_test_says() {
    let Some(folder) = std::env::var_os("PACELINE_OPENRTI").map(PathBuf::from) else {
        eprintln!("skipped: PACELINE_OPENRTI names no folder with modules and their test");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file can be read");
    let (mut contradicted, mut name) = (BTreeMap::<String, BTreeSet<String>>::new(), String::new());
    for line in read("modules.cpp").lines() {
        if let Some(found) = quoted(line, "module._name = ") {
            found.clone_into(&mut name);
            contradicted.entry(name.clone()).or_default();
        }
        if let Some(found) = quoted(line, "_incompatibleModuleNames.insert") {
            contradicted.entry(name.clone()).or_default().insert(found.to_owned());
        }
    }
    let modules: Vec<(&String, Module)> =
        contradicted.keys().map(|name| (name, Module::read(&read(name)).expect("it can be read"))).collect();
    assert_eq!(modules.len(), 26, "{:?}", contradicted.keys());
    for (first, earlier) in &modules {
        let mut fom = Fom::default();
        fom.merge(&Module::read(STANDARD_MIM).expect("ours can be read")).expect("the first one fits");
        fom.merge(earlier).unwrap_or_else(|error| panic!("{first}: {error}"));
        for (second, later) in &modules {
            let merged = fom.clone().merge(later);
            let is_contradicted = contradicted[*second].contains(*first);
            assert_eq!(merged.is_err(), is_contradicted, "{second} after {first}: {merged:?}");
        }
    }
}
