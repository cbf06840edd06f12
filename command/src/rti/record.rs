//! `paceline rti --record FILE`, and `paceline rti replay FILE`: the calls of a run, and the digests of what
//! they led to.
//!
//! Invariant: a file that is there already is not written over.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use paceline_app::failure::CommandError;
use paceline_app::stdout;
use paceline_fedpro::{Digests, FederateDigest, Limits, RecordEnd, Recorder, replay};
use serde_json::{Value, json};

use super::arguments::ReplayArguments;
use crate::failure::Special;

/// Begins a record in a new file.
pub fn begin(path: &Path, limits: &Limits) -> Result<Recorder, CommandError> {
    let failed = |error| CommandError::Option(format!("--record {}: {error}", path.display()));
    let file = File::create_new(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            let path = path.display();
            return CommandError::Option(format!("--record {path}: the file is there; allowed is a new one"));
        }
        failed(error)
    })?;
    Recorder::begin(Box::new(BufWriter::new(file)), limits.of_infrastructure()).map_err(failed)
}

/// The digests, an object for each federate.
pub fn objects(digests: &Digests) -> Value {
    let object = |(federation, federate, digest): (&str, &str, FederateDigest)| {
        json!({
            "federation": federation,
            "federate": federate,
            "callbacks": digest.callbacks,
            "digest": digest.callbacks_digest.to_string(),
            "timestamped": digest.timestamped,
            "timestamped_digest": digest.timestamped_digest.to_string(),
        })
    };
    digests.federates().map(object).collect()
}

/// The digests, a line for each federate.
pub fn lines(digests: &Digests) -> String {
    let line = |(federation, federate, digest): (&str, &str, FederateDigest)| {
        format!(
            "{federation}, {federate}: callbacks {}, digest {}; in timestamp order {}, digest {}\n",
            digest.callbacks, digest.callbacks_digest, digest.timestamped, digest.timestamped_digest
        )
    };
    digests.federates().map(line).collect()
}

/// Makes the calls of a record again, without federates.
pub fn show(arguments: &ReplayArguments) -> Result<(), CommandError> {
    let path = arguments.record.display();
    let failed = |error: &dyn std::fmt::Display| Special::Rti(format!("{path} cannot be replayed: {error}"));
    let file = File::open(&arguments.record).map_err(|error| failed(&error))?;
    let replayed = replay(BufReader::new(file)).map_err(|error| failed(&error))?;
    let (end, verdict) = match replayed.end {
        RecordEnd::Equal => ("equal", "the digests are those of the run"),
        RecordEnd::Different => ("different", "the digests are NOT those of the run"),
        RecordEnd::Missing => ("missing", "the record has no end: its server was killed, or still runs"),
    };
    if arguments.json {
        let object = json!({
            "calls": replayed.calls, "run": end, "federates": objects(&replayed.digests),
        });
        stdout::print(&format!("{object}\n"))?;
    } else {
        let calls = replayed.calls;
        stdout::print(&format!("{}{calls} calls; {verdict}\n", lines(&replayed.digests)))?;
    }
    if replayed.end == RecordEnd::Different {
        return Err(Special::Rti(format!("{path}: the replay has other digests than the run")).into());
    }
    Ok(())
}
