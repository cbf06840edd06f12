//! What a guest boots and runs: packs programs of Debian's packages or of this machine into the archive that
//! the kernel unpacks as its first root folder, and writes the text by which a guest learns who it is.
//!
//! - `archive` is the format, `elf` and `programs` find what programs need, `packages` knows Debian's
//!   packages, `modules` the kernel's modules, `installed` what is done when packages are installed.
//! - `init.sh` is the guest's first program. It sleeps once after `ready`, which is where guests are saved
//!   and start from; everything that differs between guests comes after it, in the text of `setup`.
//! - `settings` reads the tables `[[guest]]`.
//!
//! Invariant: equal inputs give equal bytes, on whatever machine and whenever.

mod archive;
mod elf;
mod error;
mod installed;
mod modules;
mod packages;
mod programs;
mod services;
pub mod settings;
mod setup;

use std::fs;
use std::path::{Path, PathBuf};

pub use archive::{Archive, ArchiveError, Content, Entry};
pub use error::ImageError;
pub use setup::{SETUP, Setup, SetupCard, SetupScript};

use crate::guest::Emulator;
use modules::Modules;
use programs::Programs;

/// What guests' consoles say once they sleep where they are to be saved.
pub const READY: &str = "paceline: ready";

/// How the line begins that a guest's console has once everything of it has ended and what it sends back is
/// written.
pub const DONE: &str = "paceline: done";

/// The guest's first program.
const INIT: &str = include_str!("image/init.sh");

/// Modules that are loaded before guests are saved: the card, and what tells the emulator of a panic.
const MODULES: [&str; 1] = ["virtio_net"];

/// Modules that are loaded if the kernel has them.
const MODULES_IF_THERE: [&str; 1] = ["pvpanic_pci"];

/// Modules that are loaded by each guest: what the machine has to say of it.
const MODULES_LATER: [&str; 1] = ["qemu_fw_cfg"];

/// The file that names the last entry of the image, which `init.sh` looks for. It is not the last one itself,
/// since folders in `var` are always there.
const LAST: &str = "paceline/last";

/// Where the parts of an image come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// A static busybox.
    pub busybox: PathBuf,
    /// The folder of the kernel's modules.
    pub modules: PathBuf,
    /// The root folder of Debian's packages for guests, which need not exist.
    pub root: PathBuf,
    /// The static program of `image/probe.c`.
    pub probe: PathBuf,
}

impl Sources {
    /// Those that `scripts/emulator` has made.
    #[must_use]
    pub fn of(emulator: &Emulator) -> Self {
        let root = emulator.guest_root();
        let probe = root.parent().unwrap_or(Path::new("")).join("probe");
        Self { busybox: emulator.busybox(), modules: emulator.modules(), root, probe }
    }
}

/// What goes into an image. All guests of a run boot the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Programs: names of Debian's or busybox's, or absolute paths.
    pub programs: Vec<String>,
    /// Debian's packages that are added whole.
    pub packages: Vec<String>,
    /// Names of TCP's congestion controls.
    pub congestion_controls: Vec<String>,
    /// Files of guests: the guest's name, the path in it, the file of this machine.
    pub files: Vec<(String, String, PathBuf)>,
}

/// Packs an image.
pub fn pack(sources: &Sources, contents: &Contents) -> Result<Archive, ImageError> {
    let busybox = read(&sources.busybox)?;
    let mut programs = Programs::new(&sources.root, &busybox);
    for program in &contents.programs {
        programs.program(program)?;
    }
    for package in &contents.packages {
        programs.package(package)?;
    }
    let services = programs.services();
    let mut archive = programs.archive;
    for folder in ["dev", "proc", "sys", "run", "tmp", "root", "out", "var/log", "var/tmp", "paceline/bin"] {
        if archive.get(folder).is_none() {
            archive.add(folder, Entry::folder());
        }
    }
    for folder in ["tmp", "var/tmp"] {
        archive.add(folder, Entry { permissions: 0o1777, ..Entry::folder() });
    }
    archive.add("paceline/busybox", Entry::file(busybox, true));
    archive.add("paceline/bin/probe", Entry::file(read(&sources.probe)?, true));
    archive.add("init", Entry::file(INIT, true));
    for shell in ["bin/sh", "usr/bin/env"] {
        if archive.get(shell).is_none() {
            archive.add(shell, Entry::link("/paceline/busybox"));
        }
    }
    archive.merge_usr();
    add_modules(&mut archive, &Modules::find(&sources.modules)?, contents)?;
    for (guest, path, file) in &contents.files {
        let path = path.trim_start_matches('/');
        // It is copied over a root folder in which these are links.
        let usr = if archive::is_merged(path) { "usr/" } else { "" };
        let place = format!("paceline/guests/{guest}/{usr}{path}");
        archive.add(&place, Entry::file(read(file)?, is_executable(file)));
    }
    installed::add(&mut archive, &services);
    let (path, size) = archive.last().expect("entries were added");
    let last = format!("{size} /{path}\n");
    archive.add(LAST, Entry::file(last, false));
    Ok(archive)
}

/// Adds the modules, and for each group the order in which they are loaded, in the files `first` and `later`;
/// those of a congestion control in a file of its name.
fn add_modules(archive: &mut Archive, modules: &Modules, contents: &Contents) -> Result<(), ImageError> {
    let mut first = Vec::new();
    let if_there = MODULES_IF_THERE.into_iter().filter(|name| modules.has(name));
    for name in MODULES.into_iter().chain(if_there) {
        modules.load(name, &mut first)?;
    }
    let mut later = Vec::new();
    for name in MODULES_LATER {
        modules.load(name, &mut later)?;
    }
    let mut lists = vec![("first".to_owned(), first), ("later".to_owned(), later)];
    for control in &contents.congestion_controls {
        let mut loaded = Vec::new();
        // TCP itself has this one, so no module is listed for it.
        if control != "reno" {
            modules.load(&format!("tcp_{control}"), &mut loaded)?;
        }
        lists.push((format!("tcp_{control}"), loaded));
    }
    for (list, loaded) in lists {
        let names: String = loaded.iter().map(|(name, _)| format!("{name}\n")).collect();
        archive.add(&format!("paceline/modules/{list}"), Entry::file(names, false));
        for (name, content) in loaded {
            archive.add(&format!("paceline/modules/{name}.ko"), Entry::file(content, false));
        }
    }
    Ok(())
}

/// A word as a shell takes it: between quotes, and quotes in it outside of them.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    fs::read(path).map_err(|source| ImageError::Unreadable { path: path.to_owned(), source })
}
