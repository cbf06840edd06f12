//! Whether Open MPI's ranks yield while they wait: where the user has set `mpi_yield_when_idle`, and to what.
//!
//! Open MPI takes a setting from these places, the first one that has it (its FAQ, "How do I set the value of
//! MCA parameters?"; the override file is `mca_base_override_param_file`): the administrator's override file;
//! the launcher's arguments; the environment; the files that the launcher's arguments or the environment
//! name; the user's file; the system's file.
//!
//! Invariant: nothing is guessed. A place that cannot be read has no setting, and the shim reports after
//! `MPI_Init` if ranks do not yield although a note said so.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The setting, in files and in arguments of the launcher.
pub const NAME: &str = "mpi_yield_when_idle";
/// The setting as an environment variable.
pub const VARIABLE: &str = "OMPI_MCA_mpi_yield_when_idle";
/// Environment variables that name the files that are read in place of the user's and the system's.
const FILES_VARIABLES: [&str; 2] = ["OMPI_MCA_mca_base_param_files", "OMPI_MCA_mca_param_files"];

/// A setting that the user has made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting {
    /// Its value, as it is written.
    pub value: String,
    /// Where it is, for a note.
    pub place: String,
}

impl Setting {
    /// Whether ranks yield with it; none if the value has no meaning that is known here.
    pub fn yields(&self) -> Option<bool> {
        match self.value.to_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "enabled" => Some(true),
            "false" | "f" | "no" | "n" | "disabled" => Some(false),
            number => number.parse::<i64>().ok().map(|number| number != 0),
        }
    }
}

/// The outside world, as far as it matters here.
pub struct Around<'a> {
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The text of a file.
    pub read: &'a dyn Fn(&Path) -> Option<String>,
    /// The file to which the launcher's name leads.
    pub launcher: Option<PathBuf>,
}

/// What the user has set, if anything. `words` are the launcher's arguments, with those of the program behind
/// them.
pub fn find(words: &[OsString]) -> Option<Setting> {
    let launcher = words.first().and_then(|word| super::program::find(word)?.canonicalize().ok());
    let read = |path: &Path| fs::read_to_string(path).ok();
    find_around(words, &Around { variable: &|name| env::var_os(name), read: &read, launcher })
}

/// As [`find`], in the given surroundings.
pub fn find_around(words: &[OsString], around: &Around<'_>) -> Option<Setting> {
    let arguments = Arguments::of(words);
    let in_file = |path: &Path| {
        let value = in_text(&(around.read)(path)?)?;
        Some(Setting { value, place: path.display().to_string() })
    };
    let in_argument =
        || arguments.value.clone().map(|value| Setting { value, place: "the launcher's arguments".into() });
    let in_variable = || {
        let value = (around.variable)(VARIABLE)?.to_string_lossy().into_owned();
        Some(Setting { value, place: format!("the environment variable {VARIABLE}") })
    };
    let system = system_folder(around);
    let override_file = system.as_ref().map(|folder| folder.join("openmpi-mca-params-override.conf"));
    let usual = || {
        let home = (around.variable)("HOME").map(|home| Path::new(&home).join(".openmpi/mca-params.conf"));
        home.into_iter().chain(system.as_ref().map(|folder| folder.join("openmpi-mca-params.conf"))).collect()
    };
    let named = FILES_VARIABLES.iter().find_map(|name| (around.variable)(name));
    let files: Vec<PathBuf> = named.map_or_else(usual, |list| files_in(&list));
    override_file
        .as_deref()
        .and_then(in_file)
        .or_else(in_argument)
        .or_else(in_variable)
        .or_else(|| arguments.files.iter().chain(&files).find_map(|path| in_file(path)))
}

/// What the launcher's arguments say.
#[derive(Debug, Default)]
struct Arguments {
    value: Option<String>,
    files: Vec<PathBuf>,
}

impl Arguments {
    fn of(words: &[OsString]) -> Self {
        let mut found = Self::default();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        for (at, word) in words.iter().enumerate() {
            let next = |further: usize| words.get(at + further).map(|word| word.to_string());
            match word.trim_start_matches('-') {
                option if option.len() == word.len() => {}
                "mca" | "gmca" | "omca" | "gomca" if words.get(at + 1).is_some_and(|name| name == NAME) => {
                    // The first one counts.
                    found.value = found.value.take().or_else(|| next(2));
                }
                "tune" | "am" => {
                    found.files.extend(next(1).iter().flat_map(|list| files_in(OsStr::new(list))))
                }
                // What others do with `--mca=NAME=VALUE` is not known: it is passed on.
                _ => {}
            }
        }
        found
    }
}

/// A list of files, separated by commas or colons.
fn files_in(list: &OsStr) -> Vec<PathBuf> {
    let list = list.to_string_lossy();
    list.split([',', ':']).filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

/// The folder of the system's files: `/etc/openmpi` for distributions, `etc` below the prefix for other
/// installations.
fn system_folder(around: &Around<'_>) -> Option<PathBuf> {
    let named = ["OPAL_SYSCONFDIR", "OPAL_PREFIX"].map(around.variable);
    if let [Some(folder), _] = named {
        return Some(PathBuf::from(folder));
    }
    let by_launcher = || Some(around.launcher.as_ref()?.parent()?.parent()?.to_owned());
    let prefix = named[1].clone().map(PathBuf::from).or_else(by_launcher)?;
    Some(if prefix == Path::new("/usr") { PathBuf::from("/etc/openmpi") } else { prefix.join("etc") })
}

/// The value in a file: lines `NAME = VALUE`, of which the last one counts; `#` begins a comment. A file for
/// `--tune` may hold arguments, as on the command line.
fn in_text(text: &str) -> Option<String> {
    let mut found = None;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        if let Some((name, value)) = line.split_once('=')
            && name.trim() == NAME
        {
            found = Some(value.trim().trim_matches(['"', '\'']).to_owned());
        }
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        found = Arguments::of(&words).value.or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn found(words: &str, variables: &[(&str, &str)], files: &[(&str, &str)]) -> Option<(String, String)> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let variables: BTreeMap<_, _> = variables.iter().copied().collect();
        let files: BTreeMap<_, _> = files.iter().map(|(path, text)| (PathBuf::from(path), *text)).collect();
        let around = Around {
            variable: &|name| variables.get(name).map(OsString::from),
            read: &|path| files.get(path).map(|text| (*text).to_owned()),
            launcher: Some("/usr/bin/mpirun.openmpi".into()),
        };
        find_around(&words, &around).map(|setting| (setting.value, setting.place))
    }

    #[test]
    fn a_setting_is_found_where_open_mpi_finds_it() {
        let system = ("/etc/openmpi/openmpi-mca-params.conf", "btl = ^uct\nmpi_yield_when_idle = 0\n");
        let user = ("/home/her/.openmpi/mca-params.conf", "# mine\nmpi_yield_when_idle=1 # always\n");
        let home = ("HOME", "/home/her");
        let forced = ("/etc/openmpi/openmpi-mca-params-override.conf", "mpi_yield_when_idle = 0");
        let tuned = ("/tmp/tuned", "-x A=B --mca mpi_yield_when_idle 0");
        let variable = (VARIABLE, "0");
        let argument = "mpirun --mca mpi_yield_when_idle 1 -n 2 a";
        for (words, variables, files, value, place) in [
            ("mpirun a", &[home][..], &[system][..], "0", system.0),
            ("mpirun a", &[home], &[system, user], "1", user.0),
            ("mpirun a", &[home, variable], &[system, user], "0", "the environment variable"),
            (argument, &[home, variable], &[system, user], "1", "the launcher's arguments"),
            ("mpirun -mca mpi_yield_when_idle 0 a", &[], &[], "0", "the launcher's arguments"),
            ("mpirun --gmca mpi_yield_when_idle 0 a", &[], &[], "0", "the launcher's arguments"),
            ("mpirun --tune /tmp/tuned a", &[home], &[user, tuned], "0", tuned.0),
            ("mpirun -am /tmp/none,/tmp/tuned a", &[home], &[user, tuned], "0", tuned.0),
            (argument, &[home], &[forced], "0", forced.0),
            ("mpirun a", &[home, (FILES_VARIABLES[0], "/tmp/tuned")], &[user, tuned], "0", tuned.0),
            (
                "mpirun a",
                &[("OPAL_PREFIX", "/opt/mpi")],
                &[("/opt/mpi/etc/openmpi-mca-params.conf", user.1)],
                "1",
                "/opt/mpi/etc/openmpi-mca-params.conf",
            ),
        ] {
            let (found, at) =
                found(words, variables, files).unwrap_or_else(|| panic!("{words} {variables:?}"));
            assert!(found == value && at.starts_with(place), "{words} {variables:?}: {found} in {at}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_no_setting() {
        for (words, files) in [
            ("mpirun a", &[("/home/her/.openmpi/mca-params.conf", "#mpi_yield_when_idle = 0")][..]),
            ("mpirun a mpi_yield_when_idle 0", &[]),
            ("mpirun --mca mpi_yield_when_idle_too 0 a", &[]),
            (
                "mpirun --mca btl self a",
                &[("/etc/openmpi/openmpi-mca-params.conf", "my_mpi_yield_when_idle = 0")],
            ),
            ("mpirun --mca mpi_yield_when_idle", &[]),
        ] {
            assert_eq!(found(words, &[("HOME", "/home/her")], files), None, "{words}");
        }
    }

    #[test]
    fn values_are_read_as_open_mpi_reads_them() {
        for (value, yields) in [
            ("0", Some(false)),
            ("1", Some(true)),
            ("-1", Some(true)),
            ("TRUE", Some(true)),
            ("no", Some(false)),
            ("maybe", None),
        ] {
            let setting = Setting { value: value.into(), place: String::new() };
            assert_eq!(setting.yields(), yields, "{value}");
        }
    }
}
