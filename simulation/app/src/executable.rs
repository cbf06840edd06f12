//! The file from which this program was started.

use std::path::PathBuf;

/// The name under which this program was started, for messages that say what to type.
pub fn name() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name =
        path.as_ref().and_then(|path| path.file_stem()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "paceline".to_owned())
}
