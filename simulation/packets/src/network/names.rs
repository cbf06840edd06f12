//! Nodes by name: one, or all that fit a pattern with `*`.
//!
//! Invariant: what comes of a pattern is in the order of node numbers, in which topologies number their
//! hosts.

use super::Network;
use crate::PacketError;

/// How many names an error lists.
const EXAMPLES: usize = 4;

impl Network {
    /// The node called `name`.
    ///
    /// # Errors
    ///
    /// [`PacketError::UnknownNode`] if there is none.
    pub fn node(&self, name: &str) -> Result<u32, PacketError> {
        let found = self.by_name.binary_search_by(|node| self.names[*node as usize].as_str().cmp(name));
        found.map(|place| self.by_name[place]).map_err(|_| self.unknown(name))
    }

    /// The nodes whose names fit `pattern`, ascending; `*` stands for any characters, also none. "hosts" are
    /// all hosts where no node is called so.
    ///
    /// # Errors
    ///
    /// [`PacketError::UnknownNode`] if no name fits.
    pub fn select(&self, pattern: &str) -> Result<Vec<u32>, PacketError> {
        if let Ok(node) = self.node(pattern) {
            return Ok(vec![node]);
        }
        let found: Vec<u32> = if pattern == "hosts" {
            self.hosts.clone()
        } else {
            (0..self.nodes()).filter(|node| fits(pattern, self.name(*node))).collect()
        };
        if found.is_empty() { Err(self.unknown(pattern)) } else { Ok(found) }
    }

    #[cold]
    fn unknown(&self, pattern: &str) -> PacketError {
        let mut allowed: Vec<String> =
            self.names.iter().take(EXAMPLES).map(|name| format!("{name:?}")).collect();
        if self.names.len() > EXAMPLES {
            allowed.push(format!("and {} more", self.names.len() - EXAMPLES));
        }
        PacketError::UnknownNode { pattern: pattern.to_owned(), allowed: allowed.join(", ") }
    }
}

/// Whether `name` fits `pattern`, in which `*` stands for any characters. The first part begins the name, the
/// last one ends it, and those between are taken where they come first: if any way fits, this one does.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(place) = name.find(part) else { return false };
        name = &name[place + part.len()..];
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod test {
    use super::fits;

    #[test]
    fn stars_stand_for_any_characters() {
        let yes =
            [("*", ""), ("a*", "a"), ("a*c", "abc"), ("*b*", "abc"), ("a*b*c", "a--b--c"), ("*ü*", "grün")];
        assert!(yes.iter().all(|(pattern, name)| fits(pattern, name)));
        let no =
            [("", "a"), ("a", "ab"), ("a*a", "a"), ("*b*", "ac"), ("a*b*c", "acb"), ("left-*", "right-0")];
        assert!(no.iter().all(|(pattern, name)| !fits(pattern, name)));
    }
}
