//! The output folder.
//!
//! A run, replications, a study and `paceline machine` each open one before they compute anything:
//! `run.rs`, `processes.rs`, `replicate.rs`, `study.rs`.
//!
//! Invariants: under its own name a file is complete or not there. The summary takes its name first, each of
//! the other files when it is complete; one for which there is no room is left out, and the failure says so.
//! A folder made for a run that then fails is removed. One run at a time writes into a folder. The summary is
//! on standard output before the first file is begun: where the disk is full, it is all that is left.

mod earlier;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use paceline_files::{FolderLock, NewFile, irregular, leftovers};
use serde_json::Value;

use crate::failure::CommandError;
use crate::tables::Tables;
use crate::{progress, stdout};
use earlier::Earlier;
pub use earlier::Identity;

/// The file with the results themselves.
const SUMMARY: &str = "summary.json";
/// The picture of a run in its folder.
pub const REPORT: &str = "report.html";

/// Prints a summary, has the files written, and `with_names` prints which they are. Neither failure keeps the
/// other half from being done; that of the files is the one reported.
pub fn deliver(
    summary: &str,
    with_names: bool,
    write: impl FnOnce() -> Result<Vec<PathBuf>, CommandError>,
) -> Result<(), CommandError> {
    let printed = stdout::print(summary);
    let written = write()?;
    printed?;
    let names: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    if !with_names || names.is_empty() {
        return Ok(());
    }
    stdout::print(&format!("\nWritten: {}\n", names.join(", ")))
}

/// Writes a single file, which is complete or not there.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), CommandError> {
    let write = || {
        let mut file = NewFile::begin(path)?;
        file.content()?.write_all(content)?;
        file.publish()
    };
    write().map_err(|reason| CommandError::Write(path.to_owned(), reason))
}

/// A folder that files will be written to.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
    /// How tables are written.
    pub tables: Tables,
    made: bool,
    /// Held until the end.
    _lock: FolderLock,
    earlier: Earlier,
    written: Vec<PathBuf>,
    /// Files that could not be written, and why.
    unwritten: Vec<(PathBuf, io::Error)>,
}

impl Output {
    /// Makes the folder if need be, and tries whether files can be written there, before a long run and not
    /// after it. Removes what killed runs have left there. `run` is the run of which the results will be:
    /// where the folder holds those of another one, a warning says so.
    pub fn open(folder: &Path, run: &Identity) -> Result<Self, CommandError> {
        let output = Self::open_silently(folder, run)?;
        if let Some(warning) = output.earlier.warning(folder) {
            progress::warn(&warning);
        }
        Ok(output)
    }

    /// The same without a warning, for a folder in one of which it has been said.
    pub fn open_silently(folder: &Path, run: &Identity) -> Result<Self, CommandError> {
        let failed = |reason| CommandError::Write(folder.to_owned(), reason);
        if folder.exists() && !folder.is_dir() {
            return Err(failed(io::Error::other(
                "it is no folder; allowed: a folder, or a name that is free",
            )));
        }
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = FolderLock::take(folder).map_err(failed)?;
        leftovers::remove(folder);
        let earlier = Earlier::find(folder, SUMMARY, run);
        let output = Self {
            folder: folder.to_owned(),
            tables: Tables::default(),
            made,
            _lock: lock,
            earlier,
            written: Vec::new(),
            unwritten: Vec::new(),
        };
        let path = folder.join(SUMMARY);
        // What is no regular file is opened once, at the end: a FIFO would be closed here.
        if irregular(&path).is_none()
            && let Err(reason) = NewFile::begin(&path)
        {
            return Err(CommandError::Write(path, reason));
        }
        Ok(output)
    }

    /// The same with tables in another format.
    pub fn with(mut self, tables: Tables) -> Self {
        self.tables = tables;
        self
    }

    /// Writes the summary: these results, and the names of the files that are to stand beside it.
    pub fn write_summary(&mut self, results: &Value, files: impl IntoIterator<Item = String>) {
        let mut results = results.clone();
        let files: Vec<Value> = files.into_iter().map(Value::from).collect();
        if let Some(summary) = results.as_object_mut().filter(|_| !files.is_empty()) {
            summary.insert("files".to_owned(), files.into());
        }
        self.write(SUMMARY, |file| file.write_all(format!("{results:#}\n").as_bytes()));
    }

    /// Writes a file. Where that fails, the others are written all the same, and [`finish`](Output::finish)
    /// says so.
    pub fn write(&mut self, name: &str, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let path = self.folder.join(name);
        let write = || {
            let mut new = NewFile::begin(&path)?;
            let mut file = BufWriter::new(new.content()?);
            content(&mut file)?;
            file.flush()?;
            drop(file);
            new.publish()
        };
        // The folder may have been removed since the run began.
        let folder = path.parent().unwrap_or(&self.folder);
        match fs::create_dir_all(folder).and_then(|()| write()) {
            Ok(()) => self.written.push(path),
            Err(reason) => {
                self.earlier.remove_other(&path);
                self.unwritten.push((path, reason));
            }
        }
    }

    /// Says which files were written, and removes those of another run that are not among them; or says which
    /// could not be written.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, CommandError> {
        self.made &= self.written.is_empty();
        if !self.written.is_empty() {
            self.earlier.remove_others(&self.folder, &self.written);
        }
        let names = |paths: &[&PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let mut unwritten = std::mem::take(&mut self.unwritten).into_iter();
        let Some((first, reason)) = unwritten.next() else { return Ok(std::mem::take(&mut self.written)) };
        let others: Vec<_> = unwritten.map(|(path, _)| path).collect();
        let mut problem = reason.to_string();
        if !others.is_empty() {
            problem += &format!("; nor {}", names(&others.iter().collect::<Vec<_>>()));
        }
        if !self.written.is_empty() {
            problem += &format!("; written: {}", names(&self.written.iter().collect::<Vec<_>>()));
        }
        Err(CommandError::Write(first, io::Error::new(reason.kind(), problem)))
    }

    /// Whether the summary could not be written.
    pub fn lacks_summary(&self) -> bool {
        self.unwritten.iter().any(|(path, _)| path.file_name().is_some_and(|name| name == SUMMARY))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.made {
            // There is something else in it, or it is removed.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
