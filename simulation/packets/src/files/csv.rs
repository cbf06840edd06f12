//! Tables of comma-separated values with a header (RFC 4180), row by row.

use super::{Mistake, lines};

/// A row: its line, and its values in the order of the columns that were asked for. A value is empty where
/// the file has no such column.
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) values: Vec<String>,
}

/// Reads a table whose header names columns of `required` and `optional`, in any order. The values of a row
/// are in the order of `required`, then `optional`. A value may stand in quotes; it ends on its line.
pub(super) fn table(text: &str, required: &[&str], optional: &[&str]) -> Result<Vec<Row>, Mistake> {
    let mut lines = lines(text);
    let allowed = || {
        let optional: Vec<String> = optional.iter().map(|name| format!("[{name}]")).collect();
        format!("a header of {} {}", required.join(","), optional.join(",")).trim_end().to_owned()
    };
    let Some((line, header)) = lines.next() else {
        return Err(Mistake::new(1, "a file without a header", allowed()));
    };
    let columns = places(line, header, required, optional, &allowed)?;
    let names = required.len() + optional.len();
    lines
        .map(|(line, text)| {
            let cells = cells(line, text)?;
            if cells.len() != columns.len() {
                let problem = format!("{} values in a table of {} columns", cells.len(), columns.len());
                return Err(Mistake::new(line, problem, format!("{} values", columns.len())));
            }
            let mut values = vec![String::new(); names];
            for (place, cell) in columns.iter().zip(cells) {
                values[*place] = cell;
            }
            Ok(Row { line, values })
        })
        .collect()
}

/// For each column of the header its place in a row.
fn places(
    line: usize,
    header: &str,
    required: &[&str],
    optional: &[&str],
    allowed: &impl Fn() -> String,
) -> Result<Vec<usize>, Mistake> {
    let mut columns = Vec::new();
    for name in cells(line, header)? {
        let known = required.iter().chain(optional).position(|known| *known == name);
        match known {
            Some(place) if columns.contains(&place) => {
                return Err(Mistake::new(line, format!("two columns {name:?}"), allowed()));
            }
            Some(place) => columns.push(place),
            None => return Err(Mistake::new(line, format!("a column {name:?}"), allowed())),
        }
    }
    match (0..required.len()).find(|place| !columns.contains(place)) {
        Some(missing) => Err(Mistake::new(line, format!("no column {:?}", required[missing]), allowed())),
        None => Ok(columns),
    }
}

/// The values of a line. Blanks around them do not count, but in quotes.
fn cells(line: usize, text: &str) -> Result<Vec<String>, Mistake> {
    let (mut cells, mut rest) = (Vec::new(), text);
    loop {
        let (cell, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => quoted_cell(line, quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        cells.push(cell);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(cells),
        }
    }
}

/// A value after its opening quote, and what follows its closing one.
fn quoted_cell(line: usize, text: &str) -> Result<(String, &str), Mistake> {
    let (mut cell, mut rest) = (String::new(), text);
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err(Mistake::new(line, "a quote that is not closed", "\"...\" on one line"));
        };
        cell.push_str(before);
        if let Some(more) = after.strip_prefix('"') {
            // Two quotes are one.
            cell.push('"');
            rest = more;
            continue;
        }
        let after = after.trim_start();
        if !after.is_empty() && !after.starts_with(',') {
            return Err(Mistake::new(
                line,
                "a text after a closing quote",
                "a comma, or the end of the line",
            ));
        }
        return Ok((cell, after));
    }
}
