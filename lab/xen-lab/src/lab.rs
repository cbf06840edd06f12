//! The lab itself: a folder in the cache with what was downloaded and built, from which it boots.
//!
//! Invariant: labs side by side do not disturb each other: a lab that downloads or builds holds a lock, and
//! boots only read complete files.

use std::env;
use std::fs::{self, File};
use std::io::{LineWriter, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::boot::Boot;
use crate::emulator::{DOM0, HYPERVISOR, KERNEL, emulate};
use crate::error::{LabError, io};
use crate::hypervisor::{check_sources, hypervisor};
use crate::packages::{Packages, packages};
use crate::process::{Ended, Stop, status_text};
use crate::script;
use crate::systems::Systems;
use crate::tools::check_tools;
use crate::transcript::{Reader, Transcript};

/// Receives messages about progress.
pub type Listener<'a> = dyn Fn(&str) + Sync + 'a;

/// What is needed to boot hypervisors: downloaded packages, and images made of them.
#[derive(Debug)]
pub struct Lab {
    cache: PathBuf,
    sources: PathBuf,
    packages: Packages,
    systems: Option<Systems>,
    stop: Stop,
}

/// The result of a boot.
#[derive(Clone, Debug, Default)]
pub struct Booted {
    /// The lines with marks and values, by part and source.
    pub transcript: Transcript,
    /// Every line of the serial console.
    pub console: Vec<String>,
}

impl Lab {
    /// A lab for the hypervisor sources in the folder `sources`; downloads what it needs if that is not there
    /// yet. It gives up when a stop is requested.
    pub fn open(sources: &Path, stop: &Stop, listener: &Listener<'_>) -> Result<Self, LabError> {
        check_sources(sources)?;
        let sources = fs::canonicalize(sources).map_err(io("find", sources))?;
        if env::consts::ARCH != "x86_64" {
            return Err(LabError::Skipped(format!(
                "the machine is an x86-64 one, this one is {}",
                env::consts::ARCH
            )));
        }
        check_tools()?;
        let cache = cache()?;
        fs::create_dir_all(&cache).map_err(io("make the folder", &cache))?;
        let packages = packages(&cache, stop, &mut |line| listener(line))?;
        Ok(Self { cache, sources, packages, systems: None, stop: stop.clone() })
    }

    /// Builds the hypervisor, with checks of its invariants if `debug`, unless it exists; returns its path.
    pub fn build(&self, debug: bool, listener: &Listener<'_>) -> Result<PathBuf, LabError> {
        let Self { cache, packages, sources, stop, .. } = self;
        hypervisor(cache, packages, sources, debug, stop, &mut |line| listener(line))
    }

    /// Builds all that these boots need.
    pub fn prepare(&mut self, boots: &[&Boot], listener: &Listener<'_>) -> Result<(), LabError> {
        boots.iter().try_for_each(|boot| script::check(boot))?;
        for debug in [false, true] {
            if boots.iter().any(|boot| boot.debug == debug) {
                self.build(debug, listener)?;
            }
        }
        self.systems = Some(Systems::new(&self.cache, &self.packages, &self.sources, &self.stop)?);
        Ok(())
    }

    /// Boots; [`Lab::prepare`] must have been called with this boot. Passes on each line of the serial
    /// console with the part to which it belongs, and writes it into the file `log`.
    pub fn boot(
        &self,
        boot: &Boot,
        log: &Path,
        line: &mut dyn FnMut(&str, &str),
    ) -> Result<Booted, LabError> {
        let systems = self.systems.as_ref().expect("boots are prepared");
        let hypervisor = self.build(boot.debug, &|_| ())?;
        let folder = log.with_extension("boot");
        // A lab that was killed may have left it.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(io("make the folder", &folder))?;
        systems.write(boot, &folder.join(DOM0))?;
        for (target, name) in [(&hypervisor, HYPERVISOR), (&systems.kernel, KERNEL)] {
            let link = folder.join(name);
            symlink(target, &link).map_err(io("make the link", &link))?;
        }
        let mut written = LineWriter::new(File::create(log).map_err(io("write", log))?);
        let (mut reader, mut console, mut failed) = (Reader::default(), Vec::new(), Ok(()));
        let ended = emulate(&self.packages.root, &folder, boot, &self.stop, |text| {
            reader.line(text);
            line(reader.part(), text);
            if failed.is_ok() {
                failed = writeln!(written, "{text}");
            }
            console.push(text.to_owned());
        });
        let removed = fs::remove_dir_all(&folder).map_err(io("remove", &folder));
        let ended = match ended? {
            Ended::Exited(status) => format!("the machine ended before its steps ({})", status_text(status)),
            Ended::Overdue => format!("it was not over after {} s of real time", boot.limit_s),
        };
        removed?;
        failed.and_then(|()| written.flush()).map_err(io("write", log))?;
        Ok(Booted { transcript: reader.finish(&ended), console })
    }

    /// The default folder of logs.
    pub fn logs(&self) -> PathBuf {
        self.cache.join("logs")
    }
}

fn cache() -> Result<PathBuf, LabError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let base = base.ok_or_else(|| LabError::Skipped("neither XDG_CACHE_HOME nor HOME is set".into()))?;
    Ok(base.join("paceline/xen-lab"))
}
