//! `paceline init`: a scenario of a model to start from, with the files that it names; with `--rust` a crate
//! whose program runs a model of one's own, with `--python` a module that runs the scenario.
//!
//! Invariants: nothing that is there is overwritten, and where something is, nothing is written; each
//! scenario runs as it is written. A model without a start does not compile into tests: they compare
//! [`STARTS`] with the models.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use paceline_app::failure::CommandError;
use paceline_app::stdout;

use crate::models::PROGRAM;

/// What the scenario of a model is, and the files that it names with their places.
struct Start {
    model: &'static str,
    scenario: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const fn start(model: &'static str, scenario: &'static str) -> Start {
    Start { model, scenario, files: &[] }
}

const HOMES: (&str, &str) = ("platforms/homes.xml", include_str!("init/start/homes.xml"));
const CAMPUS: (&str, &str) = ("platforms/campus.xml", include_str!("init/start/campus.xml"));

/// The starts of all models.
const STARTS: [Start; 14] = [
    start("phold", include_str!("init/start/phold.toml")),
    start("traffic", include_str!("init/start/traffic.toml")),
    start("wireless", include_str!("init/start/wireless.toml")),
    start("wireless-csma", include_str!("init/start/wireless-csma.toml")),
    start("packets", include_str!("init/start/packets.toml")),
    start("queueing", include_str!("init/start/queueing.toml")),
    start("cellular", include_str!("init/start/cellular.toml")),
    start("seir", include_str!("init/start/seir.toml")),
    start("supply-chain", include_str!("init/start/supply-chain.toml")),
    start("chord", include_str!("init/start/chord.toml")),
    Start {
        model: "mpi-trace",
        scenario: include_str!("init/start/mpi-trace.toml"),
        files: &[CAMPUS, ("traces/ep-4.txt", include_str!("init/start/ep-4.txt"))],
    },
    Start {
        model: "master-workers",
        scenario: include_str!("init/start/master-workers.toml"),
        files: &[CAMPUS, ("deployments/master-workers.xml", include_str!("init/start/master-workers.xml"))],
    },
    Start { model: "bittorrent", scenario: include_str!("init/start/bittorrent.toml"), files: &[HOMES] },
    Start { model: "farm", scenario: include_str!("init/start/farm.toml"), files: &[HOMES] },
];

/// A program of a model of LPs, and of one of processes; the scenario of each.
const OF_LPS: [&str; 2] = [include_str!("init/start/lps.rs"), include_str!("init/start/lps.toml")];
const OF_PROCESSES: [&str; 2] =
    [include_str!("init/start/processes.rs"), include_str!("init/start/processes.toml")];
const MANIFEST: &str = include_str!("init/start/manifest.toml");
const MODULE: &str = include_str!("init/start/module.py");

pub const INIT_EXAMPLES: &str = "\
Nothing that is there is overwritten.

Exit status: 0 when all is written; 2 for a bad option, or where a file is there already; 1 if one cannot
be written.

Examples:
  paceline init traffic
  paceline init packets --python --folder study
  paceline init chord --rust";

/// The arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArguments {
    /// The model that the scenario is of
    #[arg(value_name = "MODEL", value_parser = PossibleValuesParser::new(PROGRAM.kinds.iter().map(|kind| kind.name)))]
    pub model: String,

    /// Also writes a crate, MODEL-program, with a small model of one's own to start from: of LPs, or of
    /// processes where those of MODEL are
    #[arg(long)]
    pub rust: bool,

    /// Also writes a Python module, MODEL.py, which runs the scenario
    #[arg(long)]
    pub python: bool,

    /// Writes into this folder, which is created if it does not exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
}

/// Writes what the arguments ask for, and says how to run it.
pub fn init(arguments: &InitArguments) -> Result<(), CommandError> {
    let InitArguments { model, rust, python, folder } = arguments;
    let found = STARTS.iter().find(|start| start.model == model);
    let Start { scenario, files, .. } = found.expect("every model has a start");
    let mut all: Vec<(PathBuf, String)> = vec![(format!("{model}.toml").into(), (*scenario).to_owned())];
    all.extend(files.iter().map(|(path, text)| (path.into(), (*text).to_owned())));
    let mut next = vec![format!("paceline run {model}.toml")];
    if *python {
        // A module's name has no hyphen.
        let module = model.replace('-', "_");
        all.push((format!("{module}.py").into(), MODULE.replace("MODEL", model)));
        next.push(format!("python {module}.py"));
    }
    if *rust {
        let name = format!("{model}-program");
        let is_of_processes = PROGRAM.kinds.iter().any(|kind| kind.name == model && kind.is_of_processes());
        let [source, scenario] = if is_of_processes { OF_PROCESSES } else { OF_LPS };
        let feature = if is_of_processes { "app\", \"processes" } else { "app" };
        let manifest = MANIFEST.replace("NAME", &name).replace("FEATURES", feature);
        let manifest = manifest.replace("DEPENDENCY", &dependency());
        let path = |file: &str| Path::new(&name).join(file);
        all.push((path("Cargo.toml"), manifest));
        all.push((path("src/main.rs"), source.to_owned()));
        all.push((path("start.toml"), scenario.to_owned()));
        next.push(format!("cd {name} && cargo run --release run start.toml"));
    }
    let here = folder == Path::new(".");
    let place = |path: &PathBuf| if here { path.clone() } else { folder.join(path) };
    let paths: Vec<PathBuf> = all.iter().map(|(path, _)| place(path)).collect();
    if let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(exists(there));
    }
    for ((_, text), path) in all.iter().zip(&paths) {
        write(path, text)?;
    }
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let place = if here { String::new() } else { format!("cd {}\n  ", folder.display()) };
    stdout::print(&format!("Written: {}\n\nTo run it:\n  {place}{}\n", names.join(", "), next.join("\n  ")))
}

fn exists(path: &Path) -> CommandError {
    let path = path.display();
    CommandError::Option(format!("{path} is there already, and stays as it is; allowed: a folder without it"))
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let make = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        File::create_new(path)?.write_all(text.as_bytes())
    };
    make().map_err(|reason| match reason.kind() {
        // Another one has written it since it was looked for.
        ErrorKind::AlreadyExists => exists(path),
        _ => CommandError::Write(path.to_owned(), reason),
    })
}

/// Where the crate `paceline` is: in the source tree that this program was built in, as long as it is there.
fn dependency() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|root| root.join("simulation/paceline"));
    match here.filter(|path| path.join("Cargo.toml").is_file()) {
        // As a TOML string has it.
        Some(path) => format!("path = {:?}", path.display().to_string()),
        None => format!("version = {:?}", env!("CARGO_PKG_VERSION")),
    }
}
