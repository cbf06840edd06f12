//! Numbers with units in SimGrid's notation.
//!
//! Bandwidths in `Bps` or `bps` with the prefixes k, M, G, ... (powers of 1000) or Ki, Mi, Gi, ... (powers of
//! 1024); times in w, d, h, m, s, ms, us, ns, ps; speeds in `f` with the prefixes for powers of 1000, or
//! `flops` with their full names. A number without a unit is in `Bps`, seconds or `f`. Invariant: a value
//! read is finite and within the range of its kind.

use super::xml::Attribute;
use crate::error::TextError;

const PREFIXES: [&str; 8] = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
const BINARY: [&str; 8] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
const FULL: [&str; 8] = ["kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta"];
const TIMES: [(&str, f64); 9] = [
    ("s", 1.0),
    ("w", 604_800.0),
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("m", 60.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("ps", 1e-12),
];

/// The allowed bandwidths in bytes per second; wide enough for every network and narrow enough for exact
/// arithmetic.
const BANDWIDTHS: std::ops::RangeInclusive<f64> = 1e-3..=1e24;
/// The allowed latencies in seconds; 0 is allowed too.
const LATENCIES: std::ops::RangeInclusive<f64> = 1e-15..=1e9;
/// The allowed speeds in operations per second.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e30;

pub(super) const BANDWIDTH: &str = "a bandwidth above 0, such as 125MBps or 1Gbps (0.001 Bps to 1 YBps)";
pub(super) const LATENCY: &str = "a time such as 100us or 0 (1e-15 s to 1e9 s)";
const SPEED: &str =
    "a speed above 0, such as 1Gf (0.001 f to 1e30 f), or 0 for states that are not the first";
const SIZE: &str = "a size, such as 500GiB (0 B to 1e30 B)";

/// Splits a text into a number and the rest.
fn split(text: &str) -> Option<(f64, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut end = digits(sign);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    // An E is an exponent if digits follow, else a prefix.
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let start = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        if start <= bytes.len() && digits(start) > start {
            end = digits(start);
        }
    }
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn prefixed(unit: &str, prefixes: &[&str], base: &str, step: f64) -> Option<f64> {
    let prefix = unit.strip_suffix(base)?;
    let power = prefixes.iter().position(|known| *known == prefix)?;
    Some(step.powi(power as i32 + 1))
}

fn bandwidth_unit(unit: &str) -> Option<f64> {
    let of = |base: &str, size: f64| {
        let scale = (unit == base).then_some(1.0);
        let scale = scale.or_else(|| prefixed(unit, &PREFIXES, base, 1000.0));
        scale.or_else(|| prefixed(unit, &BINARY, base, 1024.0)).map(|scale| scale * size)
    };
    of("Bps", 1.0).or_else(|| of("bps", 0.125))
}

fn time_unit(unit: &str) -> Option<f64> {
    TIMES.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds)
}

fn speed_unit(unit: &str) -> Option<f64> {
    let plain = (unit == "f" || unit == "flops").then_some(1.0);
    let plain = plain.or_else(|| prefixed(unit, &PREFIXES, "f", 1000.0));
    plain.or_else(|| prefixed(unit, &FULL, "flops", 1000.0))
}

fn amount(text: &str, unit: fn(&str) -> Option<f64>, default: &str) -> Result<f64, String> {
    let (number, rest) = split(text).ok_or("it does not start with a number")?;
    let rest = if rest.is_empty() { default } else { rest };
    Ok(number * unit(rest).ok_or_else(|| format!("there is no unit `{rest}`"))?)
}

fn fit(
    attribute: &Attribute,
    amount: Result<f64, String>,
    accepts: impl Fn(f64) -> bool,
    allowed: &str,
) -> Result<f64, TextError> {
    let reason = match amount {
        Ok(amount) if accepts(amount) => return Ok(amount),
        Ok(_) => "it is out of range".to_owned(),
        Err(reason) => reason,
    };
    let problem = format!("`{}` cannot be \"{}\": {reason}", attribute.name, attribute.value);
    Err(attribute.refuse(problem, allowed))
}

/// Whether a link may have this bandwidth, in bytes per second.
pub(super) fn is_bandwidth(value: f64) -> bool {
    BANDWIDTHS.contains(&value)
}

/// Whether a link may have this latency, in seconds.
pub(super) fn is_latency(value: f64) -> bool {
    value == 0.0 || LATENCIES.contains(&value)
}

/// A bandwidth in bytes per second.
pub(super) fn bandwidth(attribute: &Attribute) -> Result<f64, TextError> {
    fit(attribute, amount(attribute.value.trim(), bandwidth_unit, "Bps"), is_bandwidth, BANDWIDTH)
}

/// A latency in seconds; without a unit it is in seconds already.
pub(super) fn latency(attribute: &Attribute) -> Result<f64, TextError> {
    fit(attribute, amount(attribute.value.trim(), time_unit, "s"), is_latency, LATENCY)
}

/// Operations per second, one for each performance state.
pub(super) fn speeds(attribute: &Attribute) -> Result<Vec<f64>, TextError> {
    // A host can go into a state of speed 0, in which nothing is computed; SimGrid's energy models switch
    // hosts off that way.
    let speed = |(state, text): (usize, &str)| {
        let amount = amount(text.trim(), speed_unit, "f");
        fit(attribute, amount, |speed| SPEEDS.contains(&speed) || (state > 0 && speed == 0.0), SPEED)
    };
    attribute.value.split(',').enumerate().map(speed).collect()
}

/// A size in bytes; without a unit it is in bytes already.
pub(super) fn size(attribute: &Attribute) -> Result<f64, TextError> {
    let unit = |unit: &str| bandwidth_unit(&format!("{unit}ps"));
    fit(attribute, amount(attribute.value.trim(), unit, "B"), |size| (0.0..=1e30).contains(&size), SIZE)
}

/// A bandwidth in bytes per second; `None` for 0, which stands for a link that does not exist.
pub(super) fn optional_bandwidth(attribute: &Attribute) -> Result<Option<f64>, TextError> {
    let amount = amount(attribute.value.trim(), bandwidth_unit, "Bps");
    let bandwidth = fit(attribute, amount, |value| value == 0.0 || is_bandwidth(value), BANDWIDTH)?;
    Ok((bandwidth > 0.0).then_some(bandwidth))
}

/// A whole number in a range; also with zeros after the point, since SimGrid's definition of the format
/// writes 0.0.
pub(super) fn count(attribute: &Attribute, least: u32, most: u32) -> Result<u32, TextError> {
    let (whole, part) = attribute.value.trim().split_once('.').unwrap_or((attribute.value.trim(), ""));
    let number = whole.parse().ok().filter(|number| (least..=most).contains(number));
    let number = number.filter(|_| part.bytes().all(|digit| digit == b'0'));
    number.ok_or_else(|| {
        let problem = format!("`{}` cannot be \"{}\"", attribute.name, attribute.value);
        attribute.refuse(problem, format!("a whole number from {least} to {most}"))
    })
}

const COORDINATES: &str = "numbers with blanks between them: x, y and height, in milliseconds";
/// The greatest coordinate, in milliseconds: 31 years.
const MOST_COORDINATE: f64 = 1e12;

/// The value of an attribute `coordinates`; at least one number.
pub(super) fn coordinates(attribute: &Attribute) -> Result<Vec<f64>, TextError> {
    let number = |word: &str| word.parse().ok().filter(|number: &f64| number.abs() <= MOST_COORDINATE);
    let numbers: Option<Vec<f64>> = attribute.value.split_whitespace().map(number).collect();
    numbers.filter(|numbers| !numbers.is_empty()).ok_or_else(|| {
        let problem = format!("`coordinates` cannot be \"{}\"", attribute.value);
        attribute.refuse(problem, COORDINATES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(value: &str) -> Attribute {
        Attribute { name: "x".into(), value: value.into(), at: 0..value.len() }
    }

    #[test]
    fn units_are_those_of_simgrid() {
        for (text, value) in [
            ("125MBps", 125e6),
            ("1Gbps", 125e6),
            ("1.25E9Bps", 1.25e9),
            ("2EBps", 2e18),
            ("8Kibps", 1024.0),
            ("1MiBps", 1_048_576.0),
            ("1e3", 1000.0),
            ("+1.5e+3kBps", 1.5e6),
        ] {
            assert_eq!(bandwidth(&attribute(text)), Ok(value), "{text}");
        }
        for (text, value) in [("0", 0.0), ("2m", 120.0), ("1.5ms", 0.0015), ("1w", 604_800.0), ("3", 3.0)] {
            assert_eq!(latency(&attribute(text)), Ok(value), "{text}");
        }
        for (text, number) in [("0", 0), ("0.0", 0), ("2.", 2), (" 3.000 ", 3), ("+1", 1), ("01", 1)] {
            assert_eq!(count(&attribute(text), 0, 3), Ok(number), "{text}");
        }
        for (text, bytes) in [("500GiB", 536_870_912_000.0), ("8kb", 1000.0), ("12", 12.0), ("0", 0.0)] {
            assert_eq!(size(&attribute(text)), Ok(bytes), "{text}");
        }
        assert_eq!(speeds(&attribute("1Gf, 0f,0Mf")), Ok(vec![1e9, 0.0, 0.0]));
        assert_eq!(optional_bandwidth(&attribute("0Bps")), Ok(None));
        assert_eq!(speeds(&attribute("5.2297E9f, 1Mf,2kiloflops,3flops")), Ok(vec![5.2297e9, 1e6, 2e3, 3.0]));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "", "0", "0Bps", "-1Bps", "inf", "NaN", "1e400Bps", "1 Bps", "1MBPS", "1.5.2Bps", "Bps", "1e",
            "é",
        ] {
            assert!(bandwidth(&attribute(text)).is_err(), "{text}");
        }
        for text in ["-1s", "1hour", "1e-200s", "s", "1e12s"] {
            assert!(latency(&attribute(text)).is_err(), "{text}");
        }
        assert!(speeds(&attribute("1Gf,")).is_err() && speeds(&attribute("0f")).is_err());
        assert!(speeds(&attribute("0f,1Gf")).is_err() && speeds(&attribute("1Gf,-1f")).is_err());
        for text in ["-1", "1.5", "0.0.0", "0.01", "", ".", "1e1", "4", "0x1"] {
            assert!(count(&attribute(text), 0, 3).is_err(), "{text}");
        }
    }
}
