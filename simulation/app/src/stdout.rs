//! The one way to standard output.

use std::io::{self, Write};

use crate::failure::CommandError;

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::Print)
}
