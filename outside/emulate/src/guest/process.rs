//! The emulator's process. Dropped, it is killed and waited for.

use super::emulator::Emulator;
use super::error::{GuestError, LastWords};
use super::settings::GuestSettings;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How much of the end of a log goes into a message.
const LAST_LINES: usize = 5;
const LAST_BYTES: u64 = 4096;

pub(super) struct Process {
    child: Child,
    /// The emulator's standard error, in memory.
    errors: File,
    console: PathBuf,
}

impl Process {
    /// The sockets become the emulator's standard input and output: descriptors that a child gets without
    /// this process letting others slip through.
    pub(super) fn start(
        settings: &GuestSettings,
        emulator: &Emulator,
        plugin: UnixStream,
        monitor: UnixStream,
    ) -> Result<Self, GuestError> {
        // The emulator would open it too, but say less about a folder that is missing.
        let open = |path| File::options().create(true).write(true).truncate(!settings.appends).open(path);
        open(&settings.console).map_err(|source| GuestError::File {
            guest: settings.name.clone(),
            what: "console log",
            path: settings.console.clone(),
            source,
        })?;
        let start = || -> io::Result<(Child, File)> {
            let errors = File::from(memfd_create("errors", MemfdFlags::CLOEXEC)?);
            let child = emulator
                .command()
                .args(settings.arguments(emulator))
                .stdin(OwnedFd::from(plugin))
                .stdout(OwnedFd::from(monitor))
                .stderr(errors.try_clone()?)
                .spawn()?;
            Ok((child, errors))
        };
        let (child, errors) = start().map_err(|source| settings.start_error(source))?;
        Ok(Self { child, errors, console: settings.console.clone() })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn kill(&mut self) {
        // Fails if it has ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the end of a process that is about to end, and says how it ended. After `limit` it is
    /// killed.
    pub(super) fn wait(&mut self, limit: Duration) -> String {
        let since = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return ending(status),
                Ok(None) if since.elapsed() < limit => thread::sleep(Duration::from_millis(1)),
                _ => {
                    self.kill();
                    return "closed its socket".into();
                }
            }
        }
    }

    pub(super) fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // The second field, the program's name in brackets, may have blanks: count from its end. Fields 14
        // and 15 of proc(5) are the times in user and kernel mode, in hundredths of a second.
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(10 * ticks)
    }

    /// Whether one of its threads computes or waits for a core.
    pub(super) fn is_runnable(&self) -> bool {
        is_runnable(self.child.id())
    }

    pub(super) fn last_words(&self) -> LastWords {
        let console = File::open(&self.console).map(|file| last_lines(&file)).unwrap_or_default();
        LastWords { errors: last_lines(&self.errors), console }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a thread of this process has the state R, the third field of proc(5)'s `stat`.
fn is_runnable(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| fs::read_to_string(thread.path().join("stat")).unwrap_or_default())
        .any(|stat| stat.rsplit(") ").next().unwrap_or_default().starts_with('R'))
}

fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, code) => format!("exited with status {}", code.unwrap_or_default()),
    }
}

fn last_lines(file: &File) -> Vec<String> {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; length.min(LAST_BYTES) as usize];
    let count = file.read_at(&mut bytes, length.saturating_sub(LAST_BYTES)).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..count]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// This thread runs while it looks; a program that reads what nobody writes does not.
    #[test]
    fn a_process_that_computes_differs_from_one_that_waits() {
        assert!(is_runnable(std::process::id()));
        let mut waits = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let since = Instant::now();
        while is_runnable(waits.id()) && since.elapsed() < Duration::from_secs(60) {
            thread::yield_now();
        }
        assert!(!is_runnable(waits.id()));
        drop(waits.stdin.take());
        waits.wait().unwrap();
        assert!(!is_runnable(waits.id()), "it has ended");
    }
}
