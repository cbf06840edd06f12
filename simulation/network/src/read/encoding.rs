//! The bytes of an XML file as text: byte order marks and declared encodings.
//!
//! UTF-8 with or without a byte order mark, ASCII and Latin-1 are read. Every other encoding is refused by
//! its name: no byte is ever guessed. Invariant: the text has as many lines as the file.

use crate::error::{ReadError, TextError};

const ALLOWED: &str = "UTF-8, US-ASCII or ISO-8859-1";
/// The longest XML declaration that is looked for.
const MOST_DECLARATION: usize = 256;

/// Encodings of more than one byte a character, by how a file starts: with a mark, or with `<` and its
/// neighbour.
const WIDE: [(&[u8], &str); 7] = [
    (&[0xff, 0xfe, 0, 0], "UTF-32"),
    (&[0, 0, 0xfe, 0xff], "UTF-32"),
    (&[0, 0, 0, b'<'], "UTF-32"),
    (&[0xff, 0xfe], "UTF-16"),
    (&[0xfe, 0xff], "UTF-16"),
    (&[b'<', 0], "UTF-16"),
    (&[0, b'<'], "UTF-16"),
];

/// The text of a platform file or deployment, by its byte order mark and the encoding that it declares.
/// `name` is the file's name in messages.
///
/// ```
/// let bytes = b"<?xml version='1.0' encoding='ISO-8859-1'?><!-- caf\xe9 -->";
/// assert!(paceline_network::decode("latin.xml", bytes)?.ends_with("<!-- caf\u{e9} -->"));
/// let refused = paceline_network::decode("wide.xml", b"\xff\xfe<\0").unwrap_err();
/// assert_eq!(refused.problem, "a file in UTF-16");
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
pub fn decode(name: &str, bytes: &[u8]) -> Result<String, ReadError> {
    // Mistakes are placed in a text of which each byte is one character, so that lines and columns are those
    // of the file.
    let place = |error: TextError| {
        let latin: String = bytes.iter().map(|byte| char::from(*byte & 0x7f)).collect();
        error.place(name, &latin)
    };
    if let Some((_, wide)) = WIDE.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Err(place(TextError::new(0..0, format!("a file in {wide}"), ALLOWED)));
    }
    let marked = bytes.strip_prefix(b"\xef\xbb\xbf");
    let rest = marked.unwrap_or(bytes);
    let skipped = bytes.len() - rest.len();
    let declared = declared(rest);
    let encoding = declared.map_or("utf-8", |(encoding, _)| encoding).to_ascii_lowercase();
    let at = || declared.map_or(0..0, |(_, at)| at + skipped..at + skipped);
    match encoding.as_str() {
        "utf-8" | "utf8" => std::str::from_utf8(rest).map(str::to_owned).map_err(|error| {
            let at = error.valid_up_to() + skipped;
            let problem = format!("the byte 0x{:02x} is no UTF-8", bytes[at]);
            let allowed = "UTF-8, or encoding=\"ISO-8859-1\" in the XML declaration of a file in Latin-1";
            place(TextError::new(at..at, problem, allowed))
        }),
        "us-ascii" | "ascii" => match rest.iter().position(|byte| !byte.is_ascii()) {
            None => Ok(rest.iter().map(|byte| char::from(*byte)).collect()),
            Some(found) => {
                let at = found + skipped;
                let problem = format!("the byte 0x{:02x} in a file declared as {encoding}", bytes[at]);
                Err(place(TextError::new(at..at, problem, ALLOWED)))
            }
        },
        "iso-8859-1" | "iso_8859-1" | "iso8859-1" | "latin1" | "latin-1" | "l1" => match marked {
            // The code points of Latin-1 are those of Unicode.
            None => Ok(rest.iter().map(|byte| char::from(*byte)).collect()),
            Some(_) => {
                let problem = format!("a file declared as {encoding} with the byte order mark of UTF-8");
                Err(place(TextError::new(at(), problem, "one of the two")))
            }
        },
        other => Err(place(TextError::new(at(), format!("the encoding {other} is not supported"), ALLOWED))),
    }
}

/// The encoding that an XML declaration names, and where it stands.
fn declared(bytes: &[u8]) -> Option<(&str, usize)> {
    let head = &bytes[..bytes.len().min(MOST_DECLARATION)];
    let end = head.windows(2).position(|pair| pair == b"?>")?;
    let head = std::str::from_utf8(&head[..end]).ok().filter(|head| head.starts_with("<?xml"))?;
    let after = head.find("encoding")? + "encoding".len();
    let value = head[after..].trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let value = &value[1..];
    let at = head.len() - value.len();
    Some((&value[..value.find(quote)?], at))
}
