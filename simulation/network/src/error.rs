//! The errors of platform files, and of transfers on a platform.

use std::ops::Range;

use thiserror::Error;

/// A mistake in a platform file or in a profile that it names: its place, the problem, and what is allowed
/// instead. There is no platform then, so no run can begin.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {problem}; allowed: {allowed}")]
pub struct ReadError {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
    /// What is allowed instead.
    pub allowed: String,
}

paceline_kernel::debug_tells!(ReadError);

/// An error at a range of bytes of the text being read, without the name of the file; [`TextError::place`]
/// makes a [`ReadError`] of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextError {
    pub at: Range<usize>,
    pub problem: String,
    pub allowed: String,
}

impl TextError {
    pub(crate) fn new(at: Range<usize>, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), allowed: allowed.into() }
    }

    /// Adds the file's name, the line and the column.
    pub(crate) fn place(self, file: &str, text: &str) -> ReadError {
        let before = &text.as_bytes()[..self.at.start.min(text.len())];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        ReadError {
            file: file.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            // Continuation bytes of UTF-8 do not start a character.
            column: 1 + before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count(),
            problem: shown(&self.problem),
            allowed: shown(&self.allowed),
        }
    }
}

/// The most characters of a piece of text in a message.
const MOST_SHOWN: usize = 400;

/// A text for a one-line message: control characters are escaped, the middle of a long text is left out.
fn shown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => plain.extend(letter.escape_default()),
            false => plain.push(letter),
        }
    }
    let letters = plain.chars().count();
    if letters <= MOST_SHOWN {
        return plain;
    }
    let half = MOST_SHOWN / 2;
    let (head, tail) = (plain.chars().take(half), plain.chars().skip(letters - half));
    head.chain(" ... ".chars()).chain(tail).collect()
}

/// Why there is no route. The platform stays usable: a simulation can go on without that transfer.
#[derive(Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RouteError {
    /// The platform gives no route between the two.
    #[error("there is no route from `{from}` to `{to}`: zone `{zone}` has none from `{near}` to `{far}`")]
    Missing {
        from: String,
        to: String,
        zone: String,
        /// The member of that zone where the missing route starts.
        near: String,
        /// The member of that zone where it ends.
        far: String,
    },
    /// The route to a gateway leads over that route itself.
    #[error(
        "the route from `{from}` to `{to}` is a loop: the way to a gateway leads back to where it came from"
    )]
    Loop { from: String, to: String },
}

paceline_kernel::debug_tells!(RouteError);
