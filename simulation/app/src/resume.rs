//! `paceline resume`: continues a run from its checkpoint.
//!
//! Invariant: what decides the result - model, seed, order of ties - is that of the first run; anything else
//! may change.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use paceline_engine::{CheckpointError, CheckpointFile};
use paceline_scenario::ScenarioError;

use crate::args::ResumeArguments;
use crate::checkpoints::Header;
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::program::Program;
use crate::{executable, run};

/// Bytes of a file that is no checkpoint, to say what it seems to be.
const LOOK_BYTES: u64 = 4096;

/// Resumes a run.
pub fn resume(program: &Program, arguments: &ResumeArguments) -> Result<(), CommandError> {
    let kinds: Vec<_> = program.kinds.iter().map(|kind| kind.name).collect();
    let opened = open(program, &kinds, &["model"], arguments)?;
    let loaded = opened.source.load(program).map_err(|error| opened.refuse(program, arguments, error))?;
    let Opened { file, source, .. } = opened;
    #[cfg(target_os = "linux")]
    return run::in_processes(program, &source, loaded, Some(file), &arguments.results, &arguments.together);
    #[cfg(not(target_os = "linux"))]
    run::carry_out(program, &source, loaded, Some(file), &arguments.results, None, run::watched()?)
}

/// A checkpoint that this program has written, and whose input files are as they were.
#[derive(Debug)]
pub struct Opened {
    /// The checkpoint.
    pub file: CheckpointFile,
    /// The scenario, with what the arguments change of it.
    pub source: Source,
    header: Header,
}

/// The kind of model that the checkpoint at `path` names; nothing for a file that says none.
pub fn kind(path: &Path) -> Option<String> {
    let header = CheckpointFile::header_of(path).ok()?;
    Header::parse(&header).map(|header| header.kind)
}

/// Opens the checkpoint of a run of one of these kinds. `sections` are those of its scenarios that decide its
/// result, and may not be changed.
pub fn open(
    program: &Program,
    kinds: &[&str],
    sections: &[&str],
    arguments: &ResumeArguments,
) -> Result<Opened, CommandError> {
    let refuse = |problem: String| CommandError::Resume(problem);
    let changed = arguments.overrides.iter().find(|argument| decides_the_result(argument, sections));
    if let Some(argument) = changed {
        let kept: Vec<_> = sections.iter().map(|section| format!("[{section}]")).collect();
        return Err(refuse(format!(
            "--set {argument}: a resumed run keeps {}, run.seed, run.ties and run.change, which decide its result; \
             allowed: any other key of [run]",
            kept.join(", ")
        )));
    }
    let path = &arguments.file;
    let file = CheckpointFile::open(path).map_err(|error| refuse(unreadable(&error, path)))?;
    let header = read_header(program, kinds, &file)
        .map_err(|problem| refuse(format!("{}: {problem}", path.display())))?;
    unchanged(&header).map_err(|problem| refuse(format!("{}: {problem}", path.display())))?;
    let mut source = header.source.clone();
    source.overrides.extend(arguments.overrides.iter().cloned());
    Ok(Opened { file, source, header })
}

impl Opened {
    /// What is said of a scenario that cannot be read any more.
    pub fn refuse(
        &self,
        program: &Program,
        arguments: &ResumeArguments,
        error: ScenarioError,
    ) -> CommandError {
        let is_new = arguments.overrides.iter().any(|argument| error.place() == format!("--set {argument}"));
        if is_new {
            return CommandError::Scenario(error);
        }
        let Header { version, kind, .. } = &self.header;
        CommandError::Resume(format!(
            "{}: a checkpoint of {} {version}, model {kind}, whose scenario this version, {}, does not take: {}",
            self.file.path().display(),
            program.name,
            program.version,
            error.one_line()
        ))
    }
}

/// Why a file is no checkpoint that can be read, and what it seems to be.
fn unreadable(error: &CheckpointError, path: &Path) -> String {
    if !matches!(error, CheckpointError::Foreign { .. }) {
        return error.to_string();
    }
    let mut begins = Vec::new();
    // What cannot be read seems to be nothing.
    let _ = File::open(path).and_then(|file| file.take(LOOK_BYTES).read_to_end(&mut begins));
    let text = String::from_utf8_lossy(&begins);
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .unwrap_or_default();
    let is_toml =
        path.extension().is_some_and(|end| end == "toml") || first.starts_with('[') && first.ends_with(']');
    let program = executable::name();
    let shown = path.display();
    let seems = match begins.as_slice() {
        _ if is_toml => {
            return format!(
                "{shown}: is not a checkpoint of Paceline; allowed: a checkpoint, or `{program} run {shown}` for a scenario"
            );
        }
        [0x1f, 0x8b, ..] => ": it seems to be compressed by gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ": it seems to be compressed by zstd",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => ": it seems to be compressed by xz",
        [0x7f, b'E', b'L', b'F', ..] => ": it seems to be a program",
        _ if first.starts_with('{') => ": it seems to be JSON, such as a summary or a log",
        _ => "",
    };
    format!(
        "{shown}: is not a checkpoint of Paceline{seems}; allowed: a file that a run with run.checkpoint has written"
    )
}

/// The header of a checkpoint of this program; or what it is instead.
fn read_header(program: &Program, kinds: &[&str], file: &CheckpointFile) -> Result<Header, String> {
    let Some(header) = Header::parse(file.header()) else {
        return older_header(program, file);
    };
    let Header { program: of, version, kind, source, .. } = &header;
    if of != program.name {
        let scenario = source.file.display();
        return Err(format!(
            "a checkpoint of another program, {of} {version}, of its scenario {scenario}; allowed: `{of} resume {}`, or a checkpoint of {}",
            file.path().display(),
            program.name
        ));
    }
    if !kinds.contains(&&**kind) {
        return Err(format!(
            "a checkpoint of the model {kind}, of {of} {version}, which this program, {}, has not; allowed: {}",
            program.version,
            kinds.join(", ")
        ));
    }
    Ok(header)
}

/// The header of a checkpoint from before headers said of which program they are: there it is found out by
/// reading the scenario.
fn older_header(program: &Program, file: &CheckpointFile) -> Result<Header, String> {
    let source = serde_json::from_slice::<Source>(file.header()).map_err(|_| {
        "a checkpoint without a scenario: a program that uses the engine directly wrote it, and can resume it".to_owned()
    })?;
    let loaded = source.load(program).map_err(|error| {
        let problem = error.one_line();
        format!("a checkpoint that does not say of which program it is, and whose scenario is none of {}: {problem}", program.name)
    })?;
    Header::new(program, &source, &loaded).map_err(|reason| reason.to_string())
}

/// Refuses a run whose files have changed since its checkpoint was written.
fn unchanged(header: &Header) -> Result<(), String> {
    for then in &header.inputs {
        let path = header.source.folder.join(&then.file);
        let shown = path.display();
        let allowed = "allowed: the file as it was when the run began";
        let now = then.again(&header.source.folder);
        let now = now.map_err(|reason| {
            format!("the input file {shown} cannot be read any more: {reason}; {allowed}")
        })?;
        if now != *then {
            let (was, is) = (then.bytes, now.bytes);
            let lengths = if was == is {
                format!("{is} bytes, as before")
            } else {
                format!("{was} bytes then, {is} now")
            };
            return Err(format!(
                "the input file {shown} has changed since the run began ({lengths}); {allowed}"
            ));
        }
    }
    Ok(())
}

/// Whether an override is of a key that decides the result of a run.
fn decides_the_result(argument: &str, sections: &[&str]) -> bool {
    let path = argument.split_once('=').map_or(argument, |(path, _)| path);
    let mut names = path.split('.').map(str::trim);
    match names.next() {
        Some("run") => names.next().is_some_and(|key| ["seed", "ties", "change"].contains(&key)),
        section => section.is_some_and(|section| sections.contains(&section)),
    }
}
