//! The keys of `[run]` that only optimistic and mixed runs read.
//!
//! Under the other protocols they are checked for sense all the same, and have no effect. Invariant: what the
//! engine would refuse is refused here already, at the key's place and before anything runs.

use std::ops::Range;

use paceline_engine::{Optimistic, Speculation};
use paceline_kernel::{Cancellation, GvtKind, Model, Saving};
use paceline_scenario::{Raw, ScenarioError, Section, Size, Unfit, Value};

/// Ways to bring states back, with the name used in scenario files and a line about each.
pub const SAVINGS: [(Saving, &str, &str); 3] = [
    (Saving::Copy, "copy", "a copy of the state before every event"),
    (
        Saving::Periodic,
        "periodic",
        "copies at intervals that adapt, events in between handled again: the default",
    ),
    (Saving::Undo, "undo", "the model takes its events back itself (reverse computation)"),
];

/// Ways to cancel messages, with the name used in scenario files and a line about each.
pub const CANCELLATIONS: [(Cancellation, &str, &str); 2] = [
    (Cancellation::Aggressive, "aggressive", "messages of events undone are cancelled at once: the default"),
    (Cancellation::Lazy, "lazy", "they are cancelled only if they are not sent again"),
];

/// Ways to compute GVT, with the name used in scenario files and a line about each.
pub const GVTS: [(GvtKind, &str, &str); 2] = [
    (GvtKind::Asynchronous, "asynchronous", "read at every report, while all others work: the default"),
    (GvtKind::Synchronous, "synchronous", "all workers stop for each round: the reference"),
];

/// The name of `value` among `names`.
pub fn name<T: Copy + PartialEq>(names: &[(T, &'static str, &'static str)], value: T) -> &'static str {
    let found = names.iter().find(|(other, ..)| *other == value);
    found.expect("every one is listed").1
}

fn choices<T: Copy, const N: usize>(names: &[(T, &'static str, &'static str); N]) -> [(&'static str, T); N] {
    names.map(|(value, name, _)| (name, value))
}

/// Reads the keys.
pub fn read(run: &mut Section) -> Result<Speculation, ScenarioError> {
    let default = Speculation::default();
    Ok(Speculation {
        saving: run.choice("state_saving", &choices(&SAVINGS), Some(default.saving))?,
        cancellation: run.choice("cancellation", &choices(&CANCELLATIONS), Some(default.cancellation))?,
        gvt: run.choice("gvt", &choices(&GVTS), Some(default.gvt))?,
        memory_bytes: run.optional::<Size>("memory")?.map(|size| size.bytes),
        optimistic: run.optional::<Chosen>("optimistic")?.map(|chosen| chosen.0),
        check_rollback: run.or("check_rollback", default.check_rollback)?,
        chaos: run.optional("chaos")?,
    })
}

/// Checks what depends on the model.
pub fn check<M: Model>(speculation: &Speculation, run: &Section, model: &M) -> Result<(), ScenarioError> {
    if speculation.saving == Saving::Undo && M::UNDO.is_none() {
        let problem = "states are to be brought back by `undo`, and the model has none";
        return Err(run.refuse("state_saving", problem, "\"copy\", \"periodic\""));
    }
    let Some(Optimistic::Ranges(ranges)) = &speculation.optimistic else { return Ok(()) };
    let lps = model.lps();
    match ranges.iter().find(|range| range.end > lps) {
        Some(Range { start, end }) => {
            let problem = format!("the LPs {start}..{end} are to be optimistic, and the model has {lps} LPs");
            Err(run.refuse("optimistic", problem, format!("ranges within \"0..{lps}\"")))
        }
        None => Ok(()),
    }
}

/// Checks that the budget holds the states of the largest of `federates` federates.
pub fn check_memory<M: Model>(
    speculation: &Speculation,
    run: &Section,
    model: &M,
    federates: u32,
) -> Result<(), ScenarioError> {
    let Some(bytes) = speculation.memory_bytes else { return Ok(()) };
    let partition = model.partition(federates);
    let largest = (0..partition.federates()).map(|part| partition.members(part).len()).max().unwrap_or(0);
    let needed = largest * size_of::<M::State>();
    if bytes >= needed {
        return Ok(());
    }
    let problem = format!(
        "{bytes} bytes do not hold the states of one federate, which has {largest} of the model's {} LPs",
        model.lps()
    );
    Err(run.refuse("memory", problem, format!("at least {needed} bytes, or more federates")))
}

/// Which LPs are optimistic, as a scenario says it.
struct Chosen(Optimistic);

impl Value for Chosen {
    const EXPECTED: &'static str =
        "a fraction from 0 to 1, a range of LPs such as \"0..512\", or a list of such ranges";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let ranges = match raw {
            Raw::Float(_) | Raw::Integer(_) => {
                let share = f64::read(raw)?;
                let fits = (0.0..=1.0).contains(&share);
                return if fits { Ok(Self(Optimistic::Share(share))) } else { Err(Unfit::Kind) };
            }
            Raw::String(text) => vec![range(text)?],
            Raw::Array(values) if !values.is_empty() => {
                let one = |value: &Raw| match value {
                    Raw::String(text) => range(text),
                    other => Err(Unfit::Content(format!("{other} in it is no range"))),
                };
                values.iter().map(one).collect::<Result<_, _>>()?
            }
            _ => return Err(Unfit::Kind),
        };
        Ok(Self(Optimistic::Ranges(ranges)))
    }
}

/// "0..512": from the first to before the last.
fn range(text: &str) -> Result<Range<u32>, Unfit> {
    let refuse = |why: &str| Unfit::Content(format!("{text:?} {why}"));
    let (start, end) = text.split_once("..").ok_or_else(|| refuse("is no range"))?;
    let number =
        |digits: &str| digits.trim().parse::<u32>().map_err(|_| refuse("is not a range of whole numbers"));
    let range = number(start)?..number(end)?;
    if range.is_empty() { Err(refuse("is an empty range")) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_ranges_are_read() {
        let text = |text: &str| Raw::String(text.to_owned());
        let read = |raw: &Raw| Chosen::read(raw).map(|chosen| chosen.0);
        assert_eq!(read(&Raw::Float(0.25)), Ok(Optimistic::Share(0.25)));
        assert_eq!(read(&Raw::Integer(1)), Ok(Optimistic::Share(1.0)));
        let half = 0..512;
        assert_eq!(read(&text("0..512")), Ok(Optimistic::Ranges(vec![half])));
        let list = Raw::Array(vec![text("0..5"), text("7 .. 9")]);
        assert_eq!(read(&list), Ok(Optimistic::Ranges(vec![0..5, 7..9])));
        for raw in
            [Raw::Float(1.5), Raw::Integer(-1), Raw::Float(f64::NAN), Raw::Array(Vec::new()), Raw::Bool(true)]
        {
            assert_eq!(read(&raw), Err(Unfit::Kind), "{raw:?}");
        }
        for bad in ["", "5", "..", "0..", "5..5", "9..7", "0..5..6", "-1..4", "0..4294967296"] {
            assert!(matches!(read(&text(bad)), Err(Unfit::Content(why)) if why.contains(bad)), "{bad}");
            assert!(read(&Raw::Array(vec![text("0..1"), text(bad)])).is_err(), "{bad}");
        }
        assert!(read(&Raw::Array(vec![Raw::Integer(1)])).is_err());
    }
}
