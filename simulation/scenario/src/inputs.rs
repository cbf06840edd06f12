//! The files that a scenario names: where they are, and what was in them when they were read.
//!
//! All readers of a scenario read such files by [`read`], so that a program can ask afterwards which files
//! that were ([`recorded`]): a checkpoint of the run holds a fingerprint of each, and results name them. A
//! parameter of the type [`InputFile`] is such a file.
//!
//! What is recorded, and the folder of the scenario, belong to the thread: serde hands a type nothing but the
//! text of its value. Invariant: a file is recorded under the path that the scenario gives, so that the
//! record is the same wherever the scenario is.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};
use xxhash_rust::xxh3::xxh3_64;

/// A file that was read, and a fingerprint of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its path, as it is seen from the scenario's folder.
    pub file: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The XXH3 hash of its content, 16 hexadecimal digits.
    pub xxh3: String,
}

impl Input {
    fn new(file: String, content: &[u8]) -> Self {
        Self { file, bytes: content.len() as u64, xxh3: format!("{:016x}", xxh3_64(content)) }
    }

    /// Reads the file once more, in the scenario's folder as it is now.
    pub fn again(&self, folder: &Path) -> io::Result<Self> {
        Ok(Self::new(self.file.clone(), &std::fs::read(folder.join(&self.file))?))
    }
}

/// What this thread knows of the scenario that it reads.
#[derive(Default)]
struct Reading {
    /// The folder of the scenario, where a model's parameters are being read.
    folders: Vec<PathBuf>,
    /// The recordings of the files that are read: the folder from which their paths are seen, and the files.
    records: Vec<(PathBuf, Vec<Input>)>,
}

thread_local! {
    static READING: RefCell<Reading> = RefCell::default();
}

/// Undoes an entry in [`READING`], also where reading panics.
struct Entered(fn(&mut Reading));

impl Drop for Entered {
    fn drop(&mut self) {
        READING.with_borrow_mut(self.0);
    }
}

/// Calls `read`, which reads a scenario in `folder`, and says which files it has read by [`read`], each once.
pub fn recorded<R>(folder: &Path, read: impl FnOnce() -> R) -> (R, Vec<Input>) {
    READING.with_borrow_mut(|reading| reading.records.push((folder.to_owned(), Vec::new())));
    let entered = Entered(|reading| drop(reading.records.pop()));
    let result = read();
    let of_this = |reading: &mut Reading| reading.records.last_mut().map(|(_, files)| std::mem::take(files));
    let files = READING.with_borrow_mut(of_this).unwrap_or_default();
    drop(entered);
    (result, files)
}

/// Calls `read`, in which paths of [`InputFile`]s are seen from `folder`.
pub(crate) fn seen_from<R>(folder: &Path, read: impl FnOnce() -> R) -> R {
    READING.with_borrow_mut(|reading| reading.folders.push(folder.to_owned()));
    let _entered = Entered(|reading| drop(reading.folders.pop()));
    read()
}

/// Reads a file that a scenario names, or that such a file names.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, u64::MAX)
}

/// The same for a file that should not be longer than `most` bytes: of a longer one, one byte more than that
/// is read.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    READING.with_borrow_mut(|reading| {
        if let Some((folder, files)) = reading.records.last_mut() {
            let file = path.strip_prefix(&*folder).unwrap_or(path).to_string_lossy().into_owned();
            let input = Input::new(file, &content);
            if !files.contains(&input) {
                files.push(input);
            }
        }
    });
    Ok(content)
}

/// A parameter of a model that is a file: its path is seen from the folder of the scenario, and its content
/// is read with the parameters.
///
/// A checkpoint of the run holds a fingerprint of the content, and `resume` refuses the run by the file's
/// name where the file has changed since; processes of a run on several hosts are refused where their files
/// differ. `Debug` shows path, length and fingerprint, so that `format!("{self:?}")` says in
/// [`Model::parameters`](paceline_kernel::Model::parameters) which content it was. Clones share the content.
///
/// ```
/// use paceline_scenario::{InputFile, Scenario};
/// use serde::Deserialize;
///
/// #[derive(Debug, Deserialize)]
/// struct Commuters {
///     people: u32,
///     /// Where they live: a line for each.
///     homes: InputFile,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(folder.join("homes.csv"), "3\n7\n")?;
/// let text = "[model]\npeople = 2\nhomes = \"homes.csv\"\n";
/// let mut scenario = Scenario::parse("commuters.toml", text, folder, &[])?;
/// let model: Commuters = scenario.section("model")?.parameters()?;
/// assert_eq!(model.homes.text()?.lines().count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct InputFile {
    path: PathBuf,
    input: Input,
    content: Arc<[u8]>,
}

impl InputFile {
    /// Where it was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was in it.
    pub fn bytes(&self) -> &[u8] {
        &self.content
    }

    /// What was in it, as text; a byte order mark at its beginning is left out. The error says where it is
    /// not UTF-8.
    pub fn text(&self) -> Result<&str, String> {
        let text = std::str::from_utf8(&self.content);
        let text = text.map_err(|error| format!("{}: not a text in UTF-8: {error}", self.path.display()))?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Input { file, bytes, xxh3 } = &self.input;
        write!(f, "InputFile({file:?}, {bytes} bytes, {xxh3})")
    }
}

impl<'de> Deserialize<'de> for InputFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let file = String::deserialize(from)?;
        let folder = READING.with_borrow(|reading| reading.folders.last().cloned()).unwrap_or_default();
        let path = folder.join(&file);
        let refuse = |problem: String| {
            de::Error::custom(format!(
                "{problem}; allowed: the path of a file, seen from the scenario's folder"
            ))
        };
        if path.is_dir() || file.is_empty() {
            return Err(refuse(format!("{} is no file", path.display())));
        }
        match read(&path) {
            Ok(content) => Ok(Self { path, input: Input::new(file, &content), content: content.into() }),
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => {
                Err(refuse(format!("there is no file {}", path.display())))
            }
            Err(reason) => Err(refuse(format!("{} cannot be read: {reason}", path.display()))),
        }
    }
}
