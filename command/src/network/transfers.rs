//! Files of transfers: CSV with the columns source, destination and bytes.
//!
//! A field may stand between quotes; a quote in it is two. Empty lines are passed over. Invariant: every
//! transfer that was read is between hosts of the platform and has a number of bytes that is finite and not
//! negative.

use std::cmp::Ordering;
use std::path::Path;

use paceline_app::failure::CommandError;
use paceline_network::{HostId, Platform};

use super::read_text;

const COLUMNS: [&str; 3] = ["source", "destination", "bytes"];
/// The most bytes of a transfer.
const MOST_BYTES: f64 = 1e18;
/// Some hosts to choose from in a message.
const SHOWN: usize = 3;

/// A transfer, and its line in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    pub from: HostId,
    pub to: HostId,
    pub bytes: f64,
    pub line: usize,
}

pub fn read(path: &Path, platform: &Platform) -> Result<Vec<Transfer>, CommandError> {
    parse(&read_text(path, "a CSV file with the columns source,destination,bytes")?, platform)
        .map_err(|(line, problem)| CommandError::Input(format!("{}:{line}: {problem}", path.display())))
}

/// The transfers of a text; or the line of the first mistake, and the mistake.
fn parse(text: &str, platform: &Platform) -> Result<Vec<Transfer>, (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut lines = lines.map(|(place, line)| (place + 1, line));
    let columns = COLUMNS.join(",");
    match lines.next() {
        Some((_, head)) if fields(head).is_some_and(|names| names == COLUMNS) => {}
        Some((line, head)) => {
            return Err((line, format!("the columns `{}`; allowed: {columns}", shortened(head))));
        }
        None => return Err((1, format!("there are no columns; allowed: {columns}"))),
    }
    let transfer = |(line, text): (usize, &str)| -> Result<Transfer, (usize, String)> {
        let wrong = |problem: String| (line, problem);
        let fields = fields(text)
            .ok_or_else(|| wrong("a quote that does not end; allowed: fields such as \"a\"".into()))?;
        let [source, destination, bytes] = &fields[..] else {
            return Err(wrong(format!("{} fields; allowed: three, {columns}", fields.len())));
        };
        let number = bytes.parse().ok().filter(|bytes: &f64| (0.0..=MOST_BYTES).contains(bytes));
        let Some(number) = number else {
            let shown = shortened(bytes);
            return Err(wrong(format!("`{shown}` as a number of bytes; allowed: a number from 0 to 1e18")));
        };
        let host = |name: &str| {
            platform.host(name).ok_or_else(|| {
                let near = near(name, platform);
                wrong(format!(
                    "there is no host `{}`; allowed: a host of the platform{near}",
                    shortened(name)
                ))
            })
        };
        // A sum with 0 has no negative zero.
        Ok(Transfer { from: host(source)?, to: host(destination)?, bytes: number + 0.0, line })
    };
    lines.map(transfer).collect()
}

/// The hosts whose names are most like a name, for a message.
fn near(name: &str, platform: &Platform) -> String {
    let mut hosts: Vec<(f64, &str)> =
        platform.hosts().iter().map(|host| (strsim::jaro_winkler(name, &host.name), &*host.name)).collect();
    hosts.sort_by(|(one, _), (other, _)| other.partial_cmp(one).unwrap_or(Ordering::Equal));
    let names: Vec<&str> = hosts.into_iter().take(SHOWN).map(|(_, name)| name).collect();
    if names.is_empty() { ", which has none".into() } else { format!(", such as {}", names.join(", ")) }
}

/// A text of a file in a message of one line.
fn shortened(text: &str) -> String {
    let head: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() { head + "..." } else { head }
}

/// The fields of a line, blanks around them taken off; `None` where quotes are not where a field starts and
/// ends.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut found, mut rest) = (Vec::new(), line);
    loop {
        rest = rest.trim_start();
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => between_quotes(quoted)?,
            None => {
                let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (field.trim_end().to_owned(), after)
            }
        };
        found.push(field);
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Some(found),
            None => return None,
        }
    }
}

/// The field up to the quote that ends it, and what comes after that.
fn between_quotes(text: &str) -> Option<(String, &str)> {
    let (mut field, mut rest) = (String::new(), text);
    loop {
        let (part, after) = rest.split_once('"')?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => rest = more,
            None => return Some((field, after)),
        }
        field.push('"');
    }
}

/// A field as it is written: between quotes where it needs them.
pub fn field(text: &str) -> String {
    let plain = text.trim() == text && !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let texts =
            ["plain", "", " blanks ", "a,b", "\"", "say \"it\", twice", "ü,\"\"", ",", "\"\"\"", "a b"];
        for one in texts {
            for other in texts {
                let line = format!("{},{}", field(one), field(other));
                assert_eq!(fields(&line), Some(vec![one.to_owned(), other.to_owned()]), "{line}");
            }
        }
    }

    #[test]
    fn blanks_around_fields_are_passed_over_and_broken_quotes_refused() {
        assert_eq!(fields(" a , \"b\" ,c").unwrap(), ["a", "b", "c"]);
        assert_eq!(fields("a,,").unwrap(), ["a", "", ""]);
        for broken in ["\"a", "\"a\"b", "a,\"", "\"\"\""] {
            assert_eq!(fields(broken), None, "{broken}");
        }
    }
}
