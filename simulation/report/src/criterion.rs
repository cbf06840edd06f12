//! What must be true of numbers for a check to be reproduced, as data, and the verdict on the numbers found.
//!
//! A number that a source prints is compared on both sides, within a tolerance. An order beside it (the sign
//! of a gain, a curve that rises, which of several is least) must be as published too; it may be so where the
//! number is missed. What a source says without a number, what must always be true and what we ask of
//! ourselves are shapes alone.
//!
//! Invariants: the words for what was published, what must be true and what was found are made from the data;
//! a number of which nothing is known (NaN) never meets a criterion. An interval that has a bound within it
//! decides nothing.

mod distance;
mod estimate;
mod shape;
#[cfg(test)]
mod test;

pub use estimate::Estimate;
pub use shape::Shape;

use crate::findings::Verdict;
use crate::number::number;
use crate::sweep::Wanted;
use estimate::listed;
use shape::{all, limits};

/// How far ours may be from a published number, on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// From the number divided by this factor to the number times it.
    Factor(f64),
    /// So many points of a percentage less or more.
    Points(f64),
    /// So many per cent of the number less or more.
    Percent(f64),
    /// The spread that the source itself states, from the least to the most.
    Spread(f64, f64),
    /// Not at all.
    Exact,
}

impl Tolerance {
    /// That of times and gains.
    pub const TIMES: Self = Self::Factor(1.5);
    /// That of percentages.
    pub const PERCENTAGES: Self = Self::Points(5.0);

    /// What is wanted where `published` is published.
    pub fn around(self, published: f64) -> Wanted {
        let part = |percent: f64| (published * percent / 100.0).abs();
        match self {
            Self::Factor(factor) => Wanted::Within(published / factor, published * factor),
            Self::Points(points) => Wanted::Within(published - points, published + points),
            Self::Percent(percent) => Wanted::Within(published - part(percent), published + part(percent)),
            Self::Spread(least, most) => Wanted::Within(least, most),
            Self::Exact => Wanted::Within(published, published),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Factor(factor) => format!("within a factor of {factor}"),
            Self::Points(points) => format!("within {points} points"),
            Self::Percent(percent) => format!("within {percent} %"),
            Self::Spread(..) => "the source's spread".into(),
            Self::Exact => "exactly".into(),
        }
    }
}

/// What kind of claim a criterion without a published number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The source says which is more, or how a curve runs.
    Order,
    /// The source says that something gains, loses or does neither.
    Sign,
    /// The source says where one curve passes another.
    Crossing,
    /// True of every sound run; no source says so.
    Invariant,
    /// What we ask of our own work; no source says so.
    Goal,
}

impl Statement {
    const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Sign => "sign",
            Self::Crossing => "crossing",
            Self::Invariant => "invariant",
            Self::Goal => "our goal",
        }
    }
}

/// What must be true of ours.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// Numbers that a source prints: one for each of ours, or one for all.
    Number {
        /// The numbers, in the unit of ours.
        published: Vec<f64>,
        /// What the source says with them, or who says them; may be empty.
        words: String,
        /// How far ours may be from them.
        tolerance: Tolerance,
        /// What must be as published too, and may be so where the numbers are not.
        order: Option<Order>,
    },
    /// Something without a number.
    Stated {
        /// Its kind.
        statement: Statement,
        /// The words of the source; empty where there is none.
        words: String,
        /// What must be true.
        shape: Shape,
    },
    /// There is nothing to compare, for this reason.
    Failed(String),
}

/// An order that is published beside a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// What is ordered, in words; empty if these are ours themselves.
    pub what: String,
    /// The numbers that are ordered; empty if these are ours themselves.
    pub of: Vec<Estimate>,
    /// How they are ordered.
    pub shape: Shape,
}

impl Criterion {
    /// Of one published number, with what the source says of it.
    pub fn published(number: f64, tolerance: Tolerance) -> Self {
        Self::each([number], tolerance)
    }

    /// Of a published number for each of ours.
    pub fn each(published: impl Into<Vec<f64>>, tolerance: Tolerance) -> Self {
        Self::Number { published: published.into(), words: String::new(), tolerance, order: None }
    }

    /// Of what a source says, in its `words`, without a number.
    pub fn stated(statement: Statement, words: impl Into<String>, shape: Shape) -> Self {
        Self::Stated { statement, words: words.into(), shape }
    }

    /// Of what must always be true.
    pub fn invariant(shape: Shape) -> Self {
        Self::stated(Statement::Invariant, "", shape)
    }

    /// Of what we ask of ourselves.
    pub fn goal(shape: Shape) -> Self {
        Self::stated(Statement::Goal, "", shape)
    }

    /// With what the source says, or who it is.
    #[must_use]
    pub fn saying(mut self, said: impl Into<String>) -> Self {
        if let Self::Number { words, .. } | Self::Stated { words, .. } = &mut self {
            *words = said.into();
        }
        self
    }

    /// With an order of ours that is published too.
    #[must_use]
    pub fn or(self, shape: Shape) -> Self {
        self.or_of("", Vec::<Estimate>::new(), shape)
    }

    /// With an order of other numbers, `what`, that is published too.
    #[must_use]
    pub fn or_of<E: Into<Estimate>>(
        mut self,
        what: impl Into<String>,
        of: impl IntoIterator<Item = E>,
        shape: Shape,
    ) -> Self {
        if let Self::Number { order, .. } = &mut self {
            *order = Some(Order { what: what.into(), of: of.into_iter().map(Into::into).collect(), shape });
        }
        self
    }

    /// What is wanted of the one at `place` of ours, where a number is published.
    pub fn wanted(&self, place: usize) -> Option<Wanted> {
        match self {
            Self::Number { published, tolerance, .. } => {
                published.get(place).or(published.last()).map(|published| tolerance.around(*published))
            }
            _ => None,
        }
    }

    /// The verdict on `ours`.
    pub(crate) fn verdict(&self, ours: &[Estimate]) -> Verdict {
        match self {
            Self::Failed(_) => Verdict::Differs,
            Self::Stated { shape, .. } => {
                decided(shape.is_met(ours), Verdict::Reproduced, || Verdict::Differs)
            }
            Self::Number { published, order, .. } => {
                let fits = published.len() == 1 || published.len() == ours.len();
                let each = ours.iter().enumerate().map(|(place, one)| {
                    self.wanted(place).map_or(Some(false), |wanted| limits(wanted, *one))
                });
                let is_near = if fits && !ours.is_empty() { all(each) } else { Some(false) };
                let of = |order: &Order| match order.of.is_empty() {
                    true => order.shape.is_met(ours),
                    false => order.shape.is_met(&order.of),
                };
                // A number near zero may be within its tolerance with the wrong sign.
                match (is_near, order.as_ref().map(of)) {
                    (_, Some(Some(false))) => Verdict::Differs,
                    (_, Some(None)) => Verdict::Undecided,
                    (near, Some(Some(true))) => decided(near, Verdict::Reproduced, || Verdict::SameOrder),
                    (near, None) => decided(near, Verdict::Reproduced, || Verdict::Differs),
                }
            }
        }
    }

    /// What was published, in words; empty where nothing was.
    pub(crate) fn published_text(&self, unit: &str) -> String {
        match self {
            Self::Failed(_) => String::new(),
            Self::Stated { words, .. } => words.clone(),
            Self::Number { published, words, tolerance, .. } => {
                let numbers = match tolerance {
                    Tolerance::Spread(least, most) => format!("{} to {}", number(*least), number(*most)),
                    _ => published.iter().copied().map(number).collect::<Vec<_>>().join(", "),
                };
                let numbers = format!("{numbers} {unit}");
                if words.is_empty() {
                    numbers.trim_end().to_owned()
                } else {
                    format!("{} ({words})", numbers.trim_end())
                }
            }
        }
    }

    /// What must be true, in words.
    pub(crate) fn must_text(&self, unit: &str) -> String {
        match self {
            Self::Failed(_) => "a result".into(),
            Self::Stated { statement, shape, .. } => format!("{}: {}", statement.name(), shape.text(unit)),
            Self::Number { published, tolerance, order, .. } => {
                let range = |published: &f64| Shape::Each(tolerance.around(*published)).text("");
                let ranges = published.iter().map(range).collect::<Vec<_>>().join(", ");
                let within = format!("{} ({})", format!("{ranges} {unit}").trim_end(), tolerance.text());
                let order = order.as_ref().map(|Order { what, shape, .. }| match what.is_empty() {
                    true => format!("; the order: {}", shape.text(unit)),
                    false => format!("; the order: {what} {}", shape.text("")),
                });
                within + &order.unwrap_or_default()
            }
        }
    }
}

fn decided(met: Option<bool>, yes: Verdict, no: impl FnOnce() -> Verdict) -> Verdict {
    match met {
        Some(true) => yes,
        Some(false) => no(),
        None => Verdict::Undecided,
    }
}

/// What was found: numbers, their unit, and what a reader must know besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ours {
    /// The numbers, in the order of those that are published.
    pub values: Vec<Estimate>,
    /// Their unit; empty for plain numbers.
    pub unit: String,
    /// What more there is to say, such as which of several is meant; may be empty.
    pub detail: String,
}

impl Ours {
    /// One number.
    pub fn one(value: impl Into<Estimate>, unit: impl Into<String>) -> Self {
        Self::all([value], unit)
    }

    /// Several numbers.
    pub fn all<E: Into<Estimate>>(values: impl IntoIterator<Item = E>, unit: impl Into<String>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { values, unit: unit.into(), detail: String::new() }
    }

    /// With what more there is to say.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    pub(crate) fn text(&self) -> String {
        let numbers = listed(&self.values, &self.unit);
        match (numbers.is_empty(), self.detail.is_empty()) {
            (_, true) => numbers,
            (true, false) => self.detail.clone(),
            (false, false) => format!("{numbers} ({})", self.detail),
        }
    }
}
