//! What a program runs: the models that its scenarios may name, and the name under which it was started.

use std::any::Any;
use std::fmt::Debug;

use paceline_engine::determinism::{Comparison, Different, Same, compare};
use paceline_kernel::{Time, ask};
use paceline_results::{ResultFile, Results};
use paceline_scenario::{ScenarioError, Section};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::memory::Estimate;
use crate::progress::Progress;
use crate::run::{How, execute, report};
use crate::settings::RunSettings;
use crate::summary::{Finished, Subject};

/// A program: what it says of itself, and its models.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name in results.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The kinds of models of LPs. Where there is one and no other, scenarios need not name it.
    pub kinds: &'static [Kind],
    /// Other kinds that its scenarios may name, and which not every command can run; each with a line about it.
    pub others: &'static [(&'static str, &'static str)],
}

/// Builds a model from the section `[model]`, read to its last key, and the seed of the run.
pub type Build = fn(Section, u64) -> Result<Box<dyn AnyModel>, ScenarioError>;

/// A kind of model.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name used in scenario files.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// How it is built.
    pub build: Build,
}

/// The name under which this program was started, for messages that tell what to type.
pub fn name() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from);
    let name =
        path.as_ref().and_then(|path| path.file_stem()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "paceline".to_owned())
}

/// Builds a model whose parameters are its own fields, read by serde.
pub fn by_serde<M: AnyModel + DeserializeOwned>(
    section: Section,
    _seed: u64,
) -> Result<Box<dyn AnyModel>, ScenarioError> {
    let read = || ask(|| "its parameters (`Deserialize`)".into(), || section.parameters::<M>());
    Ok(Box::new(read()?))
}

/// A model of any kind.
pub trait AnyModel: Any + Debug + Send {
    /// The number of LPs.
    fn lps(&self) -> u32;

    /// The model's lookahead.
    fn lookahead(&self) -> Time;

    /// What memory a run with these settings needs.
    fn memory(&self, settings: &RunSettings) -> Estimate;

    /// Into how many federates the LPs are dealt where `federates` are asked for.
    fn federates(&self, federates: u32) -> u32;

    /// Whether it can be run so; `run` is the section that the settings come from.
    fn check(&self, settings: &RunSettings, run: &Section) -> Result<(), ScenarioError>;

    /// Runs it, and gives what is told of the run, with the model's files.
    fn execute(
        self: Box<Self>,
        subject: Subject,
        how: How<'_>,
        progress: Progress,
    ) -> Result<(Finished, Vec<ResultFile>), Failure>;

    /// Runs it without results, for another process that has them.
    fn take_part(self: Box<Self>, how: How<'_>) -> Result<(), Failure>;

    /// Compares it with `other` event by event; nothing where that is a model of another kind.
    fn compare(&self, other: &dyn AnyModel, how: &Comparison) -> Option<Result<Same, Box<Different>>>;
}

impl<M> AnyModel for M
where
    M: Results + Debug + 'static,
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    fn lps(&self) -> u32 {
        ask(|| "`lps`".into(), || paceline_kernel::Model::lps(self))
    }

    fn lookahead(&self) -> Time {
        ask(|| "`lookahead`".into(), || paceline_kernel::Model::lookahead(self))
    }

    fn memory(&self, settings: &RunSettings) -> Estimate {
        Estimate::of(self, settings)
    }

    fn federates(&self, federates: u32) -> u32 {
        ask(|| "`partition`".into(), || self.partition(federates)).federates()
    }

    fn check(&self, settings: &RunSettings, run: &Section) -> Result<(), ScenarioError> {
        settings.check(run, self)?;
        let partition = ask(|| "`partition`".into(), || self.partition(settings.federates_of(self.lps())));
        partition.check(self.lps()).map_err(|error| {
            run.refuse(
                "federates",
                error.to_string(),
                "federates to which the model deals each of its LPs once",
            )
        })
    }

    fn execute(
        self: Box<Self>,
        subject: Subject,
        how: How<'_>,
        progress: Progress,
    ) -> Result<(Finished, Vec<ResultFile>), Failure> {
        execute(*self, subject, how, progress)
    }

    fn take_part(self: Box<Self>, how: How<'_>) -> Result<(), Failure> {
        report(*self, how).map(|(_, model)| ask(|| "`Drop` of the model".into(), || drop(model)))
    }

    fn compare(&self, other: &dyn AnyModel, how: &Comparison) -> Option<Result<Same, Box<Different>>> {
        let other: &dyn Any = other;
        other.downcast_ref::<M>().map(|other| compare(self, other, how))
    }
}
