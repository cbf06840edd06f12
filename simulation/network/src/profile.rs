//! Profiles: how a bandwidth, a latency, a speed or a state changes over time, in SimGrid's text format.
//!
//! A line is a time in seconds and the value from then on; `#` and `%` open comments. With `PERIODICITY s`
//! the list repeats every `s` seconds, with `LOOPAFTER s` it repeats `s` seconds after its last line. Random
//! profiles (`STOCHASTIC`) are refused. Invariant: times do not decrease, and the period of a repeated list
//! is long enough for time to advance.

use std::ops::Range;
use std::sync::Arc;

use crate::error::TextError;

/// The values of a quantity, each from a time on. Clones share them.
///
/// ```
/// let text = r#"<platform version="4.1"><zone id="z" routing="Full"> <host id="a" speed="1Gf"/>
///     <link id="wire" bandwidth="1MBps"/>
///     <trace id="nights" periodicity="24">
///         8  1e6
///         20 2e6
///     </trace>
///     <trace_connect kind="BANDWIDTH" trace="nights" element="wire"/>
/// </zone></platform>"#;
/// let platform = paceline_network::read("nights.xml", text, &mut |_| Err("there are no other files".into()))?;
/// let profile = platform.links()[1].bandwidth_profile.as_ref().expect("it is connected");
/// assert!(profile.changes().take(3).eq([(8.0, 1e6), (20.0, 2e6), (32.0, 1e6)]));
/// # Ok::<(), paceline_network::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    changes: Arc<[(f64, f64)]>,
    /// The period of a repeated list, in seconds.
    period: Option<f64>,
}

/// An upper limit of times, in seconds: 300 years, longer than any simulation.
const MOST_SECONDS: f64 = 1e10;
/// The least period, in seconds.
const LEAST_PERIOD: f64 = 1e-6;

impl Profile {
    /// Reads a profile whose values satisfy `allowed`; `periodicity` is in seconds, and ignored unless
    /// positive.
    pub(crate) fn read(
        text: &str,
        periodicity: f64,
        accepts: fn(f64) -> bool,
        allowed: &str,
    ) -> Result<Self, TextError> {
        let mut period = (periodicity > 0.0).then_some((periodicity, 0..0));
        let mut pause: Option<(f64, Range<usize>)> = None;
        let mut changes: Vec<(f64, f64)> = Vec::new();
        let mut start = text.len();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        start -= text.len();
        for line in text.split_inclusive(['\n', '\r']) {
            let at = start + (line.len() - line.trim_start().len());
            start += line.len();
            let line = line.trim();
            let whole = at..at + line.len();
            if line.is_empty() || line.starts_with(['#', '%']) {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["PERIODICITY", number] => {
                    period = Some((seconds(number, &whole)?, whole));
                }
                ["LOOPAFTER", number] => {
                    pause = Some((seconds(number, &whole)?, whole));
                }
                [time, value] => {
                    let time = seconds(time, &whole)?;
                    if changes.last().is_some_and(|(last, _)| *last > time) {
                        return Err(TextError::new(
                            whole,
                            "times go backwards",
                            "times that do not decrease",
                        ));
                    }
                    let number =
                        value.parse().ok().filter(|value: &f64| value.is_finite() && accepts(*value));
                    let Some(value) = number else {
                        let problem = format!("the value `{value}` in a profile");
                        return Err(TextError::new(whole, problem, allowed));
                    };
                    changes.push((time, value));
                }
                _ => {
                    let problem = format!("`{line}` in a profile; random profiles are not supported");
                    return Err(TextError::new(whole, problem, FORM));
                }
            }
        }
        let Some(&(last, _)) = changes.last() else {
            return Err(TextError::new(0..0, "a profile without values", FORM));
        };
        let (period, place) = match (period, pause) {
            (Some((period, place)), None) => (Some(period), place),
            (None, Some((pause, place))) => (Some(last + pause), place),
            (None, None) => (None, 0..0),
            (Some(_), Some((_, place))) => {
                return Err(TextError::new(place, "both a period and LOOPAFTER", "one of the two"));
            }
        };
        if period.is_some_and(|period| period < last || period < LEAST_PERIOD) {
            let allowed = format!(
                "a period of at least {LEAST_PERIOD:e} s that is not shorter than the list, {last} s"
            );
            return Err(TextError::new(place, "a profile that starts again before it ends", allowed));
        }
        Ok(Self { changes: changes.into(), period })
    }

    /// Change number `number`, from 0: its time in seconds, and the new value.
    pub fn change(&self, number: usize) -> Option<(f64, f64)> {
        let (round, place) = (number / self.changes.len(), number % self.changes.len());
        let (time, value) = self.changes[place];
        match self.period {
            _ if round == 0 => Some((time, value)),
            Some(period) => Some((time + round as f64 * period, value)),
            None => None,
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.changes.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
    }

    /// The values of all changes from this number on; the number of repetitions has no meaning.
    pub fn remaining(&self, number: usize) -> impl Iterator<Item = f64> + '_ {
        let over = if self.period.is_some() { 0 } else { number.min(self.changes.len()) };
        self.changes[over..].iter().map(|(_, value)| *value)
    }

    /// Every change in order, as (seconds, value); endless if the list repeats.
    pub fn changes(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        (0..).map_while(|number| self.change(number))
    }
}

const FORM: &str =
    "lines with a time and a value, `PERIODICITY seconds`, `LOOPAFTER seconds`, comments after `#`";

fn seconds(number: &str, at: &Range<usize>) -> Result<f64, TextError> {
    let value = number.parse().ok().filter(|value| (0.0..=MOST_SECONDS).contains(value));
    value.ok_or_else(|| {
        TextError::new(
            at.clone(),
            format!("`{number}` as a time in a profile"),
            "seconds from 0 to 1e10; ".to_owned() + FORM,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, periodicity: f64) -> Result<Profile, TextError> {
        Profile::read(text, periodicity, |value| value > 0.0, "a positive number")
    }

    #[test]
    fn lists_start_again() {
        let times = |profile: Profile| profile.changes().take(5).map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(
            times(read("# link\n2 20\n4 30\nLOOPAFTER 6\n", -1.0).unwrap()),
            [2.0, 4.0, 12.0, 14.0, 22.0]
        );
        assert_eq!(times(read("PERIODICITY 5\n0 1\n 4 2", -1.0).unwrap()), [0.0, 4.0, 5.0, 9.0, 10.0]);
        assert_eq!(times(read("0 1\r\n4 2", 4.5).unwrap()), [0.0, 4.0, 4.5, 8.5, 9.0]);
        assert_eq!(times(read("1 1", -1.0).unwrap()), [1.0]);
    }

    #[test]
    fn nonsense_is_refused_where_it_stands() {
        for (text, place) in [
            ("1 2\n0 3", "0 3"),
            ("1 0", "1 0"),
            ("1 NaN", "1 NaN"),
            ("inf 1", "inf 1"),
            ("STOCHASTIC\n1 2", "STOCHASTIC"),
            ("UNIF 1 2 DET 3", "UNIF 1 2 DET 3"),
            ("1 2\nPERIODICITY 0.5", "PERIODICITY 0.5"),
            ("0 2\nLOOPAFTER 0", "LOOPAFTER 0"),
            ("0 2\nPERIODICITY 3\nLOOPAFTER 1", "LOOPAFTER 1"),
            ("# nothing", ""),
        ] {
            let error = read(text, -1.0).expect_err(text);
            assert_eq!(&text[error.at.clone()], place, "{error:?}");
        }
    }
}
