//! Standard output: every command prints through [`print()`], so that output that cannot be written is an
//! error of the command and no panic.

use std::io::{self, Write};

use crate::failure::CommandError;

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::Print)
}
