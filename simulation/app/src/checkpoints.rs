//! Where the checkpoints of a run go, and what stands in front of them: which program wrote it, and the
//! scenario.
//!
//! What stands in front is made once, before the first event, and is the same in all checkpoints of a run:
//! what changes meanwhile, such as the real time spent, belongs to the body (`engine/src/checkpoint.rs`).
//!
//! The rules, for users: checkpoints go where `--checkpoint` says; else into the folder of `--out`; else a
//! resumed run goes on with the file that it was resumed from; else they go into the current folder. A
//! resumed run with another horizon is another run: it leaves the file that it was resumed from as it is, and
//! writes beside it. What is no checkpoint is not replaced; the checkpoint of another run is, with a warning.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use paceline_engine::{CheckpointError, CheckpointFile, Checkpoints};
use paceline_kernel::Time;
use paceline_scenario::inputs::Input;
use serde::{Deserialize, Serialize};

use crate::args::ResultArguments;
use crate::failure::CommandError;
use crate::loaded::{Loaded, Source};
use crate::program::Program;
use crate::progress;

/// What the name of a checkpoint ends with.
const END: &str = "checkpoint";
/// Before the horizon in the name of a checkpoint of a run that was resumed with another one.
const UNTIL: &str = ".until-";

/// What stands in front of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The program that has written it, and its version.
    pub program: String,
    pub version: String,
    pub kind: String,
    pub until: Option<Time>,
    pub seed: u64,
    /// The files that the scenario names, as they were.
    pub inputs: Vec<Input>,
    pub source: Source,
}

impl Header {
    /// Of a run of `program`, of what was loaded out of `source`.
    pub fn new(program: &Program, source: &Source, loaded: &Loaded) -> std::io::Result<Self> {
        Ok(Self {
            program: program.name.to_owned(),
            version: program.version.to_owned(),
            kind: loaded.kind.name.to_owned(),
            until: loaded.settings.until,
            seed: loaded.settings.seed,
            inputs: loaded.inputs.clone(),
            // The run may be resumed from another folder.
            source: source.for_elsewhere()?,
        })
    }

    /// What `bytes` say, if a program with this header wrote them.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether runs with these headers are the same but for how they are run.
    fn is_same_run(&self, other: &Self) -> bool {
        let deciding = |header: &Self| {
            let overrides = header.source.overrides.iter();
            // Sections beside [run] say what is run, as changes do; seed and horizon are compared below.
            let is_deciding = |argument: &&String| {
                let mut names = argument.split(['.', '=']).map(str::trim);
                names.next() != Some("run") || names.next() == Some("change")
            };
            overrides.filter(is_deciding).cloned().collect::<Vec<_>>()
        };
        (&self.program, &self.kind, self.until, self.seed, &self.inputs)
            == (&other.program, &other.kind, other.until, other.seed, &other.inputs)
            && self.source.text == other.source.text
            && deciding(self) == deciding(other)
    }
}

/// Where checkpoints go, if there are to be any, and what stands in front of them; `every` is the real time
/// from one to the next.
pub fn place(
    header: &Header,
    every: Option<std::time::Duration>,
    resumed: Option<&CheckpointFile>,
    results: &ResultArguments,
) -> Result<Option<Checkpoints>, CommandError> {
    let Some(every) = every else {
        return match &results.checkpoint {
            Some(path) => Err(CommandError::Option(format!(
                "--checkpoint {}: there are no checkpoints; allowed: with run.checkpoint, the real time from one to the next, such as \
                 --set run.checkpoint=10s",
                path.display()
            ))),
            None => Ok(None),
        };
    };
    let path = match &results.checkpoint {
        Some(path) => path.clone(),
        None => usual(header, resumed, results),
    };
    if !resumed.is_some_and(|file| is_same_file(file.path(), &path)) {
        look_at(&path, header)?;
    }
    let header =
        serde_json::to_vec(header).map_err(|error| CommandError::Write(path.clone(), error.into()))?;
    Ok(Some(Checkpoints { path, every, header }))
}

/// Where they go if nothing else is said.
fn usual(header: &Header, resumed: Option<&CheckpointFile>, results: &ResultArguments) -> PathBuf {
    let mut name = header.source.stem().to_owned();
    name.push(format!(".{END}"));
    let path = match (&results.out, resumed) {
        (Some(folder), _) => folder.join(name),
        (None, Some(file)) => file.path().to_owned(),
        (None, None) => name.into(),
    };
    let Some(file) = resumed.filter(|file| is_same_file(file.path(), &path)) else { return path };
    let then = Header::parse(file.header()).map_or(header.until, |then| then.until);
    if then == header.until {
        return path;
    }
    let branch = branch(&path, header.until, file.path());
    if !results.json && !results.quiet {
        let (file, branch) = (file.path().display(), branch.display());
        eprintln!("Another horizon, another run: its checkpoints go into {branch}, and {file} stays");
    }
    branch
}

/// The name beside `path` for the checkpoints of a run that was resumed from `resumed` with another horizon.
fn branch(path: &Path, until: Option<Time>, resumed: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default();
    // A branch of a branch is named after its own horizon only.
    let trunk = match stem.to_str().and_then(|stem| stem.split_once(UNTIL)) {
        Some((trunk, _)) => trunk.into(),
        None => stem.to_owned(),
    };
    let until = until.map_or("the-end".to_owned(), |until| until.to_string());
    let named = |more: &str| {
        let mut name: OsString = trunk.clone();
        name.push(format!("{UNTIL}{until}{more}.{END}"));
        path.with_file_name(name)
    };
    let free = |path: &PathBuf| !is_same_file(path, resumed);
    std::iter::once(named(""))
        .chain((2..).map(|number| named(&format!("-{number}"))))
        .find(free)
        .unwrap_or_default()
}

/// Refuses to replace what is no checkpoint, and warns where it is that of another run.
fn look_at(path: &Path, header: &Header) -> Result<(), CommandError> {
    match path.metadata() {
        // The engine says what cannot be written.
        Err(_) => return Ok(()),
        Ok(data) if !data.is_file() || data.len() == 0 => return Ok(()),
        Ok(_) => {}
    }
    let shown = path.display();
    match CheckpointFile::header_of(path) {
        Err(CheckpointError::Foreign { .. }) => Err(CommandError::Option(format!(
            "{shown}: stands where checkpoints of this run are to go, and is none; allowed: another file (--checkpoint FILE), or another \
             folder (--out DIR)"
        ))),
        Err(error) => {
            progress::warn(&format!("{error}; checkpoints of this run replace it"));
            Ok(())
        }
        Ok(bytes) => {
            let then = Header::parse(&bytes);
            if !then.as_ref().is_some_and(|then| then.is_same_run(header)) {
                let of = then.map_or("another program".to_owned(), |then| {
                    let until = then.until.map_or("its end".to_owned(), |until| until.to_string());
                    format!(
                        "another run, of {} with seed {} until {until}",
                        then.source.file.display(),
                        then.seed
                    )
                });
                progress::warn(&format!("{shown} is a checkpoint of {of}; those of this run replace it"));
            }
            Ok(())
        }
    }
}

/// Whether two paths are of one file, which is there.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| real(other).is_some_and(|other| one == other))
}
