//! The levels of a factor: values of one key of the scenario, as a list or as a range.
//!
//! To add a kind of range: its key is among `known` of `read_range` and in `ALLOWED`; its values come from
//! `Span::evenly` and `Span::at`, which samples use. An axis for it is made by `axis_of_factor` of `page.rs`.
//!
//! Invariant: a level is written as `--set` takes it, and equal levels are written alike: what is written is
//! part of what a run is known by.

use paceline_kernel::Time;
use paceline_scenario::{Raw, ScenarioError, Section, Value, duration};

/// The most levels of a factor.
const MOST: usize = 100_000;
/// What a factor may be.
const ALLOWED: &str = "a list of values, such as [1, 2] or [\"30s\", \"60s\"], or a range, such as \
                       { from = 1, to = 9, step = 2 } or { from = \"30s\", to = \"90s\", count = 5 }";

/// A value of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// As an override of the scenario gives it, strings between quotation marks.
    pub written: String,
    /// As people and tables read it.
    pub shown: String,
    /// Its place on an axis, seconds for a duration; none for other texts.
    pub number: Option<f64>,
}

/// All values that a factor may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Levels {
    /// These, one at least, all different.
    List(Vec<Level>),
    /// All between two ends, from which a sample is drawn.
    Span(Span),
}

/// A range without a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Whole numbers from the first to the second.
    Integers(i64, i64),
    /// Numbers from the first to the second.
    Reals(f64, f64),
    /// Durations from the first to the second, written in this unit where that is exact.
    Times(Time, Time, String),
}

impl Level {
    pub(crate) fn of(raw: &Raw) -> Option<Self> {
        let plain = |text: String, number| Self { written: text.clone(), shown: text, number };
        Some(match raw {
            Raw::Bool(value) => plain(value.to_string(), None),
            Raw::Integer(number) => plain(number.to_string(), Some(*number as f64)),
            Raw::Float(number) if number.is_finite() => plain(format!("{number:?}"), Some(*number)),
            Raw::String(text) => {
                let number = duration(text).ok().map(Time::as_secs_f64);
                // A string of JSON is one of TOML.
                Self { written: serde_json::to_string(text).ok()?, shown: text.clone(), number }
            }
            Raw::Array(values) => {
                let items: Vec<_> = values.iter().map(Self::of).collect::<Option<_>>()?;
                let written: Vec<_> = items.into_iter().map(|item| item.written).collect();
                plain(format!("[{}]", written.join(", ")), None)
            }
            Raw::Float(_) | Raw::Other(_) => return None,
        })
    }

    fn of_real(number: f64) -> Self {
        // Sums of steps differ from what people would write in the last digits.
        let rounded: f64 = format!("{number:.11e}").parse().unwrap_or(number);
        Self { written: format!("{rounded:?}"), shown: format!("{rounded:?}"), number: Some(rounded) }
    }

    fn of_time(time: Time, unit: &str) -> Self {
        let length = duration(&format!("1{unit}")).map_or(1, Time::as_ticks);
        let is_whole = time.as_ticks().is_multiple_of(length);
        let shown = if is_whole { format!("{}{unit}", time.as_ticks() / length) } else { time.written() };
        Self { written: format!("{shown:?}"), shown, number: Some(time.as_secs_f64()) }
    }
}

impl Levels {
    /// Reads the factor at `key`, a list or a range; `path` is what it is called.
    ///
    /// # Errors
    ///
    /// It is neither, it is empty, or it holds a value twice.
    pub fn read(section: &Section, key: &str, path: &str) -> Result<Self, ScenarioError> {
        if section.is_table(key) {
            return Self::read_range(section, key, path);
        }
        let raw = section.clone().rest().into_iter().find(|(name, _)| name == key).map(|(_, raw)| raw);
        let Some(Raw::Array(values)) = raw else {
            return Err(section.refuse(
                key,
                format!("the factor `{path}` is neither list nor range"),
                ALLOWED,
            ));
        };
        if values.is_empty() {
            return Err(section.refuse(key, format!("the factor `{path}` has no values"), ALLOWED));
        }
        let mut levels: Vec<Level> = Vec::new();
        for value in &values {
            let level = Level::of(value).ok_or_else(|| {
                section.refuse(key, format!("the factor `{path}` cannot have the value {value}"), ALLOWED)
            })?;
            if levels.contains(&level) {
                let problem = format!("the factor `{path}` has the value {} twice", level.shown);
                return Err(section.refuse(key, problem, "each value once"));
            }
            levels.push(level);
        }
        Ok(Self::List(levels))
    }

    fn read_range(section: &Section, key: &str, path: &str) -> Result<Self, ScenarioError> {
        let mut range = section.clone().table(key)?;
        for end in ["from", "to"] {
            if !range.has(end) {
                let problem = format!("the range of the factor `{path}` has no `{end}`");
                return Err(section.refuse(key, problem, ALLOWED));
            }
        }
        let given = range.clone().rest();
        let ends: Vec<&Raw> = ["from", "to"]
            .iter()
            .filter_map(|end| given.iter().find(|(name, _)| name == end).map(|(_, raw)| raw))
            .collect();
        let refuse = |problem: String| section.refuse(key, problem, ALLOWED);
        let span = Span::of(&ends)
            .ok_or_else(|| refuse(format!("the range of the factor `{path}` has ends of different types")))?;
        if span.is_empty() {
            let [from, to] =
                [ends[0], ends[1]].map(|end| Level::of(end).unwrap_or_else(|| Level::of_real(0.0)));
            let problem =
                format!("the range of the factor `{path}` is empty: from {} to {}", from.shown, to.shown);
            return Err(section.refuse(key, problem, "`from` at most as great as `to`"));
        }
        let count: Option<u32> = range.optional("count")?;
        let step = given.iter().find(|(name, _)| name == "step").map(|(_, raw)| raw);
        let known = ["count", "from", "step", "to"];
        if let Some((other, _)) = given.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(range.unknown(
                other,
                format!("unknown key `{other}` in the factor `{path}`"),
                &known,
            ));
        }
        match (count, step) {
            (None, None) => Ok(Self::Span(span)),
            (Some(_), Some(_)) => Err(refuse(format!("the factor `{path}` has a step and a count"))),
            (Some(count), None) => {
                let levels = span.evenly(count as usize);
                let levels = levels.filter(|levels| count as usize <= MOST && !levels.is_empty());
                levels.map(Self::List).ok_or_else(|| {
                    let problem = format!("the range of the factor `{path}` cannot have {count} values");
                    range.refuse(
                        "count",
                        problem,
                        format!("1 to {MOST} different values, both ends among them"),
                    )
                })
            }
            (None, Some(step)) => span.by(step).map(Self::List).ok_or_else(|| {
                let problem = format!("the range of the factor `{path}` cannot go by steps of {step}");
                range.refuse(
                    "step",
                    problem,
                    format!("a step above zero of the type of `from`, for at most {MOST} values"),
                )
            }),
        }
    }
}

impl Span {
    fn of(ends: &[&Raw]) -> Option<Self> {
        Some(match ends {
            [Raw::Integer(from), Raw::Integer(to)] => {
                Self::Integers(i64::try_from(*from).ok()?, i64::try_from(*to).ok()?)
            }
            [Raw::String(from), Raw::String(to)] => {
                let unit = from.trim_start_matches(|one: char| !one.is_ascii_alphabetic()).to_owned();
                Self::Times(duration(from).ok()?, duration(to).ok()?, unit)
            }
            [from, to] => Self::Reals(f64::read(from).ok()?, f64::read(to).ok()?),
            _ => return None,
        })
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Integers(from, to) => from > to,
            Self::Reals(from, to) => from > to,
            Self::Times(from, to, _) => from > to,
        }
    }

    /// The value at this part of the way, from 0 to below 1. Every whole number, and every tick, has the same
    /// share.
    pub fn at(&self, part: f64) -> Level {
        match self {
            Self::Integers(from, to) => {
                let values = (i128::from(*to) - i128::from(*from) + 1) as f64;
                let value = (i128::from(*from) + (part * values) as i128).min(i128::from(*to));
                let text = value.to_string();
                Level { written: text.clone(), shown: text, number: Some(value as f64) }
            }
            Self::Reals(from, to) => Level::of_real(from + part * (to - from)),
            Self::Times(from, to, unit) => {
                let (from, to) = (from.as_ticks(), to.as_ticks());
                let value = from + ((part * ((to - from) as f64 + 1.0)) as u64).min(to - from);
                Level::of_time(Time::ticks(value), unit)
            }
        }
    }

    /// So many values at equal distances, both ends among them; none where two would be the same.
    fn evenly(&self, count: usize) -> Option<Vec<Level>> {
        let last = (count.max(2) - 1) as f64;
        let part = |place: usize| place as f64 / last;
        let level = |place: usize| match self {
            Self::Integers(from, to) => {
                let value = *from as f64 + part(place) * (*to as f64 - *from as f64);
                let text = (value.round() as i64).to_string();
                Level { written: text.clone(), shown: text, number: Some(value.round()) }
            }
            Self::Reals(from, to) => Level::of_real(from + part(place) * (to - from)),
            Self::Times(from, to, unit) => {
                let ticks = (part(place) * (to.as_ticks() - from.as_ticks()) as f64).round() as u64;
                Level::of_time(Time::ticks(from.as_ticks() + ticks), unit)
            }
        };
        let levels: Vec<Level> = (0..count.min(MOST)).map(level).collect();
        levels.windows(2).all(|pair| pair[0] != pair[1]).then_some(levels)
    }

    /// From the first end on by this step.
    fn by(&self, step: &Raw) -> Option<Vec<Level>> {
        match self {
            Self::Integers(from, to) => {
                let step = whole(step).filter(|step| *step > 0)?;
                let count = (i128::from(*to) - i128::from(*from)) / i128::from(step) + 1;
                let count = i64::try_from(count).ok().filter(|count| *count <= MOST as i64)?;
                let level = |place: i64| {
                    let text = (from + place * step).to_string();
                    Level { written: text.clone(), number: text.parse().ok(), shown: text }
                };
                Some((0..count).map(level).collect())
            }
            Self::Reals(from, to) => {
                let step = f64::read(step).ok().filter(|step| *step > 0.0)?;
                // The last value is there also where the sum of steps misses it by a rounding.
                let count = ((to - from) / step + 1e-9).floor();
                let level = |place: usize| Level::of_real(from + place as f64 * step);
                (count < MOST as f64).then(|| (0..=count as usize).map(level).collect())
            }
            Self::Times(from, to, unit) => {
                let step = Time::read(step).ok().filter(|step| *step > Time::ZERO)?.as_ticks();
                let count = (to.as_ticks() - from.as_ticks()) / step + 1;
                let level = |place: u64| Level::of_time(Time::ticks(from.as_ticks() + place * step), unit);
                (count <= MOST as u64).then(|| (0..count).map(level).collect())
            }
        }
    }
}

/// A whole number with a sign, which no key of a scenario has.
fn whole(raw: &Raw) -> Option<i64> {
    if let Raw::Integer(number) = raw { i64::try_from(*number).ok() } else { None }
}
