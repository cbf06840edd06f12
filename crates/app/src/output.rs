//! The output folder.
//!
//! Invariant: under its own name a file is complete or not there. All are written beside it first, and take their names
//! when the last is done; a folder made for a run that then fails is removed.
//! What is told is on standard output before the first file is begun: where the disk is full, the summary is all that is left.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::stdout;

/// Prints a summary, has the files written, and `with_names` prints which they are. Neither failure keeps the other half from being
/// done; that of the files is the one reported.
pub fn deliver(
    summary: &str,
    with_names: bool,
    write: impl FnOnce() -> Result<Vec<PathBuf>, Failure>,
) -> Result<(), Failure> {
    let printed = stdout::print(summary);
    let written = write()?;
    printed?;
    let names: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    if !with_names || names.is_empty() {
        return Ok(());
    }
    stdout::print(&format!("\nWritten: {}\n", names.join(", ")))
}

/// A folder that files will be written to.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
    made: bool,
    unfinished: Vec<PathBuf>,
    finished: Vec<PathBuf>,
}

impl Output {
    /// Makes the folder if need be, and tries whether files can be written there, before a long run and not after it.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(|reason| Failure::Write(folder.to_owned(), reason))?;
        let mut output =
            Self { folder: folder.to_owned(), made, unfinished: Vec::new(), finished: Vec::new() };
        output.write("summary.json", |_| Ok(()))?;
        output.discard();
        Ok(output)
    }

    /// Writes a file, still under another name.
    pub fn write(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let path = self.folder.join(format!(".{name}.{}.unfinished", std::process::id()));
        self.unfinished.push(path.clone());
        self.finished.push(self.folder.join(name));
        let write = || {
            let mut file = BufWriter::new(File::create(&path)?);
            content(&mut file)?;
            file.into_inner()?.sync_all()
        };
        write().map_err(|reason| Failure::Write(self.folder.join(name), reason))
    }

    /// Gives all files their names, and says which they are.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, Failure> {
        for (from, to) in self.unfinished.iter().zip(&self.finished) {
            fs::rename(from, to).map_err(|reason| Failure::Write(to.clone(), reason))?;
        }
        self.unfinished.clear();
        self.made = false;
        Ok(std::mem::take(&mut self.finished))
    }

    /// Removes unfinished files. A failure to remove one is ignored: the first failure is the one to report.
    fn discard(&mut self) {
        for path in self.unfinished.drain(..) {
            let _ = fs::remove_file(path);
        }
        self.finished.clear();
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.discard();
        if self.made {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
