//! The tidy table of a study: a row for each run, a column for each factor and each metric.
//!
//! Invariants: rows stand in the order of points and replications, columns in that of factors and results;
//! nothing in them depends on how the runs were run.

use std::fmt::Write;

use paceline_results::Values;
use serde_json::Value;

use crate::result::StudyResult;
use crate::row::{Status, metric_names};

/// A table as lines of CSV (RFC 4180) with a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns, and what their values are.
    pub columns: Vec<(String, Values)>,
    /// Header and rows.
    pub csv: String,
}

/// The table of all runs that have ended or failed.
pub fn rows(result: &StudyResult<'_>) -> Rows {
    let metrics = metric_names(result.rows().map(|(.., row)| row));
    let columns = columns(result, &metrics);
    let names: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
    let mut csv = format!("{}\n", names.join(","));
    for (point, replication, run, row) in result.rows() {
        let levels = point.iter().map(|level| quoted(&level.shown));
        let status = if row.status == Status::Ended { "ended" } else { "failed" };
        let of_run = [
            replication.to_string(),
            run.seed.to_string(),
            status.to_owned(),
            quoted(&row.error),
            row.ended_by.clone(),
            row.digest.clone(),
        ];
        let values = metrics.iter().map(|name| match row.metrics.get(name) {
            Some(Value::String(number)) => number.clone(),
            _ => String::new(),
        });
        let cells: Vec<String> =
            std::iter::once(run.name.clone()).chain(levels).chain(of_run).chain(values).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(csv, "{}", cells.join(","));
    }
    Rows { columns, csv }
}

fn columns(result: &StudyResult<'_>, metrics: &[String]) -> Vec<(String, Values)> {
    let factors = result.study.factors.iter().enumerate().map(|(place, factor)| {
        let shown = || result.points.iter().map(move |point| point[place].shown.as_str());
        let values = if shown().all(|text| text.parse::<i64>().is_ok()) {
            Values::Integers
        } else if shown().all(|text| text.parse::<f64>().is_ok()) {
            Values::Reals
        } else {
            Values::Texts
        };
        (factor.key.clone(), values)
    });
    let of_run = [
        ("replication", Values::Integers),
        ("seed", Values::Integers),
        ("status", Values::Texts),
        ("error", Values::Texts),
        ("ended_by", Values::Texts),
        ("digest", Values::Texts),
    ];
    let of_metric = |name: &String| {
        let mut values = result.rows().filter_map(|(.., row)| row.metrics.get(name));
        let is_whole = values.all(|value| value.as_str().is_none_or(|text| text.parse::<i64>().is_ok()));
        (name.clone(), if is_whole { Values::Integers } else { Values::Reals })
    };
    std::iter::once(("run".to_owned(), Values::Texts))
        .chain(factors)
        .chain(of_run.map(|(name, values)| (name.to_owned(), values)))
        .chain(metrics.iter().map(of_metric))
        .collect()
}

/// A cell, between quotation marks where it needs them.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
