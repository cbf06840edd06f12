//! The hypervisor: Xen's source with our plug-ins inserted, compiled.
//!
//! Each of the two variants, with and without checks, has a tree of its own in the cache, in which only what
//! changed is compiled again. The result is kept under the hash of all its inputs.
//!
//! Invariant: a hypervisor in the folder `hypervisors` is complete: it is renamed into it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{LabError, io};
use crate::lock::lock;
use crate::packages::Packages;
use crate::process::{Stop, command, run};

/// The folders of our sources that are compiled into the hypervisor.
const PARTS: &[&str] = &["include", "report", "sched"];

const INSERT: &str = "insert";

/// How Xen is configured. Our schedulers use the number of its scheduler `null`; what no experiment needs is
/// left out.
const CONFIGURATION: &str = "\
CONFIG_EXPERT=y
CONFIG_UNSUPPORTED=y
# CONFIG_SCHED_NULL is not set
# CONFIG_SCHED_RTDS is not set
# CONFIG_SCHED_ARINC653 is not set
# CONFIG_LIVEPATCH is not set
# CONFIG_XSM is not set
# CONFIG_ARGO is not set
# CONFIG_MEM_SHARING is not set
# CONFIG_TBOOT is not set
# CONFIG_SHADOW_PAGING is not set
";

/// Builds the hypervisor of the sources in the folder `ours`, unless it was built before, and returns its
/// path.
pub(crate) fn hypervisor(
    cache: &Path,
    packages: &Packages,
    ours: &Path,
    debug: bool,
    stop: &Stop,
    listener: &mut dyn FnMut(&str),
) -> Result<PathBuf, LabError> {
    let variant = if debug { "debug" } else { "release" };
    let configuration =
        format!("{CONFIGURATION}{}\n", if debug { "CONFIG_DEBUG=y" } else { "# CONFIG_DEBUG is not set" });
    let archive = packages.source.file_name().unwrap_or_default();
    let base = hash([archive.as_bytes(), configuration.as_bytes()]);
    let built_as = BUILT.concat();
    let inserted = hash([base.as_bytes(), built_as.as_bytes(), &read(&ours.join(INSERT))?]);
    let all =
        || PARTS.iter().try_fold(inserted.clone(), |before, part| hash_folder(before, &ours.join(part)));
    let hashed = all()?;
    let built = cache.join("hypervisors").join(format!("xen-{variant}-{hashed}"));
    if built.exists() {
        return Ok(built);
    }
    let trees = cache.join("trees");
    fs::create_dir_all(&trees).map_err(io("make the folder", &trees))?;
    let _locked = lock(&trees.join(format!("{variant}.lock")), stop, listener)?;
    if built.exists() {
        return Ok(built);
    }
    let tree = trees.join(variant);
    let stamp = tree.join("paceline-base");
    if fs::read_to_string(&stamp).is_ok_and(|stamped| stamped == base) {
        listener(&format!("Compiling Xen again with what changed ({variant}) ..."));
    } else {
        listener(&format!("Compiling Xen with Paceline's schedulers ({variant}; two minutes) ..."));
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir_all(&tree).map_err(io("make the folder", &tree))?;
        let mut tar = command("tar");
        tar.arg("-xf").arg(&packages.source).arg("-C").arg(&tree).arg("--strip-components=1");
        run("unpacking Xen's source", tar, stop)?;
    }
    let mut script = command(ours.join(INSERT));
    script.arg(&tree);
    run("inserting the schedulers into Xen", script, stop)?;
    if all()? != hashed {
        return Err(LabError::Changed(ours.into()));
    }
    if !stamp.exists() {
        let config = tree.join("xen/.config");
        fs::write(&config, &configuration).map_err(io("write", &config))?;
        make(packages, &tree, &["olddefconfig"], stop)?;
        fs::write(&stamp, &base).map_err(io("write", &stamp))?;
    }
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    make(packages, &tree, &[&format!("-j{jobs}")], stop)?;
    keep(&tree.join("xen/xen"), &built)?;
    Ok(built)
}

/// Copies the built hypervisor to the folder where it is kept.
fn keep(from: &Path, to: &Path) -> Result<(), LabError> {
    let folder = to.parent().expect("it has a folder");
    let half = to.with_extension("half");
    fs::create_dir_all(folder).map_err(io("make the folder", folder))?;
    fs::copy(from, &half).map_err(io("copy", from))?;
    fs::rename(&half, to).map_err(io("rename", &half))
}

/// What Xen prints about its build, fixed so that two boots print the same.
const BUILT: &[&str] = &[
    "XEN_BUILD_DATE=Thu Jan  1 00:00:00 UTC 2026",
    "XEN_BUILD_TIME=00:00:00",
    "XEN_WHOAMI=paceline",
    "XEN_DOMAIN=lab",
    "XEN_BUILD_HOST=lab",
];

/// Runs make in the tree's hypervisor, with the tools of the packages.
fn make(packages: &Packages, tree: &Path, arguments: &[&str], stop: &Stop) -> Result<(), LabError> {
    let root = packages.root.display();
    let mut make = command("make");
    let path = std::env::var("PATH").unwrap_or_default();
    make.env("PATH", format!("{path}:{root}/usr/bin"))
        .env("BISON_PKGDATADIR", format!("{root}/usr/share/bison"))
        .env("M4", format!("{root}/usr/bin/m4"))
        .env("LC_ALL", "C")
        // If the lab is called from a make, these variables belong to that make.
        .env_remove("MAKEFLAGS")
        .args(["-s", "-C"])
        .arg(tree.join("xen"))
        .args(BUILT)
        .args(arguments);
    run("compiling Xen", make, stop).map(|_| ())
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    fs::read(path).map_err(io("read", path))
}

/// Fails if a part of the folder of our sources is missing, and names it.
pub(crate) fn check_sources(ours: &Path) -> Result<(), LabError> {
    let lacks = PARTS.iter().copied().chain([INSERT, "guest"]).find(|part| !ours.join(part).exists());
    lacks.map_or(Ok(()), |lacks| Err(LabError::Sources { path: ours.into(), lacks }))
}

/// A short hash of some bytes.
pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A hash of `before` and of the names and contents of all files below a folder.
pub(crate) fn hash_folder(before: String, folder: &Path) -> Result<String, LabError> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .map_err(io("read", folder))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries.iter().try_fold(before, |before, path| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        if path.is_dir() {
            hash_folder(hash([before.as_bytes(), name]), path)
        } else {
            Ok(hash([before.as_bytes(), name, &read(path)?]))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_of_a_file_its_name_or_its_place_changes_the_hash() {
        let hashed = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().expect("a folder");
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
                fs::write(path, text).expect("a file");
            }
            hash_folder(String::new(), folder.path()).expect("it can be read")
        };
        let all = [
            hashed(&[("a", "x"), ("b", "y")]),
            hashed(&[("a", "xy"), ("b", "")]),
            hashed(&[("a", "x"), ("c", "y")]),
            hashed(&[("a", "x"), ("d/b", "y")]),
            hashed(&[("a", "x")]),
        ];
        for (number, one) in all.iter().enumerate() {
            assert!(all[number + 1..].iter().all(|other| one != other), "{number}: {all:?}");
        }
        assert_eq!(all[0], hashed(&[("b", "y"), ("a", "x")]), "the order of making does not count");
    }

    #[test]
    fn a_folder_that_holds_no_sources_is_a_mistake_and_says_what_lacks() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = check_sources(folder.path()).expect_err("it is empty");
        assert!(error.is_mistake());
        assert!(error.to_string().contains("it contains no include"), "{error}");
    }
}
