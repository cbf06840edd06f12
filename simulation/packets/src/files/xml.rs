//! XML as a row of tags and texts with their lines, which nothing can make longer than the file.
//!
//! Of entities there are XML's five and those of characters by number. A document type with declarations is
//! refused, and so is every other entity: nothing expands, nothing is fetched. Invariant: elements are at
//! most [`LEVELS_MAX`] deep.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Mistake;

/// The greatest depth of elements. GraphML has four, editors put drawings into them.
const LEVELS_MAX: usize = 64;

/// The most attributes of a tag: each is compared with all before it.
const ATTRIBUTES_MAX: usize = 64;

/// A piece of a document.
pub(super) enum Piece {
    /// A start tag, with its attributes.
    Open { name: String, attributes: Vec<(String, String)> },
    /// An end tag.
    Close,
    /// A text, or a part of one.
    Text(String),
}

/// The pieces of a document, each with its line. The last of the pieces closes the outermost element.
pub(super) fn pieces(
    text: &str,
    mut take: impl FnMut(usize, Piece) -> Result<(), Mistake>,
) -> Result<(), Mistake> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let (mut place, mut line, mut depth, mut is_over) = (0, 1, 0, false);
    loop {
        let start = position(reader.buffer_position(), text);
        line += text.as_bytes()[place..start].iter().filter(|byte| **byte == b'\n').count();
        place = start;
        let event = reader.read_event().map_err(|error| {
            let at = position(reader.error_position(), text).max(place);
            let lines = text.as_bytes()[place..at].iter().filter(|byte| **byte == b'\n').count();
            Mistake::new(line + lines, format!("this is not XML: {error}"), "well-formed XML")
        })?;
        match event {
            Event::Start(_) | Event::Empty(_) if is_over => {
                return Err(Mistake::new(
                    line,
                    "an element after the outermost one",
                    "one outermost element",
                ));
            }
            Event::Start(tag) => {
                depth += 1;
                if depth > LEVELS_MAX {
                    let allowed = format!("at most {LEVELS_MAX} elements within each other");
                    return Err(Mistake::new(line, "elements too deep within each other", allowed));
                }
                take(line, open(&tag, line)?)?;
            }
            Event::Empty(tag) => {
                take(line, open(&tag, line)?)?;
                take(line, Piece::Close)?;
                is_over = depth == 0;
            }
            Event::End(_) => {
                depth -= 1;
                is_over = depth == 0;
                take(line, Piece::Close)?;
            }
            Event::Text(words) => take(line, Piece::Text(String::from_utf8_lossy(&words).into_owned()))?,
            Event::CData(words) => take(line, Piece::Text(String::from_utf8_lossy(&words).into_owned()))?,
            Event::GeneralRef(name) => {
                let entity = format!("&{};", String::from_utf8_lossy(&name));
                take(line, Piece::Text(unescaped(&entity, line)?.into_owned()))?;
            }
            Event::DocType(content) if content.contains(&b'[') => {
                let problem =
                    "a document type with declarations, which could make the file grow without bound";
                return Err(Mistake::new(line, problem, "no <!DOCTYPE>, or one without [...]"));
            }
            Event::DocType(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof if is_over => return Ok(()),
            Event::Eof => {
                let line = 1 + text.trim_end().bytes().filter(|byte| *byte == b'\n').count();
                return Err(Mistake::new(line, "the file ends within an element", "well-formed XML"));
            }
        }
    }
}

fn position(position: u64, text: &str) -> usize {
    usize::try_from(position).map_or(text.len(), |position| position.min(text.len()))
}

/// A start tag, without the prefixes of namespaces of its attributes.
fn open(tag: &BytesStart, line: usize) -> Result<Piece, Mistake> {
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let mut attributes = Vec::new();
    for (count, attribute) in tag.attributes().enumerate() {
        if count == ATTRIBUTES_MAX {
            let problem = format!("a tag <{name}> with more than {ATTRIBUTES_MAX} attributes");
            return Err(Mistake::new(line, problem, format!("at most {ATTRIBUTES_MAX}")));
        }
        let attribute = attribute.map_err(|error| {
            let problem = format!("a broken attribute in <{name}>: {error}");
            Mistake::new(line, problem, "name=\"value\", each once")
        })?;
        let value = String::from_utf8_lossy(&attribute.value).into_owned();
        let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        attributes.push((key, unescaped(&value, line)?.into_owned()));
    }
    Ok(Piece::Open { name, attributes })
}

/// The text that entities stand for.
fn unescaped(text: &str, line: usize) -> Result<Cow<'_, str>, Mistake> {
    quick_xml::escape::unescape(text).map_err(|_| {
        let problem = format!("an entity in {text:?} that XML does not define");
        Mistake::new(line, problem, "&amp; &lt; &gt; &quot; &apos; and characters by number, such as &#233;")
    })
}
