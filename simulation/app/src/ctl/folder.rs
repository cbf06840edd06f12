//! The folder of the sockets, the runs that listen there, and how to ask one.
//!
//! It is `paceline` in `$XDG_RUNTIME_DIR`, else `paceline-UID` in the folder for temporary files. Invariant:
//! it belongs to us and nobody else may enter it, or it is not used.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A line is no longer than this.
pub const LINE_BYTES: u64 = 4096;
/// The longest wait for a line.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A run that listens.
#[derive(Debug)]
pub struct Run {
    /// The id of its process.
    pub pid: u32,
    /// Its scenario's name, if it answers.
    pub scenario: Option<String>,
    /// Where it listens.
    pub socket: PathBuf,
}

impl Run {
    /// The name of its scenario, or that it is not known.
    pub fn name(&self) -> &str {
        self.scenario.as_deref().unwrap_or("scenario unknown")
    }
}

/// The folder, whether it is there or not.
fn place() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        Some(folder) => folder.join("paceline"),
        None => std::env::temp_dir().join(format!("paceline-{}", rustix::process::getuid().as_raw())),
    }
}

/// The folder, made if need be.
pub fn make() -> io::Result<PathBuf> {
    let folder = place();
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(reason) if reason.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(reason.kind(), format!("{}: {reason}", folder.display())));
        }
        _ => {}
    }
    check(&folder)?;
    Ok(folder)
}

/// Whether the folder is ours alone.
fn check(folder: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(folder)?;
    if facts.is_dir() && facts.uid() == rustix::process::getuid().as_raw() && facts.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is open to others", folder.display())))
}

/// The runs in progress, by process. Sockets without a listener are removed.
pub fn runs() -> io::Result<Vec<Run>> {
    let folder = place();
    if !folder.exists() {
        return Ok(Vec::new());
    }
    check(&folder)?;
    let mut runs = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let socket = entry?.path();
        let name = socket.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(pid) = name.strip_suffix(".sock").and_then(|pid| pid.parse().ok()) else { continue };
        match ask(&socket, "name") {
            Ok(answer) => {
                let scenario = answer.strip_prefix("ok ").map(str::to_owned);
                runs.push(Run { pid, scenario, socket });
            }
            Err(reason) if reason.kind() == io::ErrorKind::ConnectionRefused => {
                // If it cannot be removed, the next one tries again.
                let _ = fs::remove_file(&socket);
            }
            // It is stopped or hangs.
            Err(_) if socket.exists() => runs.push(Run { pid, scenario: None, socket }),
            // It has ended a moment ago.
            Err(_) => {}
        }
    }
    runs.sort_by_key(|run| run.pid);
    Ok(runs)
}

/// Sends a line and waits for the answer.
pub fn ask(socket: &Path, request: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    line(&stream)
}

/// Reads a line.
pub fn line(stream: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES)).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
