//! Durations as people write them: a decimal number and a unit, read exactly.
//!
//! Invariant: no float is involved; what is not a whole number of nanoseconds is refused, not rounded.

use paceline_kernel::Time;

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// More digits than any time has, and few enough for 128 bits.
const MOST_DIGITS: usize = 24;

/// Reads "300s", "1.5 h", "250us"; the error says what is wrong.
pub(crate) fn parse(text: &str) -> Result<Time, String> {
    let text = text.trim();
    if text.starts_with(['-', '\u{2212}']) {
        return Err("a duration is not negative".into());
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err("it does not start with a number".into());
    }
    if unit.is_empty() {
        return Err("it has no unit".into());
    }
    let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("there is no unit {unit:?}"));
    };
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    if whole.len() > MOST_DIGITS {
        return Err(TOO_LONG.into());
    }
    if fraction.len() > MOST_DIGITS / 2 {
        return Err(TOO_FINE.into());
    }
    let digits = |digits: &str| digits.bytes().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let scale = 10u128.pow(fraction.len() as u32);
    let parts = digits(fraction) * u128::from(*unit_ns);
    if parts % scale != 0 {
        return Err(TOO_FINE.into());
    }
    let total = digits(whole) * u128::from(*unit_ns) + parts / scale;
    match u64::try_from(total).map(Time::nanos) {
        Ok(time) if time < Time::MAX => Ok(time),
        _ => Err(TOO_LONG.into()),
    }
}

const TOO_LONG: &str = "simulated time ends after 584 years";
const TOO_FINE: &str = "simulated time has no parts of a nanosecond";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(ns in 0u64..u64::MAX, unit in 0usize..UNITS.len()) {
            let (name, unit_ns) = UNITS[unit];
            let whole = ns / unit_ns;
            prop_assert_eq!(parse(&format!("{whole}{name}")), Ok(Time::nanos(whole * unit_ns)));
            // Time's own notation is exact and read back.
            prop_assert_eq!(parse(&Time::nanos(ns).to_string()), Ok(Time::nanos(ns)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", digits in "[0-9.\\-]{0,60}", unit in "[a-z ]{0,4}") {
            let _ = parse(&text);
            let _ = parse(&format!("{digits}{unit}"));
        }
    }

    #[test]
    fn fractions_are_exact() {
        assert_eq!(parse("1.5h"), Ok(Time::secs(5400)));
        assert_eq!(parse("0.000000001 s"), Ok(Time::nanos(1)));
        assert_eq!(parse("0.1ns"), Err(TOO_FINE.into()));
        assert_eq!(parse("18446744073709551615ns"), Err(TOO_LONG.into()));
    }
}
