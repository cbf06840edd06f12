//! Text for people: aligned lines, readable numbers.

use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table as Grid};
use paceline_report::Table;

use crate::terminal;

/// A name and what is said of it.
pub type Row = (String, String);

/// Groups of rows under their titles, an empty line between groups, all values below each other, for standard output.
pub fn groups(groups: &[(&str, Vec<Row>)]) -> String {
    groups_within(groups, terminal::of_stdout().unwrap_or(usize::MAX))
}

/// The same where there are so many columns: a value for which there is no room stands below its name.
fn groups_within(groups: &[(&str, Vec<Row>)], columns: usize) -> String {
    const INDENT: usize = 4;
    let names = groups.iter().flat_map(|(_, rows)| rows).map(|(name, _)| name.chars().count());
    let width = names.max().unwrap_or(0);
    let row = |(name, value): &Row| {
        let line = format!("  {name:width$}  {value}\n");
        if line.chars().count() - 1 <= columns {
            return line;
        }
        let lines = terminal::wrapped(value, columns.saturating_sub(INDENT));
        let below: String = lines.iter().map(|line| format!("{:INDENT$}{line}\n", "")).collect();
        format!("  {name}\n{below}")
    };
    let group =
        |(title, rows): &(&str, Vec<Row>)| format!("{title}\n{}", rows.iter().map(row).collect::<String>());
    groups.iter().map(group).collect::<Vec<_>>().join("\n")
}

/// A table: its title, then its columns, those with numbers aligned to the right.
pub fn table(table: &Table) -> String {
    let mut grid = Grid::new();
    grid.load_preset(NOTHING).set_header(table.columns()).add_rows(table.rows());
    for (number, column) in grid.column_iter_mut().enumerate() {
        if table.is_numeric(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n{}\n", table.title(), grid.trim_fmt())
}

/// A whole number with its thousands apart: 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with three decimals at most, its thousands apart.
pub fn decimal(number: f64) -> String {
    if !number.is_finite() || number.abs() >= 1e15 {
        return number.to_string();
    }
    let text = format!("{:.3}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if number < 0.0 { "-" } else { "" };
    let whole = count(whole.parse().unwrap_or(0));
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Events a second: 26.4 M events/s.
pub fn rate(per_second: f64) -> String {
    match per_second {
        fast if fast >= 1e6 => format!("{:.1} M events/s", fast / 1e6),
        slow if slow >= 1e3 => format!("{:.1} k events/s", slow / 1e3),
        crawling => format!("{crawling:.0} events/s"),
    }
}

/// Bytes in the binary unit that fits.
pub fn bytes(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib >= 1024.0 { format!("{:.1} GiB", mib / 1024.0) } else { format!("{mib:.1} MiB") }
}

/// A span of real time.
pub fn span(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    match span.as_secs() {
        0 if seconds < 0.1 => format!("{:.1} ms", seconds * 1e3),
        0..60 => format!("{seconds:.2} s"),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_end_below_each_other() {
        let mut rows = Table::new("Who", ["name", "share, %"]);
        rows.row(["one", "7"]);
        rows.row(["another", "12.5"]);
        let text = table(&rows);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1..].iter().all(|line| line.chars().count() == lines[1].chars().count()), "{text}");
        assert!(lines[2].ends_with(" 7") && lines[3].ends_with(" 12.5"), "{text}");
    }

    #[test]
    fn a_digest_is_not_split_on_a_narrow_terminal() {
        let row = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let rows = vec![
            row("events", "15,717,961"),
            row("vehicles waiting to start", "0"),
            row("digest", "d06eea619a6c7547"),
            row("tried", "window 6.6 M events/s, for 0.3 s; sequential not yet"),
        ];
        let wide = groups_within(&[("The run", rows.clone())], 200);
        assert_eq!(wide, groups_within(&[("The run", rows.clone())], usize::MAX));
        assert_eq!(wide.lines().nth(3).unwrap().split_whitespace().last(), Some("d06eea619a6c7547"));
        let narrow = groups_within(&[("The run", rows)], 40);
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        assert!(narrow.contains("\n  events                     15,717,961\n"), "{narrow}");
        assert!(narrow.contains("\n  digest\n    d06eea619a6c7547\n"), "{narrow}");
    }

    #[test]
    fn thousands_stand_apart_and_nothing_is_lost() {
        for number in (0..70).map(|power| 3u64.wrapping_pow(power)).chain([0, 999, 1000, u64::MAX]) {
            let text = count(number);
            assert_eq!(text.replace(',', ""), number.to_string());
            assert!(text.split(',').skip(1).all(|group| group.len() == 3), "{text}");
        }
        assert_eq!(decimal(-1234.5), "-1,234.5");
        assert_eq!(decimal(0.0004), "0");
    }
}
