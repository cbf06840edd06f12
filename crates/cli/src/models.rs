//! The models that scenarios name, and what the program does with one of whatever kind.
//!
//! Invariant: nothing else knows which models of LPs there are. A further one is a line in [`KINDS`].

use std::any::Any;
use std::fmt::Debug;

use paceline_engine::determinism::{Comparison, Different, Same, compare};
use paceline_kernel::Time;
use paceline_models::phold::Phold;
use paceline_models::results::{ResultFile, Results};
use paceline_models::traffic::Traffic;
use paceline_models::wireless::Wireless;
use paceline_models::wireless_csma::Csma;
use paceline_scenario::{ScenarioError, Section};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::run::{How, execute, report};
use crate::settings::RunSettings;
use crate::summary::{Finished, Subject};

/// Builds a model from the section `[model]` and the seed of the run.
type Build = fn(&mut Section, u64) -> Result<Box<dyn AnyModel>, ScenarioError>;

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

/// All models of LPs.
pub const KINDS: [Kind; 4] = [
    Kind {
        name: "phold",
        about: "messages travel among LPs: the synthetic benchmark of the field",
        build: |section, _| Ok(Box::new(Phold::from_section(section)?)),
    },
    Kind {
        name: "traffic",
        about: "vehicles on a grid or a city's roads, with lights and full roads if wanted",
        build: |section, seed| Ok(Box::new(Traffic::from_section(section, seed)?)),
    },
    Kind {
        name: "wireless",
        about: "hosts of an ad hoc network move about and ping all within range",
        build: |section, seed| Ok(Box::new(Wireless::from_section(section, seed)?)),
    },
    Kind {
        name: "wireless-csma",
        about: "the same with path loss and CSMA/CA: hosts find routes by flooding",
        build: |section, seed| Ok(Box::new(Csma::from_section(section, seed)?)),
    },
];

/// Kinds of models whose parts are processes: the name used in scenario files and a line about each.
pub const PROCESSES: [(&str, &str); 5] = [
    ("chord", "peers on a ring look up keys: processes that send each other messages"),
    ("mpi-trace", "what the ranks of an MPI program did, replayed on a platform"),
    ("master-workers", "masters deal computations to workers, placed by a deployment file"),
    ("bittorrent", "peers of a swarm share a file, the rarest pieces first: processes that come and go"),
    ("farm", "a master hands out tasks to workers on hosts that fail and come back"),
];

/// A model of any kind.
pub trait AnyModel: Any + Debug + Send {
    /// The number of LPs.
    fn lps(&self) -> u32;

    /// The model's lookahead.
    fn lookahead(&self) -> Time;

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
        paceline_kernel::Model::lps(self)
    }

    fn lookahead(&self) -> Time {
        paceline_kernel::Model::lookahead(self)
    }

    fn federates(&self, federates: u32) -> u32 {
        self.partition(federates).federates()
    }

    fn check(&self, settings: &RunSettings, run: &Section) -> Result<(), ScenarioError> {
        settings.check(run, self)
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
        report(*self, how).map(drop)
    }

    fn compare(&self, other: &dyn AnyModel, how: &Comparison) -> Option<Result<Same, Box<Different>>> {
        let other: &dyn Any = other;
        other.downcast_ref::<M>().map(|other| compare(self, other, how))
    }
}
