//! Files of other tools: found out for what they are, uncompressed, and decoded, before a reader sees their
//! text.
//!
//! A file compressed by gzip is inflated, as BonnMotion writes its movements so. A byte order mark is
//! dropped. A file that is not UTF-8 is taken as Latin-1: everything that the readers of this crate
//! understand is ASCII, so that only comments and names differ. Whatever else a file may be (an archive, a
//! web page, UTF-16, anything binary) is refused by the name of what it seems to be, before its bytes could
//! stand in an error message.
//!
//! Invariants: no content makes this panic; no more than `most` bytes are kept, before and after inflating; a
//! text has no byte order mark and no NUL, and its lines end with `\n`.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use paceline_scenario::{ScenarioError, inputs};

/// How files begin that are no plain text, and what they are.
const BEGINNINGS: [(&[u8], &str); 22] = [
    (b"\x1f\x8b", "a file compressed by gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive without files"),
    (b"\xfd7zXZ\x00", "a file compressed by xz"),
    (b"BZh", "a file compressed by bzip2"),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd"),
    (b"\x04\x22\x4d\x18", "a file compressed by lz4"),
    (b"\x1f\x9d", "a file compressed by compress"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xff\xfe\x00\x00", "a text in UTF-32"),
    (b"\x00\x00\xfe\xff", "a text in UTF-32"),
    (b"\xff\xfe", "a text in UTF-16"),
    (b"\xfe\xff", "a text in UTF-16"),
    (b"version https://git-lfs", "a pointer to a file in Git LFS, not the file"),
    (b"{", "a JSON document"),
    (b"PACELINE", "a checkpoint of Paceline"),
];
/// The same for texts with marks, in lower case; white space before them does not count.
const MARKS: [(&str, &str); 6] = [
    ("<!doctype html", "a web page (HTML)"),
    ("<html", "a web page (HTML)"),
    ("<head", "a web page (HTML)"),
    ("<?xml", "an XML document"),
    ("<!--", "an XML or HTML document"),
    ("<svg", "an SVG image"),
];
/// Where and how a tar archive says that it is one.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// Control characters that texts have; fewer than a tenth of a text are others.
const TEXT_CONTROLS: &[u8] = b"\t\n\r\x0b\x0c\x1a";
/// Bytes at the start that are looked at for marks.
const LOOKED_AT: usize = 1 << 10;
/// Characters of a word that messages show.
const SHOWN: usize = 40;

/// A text file of another tool.
#[derive(Debug)]
pub(crate) struct Input {
    /// Its name, for messages.
    pub name: String,
    pub text: String,
}

/// A mistake in a file: where, what, and what is allowed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub at: Range<usize>,
    pub problem: String,
    pub allowed: String,
}

impl Flaw {
    pub(crate) fn new(at: Range<usize>, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), allowed: allowed.into() }
    }

    /// The error of the file `name`, which has this text.
    pub(crate) fn in_file(self, name: &str, text: &str) -> ScenarioError {
        ScenarioError::in_file(name, text, self.at, self.problem, self.allowed)
    }
}

impl Input {
    /// Reads a file of at most `most` bytes, compressed or not.
    pub fn load(path: &Path, most: u64) -> Result<Self, ScenarioError> {
        let bytes =
            inputs::read_at_most(path, most).map_err(|reason| ScenarioError::unreadable(path, &reason))?;
        let text = text_of(bytes, most)
            .map_err(|(problem, allowed)| ScenarioError::whole_file(path, problem, allowed))?;
        Ok(Self { name: path.display().to_string(), text })
    }
}

/// The text in these bytes, or what they seem to be and what is allowed.
pub(crate) fn text_of(bytes: Vec<u8>, most: u64) -> Result<String, (String, String)> {
    let too_long = |of: &str| Err((format!("is too long{of}"), format!("at most {most} bytes")));
    if bytes.len() as u64 > most {
        return too_long("");
    }
    let compressed = bytes.starts_with(b"\x1f\x8b");
    let bytes = if compressed {
        let mut inflated = Vec::new();
        if let Err(reason) = MultiGzDecoder::new(bytes.as_slice()).take(most + 1).read_to_end(&mut inflated) {
            let problem = format!("is compressed by gzip and cannot be uncompressed: {reason}");
            return Err((problem, "an undamaged file (`gzip -t` tests it), or the text itself".into()));
        }
        if inflated.len() as u64 > most {
            return too_long(" when it is uncompressed");
        }
        inflated
    } else {
        bytes
    };
    if let Some(kind) = kind_of(&bytes) {
        let within = if compressed { ", compressed by gzip" } else { "" };
        return Err((format!("seems to be {kind}{within}"), "a text file, or one compressed by gzip".into()));
    }
    Ok(decoded(bytes))
}

/// What these bytes seem to be, if they are no plain text.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    if bytes.is_empty() {
        return Some("empty");
    }
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning)) {
        return Some(kind);
    }
    if bytes.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
        return Some("a tar archive");
    }
    let bare = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = String::from_utf8_lossy(&bare[..bare.len().min(LOOKED_AT)]).to_lowercase();
    if let Some((_, kind)) = MARKS.iter().find(|(mark, _)| start.trim_start().starts_with(mark)) {
        return Some(kind);
    }
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    // In a text in UTF-16 of Western letters and digits every second byte is zero.
    let is_wide =
        |first: usize| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count() == zeros;
    let controls =
        bytes.iter().filter(|byte| byte.is_ascii_control() && !TEXT_CONTROLS.contains(byte)).count();
    match zeros {
        0 if controls * 10 > bytes.len() => Some("a binary file"),
        0 => None,
        _ if zeros * 3 > bytes.len() && (is_wide(0) || is_wide(1)) => Some("a text in UTF-16"),
        _ => Some("a binary file"),
    }
}

/// The text without a byte order mark; line ends of old systems become `\n`, and the end mark of DOS goes.
fn decoded(bytes: Vec<u8>) -> String {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(other) => other.into_bytes().into_iter().map(char::from).collect(),
    };
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    while text.ends_with('\u{1a}') {
        text.pop();
    }
    if text.contains('\r') && !text.contains('\n') {
        text = text.replace('\r', "\n");
    }
    text
}

/// A word for a message: cut where it is long, and without characters that would do something to a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (place, c) in text.chars().enumerate() {
        if place == SHOWN {
            shown.push_str("...");
            break;
        }
        match c {
            // Bidirectional marks reorder what stands around them.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.extend(c.escape_unicode());
            }
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod test;
