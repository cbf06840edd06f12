//! The elements of an XML text, as a tree.
//!
//! Whoever joins sends such texts, so nothing in them is followed: a document type, which may define entities
//! and name files, is refused, and so is a tree that is too deep. Prefixes of names are cut off; modules have
//! one namespace.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::error::{DEPTH_MAX, FomError};

/// An element with all that is in it.
#[derive(Debug, Default)]
pub struct Element {
    /// Without a prefix.
    pub name: String,
    /// The line on which it begins, from 1 on.
    pub line: u32,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// All text right below it, trimmed.
    pub text: String,
}

impl Element {
    /// The children of this name, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of this name, or else of the attribute of this name, as modules of 2000
    /// have it, which are still in use; unless it is empty.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        let text = self.child(name).map(|child| child.text.as_str()).filter(|text| !text.is_empty());
        text.or_else(|| self.attribute(name)).filter(|text| !text.is_empty())
    }

    /// An attribute's value.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn opened(start: &BytesStart, line: u32) -> Result<Element, FomError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = local(&text(start.name().as_ref())).to_owned();
    let mut element = Element { name, line, ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| FomError::Xml { why: error.to_string() })?;
        let value = attribute.unescape_value().map_err(|error| FomError::Xml { why: error.to_string() })?;
        element.attributes.push((text(attribute.key.as_ref()), value.into_owned()));
    }
    Ok(element)
}

/// What a reference such as `&lt;` or `&#65;` stands for.
fn referred(name: &str, as_number: Option<char>) -> Result<char, FomError> {
    let known = as_number.or(match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    });
    known.ok_or_else(|| FomError::Xml { why: format!("the entity &{name}; is not known") })
}

/// Reads a text into its root element.
pub fn read(text: &str) -> Result<Element, FomError> {
    let (mut reader, mut open, mut root) = (Reader::from_str(text), Vec::<Element>::new(), None);
    // Before which byte the ends of lines have been counted, and how many.
    let (mut counted, mut lines) = (0, 1_u32);
    loop {
        let position = usize::try_from(reader.buffer_position()).map_or(text.len(), |at| at.min(text.len()));
        lines += text.as_bytes()[counted..position].iter().filter(|byte| **byte == b'\n').count() as u32;
        counted = position;
        let event = reader
            .read_event()
            .map_err(|error| FomError::Xml { why: format!("byte {}: {error}", reader.error_position()) })?;
        let piece = match &event {
            Event::Text(text) => text.decode().ok().map(String::from),
            Event::CData(data) => data.decode().ok().map(String::from),
            Event::GeneralRef(reference) => {
                let name = String::from_utf8_lossy(reference).into_owned();
                Some(referred(&name, reference.resolve_char_ref().ok().flatten())?.to_string())
            }
            _ => None,
        };
        if let (Some(piece), Some(element)) = (piece, open.last_mut()) {
            element.text.push_str(&piece);
        }
        let closed = match event {
            Event::Start(start) => {
                if open.len() >= DEPTH_MAX {
                    return Err(FomError::TooDeep);
                }
                open.push(opened(&start, lines)?);
                None
            }
            Event::Empty(start) => Some(opened(&start, lines)?),
            Event::End(_) => open.pop(),
            Event::DocType(_) => return Err(FomError::DocumentType),
            Event::Eof => break,
            _ => None,
        };
        let Some(mut element) = closed else { continue };
        element.text.truncate(element.text.trim_end().len());
        element.text.drain(..element.text.len() - element.text.trim_start().len());
        match open.last_mut() {
            Some(parent) => parent.children.push(element),
            // Whatever follows the root is no part of the module.
            None => root = root.or(Some(element)),
        }
    }
    if let Some(element) = open.last() {
        return Err(FomError::Xml { why: format!("<{}> is not closed", element.name) });
    }
    root.ok_or_else(|| FomError::Xml { why: "there is no element".to_owned() })
}
