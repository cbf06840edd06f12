//! What a model measures by name: declared before the run, gathered while it runs, and reported at its end
//! with all that follows from it.
//!
//! A model of processes declares its [`Output`]s, and its processes name them. Parts of a run gather
//! [`Outputs`] of their own, which are joined at the end: in whatever parts and order, they are the same to
//! the last bit.
//!
//! Invariants: outputs are reported in the order in which they are declared; one in which nothing came is
//! reported too, so that the results of all runs of a model have the same lines.

mod report;

use paceline_kernel::Time;
use thiserror::Error;

use crate::statistics::{
    Distribution, Estimate, Join, Level, LevelOverTime, OverTime, Tally, TimeSeries, Transient,
    ValuesOverTime,
};

/// What is measured, and what is reported of it. Its name is in snake_case with its unit last: `wait_min`.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_results::{Note, Output, Outputs};
///
/// let declared = vec![Output::tally("wait_s").quantile(0.9), Output::level("queue"), Output::count("lost")];
/// let mut outputs = Outputs::new(declared, Time::ZERO);
/// outputs.note("queue", Time::secs(2), Note::Level(1.0))?;
/// outputs.note("queue", Time::secs(5), Note::Level(-1.0))?;
/// outputs.note("wait_s", Time::secs(5), Note::Tally(3.0))?;
/// outputs.end(Time::secs(10));
/// let lines: Vec<String> =
///     outputs.summary().lines.iter().map(|(name, value)| format!("{name} {value}")).collect();
/// // Quantiles are within 0.4 %.
/// assert_eq!(lines, ["mean_wait_s 3.0", "p90_wait_s 3.0078125", "mean_queue 0.3", "lost 0"]);
/// # Ok::<(), paceline_results::OutputError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    name: &'static str,
    kind: Kind,
    is_steady: bool,
    quantiles: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tally,
    Level,
    Count,
    Series(Time),
}

/// What comes for an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// A value, for a tally.
    Tally(f64),
    /// By how much a level changes.
    Level(f64),
    /// By how much a count grows.
    Count(u64),
    /// What is added in an interval of a series.
    Series(f64),
}

/// Why something cannot be measured.
#[derive(Clone, PartialEq, Error)]
pub enum OutputError {
    /// No output of this name is declared.
    #[error("no output `{name}` is declared; declared: {declared}")]
    Unknown {
        /// The name.
        name: &'static str,
        /// Those that are.
        declared: String,
    },
    /// An output is of another kind.
    #[error("output `{name}` is declared as a {is}, and used as a {used}")]
    Kind {
        /// Its name.
        name: &'static str,
        /// What it is.
        is: &'static str,
        /// As what it is used.
        used: &'static str,
    },
    /// A value has no sum.
    #[error("output `{name}` gets {value}; allowed: finite numbers up to 1e150")]
    Value {
        /// The output.
        name: &'static str,
        /// The value.
        value: f64,
    },
}

paceline_kernel::debug_tells!(OutputError);

/// The greatest value that is taken: its square is a number.
const GREATEST: f64 = 1e150;

impl Output {
    fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_steady: false, quantiles: Vec::new() }
    }

    /// Values, such as how long each customer waits. Reported is their mean, `mean_NAME`.
    pub fn tally(name: &'static str) -> Self {
        Self::new(name, Kind::Tally)
    }

    /// Something that goes up and down, such as the length of a queue. Reported is its average over time,
    /// `mean_NAME`. It is 0 at the start.
    pub fn level(name: &'static str) -> Self {
        Self::new(name, Kind::Level)
    }

    /// How often something happens. Reported is the count, `NAME`.
    pub fn count(name: &'static str) -> Self {
        Self::new(name, Kind::Count)
    }

    /// What comes in each interval of the run, warm-up included: the table `NAME.csv`. The interval is above
    /// zero.
    pub fn series(name: &'static str, every: Time) -> Self {
        assert!(every > Time::ZERO, "a time series with intervals of 0 s; allowed: above zero");
        Self::new(name, Kind::Series(every))
    }

    /// For a tally or a level of which the steady state is wanted: also reports the interval of confidence of
    /// the mean by batch means within the run, `half_width_NAME` (95 %), and by MSER-5 how long a warm-up
    /// would have been enough; and the table `over_time.csv`.
    pub fn steady(mut self) -> Self {
        self.is_steady = true;
        self
    }

    /// For a tally: also reports the value below or at which this part of all lies, from 0 to 1, within 0.4
    /// %: `p90_NAME` for 0.9.
    pub fn quantile(mut self, part: f64) -> Self {
        assert!((0.0..=1.0).contains(&part), "a quantile of {part}; allowed: 0 to 1");
        self.quantiles.push(part);
        self
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// What has come for each of a number of outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    warm_up: Time,
    until: Time,
    all: Vec<(Output, Gathered)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Gathered {
    Tally(Box<Tally>, Distribution),
    Steady(Box<ValuesOverTime>, Distribution),
    Level(Box<Level>),
    SteadyLevel(Box<LevelOverTime>),
    Count(u64),
    Series(TimeSeries),
}

impl Outputs {
    /// Nothing has come for these. What comes before the end of the warm-up does not count, but in series;
    /// levels begin then as they are.
    pub fn new(declared: Vec<Output>, warm_up: Time) -> Self {
        let with_nothing = |output: Output| {
            let gathered = match (output.kind, output.is_steady) {
                (Kind::Tally, false) => Gathered::Tally(Box::default(), Distribution::default()),
                (Kind::Tally, true) => Gathered::Steady(Box::default(), Distribution::default()),
                (Kind::Level, false) => Gathered::Level(Box::default()),
                (Kind::Level, true) => Gathered::SteadyLevel(Box::default()),
                (Kind::Count, _) => Gathered::Count(0),
                (Kind::Series(_), _) => Gathered::Series(TimeSeries::default()),
            };
            (output, gathered)
        };
        Self { warm_up, until: Time::ZERO, all: declared.into_iter().map(with_nothing).collect() }
    }

    /// Takes in what comes at `at` for the output of this name.
    pub fn note(&mut self, name: &'static str, at: Time, note: Note) -> Result<(), OutputError> {
        let place = self.place(name, note)?;
        let (warm_up, counts) = (self.warm_up, at >= self.warm_up);
        let (output, gathered) = &mut self.all[place];
        match (gathered, note) {
            (Gathered::Tally(tally, quantiles), Note::Tally(value)) if counts => {
                tally.add(value);
                add(quantiles, output, value);
            }
            (Gathered::Steady(values, quantiles), Note::Tally(value)) => {
                values.add(at, warm_up, value);
                if counts {
                    add(quantiles, output, value);
                }
            }
            (Gathered::Level(level), Note::Level(by)) => level.change(at.max(warm_up), by),
            (Gathered::SteadyLevel(level), Note::Level(by)) => level.change(at, warm_up, by),
            (Gathered::Count(count), Note::Count(more)) if counts => *count += more,
            (Gathered::Series(series), Note::Series(value)) => {
                let Kind::Series(every) = output.kind else { unreachable!("a series has an interval") };
                series.add(at, every, value);
            }
            _ => debug_assert!(!counts, "its kind was compared"),
        }
        Ok(())
    }

    /// The place of the output that can take this in.
    fn place(&self, name: &'static str, note: Note) -> Result<usize, OutputError> {
        // Names are mostly the same text, not only an equal one.
        let same = |(output, _): &(Output, Gathered)| std::ptr::eq(output.name, name) || output.name == name;
        let Some(place) = self.all.iter().position(same) else {
            let names: Vec<_> = self.all.iter().map(|(output, _)| output.name).collect();
            let declared = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(OutputError::Unknown { name, declared });
        };
        let (used, value) = match note {
            Note::Tally(value) => ("tally", value),
            Note::Level(by) => ("level", by),
            Note::Count(_) => ("count", 0.0),
            Note::Series(value) => ("series", value),
        };
        let is = self.all[place].0.kind.name();
        if is != used {
            return Err(OutputError::Kind { name, is, used });
        }
        if value.is_nan() || value.abs() > GREATEST {
            return Err(OutputError::Value { name, value });
        }
        Ok(place)
    }

    /// Whether [`note`](Self::note) would take this in.
    pub fn check(&self, name: &'static str, note: Note) -> Result<(), OutputError> {
        self.place(name, note).map(drop)
    }

    /// The run ends: averages over time are up to here.
    pub fn end(&mut self, until: Time) {
        self.until = until;
    }

    /// Takes in what another part of the run has gathered for the same outputs.
    pub fn join(&mut self, other: &Self) {
        for ((_, mine), (_, other)) in self.all.iter_mut().zip(&other.all) {
            match (mine, other) {
                (Gathered::Tally(mine, quantiles), Gathered::Tally(other, others)) => {
                    mine.join(other);
                    quantiles.join(others);
                }
                (Gathered::Steady(mine, quantiles), Gathered::Steady(other, others)) => {
                    mine.join(other);
                    quantiles.join(others);
                }
                (Gathered::Level(mine), Gathered::Level(other)) => mine.join(other),
                (Gathered::SteadyLevel(mine), Gathered::SteadyLevel(other)) => mine.join(other),
                (Gathered::Count(mine), Gathered::Count(other)) => *mine += other,
                (Gathered::Series(mine), Gathered::Series(other)) => mine.join(other),
                _ => unreachable!("parts of a run have the same outputs"),
            }
        }
    }

    fn of(&self, name: &str) -> &Gathered {
        let found = self.all.iter().find(|(output, _)| output.name == name);
        &found.unwrap_or_else(|| panic!("no output `{name}` is declared")).1
    }

    /// How often something happened. Panics where no count of this name is declared.
    pub fn count(&self, name: &str) -> u64 {
        let Gathered::Count(count) = self.of(name) else { panic!("output `{name}` is no count") };
        *count
    }

    /// The values of a tally after the warm-up. Panics where none of this name is declared.
    pub fn tally(&self, name: &str) -> &Tally {
        match self.of(name) {
            Gathered::Tally(tally, _) => tally,
            Gathered::Steady(values, _) => values.tally(),
            _ => panic!("output `{name}` is no tally"),
        }
    }

    /// The mean of a tally, or the average of a level over time, after the warm-up; nothing where nothing
    /// came, or where there was no time. Panics where none of this name is declared.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.mean_of(self.of(name))
    }

    /// The mean with its interval by batch means. Nothing where the run is too short. Panics where no steady
    /// output of this name is declared.
    pub fn estimate(&self, name: &str) -> Option<Estimate> {
        self.estimate_of(self.of(name))
    }

    fn mean_of(&self, gathered: &Gathered) -> Option<f64> {
        match gathered {
            Gathered::Tally(tally, _) => tally.mean(),
            Gathered::Steady(values, _) => values.tally().mean(),
            Gathered::Level(level) => level.mean(self.warm_up, self.until),
            Gathered::SteadyLevel(level) => level.level().mean(self.warm_up, self.until),
            Gathered::Count(_) | Gathered::Series(_) => None,
        }
    }

    fn estimate_of(&self, gathered: &Gathered) -> Option<Estimate> {
        gathered.over_time().and_then(|steady| steady.estimate(self.warm_up, self.until))
    }

    fn transient_of(&self, gathered: &Gathered) -> Option<Transient> {
        gathered.over_time().and_then(|steady| steady.transient(self.until))
    }
}

impl Gathered {
    /// What is gathered of a steady state, if it is one.
    fn over_time(&self) -> Option<&dyn OverTime> {
        match self {
            Self::Steady(values, _) => Some(&**values),
            Self::SteadyLevel(level) => Some(&**level),
            _ => None,
        }
    }
}

fn add(quantiles: &mut Distribution, output: &Output, value: f64) {
    if !output.quantiles.is_empty() {
        quantiles.add(value);
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Tally => "tally",
            Self::Level => "level",
            Self::Count => "count",
            Self::Series(_) => "series",
        }
    }
}
