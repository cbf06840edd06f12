//! Dates of guests' calendar clocks, in Coordinated Universal Time.

use std::fmt;

use paceline_scenario::{Raw, Unfit, Value};

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// Nanoseconds since the beginning of 1970.
    pub ns: i64,
}

impl Date {
    /// The beginning of 2026.
    pub const DEFAULT: Self = Self { ns: 1_767_225_600 * SECOND_NS };
}

const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 24 * 3_600 * SECOND_NS;

/// The years that a PC's calendar chip can show and Linux can be set to.
const YEARS: std::ops::RangeInclusive<i64> = 1970..=2099;

impl Value for Date {
    const EXPECTED: &'static str =
        "a date of the years 1970 to 2099, such as \"2026-01-31\" or \"2026-01-31 12:00:00.25\" (UTC)";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let Raw::String(text) = raw else { return Err(Unfit::Kind) };
        let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
        let days = days(date).ok_or_else(|| Unfit::Content("there is no such day".into()))?;
        let of_day = time_of_day(time.strip_suffix('Z').unwrap_or(time));
        let of_day = of_day.ok_or_else(|| Unfit::Content("there is no such time of a day".into()))?;
        Ok(Self { ns: days * DAY_NS + of_day })
    }
}

/// The number that these digits are; signs and blanks are refused.
fn digits(text: &str, length: usize) -> Option<i64> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days from the beginning of 1970 to `YYYY-MM-DD`.
fn days(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let mut part = |length| digits(parts.next()?, length);
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if !YEARS.contains(&year) || !(1..=12).contains(&month) || !(1..=month_length(year, month)).contains(&day)
    {
        return None;
    }
    let years: i64 = (1970..year).map(|year| 337 + month_length(year, 2)).sum();
    let months: i64 = (1..month).map(|month| month_length(year, month)).sum();
    Some(years + months + day - 1)
}

/// Within [`YEARS`] every fourth year is a leap year: 2000 is one, and 2100 is not reached.
fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Nanoseconds from midnight to `HH:MM:SS`, with at most nine digits behind a point.
fn time_of_day(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let mut fields = whole.splitn(3, ':');
    let mut field = |most| digits(fields.next()?, 2).filter(|value| *value <= most);
    let seconds = (field(23)? * 60 + field(59)?) * 60 + field(59)?;
    let fraction = digits(part, part.len()).filter(|_| (1..=9).contains(&part.len()))?;
    Some(seconds * SECOND_NS + fraction * 10i64.pow(9 - part.len() as u32))
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut days, of_day) = (self.ns / DAY_NS, self.ns % DAY_NS);
        let (mut year, mut month) = (1970, 1);
        while days >= 337 + month_length(year, 2) {
            days -= 337 + month_length(year, 2);
            year += 1;
        }
        while days >= month_length(year, month) {
            days -= month_length(year, month);
            month += 1;
        }
        let seconds = of_day / SECOND_NS;
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02}", days + 1)?;
        match of_day % SECOND_NS {
            0 => Ok(()),
            part => f.write_str(format!(".{part:09}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Date, Unfit> {
        Date::read(&Raw::String(text.into()))
    }

    #[test]
    fn dates_are_nanoseconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 12:00:00", 951_825_600),
            ("2026-01-01 00:00:00", 1_767_225_600),
            ("2099-12-31 23:59:59", 4_102_444_799),
        ] {
            let date = read(text).unwrap();
            assert_eq!((date.ns, date.to_string()), (seconds * SECOND_NS, text.to_owned()));
        }
        assert_eq!(read("2026-01-01"), Ok(Date::DEFAULT));
        assert_eq!(read("2026-01-01T00:00:00Z"), Ok(Date::DEFAULT));
        let date = read("2026-01-01 00:00:01.25").unwrap();
        assert_eq!((date.ns - Date::DEFAULT.ns, date.to_string().len()), (1_250_000_000, 22));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for wrong in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "1969-12-31",
            "2100-01-01",
            "2026-01-01 24:00:00",
            "2026-01-01 00:00",
            "2026-01-01 00:00:00.",
            "2026-01-01 00:00:00.1234567890",
            "2026-01-01 00:00:00+01:00",
            "2026-01-01-01",
            "+026-01-01",
        ] {
            assert!(matches!(read(wrong), Err(Unfit::Content(_))), "{wrong}");
        }
        assert_eq!(Date::read(&Raw::Integer(2026)), Err(Unfit::Kind));
    }
}
