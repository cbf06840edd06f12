//! Reads platform files in SimGrid's XML format, version 4 or 4.1.
//!
//! First the text becomes a tree ([`xml`]), and [`words`] checks every element and attribute of it. Then
//! zones, hosts and links are created in the order of the file, then routes, so that a route may name
//! elements that come after it. Unsupported elements are refused by name, never ignored; what is followed
//! otherwise than the file says becomes a notice of the platform.
//!
//! Invariants: no text makes the reader panic; memory and time are proportional to the text, except for
//! clusters, whose sizes are limited ([`build::MOST_HOSTS`], [`build::MOST_LINKS`]), and for the tables of
//! Floyd routing, which are limited too.
//!
//! Deployments, which list the actors that start on a platform, are read by [`deployment`] from files of
//! their own.
//!
//! To read more, add the element or attribute to `read/words.rs`, and what becomes of it to `read/build.rs`
//! or `read/routes.rs`.

mod build;
mod cluster;
mod config;
pub(crate) mod deployment;
pub(crate) mod encoding;
mod members;
mod parts;
mod routes;
mod storage;
mod topology;
mod traces;
mod units;
mod vivaldi;
mod words;
mod xml;

use crate::error::ReadError;
use crate::platform::Platform;

/// Reads a platform file. `name` is its name in messages. `other` returns the text of a profile that the file
/// names, or the reason why it is not available.
///
/// ```
/// let text = "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n  <hots id=\"a\"/>\n</zone></platform>";
/// let mistake = paceline_network::read("demo.xml", text, &mut |_| Err(String::new())).unwrap_err();
/// assert_eq!((mistake.line, mistake.column), (3, 3));
/// assert_eq!(mistake.problem, "there is no element `hots` in <zone>");
/// ```
pub fn read(
    name: &str,
    text: &str,
    other: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Platform, ReadError> {
    let tree = xml::parse(text).map_err(|error| error.place(name, text))?;
    words::check(&tree, &words::PLATFORM).map_err(|error| error.place(name, text))?;
    build::Builder::new(name, text, other).platform(&tree)
}
