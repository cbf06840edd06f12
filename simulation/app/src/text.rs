//! Text for people: aligned lines, readable numbers.

use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table as Grid};
use paceline_kernel::Time;
use paceline_report::Table;

use crate::terminal;

/// A name and what is said of it.
pub type Row = (String, String);

/// Groups of rows under their titles, an empty line between groups, all values below each other, for standard
/// output.
pub fn groups(groups: &[(&str, Vec<Row>)]) -> String {
    groups_within(groups, terminal::of_stdout().unwrap_or(usize::MAX))
}

/// Groups for so many columns: a value for which there is no room stands below its name.
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

/// A number with three decimals at most, its thousands apart; one below 1 with four digits that count.
pub fn decimal(number: f64) -> String {
    if !number.is_finite() || number.abs() >= 1e15 {
        return number.to_string();
    }
    if number != 0.0 && number.abs() < 1e-6 {
        return format!("{number:.3e}");
    }
    if number.abs() < 1.0 {
        return digits(number);
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

/// A span of real time, as [`seconds`].
pub fn span(span: Duration) -> String {
    seconds(span.as_secs_f64())
}

/// A span of simulated time, as [`seconds`]; exactly, where a few digits and a unit say it.
pub fn time(time: Time) -> String {
    let about = seconds(time.as_secs_f64());
    let is_exact = paceline_scenario::duration(&about.replace(',', "")) == Ok(time);
    let whole = |unit: &(&str, u64)| {
        let ticks = unit.1 * Time::TICKS_PER_SECOND;
        let is_whole =
            time.as_ticks() > 0 && time.as_ticks().is_multiple_of(ticks) && time.as_ticks() / ticks < 100_000;
        is_whole.then(|| format!("{} {}", count(time.as_ticks() / ticks), unit.0))
    };
    let exact = || [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)].iter().find_map(whole);
    if is_exact { about } else { exact().unwrap_or(about) }
}

/// Units of spans of time, with their seconds, and from how many of them on the next is taken.
const SPANS: [(&str, f64, f64); 7] = [
    ("ns", 1e-9, 1e3),
    ("us", 1e-6, 1e3),
    ("ms", 1e-3, 1e3),
    ("s", 1.0, 600.0),
    ("min", 60.0, 120.0),
    ("h", 3_600.0, 48.0),
    ("d", 86_400.0, f64::INFINITY),
];

/// A span of time of so many seconds, real or simulated: four digits that count, in the unit that fits. All
/// spans of time in texts for people are written so; programs read the exact numbers in JSON.
pub fn seconds(seconds: f64) -> String {
    if seconds == 0.0 || !seconds.is_finite() {
        return format!("{seconds} s").replace("-0 s", "0 s");
    }
    let fits = |(_, unit, most): &&(&str, f64, f64)| rounded(seconds.abs() / unit) < *most;
    let (name, unit, _) = SPANS.iter().find(fits).unwrap_or(&SPANS[SPANS.len() - 1]);
    format!("{} {name}", digits(seconds / unit))
}

/// So many of this unit, as [`seconds`]; none where that is no unit of time.
pub fn span_in(number: f64, unit: &str) -> Option<String> {
    let (_, scale, _) = SPANS.iter().find(|(name, ..)| *name == unit)?;
    Some(seconds(number * scale))
}

/// Decimals of a number with four digits that count.
fn decimals(number: f64) -> usize {
    let before = if number == 0.0 { 1 } else { number.abs().log10().floor() as i32 + 1 };
    usize::try_from(4 - before).unwrap_or(0)
}

/// The number as it is written with four digits that count.
fn rounded(number: f64) -> f64 {
    format!("{number:.*}", decimals(number)).parse().unwrap_or(number)
}

/// A number with four digits that count, or all of its whole ones, with thousands apart.
fn digits(number: f64) -> String {
    let text = format!("{:.*}", decimals(number), number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let fraction = fraction.trim_end_matches('0');
    let sign = if number < 0.0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
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
        assert_eq!((decimal(0.0004), decimal(0.0)), ("0.0004".to_owned(), "0".to_owned()));
        assert_eq!(
            (decimal(-0.000_123_456), decimal(1.5e-9)),
            ("-0.0001235".to_owned(), "1.500e-9".to_owned())
        );
    }

    #[test]
    fn spans_of_time_have_four_digits_and_a_unit_that_fits() {
        for (span, expected) in [
            (0.0, "0 s"),
            (0.003_997, "3.997 ms"),
            (1e-9, "1 ns"),
            (2.5e-10, "0.25 ns"),
            (1.234_56e-6, "1.235 us"),
            (0.999_99, "1 s"),
            (-0.25, "-250 ms"),
            (412.345_6, "412.3 s"),
            (599.99, "10 min"),
            (1_234.567, "20.58 min"),
            (12_000.0, "3.333 h"),
            (86_400.0, "24 h"),
            (12_999_552.960_488_02, "150.5 d"),
            (1e12, "11,574,074 d"),
        ] {
            assert_eq!(seconds(span), expected, "{span}");
        }
        for (span, expected) in [
            (Time::secs(300), "300 s"),
            (Time::secs(12_000), "200 min"),
            (Time::secs(3_601), "3,601 s"),
            (Time::secs(12_667), "12,667 s"),
            (Time::secs(150 * 86_400), "150 d"),
            (Time::micros(3_997), "3.997 ms"),
            (Time::nanos(12_999_552_960_488_019), "150.5 d"),
            (Time::ZERO, "0 s"),
            (Time::secs(90), "90 s"),
        ] {
            assert_eq!(time(span), expected, "{span}");
        }
    }
}
