//! Prepares a command to run with the shim: recognizes MPI launchers, and sets the environment of the ranks.
//!
//! Invariants: what the user has set is not changed, and the notes say what was added. Nothing is written to
//! a disk: the shim and the room are memory files of this process, so that they vanish with it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::program::{find, is_static};
use super::yielding::{self, Setting};
use super::{ROOM_ENV, Room, shim};

/// Whether the note to the user says that ranks yield, 1 or 0: the shim reports if that is wrong.
const YIELDS_ENV: &str = "PACELINE_MPI_YIELDS";
/// MPICH's setting of how often it polls before it yields, by its names; 0: never.
const MPICH_YIELD_ENVS: [&str; 3] =
    ["MPIR_CVAR_POLLS_BEFORE_YIELD", "MPICH_POLLS_BEFORE_YIELD", "MPIR_PARAM_POLLS_BEFORE_YIELD"];
const PRELOAD_ENV: &str = "LD_PRELOAD";
/// How many words before the launcher may belong to a program that starts it, such as `timeout 60` or `env
/// A=1`.
const WORDS_BEFORE: usize = 8;

/// Whether a command is run with the shim for MPI programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MpiChoice {
    /// If the command starts an MPI launcher.
    Auto,
    /// Whatever the command is.
    On,
    /// Never: ranks that wait are then seen only by what they publish themselves.
    Off,
}

/// An MPI library, identified from its launcher.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MpiLibrary {
    /// Open MPI: ranks yield if `mpi_yield_when_idle` is set.
    OpenMpi,
    /// MPICH: ranks never yield by themselves, so the shim yields in its place.
    Mpich,
    /// Not known before the program runs.
    Unknown,
}

/// Keeps the shim of a running command alive, with notes about it.
#[derive(Debug, Default)]
pub struct MpiSession {
    /// Notes for the user, a line each.
    pub notes: Vec<String>,
    _kept: Option<(File, Room)>,
}

/// Prepares `command` to be run with the shim, if `choice` and the command ask for it.
pub fn prepare(command: &mut Command, choice: MpiChoice) -> MpiSession {
    let words: Vec<OsString> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_owned).collect();
    let launcher = words.iter().take(WORDS_BEFORE).position(|word| is_launcher(word));
    match (choice, launcher) {
        (MpiChoice::Off, _) | (MpiChoice::Auto, None) => MpiSession::default(),
        _ => load(command, &words, launcher),
    }
}

fn load(command: &mut Command, words: &[OsString], launcher: Option<usize>) -> MpiSession {
    let left_out = |reason: String| MpiSession { notes: vec![reason], _kept: None };
    // Without the shim a command is paced all the same, so what is missing is a note and no error.
    let Some(bytes) = shim() else {
        return left_out(
            "the shim for MPI programs is not part of this build; paceline cannot see which ranks wait"
                .into(),
        );
    };
    let (file, path) = match memory_file(bytes) {
        Ok(made) => made,
        Err(error) => {
            return left_out(format!("the shim for MPI programs cannot be put into memory: {error}"));
        }
    };
    let room = match Room::create() {
        Ok(room) => room,
        Err(error) => {
            return left_out(format!("there can be no room for the shim for MPI programs: {error}"));
        }
    };
    let library = launcher.map_or(MpiLibrary::Unknown, |at| library_of(&words[at]));
    let after = launcher.map_or(0, |at| at + 1);
    let mut notes = Vec::new();
    let program = words[after..].iter().find_map(|word| find(word).filter(|path| is_static(path).is_some()));
    if let Some(program) = program.filter(|path| is_static(path) == Some(true)) {
        notes.push(format!(
            "{} is linked statically, so the shim for MPI programs cannot be loaded; paceline cannot see which ranks wait",
            program.display()
        ));
    }
    let mut preload = OsString::from(&path);
    if let Some(others) = env::var_os(PRELOAD_ENV).filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env(PRELOAD_ENV, preload).env(ROOM_ENV, room.path());
    let set = match library {
        // Open MPI's setting says nothing about MPICH.
        MpiLibrary::Mpich => None,
        MpiLibrary::OpenMpi | MpiLibrary::Unknown => yielding::find(&words[after.saturating_sub(1)..]),
    };
    if library != MpiLibrary::Mpich && set.is_none() {
        command.env(yielding::VARIABLE, "1");
    }
    // A value without a known meaning counts as yes: the shim reports if ranks do not yield.
    let yields = set.as_ref().and_then(Setting::yields) != Some(false);
    command.env(YIELDS_ENV, if yields { "1" } else { "0" });
    let unyielding =
        MPICH_YIELD_ENVS.into_iter().find(|name| env::var(name).is_ok_and(|polls| polls.trim() == "0"));
    // First, since it holds for every run; the others are about this program.
    notes.insert(0, yielding_note(library, set.as_ref(), unyielding));
    MpiSession { notes, _kept: Some((file, room)) }
}

/// What ranks do while they wait. `set` is what the user has set for Open MPI; `unyielding` names the
/// variable that is set so that MPICH never yields.
fn yielding_note(library: MpiLibrary, set: Option<&Setting>, unyielding: Option<&str>) -> String {
    let name = yielding::NAME;
    let if_known = if library == MpiLibrary::Unknown { " if they use Open MPI or MPICH" } else { "" };
    let off = "(--mpi off leaves all that)";
    match (library, set, unyielding) {
        (MpiLibrary::Mpich, _, None) => format!(
            "MPI ranks that wait give their core away; MPICH, which never yields by itself, does so too {off}"
        ),
        (MpiLibrary::Mpich, _, Some(variable)) => format!(
            "MPI ranks that wait give their core away although {variable} is 0: the shim yields in place of MPICH, which \
             does not use that variable with UCX {off}"
        ),
        (_, None, _) => {
            format!("MPI ranks that wait give their core away{if_known}; {name} is set to 1 {off}")
        }
        (_, Some(Setting { value, place }), _) if set.and_then(Setting::yields) == Some(false) => format!(
            "MPI ranks keep their core while they wait{if_known}: {name} is {value}, as you have set it in {place}; paceline \
             cannot see which ranks wait (without that setting it would be 1)"
        ),
        (_, Some(Setting { value, place }), _) => format!(
            "MPI ranks that wait give their core away{if_known}; {name} is {value}, as you have set it in {place} {off}"
        ),
    }
}

/// Whether a word of a command is the name of an MPI launcher.
fn is_launcher(word: &OsStr) -> bool {
    let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let (first, kind) = name.split_once('.').unwrap_or((name, ""));
    matches!(first, "mpirun" | "mpiexec" | "orterun" | "prterun")
        && matches!(kind, "" | "openmpi" | "mpich" | "hydra")
}

/// The library of a launcher, by the name of the file to which its links lead.
fn library_of(launcher: &OsStr) -> MpiLibrary {
    let path = find(launcher).and_then(|path| path.canonicalize().ok());
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let names = [name(Path::new(launcher)), path.as_deref().and_then(name)];
    let has =
        |parts: &[&str]| names.iter().flatten().any(|name| parts.iter().any(|part| name.contains(part)));
    if has(&["openmpi", "orte", "prte"]) {
        MpiLibrary::OpenMpi
    } else if has(&["mpich", "hydra"]) {
        MpiLibrary::Mpich
    } else {
        MpiLibrary::Unknown
    }
}

/// A sealed file in memory with `bytes`, and the path by which other processes of this user open it.
fn memory_file(bytes: &[u8]) -> std::io::Result<(File, PathBuf)> {
    let mut file =
        File::from(memfd_create("libpaceline_mpi.so", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into();
    Ok((file, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(command: &Command, name: &str) -> Option<String> {
        let found = command.get_envs().find(|(key, _)| *key == name)?;
        Some(found.1?.to_string_lossy().into_owned())
    }

    #[test]
    fn launchers_are_known_by_name_also_behind_other_programs() {
        for known in ["mpirun", "/usr/bin/mpiexec", "mpirun.openmpi", "mpiexec.hydra", "orterun", "prterun"] {
            assert!(is_launcher(OsStr::new(known)), "{known}");
        }
        for unknown in ["sh", "mpirun.py", "mpirunner", "", "/usr/bin/", "xmpirun"] {
            assert!(!is_launcher(OsStr::new(unknown)), "{unknown}");
        }
        assert_eq!(library_of(OsStr::new("mpirun.openmpi")), MpiLibrary::OpenMpi);
        assert_eq!(library_of(OsStr::new("/opt/mpiexec.hydra")), MpiLibrary::Mpich);
        assert_eq!(library_of(OsStr::new("/opt/mpiexec")), MpiLibrary::Unknown);
    }

    #[test]
    fn only_an_mpi_command_gets_the_shim_unless_it_is_asked_for() {
        let shim_is_built = shim().is_some();
        for (words, choice, loaded) in [
            (["true", "-n", "4"], MpiChoice::Auto, false),
            (["true", "-n", "4"], MpiChoice::On, shim_is_built),
            (["mpirun", "-n", "4"], MpiChoice::Auto, shim_is_built),
            (["timeout", "5", "mpirun"], MpiChoice::Auto, shim_is_built),
            (["mpirun", "-n", "4"], MpiChoice::Off, false),
        ] {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            let session = prepare(&mut command, choice);
            assert_eq!(set(&command, PRELOAD_ENV).is_some(), loaded, "{words:?} {choice:?}");
            assert_eq!(session.notes.is_empty(), !loaded, "{:?}", session.notes);
            if let Some(path) = set(&command, PRELOAD_ENV) {
                let path = path.split(':').next().expect("there is a first part");
                assert_eq!(std::fs::read(path).ok().as_deref(), shim(), "the file is the shim");
            }
        }
    }

    #[test]
    fn what_the_user_says_of_yielding_stays() {
        if shim().is_none() {
            return;
        }
        for (value, expected) in
            [("0", "ranks keep their core while they wait"), ("1", "that wait give their core away")]
        {
            let mut command = Command::new("mpirun.openmpi");
            command.args(["--mca", "mpi_yield_when_idle", value]);
            let session = prepare(&mut command, MpiChoice::Auto);
            assert_eq!(set(&command, yielding::VARIABLE), None);
            assert_eq!(set(&command, YIELDS_ENV).as_deref(), Some(value));
            let note = &session.notes[0];
            assert!(
                note.contains("as you have set it in the launcher's arguments") && note.contains(expected),
                "{note}"
            );
        }
    }

    #[test]
    fn a_note_promises_only_what_the_library_and_its_setting_do() {
        let zero = Setting { value: "0".into(), place: "FILE".into() };
        let one = Setting { value: "1".into(), place: "FILE".into() };
        let gives = "that wait give their core away";
        for (library, set, unyielding, parts) in [
            (MpiLibrary::OpenMpi, None, None, [gives, "is set to 1"]),
            (MpiLibrary::OpenMpi, Some(&one), None, [gives, "is 1, as you have set it in FILE"]),
            (
                MpiLibrary::OpenMpi,
                Some(&zero),
                None,
                ["ranks keep their core", "is 0, as you have set it in FILE"],
            ),
            (MpiLibrary::Unknown, Some(&zero), None, ["ranks keep their core", "if they use Open MPI"]),
            (MpiLibrary::Unknown, None, None, [gives, "if they use Open MPI or MPICH"]),
            (MpiLibrary::Mpich, None, None, [gives, "never yields by itself"]),
            (
                MpiLibrary::Mpich,
                None,
                Some("MPICH_POLLS_BEFORE_YIELD"),
                [gives, "although MPICH_POLLS_BEFORE_YIELD is 0"],
            ),
            // Open MPI's setting says nothing about MPICH.
            (MpiLibrary::Mpich, Some(&zero), None, [gives, "never yields by itself"]),
        ] {
            let note = yielding_note(library, set, unyielding);
            assert!(
                parts.iter().all(|part| note.contains(part)),
                "{library:?} {set:?} {unyielding:?}: {note}"
            );
            assert_eq!(note.contains("keep their core"), !note.contains(gives), "{note}");
        }
    }
}
