//! The Debian packages that the lab needs: Xen's source, its tools, a kernel, a shell for guests, an
//! emulator, and what compiles Xen. They come from the mirror that this machine's apt uses, with a separate
//! apt configuration, and are unpacked into a folder; nothing is installed.
//!
//! Invariant: the folder `root` is complete if a file `complete` in it names what is wanted; otherwise all is
//! downloaded again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{LabError, io};
use crate::kernel::kernel;
use crate::lock::lock;
use crate::process::{Stop, command, run};

/// The release of Debian whose packages were tested together.
const SUITE: &str = "bookworm";

/// The suite of the emulator: that of the release shares the time until the next timer unfairly between
/// emulated processors, because the first one may use it up.
const EMULATOR_SUITE: &str = "bookworm-backports";

/// The packages that are taken from there.
const EMULATOR: &str = "qemu-system-x86 qemu-system-common qemu-system-data seabios";

/// What is unpacked, with all that it depends on and this machine does not have.
const PROGRAMS: &[&str] = &[
    "qemu-system-x86",
    "qemu-system-common",
    "qemu-system-data",
    "seabios",
    "xen-utils-4.17",
    "xenstore-utils",
    "busybox-static",
    "flex",
    "bison",
    "m4",
];

/// The package that depends on the newest kernel of the release.
const KERNEL: &str = "linux-image-amd64";

/// Folders of a kernel's package that are needed.
const KERNEL_PARTS: &[&str] = &[
    "./boot/vmlinuz-*",
    "./lib/modules/*/kernel/drivers/xen/*",
    "./lib/modules/*/kernel/drivers/net/xen-*",
    "./lib/modules/*/kernel/net/bridge/bridge.ko",
    "./lib/modules/*/kernel/net/llc/llc.ko",
    "./lib/modules/*/kernel/net/802/stp.ko",
];

#[derive(Clone, Debug)]
pub(crate) struct Packages {
    /// The folder that contains `usr`, `lib` and so on.
    pub root: PathBuf,
    /// The archive with Xen's source.
    pub source: PathBuf,
}

/// Downloads the packages into the folder `cache`, unless they are there.
pub(crate) fn packages(
    cache: &Path,
    stop: &Stop,
    listener: &mut dyn FnMut(&str),
) -> Result<Packages, LabError> {
    let (root, sources) = (cache.join("root"), cache.join("source"));
    let (complete, wanted) = (root.join("complete"), wanted());
    let there = || fs::read_to_string(&complete).is_ok_and(|found| found == wanted);
    let locked = if there() { None } else { Some(lock(&cache.join("lock"), stop, listener)?) };
    // The lab that held the lock may have downloaded them.
    if locked.is_some() && !there() {
        listener("Downloading Xen's source, its tools, a kernel and an emulator (95 MB) ...");
        let apt = Apt::new(cache, stop)?;
        // Incomplete folders are removed.
        for folder in [&root, &sources] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(io("make the folder", folder))?;
        }
        apt.get(&sources, &["source", "--download-only", "-qq", "xen"])?;
        unpack(&apt, &root, stop, listener)?;
        kernel(&root, stop)?;
        fs::write(&complete, wanted).map_err(io("write", &complete))?;
    }
    let found = fs::read_dir(&sources).map_err(io("read", &sources))?.filter_map(Result::ok);
    let source = found.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains(".orig.tar."));
    let source = source.ok_or_else(|| {
        LabError::Skipped(format!("Debian's source package of Xen has no archive in {}", sources.display()))
    })?;
    Ok(Packages { root, source })
}

/// All that is wanted, in words.
fn wanted() -> String {
    format!("{SUITE}: {} {KERNEL}\n{EMULATOR_SUITE}: {EMULATOR}\n", PROGRAMS.join(" "))
}

fn unpack(apt: &Apt, root: &Path, stop: &Stop, listener: &mut dyn FnMut(&str)) -> Result<(), LabError> {
    let simulated = apt.get(root, &[&["-s", "install"], PROGRAMS].concat())?;
    let mut names: Vec<String> = words_after(&simulated, "Inst ");
    names.extend(PROGRAMS.iter().map(|name| (*name).to_owned()));
    // One kernel is enough, even if other packages recommend more.
    names.retain(|name| !name.starts_with("linux-image"));
    let kernel = words_after(&apt.cache(&["depends", KERNEL])?, "Depends: ");
    names.push(
        kernel.into_iter().next().ok_or_else(|| LabError::Skipped(format!("{SUITE} has no {KERNEL}")))?,
    );
    names.sort();
    names.dedup();
    let folder = root.with_file_name("packages");
    // Files of an earlier attempt must not be unpacked.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(io("make the folder", &folder))?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    apt.get(&folder, &[&["download", "-qq"], &names[..]].concat())?;
    listener("Unpacking ...");
    for entry in fs::read_dir(&folder).map_err(io("read", &folder))?.filter_map(Result::ok) {
        let (package, name) = (entry.path(), entry.file_name());
        let mut unpack = command("sh");
        let script = "package=$1; root=$2; shift 2; dpkg --fsys-tarfile \"$package\" | tar -x -C \"$root\" --wildcards \"$@\"";
        unpack.args(["-c", script, "sh"]).arg(&package).arg(root);
        if name.to_string_lossy().starts_with("linux-image") {
            unpack.args(KERNEL_PARTS);
        }
        run("unpacking a package", unpack, stop)?;
    }
    // The archives are not needed any more.
    let _ = fs::remove_dir_all(&folder);
    Ok(())
}

/// The first word after `start` in each line that begins with it, ignoring blanks.
fn words_after(lines: &[String], start: &str) -> Vec<String> {
    let rest = lines.iter().filter_map(|line| line.trim_start().strip_prefix(start));
    rest.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect()
}

/// apt with its own configuration, lists and cache.
struct Apt<'a> {
    configuration: PathBuf,
    stop: &'a Stop,
}

impl<'a> Apt<'a> {
    fn new(cache: &Path, stop: &'a Stop) -> Result<Self, LabError> {
        let targets = ["indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"];
        let mut list = command("apt-get");
        list.args(targets);
        let known = run("asking apt for its mirrors", list, stop)
            .map_err(lacking("there is no apt-get here to get packages with"))?;
        let mirror = words_after(&known, "Debian Debian ").into_iter().next();
        let mirror =
            mirror.ok_or_else(|| LabError::Skipped("this machine's apt knows no mirror of Debian".into()))?;
        let folder = cache.join("apt");
        for part in ["state/lists/partial", "cache/archives/partial"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(io("make the folder", &part))?;
        }
        let signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
        let source = |kind: &str, suite: &str| format!("{kind} {signed} {mirror} {suite} main\n");
        let sources = source("deb", SUITE) + &source("deb-src", SUITE) + &source("deb", EMULATOR_SUITE);
        let preferences =
            format!("Package: {EMULATOR}\nPin: release n={EMULATOR_SUITE}\nPin-Priority: 990\n");
        let folder_name = folder.display();
        let configuration = format!(
            "Dir::State \"{folder_name}/state\";\nDir::State::status \"/var/lib/dpkg/status\";\n\
             Dir::Cache \"{folder_name}/cache\";\nDir::Etc::SourceList \"{folder_name}/sources.list\";\n\
             Dir::Etc::SourceParts \"/dev/null\";\nDir::Etc::Preferences \"{folder_name}/preferences\";\n\
             Dir::Etc::PreferencesParts \"/dev/null\";\n\
             APT::Sandbox::User \"\";\nAPT::Install-Recommends \"false\";\nAcquire::Languages \"none\";\n"
        );
        for (name, text) in
            [("sources.list", sources), ("preferences", preferences), ("apt.conf", configuration)]
        {
            let path = folder.join(name);
            fs::write(&path, text).map_err(io("write", &path))?;
        }
        let apt = Self { configuration: folder.join("apt.conf"), stop };
        apt.get(cache, &["update", "-qq"]).map_err(lacking("the package lists could not be had"))?;
        Ok(apt)
    }

    fn get(&self, folder: &Path, arguments: &[&str]) -> Result<Vec<String>, LabError> {
        self.run("apt-get", folder, arguments)
    }

    fn cache(&self, arguments: &[&str]) -> Result<Vec<String>, LabError> {
        self.run("apt-cache", Path::new("/"), arguments)
    }

    fn run(&self, program: &str, folder: &Path, arguments: &[&str]) -> Result<Vec<String>, LabError> {
        let mut apt: Command = command(program);
        apt.env("APT_CONFIG", &self.configuration).env("LC_ALL", "C").current_dir(folder).args(arguments);
        run(program, apt, self.stop).map_err(lacking("packages could not be had"))
    }
}

/// Turns the failure of a command into the error that this machine lacks something.
fn lacking(what: &'static str) -> impl Fn(LabError) -> LabError {
    move |error| match error {
        LabError::Command { printed, .. } => LabError::Skipped(format!(
            "{what}{}",
            printed.lines().next_back().map(|line| format!(" ({})", line.trim())).unwrap_or_default()
        )),
        LabError::Io { doing, path, reason } => {
            LabError::Skipped(format!("{what} (cannot {doing} {}: {reason})", path.display()))
        }
        other => other,
    }
}
