//! The arguments of `study`. Their documentation is their help.
#![allow(rustdoc::broken_intra_doc_links)] // sections of study files stand in brackets there

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use paceline_study::course::Slice;

use crate::args::OutputArguments;
#[cfg(feature = "live")]
use crate::live::PageArguments;

/// The most runs side by side.
const MOST_AT_ONCE: i64 = 1024;

/// The arguments of `study`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct StudyArguments {
    /// What to do instead of running a study.
    #[command(subcommand)]
    pub command: Option<StudyCommand>,

    /// The study: a TOML file with the sections [study], [factors], [stop] and [set]
    #[arg(value_name = "STUDY.toml", required = true)]
    pub study: Option<PathBuf>,

    /// Overrides a value of the study file, such as study.replications=40; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// Keeps the journal in this folder, which is created if it does not exist, and writes runs.csv,
    /// runs.parquet, study.html and summary.json there [default: NAME.study in the current folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How many runs are side by side [default: so many that all cores have work]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=MOST_AT_ONCE))]
    pub at_once: Option<u32>,

    /// Runs part I of N only, for arrays of batch jobs, with a journal of its own that `study merge` takes in
    ///
    /// A part has single runs; in a study with a stop rule, which needs all runs of a point, whole points.
    #[arg(long, value_name = "I/N")]
    pub array: Option<Part>,

    /// Runs again what has failed: `failed` for all runs, or a run by its name in the table, or by the first
    /// digits of that; may be repeated
    #[arg(long, value_name = "RUN|failed")]
    pub retry: Vec<String>,

    /// The live page.
    #[cfg(feature = "live")]
    #[command(flatten)]
    pub live: PageArguments,

    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// What to do instead of running a study.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Takes the rows of other journals into that of the study, and writes table and page: the parts of
    /// --array in its folder, and journals that are named
    Merge(MergeArguments),
    /// Runs a single run, which another process asks for on standard input
    #[command(hide = true)]
    One,
}

/// The arguments of `study merge`.
#[derive(Args, Debug)]
pub struct MergeArguments {
    /// The study
    #[arg(value_name = "STUDY.toml")]
    pub study: PathBuf,

    /// More journals
    #[arg(value_name = "JOURNAL")]
    pub journals: Vec<PathBuf>,

    /// Overrides a value of the study file, such as study.replications=40; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// The folder of the study [default: NAME.study in the current folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// A part of a study, as `--array` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part(pub Slice);

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self(Slice { number, of })),
            _ => Err("a part is I/N, with I from 1 to N, such as 3/8".to_owned()),
        }
    }
}
