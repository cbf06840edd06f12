//! Reads platform files in SimGrid's XML format, version 4 or 4.1.
//!
//! First the text becomes a tree ([`xml`]) of which [`words`] checks every element and attribute. Then zones, hosts and
//! links are made in the order of the file, then routes, so that a route may name what comes after it. What is not
//! supported is refused by name, never passed over.
//!
//! Invariants: no text makes the reader panic; memory and time are in proportion to the text, but for clusters, whose sizes
//! have limits ([`build::MOST_HOSTS`], [`build::MOST_LINKS`]), and for the tables of Floyd routing, which have one too.
//!
//! Deployments, which say what starts where on a platform, are read by [`deployment`] from files of their own.

mod build;
mod cluster;
pub(crate) mod deployment;
mod routes;
mod topology;
mod traces;
mod units;
mod words;
mod xml;

use crate::error::ReadError;
use crate::platform::Platform;

/// Reads a platform file: `name` is its name for messages. `other` has the text of a profile that the file names, or says
/// why it cannot be had.
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
    let tree = xml::parse(text).map_err(|flaw| flaw.place(name, text))?;
    words::check(&tree, &words::PLATFORM).map_err(|flaw| flaw.place(name, text))?;
    build::Builder::new(name, text, other).platform(&tree)
}
