//! Files that other tools wrote: read whole, their mistakes told with file and line.

use std::path::Path;

use paceline_packets::files::FileError;
use paceline_scenario::{ScenarioError, inputs};

/// The most bytes of a file.
const MAX_BYTES: u64 = 512 << 20;

/// A text file, and its name in messages.
pub struct Text {
    pub name: String,
    pub text: String,
}

impl Text {
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let bytes = inputs::read_at_most(path, MAX_BYTES)
            .map_err(|reason| ScenarioError::unreadable(path, &reason))?;
        if bytes.len() as u64 > MAX_BYTES {
            let allowed = format!("at most {MAX_BYTES} bytes");
            return Err(ScenarioError::whole_file(path, "is too long", allowed));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| ScenarioError::whole_file(path, "is not UTF-8", "a text file in UTF-8"))?;
        Ok(Self { name: path.display().to_string(), text })
    }

    /// A mistake in this file.
    pub fn mistake(&self, error: FileError) -> ScenarioError {
        self.at_line(error.line, error.problem, error.allowed)
    }

    /// A mistake in a line of this file; lines count from 1.
    pub fn at_line(&self, line: usize, problem: String, allowed: impl Into<String>) -> ScenarioError {
        let before: usize = self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let length = self.text[before..].lines().next().map_or(0, str::len);
        ScenarioError::in_file(&self.name, &self.text, before..before + length, problem, allowed)
    }
}
