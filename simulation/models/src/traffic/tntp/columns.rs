//! The columns of a network file, as a comment in front of its records names them: `~ init_node term_node
//! capacity length ...`.
//!
//! The first five columns are the same in all files; a file that names them in another order is refused. Of
//! the others, the number of lanes is read where there is one. What else the file has (the congestion
//! function's B and power, speeds, tolls, types) changes nothing here, and is named in the results.

use crate::input::Flaw;

/// The columns that are read, and what files call them; lanes may be at any place behind the others.
const ROLES: [(&str, &[&str]); 6] = [
    (
        "tail",
        &["init_node", "init", "tail", "tail_node", "from", "from_node", "a_node", "source", "start_node"],
    ),
    ("head", &["term_node", "term", "head", "head_node", "to", "to_node", "b_node", "target", "end_node"]),
    ("capacity", &["capacity", "cap", "total_capacity", "capacity_per_lane"]),
    ("length", &["length", "len", "distance", "dist", "link_length"]),
    (
        "free-flow time",
        &["free_flow_time", "fft", "fftt", "ftime", "fftime", "free_flow_travel_time", "time", "t0"],
    ),
    ("lanes", &["lanes", "lane", "number_of_lanes", "num_lanes", "no_of_lanes", "nlanes", "lane_count"]),
];
/// Columns that every file has.
pub(super) const NEEDED: usize = 5;
const LANES: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The place of the number of lanes, if there is one.
    pub lanes: Option<usize>,
    /// The names of columns, as far as the file names them.
    names: Vec<String>,
}

impl Columns {
    /// Reads the names in the comments of a file up to byte `end`, which is that of its first record: the
    /// last line that begins with tail and head counts.
    pub fn find(text: &str, end: usize) -> Result<Self, Flaw> {
        let mut found = Self::default();
        let mut start = 0;
        for line in text[..end].split_inclusive('\n') {
            if let Some((_, comment)) = line.split_once('~') {
                let names = names(comment);
                if names.len() > 1 && role(&names[0]) == Some(0) && role(&names[1]) == Some(1) {
                    found = Self::read(names, start..start + line.trim_end().len())?;
                }
            }
            start += line.len();
        }
        Ok(found)
    }

    fn read(names: Vec<String>, at: std::ops::Range<usize>) -> Result<Self, Flaw> {
        let is_at =
            |role_of: usize, place: usize| names.get(place).is_some_and(|name| role(name) == Some(role_of));
        let mut lanes = None;
        for (place, name) in names.iter().enumerate() {
            let Some(found) = role(name) else { continue };
            if found == LANES && place >= NEEDED && lanes.is_none() {
                lanes = Some(place);
            } else if found != place && !(place >= NEEDED && found < NEEDED && is_at(found, found)) {
                let name = super::text::clip(name);
                let problem =
                    format!("column {} is called `{name}`, as if it were the {}", place + 1, ROLES[found].0);
                let allowed = "the order init_node, term_node, capacity, length, free_flow_time; lanes and others behind";
                return Err(Flaw::new(at, problem, allowed));
            }
        }
        Ok(Self { lanes, names })
    }

    /// The columns of records with `columns` columns that are not read: their names, or numbers from 1 where
    /// they have none. The scenario may give the number of lanes instead.
    pub fn unused(&self, columns: usize, lanes_given: bool) -> Vec<String> {
        let name = |place: usize| self.names.get(place).cloned().unwrap_or_else(|| (place + 1).to_string());
        let is_read = |place: &usize| !lanes_given && self.lanes == Some(*place);
        (NEEDED..columns).filter(|place| !is_read(place)).map(name).collect()
    }
}

/// The names in a comment: between tabs, or between blanks where there are no tabs.
fn names(comment: &str) -> Vec<String> {
    let comment = comment.trim_matches(|c: char| c.is_whitespace() || c == '~' || c == ';');
    let pieces: Vec<&str> = if comment.contains('\t') {
        comment.split('\t').collect()
    } else {
        comment.split_whitespace().collect()
    };
    let name = |piece: &str| {
        let bare =
            piece.split('(').next().unwrap_or("").trim_matches(|c: char| c.is_whitespace() || c == ';');
        let words: Vec<String> = bare.to_lowercase().split([' ', '-', '_']).map(str::to_owned).collect();
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
    };
    pieces.into_iter().map(name).filter(|name| !name.is_empty()).collect()
}

/// The column that has this name, as a place in [`ROLES`].
fn role(name: &str) -> Option<usize> {
    ROLES.iter().position(|(_, names)| names.contains(&name))
}
