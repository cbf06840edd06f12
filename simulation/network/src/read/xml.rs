//! XML as a tree of elements with their positions in the text.
//!
//! Only what platform files and deployments need: elements, attributes, text, comments. A document type may
//! name an external definition, which is not read. A document type with declarations is refused, and so is
//! every entity except XML's five predefined ones: nothing can expand. Invariant: a tree is at most
//! [`MOST_LEVELS`] deep.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::error::TextError;

/// The greatest depth of elements; no platform nests zones this deep.
const MOST_LEVELS: usize = 64;
/// The longest name, in bytes.
const MOST_NAME: usize = 256;

/// `name="value"` with the position of the value.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub name: String,
    pub value: String,
    pub at: Range<usize>,
}

/// An element with the position of its start tag.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub name: String,
    pub at: Range<usize>,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
    pub text: String,
    /// Where the text starts, if there is any.
    pub text_at: usize,
}

impl Attribute {
    /// The error that the value is not allowed, at its place.
    pub fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> TextError {
        TextError::new(self.at.clone(), problem, allowed)
    }
}

impl Element {
    /// The error that the element is not allowed, at its place.
    pub fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> TextError {
        TextError::new(self.at.clone(), problem, allowed)
    }

    /// An attribute; `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name && !attribute.value.is_empty())
    }

    /// A required attribute; it may be empty.
    pub fn need(&self, name: &str) -> Result<&Attribute, TextError> {
        self.attributes.iter().find(|attribute| attribute.name == name).ok_or_else(|| {
            let problem = format!("<{}> without the attribute `{name}`", self.name);
            self.refuse(problem, format!("{name}=\"...\" in every <{}>", self.name))
        })
    }

    /// The total length of its attributes and those of its children, without their names.
    pub fn bytes(&self) -> usize {
        let attributes = |element: &Self| element.attributes.iter().map(|one| one.value.len()).sum::<usize>();
        attributes(self) + self.children.iter().map(attributes).sum::<usize>()
    }

    /// The name that the element defines: not empty, and short, because clusters repeat theirs in every
    /// link's name.
    pub fn id(&self) -> Result<&Attribute, TextError> {
        let id = self.need("id")?;
        match id.value.len() {
            0 => Err(id.refuse("an empty name", "a name")),
            1..=MOST_NAME => Ok(id),
            long => {
                let allowed = format!("at most {MOST_NAME} bytes");
                Err(id.refuse(format!("a name of {long} bytes"), allowed))
            }
        }
    }
}

/// The outermost element of a text.
pub(super) fn parse(text: &str) -> Result<Element, TextError> {
    // A byte order mark is no text; blanking it keeps all positions.
    let blanked = text.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
    let text = blanked.as_deref().unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let (mut open, mut root): (Vec<Element>, Option<Element>) = (Vec::new(), None);
    loop {
        let start = place(reader.buffer_position(), text);
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let at = place(reader.error_position(), text);
                return Err(TextError::new(at..at, format!("this is not XML: {error}"), "well-formed XML"));
            }
        };
        let at = start..place(reader.buffer_position(), text);
        match event {
            Event::Start(tag) | Event::Empty(tag) if root.is_some() && open.is_empty() => {
                let problem = format!("<{}> after the end", String::from_utf8_lossy(tag.name().as_ref()));
                return Err(TextError::new(at, problem, "one outermost element"));
            }
            Event::Start(tag) => {
                if open.len() == MOST_LEVELS {
                    let allowed = format!("at most {MOST_LEVELS} elements within each other");
                    return Err(TextError::new(at, "elements too deep within each other", allowed));
                }
                open.push(element(&tag, at, text)?);
            }
            Event::Empty(tag) => close(element(&tag, at, text)?, &mut open, &mut root),
            Event::End(_) => {
                let Some(done) = open.pop() else {
                    return Err(TextError::new(at, "an end tag without its start tag", "well-formed XML"));
                };
                close(done, &mut open, &mut root);
            }
            Event::Text(words) => add_text(&words, at, &mut open)?,
            Event::CData(words) => add_text(&words, at, &mut open)?,
            Event::GeneralRef(_) => {
                return Err(TextError::new(at, "an entity in a text", "texts without `&`"));
            }
            Event::DocType(content) => {
                if content.contains(&b'[') {
                    let problem = "a document type with declarations of its own";
                    return Err(TextError::new(at, problem, "<!DOCTYPE platform SYSTEM \"...\">, or none"));
                }
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    let end = text.trim_end().len();
    if let Some(left) = open.last() {
        let problem = format!("the file ends within <{}>", left.name);
        return Err(TextError::new(end..end, problem, format!("</{}>", left.name)));
    }
    root.ok_or_else(|| TextError::new(end..end, "a file without elements", "<platform version=\"4.1\">"))
}

fn place(position: u64, text: &str) -> usize {
    usize::try_from(position).map_or(text.len(), |position| position.min(text.len()))
}

fn close(done: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(around) => around.children.push(done),
        None => *root = Some(done),
    }
}

fn element(tag: &BytesStart, at: Range<usize>, text: &str) -> Result<Element, TextError> {
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let broken = |error: &dyn std::fmt::Display| {
            TextError::new(
                at.clone(),
                format!("a broken attribute in <{name}>: {error}"),
                "name=\"value\", each once",
            )
        };
        let attribute = attribute.map_err(|error| broken(&error))?;
        let raw = std::str::from_utf8(&attribute.value).map_err(|error| broken(&error))?;
        let value = quick_xml::escape::unescape(raw).map_err(|error| broken(&error))?.into_owned();
        // The value's position: the parser borrows tags from the text, so the value is a slice of it.
        let start = (attribute.value.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let within = start >= at.start && start + attribute.value.len() <= at.end;
        let place = if within { start..start + attribute.value.len() } else { at.clone() };
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        attributes.push(Attribute { name, value, at: place });
    }
    Ok(Element { name, at, attributes, children: Vec::new(), text: String::new(), text_at: 0 })
}

/// Text stands in `<trace>` only.
fn add_text(words: &[u8], at: Range<usize>, open: &mut [Element]) -> Result<(), TextError> {
    let words = String::from_utf8_lossy(words);
    if words.trim().is_empty() {
        return Ok(());
    }
    match open.last_mut() {
        Some(trace) if trace.name == "trace" => {
            if trace.text.is_empty() {
                trace.text_at = at.start;
            }
            trace.text.push_str(&words);
            Ok(())
        }
        _ => {
            let start = at.start + (words.len() - words.trim_start().len());
            Err(TextError::new(start..at.end, "a text between elements", "elements; text in <trace> only"))
        }
    }
}
