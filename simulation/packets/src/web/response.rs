//! Reads responses of HTTP/1.1 (RFC 9112) as their bytes come: the status, and where the response ends.
//!
//! Invariant: of what comes, no more is kept than a line, at most [`MOST_HEAD`] bytes of a head.

use serde::{Deserialize, Serialize};

/// The most bytes of a status line with all header fields.
const MOST_HEAD: usize = 16 << 10;
/// The most bytes of a line that says how long a chunk is, and of all lines behind the last chunk.
const MOST_LINE: usize = 4 << 10;

/// What comes next.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
enum Part {
    /// Status line and header fields; so much of them has come.
    #[default]
    Head,
    /// So many bytes of the body.
    Body(u64),
    /// The line with the length of the next chunk.
    Length,
    /// So many bytes of a chunk.
    Chunk(u64),
    /// The line behind a chunk.
    AfterChunk,
    /// Lines behind the last chunk.
    Trailer,
    /// The body ends with the connection.
    UntilClosed,
    /// Nothing: it has come whole.
    Whole,
    /// It is no response.
    Wrong,
}

/// A response, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct Response {
    part: Part,
    /// What of a head or a line has come.
    held: Vec<u8>,
    pub status: u16,
    /// How much of the body has come.
    pub body_bytes: u64,
    /// The server closes the connection behind it.
    pub is_last: bool,
}

impl Response {
    /// Takes in bytes of it. What comes behind it is left out: nobody has asked for it.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !matches!(self.part, Part::Whole | Part::Wrong) {
            bytes = self.read_part(bytes);
        }
    }

    /// The connection has come to its end.
    pub fn end(&mut self) {
        if self.part == Part::UntilClosed {
            self.part = Part::Whole;
        }
    }

    pub fn is_whole(&self) -> bool {
        self.part == Part::Whole
    }

    pub fn is_wrong(&self) -> bool {
        self.part == Part::Wrong
    }

    /// Whether it is one that can go on: for states that come from a file.
    pub fn is_consistent(&self) -> bool {
        self.held.len() <= MOST_HEAD && self.body_bytes <= u64::MAX / 2
    }

    fn read_part<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        match self.part {
            Part::Head => self.read_head(bytes),
            Part::Body(left) => {
                let (left, rest) = self.skip(left, bytes);
                self.part = if left == 0 { Part::Whole } else { Part::Body(left) };
                rest
            }
            Part::Chunk(left) => {
                let (left, rest) = self.skip(left, bytes);
                self.part = if left == 0 { Part::AfterChunk } else { Part::Chunk(left) };
                rest
            }
            Part::UntilClosed => {
                self.body_bytes += bytes.len() as u64;
                &[]
            }
            Part::Length | Part::AfterChunk | Part::Trailer => self.read_line(bytes),
            Part::Whole | Part::Wrong => &[],
        }
    }

    /// Counts up to `left` bytes of the body: how many are missing then, and what stands behind.
    fn skip<'a>(&mut self, left: u64, bytes: &'a [u8]) -> (u64, &'a [u8]) {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.body_bytes += count as u64;
        (left - count as u64, &bytes[count..])
    }

    /// Keeps bytes up to the end of the line; whether that has come, and what stands behind.
    fn hold_line<'a>(&mut self, bytes: &'a [u8]) -> (bool, &'a [u8]) {
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        self.held.extend_from_slice(line);
        (end.is_some(), rest)
    }

    fn read_head<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (has_line, rest) = self.hold_line(bytes);
        if has_line && (self.held.ends_with(b"\r\n\r\n") || self.held.ends_with(b"\n\n")) {
            let head = std::mem::take(&mut self.held);
            self.part = self.begin(&head).unwrap_or(Part::Wrong);
        } else if self.held.len() > MOST_HEAD {
            self.wrong();
        }
        rest
    }

    fn wrong(&mut self) {
        self.held = Vec::new();
        self.part = Part::Wrong;
    }

    /// What stands behind a head (RFC 9112, section 6.3); nothing where it is none.
    fn begin(&mut self, head: &[u8]) -> Option<Part> {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.lines();
        let mut words = lines.next()?.split_ascii_whitespace();
        let version = words.next()?.strip_prefix("HTTP/1.")?;
        let status: u16 = words.next()?.parse().ok().filter(|status| (100..1_000).contains(status))?;
        if status < 200 {
            // What is said before the response itself.
            return (status != 101).then_some(Part::Head);
        }
        self.status = status;
        self.is_last = version == "0";
        let (mut length, mut is_chunked) = (None, false);
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            let has = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.parse::<u64>().ok().filter(|length| *length < 1 << 60)?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                is_chunked = has("chunked");
            } else if name.eq_ignore_ascii_case("connection") {
                self.is_last = has("close") || self.is_last && !has("keep-alive");
            }
        }
        Some(match length {
            _ if status == 204 || status == 304 => Part::Whole,
            _ if is_chunked => Part::Length,
            Some(0) => Part::Whole,
            Some(length) => Part::Body(length),
            None => {
                self.is_last = true;
                Part::UntilClosed
            }
        })
    }

    /// A line between chunks (RFC 9112, section 7.1).
    fn read_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (has_line, rest) = self.hold_line(bytes);
        if self.held.len() > MOST_LINE {
            self.wrong();
        } else if has_line {
            let line = std::mem::take(&mut self.held);
            let line = line.trim_ascii_end();
            let length = || {
                let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
                u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16)
                    .ok()
                    .filter(|length| *length < 1 << 60)
            };
            self.part = match self.part {
                Part::Length => match length() {
                    Some(0) => Part::Trailer,
                    Some(length) => Part::Chunk(length),
                    None => Part::Wrong,
                },
                Part::AfterChunk if line.is_empty() => Part::Length,
                Part::Trailer if line.is_empty() => Part::Whole,
                Part::Trailer => Part::Trailer,
                _ => Part::Wrong,
            };
        }
        rest
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Reads `text` cut everywhere: the state must not depend on it. What it came to.
    fn read(text: &str) -> Response {
        let mut whole = Response::default();
        whole.read(text.as_bytes());
        for size in [1, 2, 3, 7] {
            let mut cut = Response::default();
            text.as_bytes().chunks(size).for_each(|chunk| cut.read(chunk));
            assert_eq!(cut, whole, "in pieces of {size}");
        }
        whole
    }

    fn says(response: &Response) -> (u16, u64, bool, bool) {
        (response.status, response.body_bytes, response.is_whole(), response.is_last)
    }

    #[test]
    fn bodies_end_where_their_head_says() {
        let nginx =
            "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(says(&read(&format!("{nginx}12345"))), (200, 5, true, false));
        assert_eq!(says(&read(&format!("{nginx}1234"))), (200, 4, false, false));
        assert_eq!(says(&read(&format!("{nginx}12345more"))), (200, 5, true, false));
        let none = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nconnection: close\r\n\r\n";
        assert_eq!(says(&read(none)), (304, 0, true, true));
        let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(says(&read(early)), (404, 0, true, false));
    }

    #[test]
    fn chunks_are_counted_without_their_lengths() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let whole = read(&format!("{head}a;name=1\r\n0123456789\r\n3\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n"));
        assert_eq!(says(&whole), (200, 13, true, false));
        assert!(!read(&format!("{head}3\r\nabc\r\n0\r\n")).is_whole());
        assert!(read(&format!("{head}3\r\nabcd\r\n")).is_wrong());
        assert!(read(&format!("{head}xyz\r\n")).is_wrong());
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut response = read("HTTP/1.0 200 OK\r\nServer: old\r\n\r\n123");
        assert_eq!(says(&response), (200, 3, false, true));
        response.end();
        assert!(response.is_whole());
    }

    #[test]
    fn what_is_no_response_is_wrong() {
        for text in ["SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nno field\r\n\r\n"]
        {
            assert!(read(text).is_wrong(), "{text}");
        }
        assert!(read(&"x".repeat(MOST_HEAD + 1)).is_wrong());
        let huge = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n";
        assert!(read(huge).is_wrong());
    }
}
