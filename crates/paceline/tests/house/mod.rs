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
