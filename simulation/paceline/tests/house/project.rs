//! Where the project is, for the tests that read its files.

use std::path::{Path, PathBuf};

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates stand two folders below the root")
        .into()
}

/// The folders of the crates and of what belongs to them.
pub const WINGS: [&str; 6] = ["simulation", "machines", "pacing", "outside", "lab", "command"];

/// The folders of all crates, from the root.
pub fn crates() -> Vec<String> {
    let is_crate = |folder: &String| root().join(folder).join("Cargo.toml").is_file();
    let below = |wing: &str| {
        let entries = std::fs::read_dir(root().join(wing)).expect("a folder of the project can be read");
        let names = entries.map(|entry| entry.expect("an entry of it can be read").file_name());
        names.map(|name| format!("{wing}/{}", name.display())).collect::<Vec<_>>()
    };
    let found = WINGS.into_iter().flat_map(|wing| below(wing).into_iter().chain([wing.to_owned()]));
    found.filter(is_crate).collect()
}
