//! The comparisons of a judgement. What an experiment runs is a matter of its parameters, so a comparison can
//! lack a point that somebody has taken out of these: it is left out, the finding says so, and the rest is
//! judged.
//!
//! Invariant: only a run that was not planned is a reason to leave out a comparison; one that failed is a
//! failure of the whole.

use paceline_report::{Check, Criterion, Finding, Ours};

use crate::plan::CellError;

/// What must be true of ours, and ours.
pub(crate) type Compared = (Criterion, Ours);

/// The check of `what`.
pub(crate) fn check(what: impl Into<String>, criterion: Criterion, ours: Ours) -> Check {
    Check { what: what.into(), criterion, ours }
}

/// Comparisons, in their order, and those that were left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    checks: Vec<Check>,
    left_out: Vec<String>,
}

impl Claims {
    /// Compares; the check is left out where one of the runs that `compare` needs was not planned.
    pub fn add(
        &mut self,
        what: impl Into<String>,
        compare: impl FnOnce() -> Result<Compared, CellError>,
    ) -> Result<(), CellError> {
        let what = what.into();
        let compared = self.if_planned(&what, compare)?;
        self.checks.extend(compared.map(|(criterion, ours)| check(what, criterion, ours)));
        Ok(())
    }

    /// The result of `compute`, a figure or a note; nothing if one of its runs was not planned. `what` is its
    /// name.
    pub fn if_planned<T>(
        &mut self,
        what: &str,
        compute: impl FnOnce() -> Result<T, CellError>,
    ) -> Result<Option<T>, CellError> {
        match compute() {
            Ok(value) => Ok(Some(value)),
            Err(CellError::NotRun(_)) => {
                self.left_out.push(what.to_owned());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The finding with them, after those that it has, and with a note of those left out.
    pub fn put_into(self, mut finding: Finding) -> Finding {
        finding.checks.extend(self.checks);
        if !self.left_out.is_empty() {
            let left_out = self.left_out.join("; ");
            finding.notes.push(format!(
                "Not compared, because the parameters leave out a point that it takes: {left_out}."
            ));
        }
        finding
    }
}

/// The first and the last of at least two points; an error for fewer, which neither rise nor fall.
pub(crate) fn several<T>(points: &[T]) -> Result<(&T, &T), CellError> {
    match points {
        [first, .., last] => Ok((first, last)),
        _ => Err(CellError::NotRun("a second point".into())),
    }
}

/// An error if this point is not among those that are run.
pub(crate) fn among<T: PartialEq + std::fmt::Display>(points: &[T], point: &T) -> Result<(), CellError> {
    if points.contains(point) { Ok(()) } else { Err(CellError::NotRun(point.to_string())) }
}

#[cfg(test)]
mod tests {
    use paceline_report::Shape;

    use super::*;

    fn compared() -> Compared {
        (Criterion::goal(Shape::Above(0.0)), Ours::one(1.0, "s"))
    }

    #[test]
    fn what_was_not_run_is_left_out_and_told_and_a_failure_is_one() {
        let mut claims = Claims::default();
        claims.add("first", || Ok(compared())).expect("it is judged");
        claims.add("second", || several(&[1]).map(|_| compared())).expect("it is left out");
        claims.add("third", || among(&[1, 2], &2).map(|()| compared())).expect("it is judged");
        let failed = claims.clone().add("fourth", || Err(CellError::Guests("deadlock".into())));
        assert_eq!(failed, Err(CellError::Guests("deadlock".into())));
        let finding = claims.put_into(Finding::default());
        let names: Vec<_> = finding.checks.iter().map(|check| check.what.as_str()).collect();
        assert_eq!(names, ["first", "third"]);
        assert_eq!(
            finding.notes,
            ["Not compared, because the parameters leave out a point that it takes: second."]
        );
    }
}
