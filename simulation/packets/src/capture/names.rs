//! Names of files from names of nodes.
//!
//! Invariants: a name is one that every system takes, however the nodes are called; no two files have the
//! same, also where upper and lower case are the same.

use std::collections::BTreeSet;

/// The most bytes that the name of a node takes in that of a file: systems allow 255 for two and the rest.
const MOST_BYTES: usize = 80;

/// Names that were given.
#[derive(Default)]
pub(super) struct FileNames(BTreeSet<String>);

impl FileNames {
    /// The name of the file for what `node` sends to `peer`, or with `is_both` also receives from it.
    pub fn name(&mut self, node: &str, peer: &str, is_both: bool) -> String {
        let middle = if is_both { "and" } else { "to" };
        let stem = format!("{}-{middle}-{}", plain(node), plain(peer));
        let mut name = format!("{stem}.pcap");
        let mut number = 2;
        while !self.0.insert(name.to_lowercase()) {
            name = format!("{stem}-{number}.pcap");
            number += 1;
        }
        name
    }
}

/// Letters and digits of any script, `-`, `_` and dots but for the first; everything else becomes `_`.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.chars() {
        let is_kept = letter.is_alphanumeric() || "-_".contains(letter) || letter == '.' && !plain.is_empty();
        let letter = if is_kept { letter } else { '_' };
        if plain.len() + letter.len_utf8() > MOST_BYTES {
            break;
        }
        plain.push(letter);
    }
    plain
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn names_are_safe_and_unique() {
        let mut names = FileNames::default();
        for (node, peer, is_both, expected) in [
            ("left-0", "router", false, "left-0-to-router.pcap"),
            ("left-0", "router", true, "left-0-and-router.pcap"),
            ("Left-0", "router", true, "Left-0-and-router-2.pcap"),
            ("../etc", "a/b\\c", false, "_._etc-to-a_b_c.pcap"),
            ("München", "東京 1", false, "München-to-東京_1.pcap"),
            ("", "\u{202e}\n\0:", false, "-to-____.pcap"),
            ("München", "東京/1", false, "München-to-東京_1-2.pcap"),
        ] {
            assert_eq!(names.name(node, peer, is_both), expected);
        }
        let long = names.name(&"ü".repeat(300), &"x".repeat(300), false);
        assert!(long.len() < 200 && long.starts_with('ü'), "{long}");
    }
}
