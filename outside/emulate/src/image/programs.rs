//! Programs with all that they need, for an archive.
//!
//! Debian's programs stand in the archive where their packages have them, with their libraries and with the
//! other files of their packages and of those that these depend on. A program of this machine stands below
//! `/machine` with this machine's libraries, and a script in its place starts it with this machine's loader:
//! its libraries and those of Debian's programs may be of different versions.
//!
//! No program is run to learn what it needs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::ImageError;
use super::archive::{self, Archive, Entry};
use super::elf::{self, Binary, Kind};
use super::packages::{LIBRARIES, Packages};
use super::services::Services;

/// Where programs are searched for, in this order.
const PROGRAMS: [&str; 6] = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

/// A library, and one that it loads while it runs, which no file names: without it a thread that ends itself
/// ends its program.
const LOADED_LATER: [(&str, &str); 1] = [("libc.so.6", "libgcc_s.so.1")];

/// More links than this are a circle.
const LINKS_MAX: usize = 16;

/// Collects programs into an archive.
#[derive(Debug)]
pub(super) struct Programs<'a> {
    root: &'a Path,
    packages: Packages,
    /// The names of the programs in busybox.
    applets: BTreeSet<String>,
    packed: BTreeSet<String>,
    /// Packages of which all is packed.
    whole: BTreeSet<String>,
    pub archive: Archive,
}

impl<'a> Programs<'a> {
    /// With Debian's packages below `root`.
    pub fn new(root: &'a Path, busybox: &[u8]) -> Self {
        Self {
            root,
            packages: Packages::read(root),
            applets: applets(busybox),
            packed: BTreeSet::new(),
            whole: BTreeSet::new(),
            archive: Archive::default(),
        }
    }

    /// Adds a program: the name of one of Debian's or busybox's, or an absolute path.
    pub fn program(&mut self, name: &str) -> Result<(), ImageError> {
        if !self.packed.insert(name.to_owned()) {
            return Ok(());
        }
        let path = name.strip_prefix('/');
        let places = PROGRAMS.iter().map(|folder| format!("{folder}/{name}"));
        let candidates: Vec<String> = path.map_or_else(|| places.collect(), |path| vec![path.to_owned()]);
        let found = candidates.iter().find_map(|path| self.locate(path));
        match (found, path) {
            (Some(found), _) => self.debian(&found),
            (None, Some("bin/sh" | "usr/bin/sh")) => Ok(()),
            (None, Some(_)) => self.machine(Path::new(name)),
            (None, None) if self.applets.contains(name) || name == "probe" => Ok(()),
            (None, None) => Err(ImageError::NoProgram { program: name.to_owned() }),
        }
    }

    /// Adds all files of a package and of those that it depends on, with the libraries that they need.
    pub fn package(&mut self, package: &str) -> Result<(), ImageError> {
        if !self.packages.has(package) {
            return Err(ImageError::NoPackage { package: package.to_owned() });
        }
        let closure: Vec<String> = self.packages.closure(package).into_iter().map(str::to_owned).collect();
        for member in closure {
            let is_new = self.whole.insert(member.clone());
            if !is_new && member != package {
                continue;
            }
            let files = self.packages.files(&member, member != package);
            for path in files.map(str::to_owned).collect::<Vec<_>>() {
                match self.file(&path, 0) {
                    // What a package can do without, such as a module of a server, may lack a library.
                    Err(ImageError::NoLibrary { .. }) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }

    /// What the services of the packages expect of the system that starts them.
    pub fn services(&self) -> Services {
        let files = self.whole.iter().flat_map(|package| self.packages.all_files(package));
        Services::read(self.root, files)
    }

    fn debian(&mut self, path: &str) -> Result<(), ImageError> {
        self.file(path, 0)?;
        // `python3` is a link of one package to a program of another.
        let target = self.resolve(path).unwrap_or_else(|| path.to_owned());
        for path in [path, &target] {
            let owner = spellings(path).iter().find_map(|path| self.packages.owner(path)).map(str::to_owned);
            owner.map_or(Ok(()), |owner| self.package(&owner))?;
        }
        let whole = self.root.join(path);
        match elf::kind(&read(&self.root.join(target))?) {
            Kind::Binary(_) => Ok(()),
            Kind::Script { interpreter } => match self.interpreter(&interpreter, false) {
                Err(ImageError::NoProgram { .. }) => {
                    Err(ImageError::NoInterpreter { path: Path::new("/").join(path), interpreter })
                }
                other => other,
            },
            Kind::Foreign => Err(ImageError::NotProgram { path: whole, why: "it is for another processor" }),
            Kind::Other => {
                Err(ImageError::NotProgram { path: whole, why: "it is no ELF file and no script" })
            }
        }
    }

    /// Adds what a script is for. A script of Debian's gets no program of this machine, where there may be
    /// another Debian.
    fn interpreter(&mut self, interpreter: &str, is_of_machine: bool) -> Result<(), ImageError> {
        let name = interpreter.to_owned();
        match interpreter.strip_prefix('/') {
            // Every guest has a shell: busybox's, if no other was packed.
            _ if ["/bin/sh", "/usr/bin/sh", "sh"].contains(&interpreter) => Ok(()),
            Some(path) if !is_of_machine && self.locate(path).is_none() => {
                Err(ImageError::NoProgram { program: name })
            }
            _ => self.program(interpreter),
        }
    }

    /// Where the packages' root folder has what Debian has at `path`: its folders /bin, /sbin and /lib are
    /// links to those in /usr, but packages have either.
    fn locate(&self, path: &str) -> Option<String> {
        spellings(path).into_iter().find(|path| self.root.join(path).symlink_metadata().is_ok())
    }

    /// Adds what stands at `path` in the packages' root folder, what a link leads to, and what a binary
    /// needs.
    fn file(&mut self, path: &str, links: usize) -> Result<(), ImageError> {
        // Lists may name what a later package has replaced.
        let Some(path) = self.locate(path) else { return Ok(()) };
        let path = path.as_str();
        let whole = self.root.join(path);
        if self.archive.get(path).is_some() || links > LINKS_MAX {
            return Ok(());
        }
        let Ok(metadata) = whole.symlink_metadata() else { return Ok(()) };
        if metadata.is_dir() {
            self.archive.add(path, Entry::folder());
            return Ok(());
        }
        if metadata.is_symlink() {
            let unreadable = |source| ImageError::Unreadable { path: whole.clone(), source };
            let to = fs::read_link(&whole).map_err(unreadable)?.to_string_lossy().into_owned();
            self.archive.add(path, Entry::link(to.clone()));
            return self.file(&joined(path, &to), links + 1);
        }
        let bytes = read(&whole)?;
        let kind = elf::kind(&bytes);
        self.archive.add(path, entry(bytes, &metadata));
        if let Kind::Binary(binary) = kind { self.libraries(path, &binary) } else { Ok(()) }
    }

    /// Adds the libraries of the binary at `path`, and theirs.
    fn libraries(&mut self, path: &str, binary: &Binary) -> Result<(), ImageError> {
        if let Some(loader) = &binary.loader {
            self.file(loader.trim_start_matches('/'), 0)?;
        }
        let place = Path::new("/").join(path);
        let folders: Vec<String> = binary
            .folders_of(&place)
            .map(|folder| joined("", &folder.to_string_lossy()))
            .chain(LIBRARIES.iter().map(ToString::to_string))
            .collect();
        let later = LOADED_LATER.iter().filter(|(library, _)| base(path) == *library);
        let later: Vec<String> = later.map(|(_, later)| (*later).to_owned()).collect();
        for library in binary.needed.iter().chain(&later) {
            let mut candidates = folders.iter().map(|folder| format!("{folder}/{library}"));
            let found = candidates.find(|path| self.resolve(path).is_some());
            let missing = || ImageError::NoLibrary { path: place.clone(), library: library.clone() };
            self.file(&found.ok_or_else(missing)?, 0)?;
        }
        Ok(())
    }

    /// Where the file at `path` is in the packages' root folder once its links are followed; links begin at
    /// that root.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            path = self.locate(&path)?;
            let whole = self.root.join(&path);
            if !whole.symlink_metadata().ok()?.is_symlink() {
                return Some(path);
            }
            path = joined(&path, &fs::read_link(&whole).ok()?.to_string_lossy());
        }
        None
    }

    /// Adds a program of this machine.
    fn machine(&mut self, path: &Path) -> Result<(), ImageError> {
        let bytes = read(path)?;
        let refuse = |why| Err(ImageError::NotProgram { path: path.to_owned(), why });
        let place = path.to_string_lossy().into_owned();
        match elf::kind(&bytes) {
            Kind::Script { interpreter } => {
                self.archive.add(&place, Entry::file(bytes, true));
                self.interpreter(&interpreter, true)
            }
            Kind::Binary(Binary { loader: Some(loader), .. }) => {
                self.archive.add(&format!("machine{place}"), Entry::file(bytes, true));
                for (name, file) in closure(path, Path::new("/"))? {
                    self.archive.add(&format!("machine/lib/{name}"), Entry::file(read(&file)?, true));
                }
                let loader_path = format!("/machine/lib/{}", base(&loader));
                self.archive.add(&loader_path, Entry::file(read(Path::new(&loader))?, true));
                // A shell's quotes do not nest: a path with one is started by its name in quotes of its own.
                let quoted = super::quoted(&format!("/machine{place}"));
                let text = format!(
                    "#!/bin/sh\nexec {loader_path} --argv0 \"$0\" --library-path /machine/lib {quoted} \"$@\"\n"
                );
                self.archive.add(&place, Entry::file(text, true));
                Ok(())
            }
            // Static: it needs nothing.
            Kind::Binary(_) => {
                self.archive.add(&place, Entry::file(bytes, true));
                Ok(())
            }
            Kind::Foreign => refuse("it is for another processor"),
            Kind::Other => refuse("it is no ELF file and no script"),
        }
    }
}

/// The libraries that the program at `path` of this machine needs, with those that they need: names and files
/// in the order in which a loader finds them.
pub(super) fn closure(path: &Path, root: &Path) -> Result<Vec<(String, PathBuf)>, ImageError> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    let configured = configured(root);
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let Kind::Binary(binary) = elf::kind(&read(&path)?) else { continue };
        let run_paths: Vec<PathBuf> = binary.folders_of(&path).collect();
        for library in &binary.needed {
            if found.iter().any(|(name, _)| name == library) {
                continue;
            }
            let usual = LIBRARIES.iter().map(|folder| root.join(folder));
            let mut candidates =
                run_paths.iter().chain(&configured).cloned().chain(usual).map(|f| f.join(library));
            // A folder may hold a library of this name for another processor.
            let fits = |file: &PathBuf| matches!(fs::read(file).map(|b| elf::kind(&b)), Ok(Kind::Binary(_)));
            let missing = || ImageError::NoLibrary { path: path.clone(), library: library.clone() };
            let file = candidates.find(fits).ok_or_else(missing)?;
            found.push((library.clone(), file.clone()));
            left.push(file);
        }
    }
    Ok(found)
}

/// The folders in the configuration of ldconfig(8).
fn configured(root: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(root.join("etc/ld.so.conf.d")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    let lines: Vec<String> =
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.iter().filter(|line| line.starts_with('/')).map(|line| PathBuf::from(line.trim())).collect()
}

/// The names of busybox's programs: a table of texts that each end with a zero byte, of which the first are
/// `[` and `[[`.
fn applets(busybox: &[u8]) -> BTreeSet<String> {
    const START: &[u8] = b"\0[\0[[\0";
    let Some(at) = busybox.windows(START.len()).position(|window| window == START) else {
        return BTreeSet::new();
    };
    let names = busybox[at + 1..].split(|byte| *byte == 0).take_while(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// A path of Debian's root folder as packages may have it: with and without /usr.
fn spellings(path: &str) -> Vec<String> {
    let mut spellings = vec![path.to_owned()];
    if let Some(short) = path.strip_prefix("usr/").filter(|short| archive::is_merged(short)) {
        spellings.push(short.to_owned());
    } else if archive::is_merged(path) {
        spellings.push(format!("usr/{path}"));
    }
    spellings
}

/// The path that a link at `path` leads to, without dots and without a slash in front.
fn joined(path: &str, to: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<String> = Vec::new();
    for part in Path::new("/").join(folder).join(to).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()),
            _ => {}
        }
    }
    parts.join("/")
}

fn entry(bytes: Vec<u8>, metadata: &fs::Metadata) -> Entry {
    Entry { permissions: metadata.permissions().mode() & 0o7777, ..Entry::file(bytes, false) }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    fs::read(path).map_err(|source| ImageError::Unreadable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What ldd says of a program, by the libraries' names.
    fn ldd(program: &Path) -> Option<BTreeSet<String>> {
        let output = Command::new("ldd").arg(program).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let lines =
            text.lines().filter_map(|line| line.split_once(" => ").map(|(name, _)| name.trim().to_owned()));
        Some(lines.collect())
    }

    #[test]
    fn libraries_are_those_that_the_loader_finds() {
        for program in ["/bin/ls", "/bin/bash", "/usr/bin/apt-get", "/usr/bin/git", "/usr/bin/gcc"] {
            let path = Path::new(program);
            // Where there is no ldd or no such program, there is nothing to compare with.
            let Some(expected) = path.exists().then(|| ldd(path)).flatten().filter(|set| !set.is_empty())
            else {
                continue;
            };
            let found: BTreeSet<String> =
                closure(path, Path::new("/")).unwrap().into_iter().map(|(name, _)| name).collect();
            let loader = |name: &String| !name.starts_with("ld-linux");
            assert!(
                found.iter().filter(|n| loader(n)).eq(expected.iter().filter(|n| loader(n))),
                "{program}: {found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn paths_of_links_are_joined() {
        assert_eq!(joined("usr/lib/libz.so.1", "libz.so.1.2"), "usr/lib/libz.so.1.2");
        assert_eq!(joined("etc/alternatives/nc", "/bin/nc.openbsd"), "bin/nc.openbsd");
        assert_eq!(joined("usr/lib/a", "../../etc/b"), "etc/b");
        assert_eq!(joined("a", "../../.."), "");
    }

    #[test]
    fn unknown_and_foreign_programs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("usr/bin");
        fs::create_dir_all(&bin).unwrap();
        let mut arm = b"\x7fELF\x02\x01\x01".to_vec();
        arm.resize(64, 0);
        arm[18] = 183;
        fs::write(bin.join("arm"), &arm).unwrap();
        fs::write(bin.join("notes"), "notes").unwrap();
        fs::write(bin.join("script"), "#!/usr/bin/perl\n").unwrap();
        let mut programs = Programs::new(folder.path(), b"..\0[\0[[\0ls\0sh\0\0more\0");
        programs.program("ls").unwrap();
        let mut problem = |name: &str| programs.program(name).unwrap_err().to_string();
        assert_eq!(problem("nginx"), "there is no program \"nginx\" in Debian's packages for guests");
        assert_eq!(problem("more"), "there is no program \"more\" in Debian's packages for guests");
        assert!(
            problem("arm")
                .ends_with("/usr/bin/arm is no program that a guest can run: it is for another processor")
        );
        assert!(problem("notes").ends_with("it is no ELF file and no script"));
        assert!(problem("/nowhere/x").starts_with("/nowhere/x cannot be read: "));
        assert!(problem("/etc/hostname").ends_with("it is no ELF file and no script"));
    }
}
