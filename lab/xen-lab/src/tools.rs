//! The programs of this machine that the lab calls. What compiles Xen besides comes with its packages.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::{env, fs};

use crate::LabError;

/// Each with the Debian package that has it.
const TOOLS: [(&str, &str); 5] =
    [("cc", "gcc"), ("make", "make"), ("python3", "python3"), ("setpriv", "util-linux"), ("xz", "xz-utils")];

/// Fails if one of them is not there, and says how to get all that are missing.
pub(crate) fn check_tools() -> Result<(), LabError> {
    let (tools, packages) = missing(&env::var_os("PATH").unwrap_or_default());
    if tools.is_empty() {
        return Ok(());
    }
    Err(LabError::Skipped(format!(
        "there is no {} here: sudo apt-get install {}",
        tools.join(", no "),
        packages.join(" ")
    )))
}

/// The tools that are in none of these folders, and their packages.
fn missing(path: &OsStr) -> (Vec<&'static str>, Vec<&'static str>) {
    let folders: Vec<PathBuf> = env::split_paths(path).collect();
    let is_there = |tool: &str| {
        folders.iter().any(|folder| fs::metadata(folder.join(tool)).is_ok_and(|file| file.is_file()))
    };
    TOOLS.into_iter().filter(|(tool, _)| !is_there(tool)).unzip()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn what_is_in_no_folder_is_missing_and_its_package_is_reported() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder can be made"));
        for (folder, tool) in folders.iter().zip(["make", "xz"]) {
            File::create(folder.path().join(tool)).expect("a file can be made");
        }
        let path = env::join_paths(folders.iter().map(|folder| folder.path())).expect("no name has a colon");
        assert_eq!(missing(&path), (vec!["cc", "python3", "setpriv"], vec!["gcc", "python3", "util-linux"]));
        assert_eq!(missing(OsStr::new("")).0.len(), TOOLS.len());
    }
}
