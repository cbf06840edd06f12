//! The journal of a study: a line for each run that has ended, which outlives whatever ends the program.
//!
//! A line is the XXH3 hash of what follows, 16 hexadecimal digits, a blank, and an object of JSON. The first
//! says which format, program and version it is of; each of the others is a [`Row`], brought to the disk
//! before the next begins. Of two rows of one run the later one counts.
//!
//! Invariants: a line is whole, or it is the last one and does not count; nothing is ever written over, and
//! nothing is cut off but an unfinished last line. One process at a time writes a journal.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::row::{Row, Status};

/// The version of the format.
const VERSION: u32 = 1;
/// The digits of a checksum.
const DIGITS: usize = 16;

/// The first line: what the rows are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    paceline_study_journal: u32,
    /// The program whose models were run.
    program: String,
    /// Its version.
    version: String,
}

impl Header {
    /// Of runs of this program.
    pub fn new(program: &str, version: &str) -> Self {
        Self { paceline_study_journal: VERSION, program: program.to_owned(), version: version.to_owned() }
    }
}

/// The rows of a journal, by the names of their runs.
pub type Rows = BTreeMap<String, Row>;

/// What is in a journal.
#[derive(Debug, Default)]
pub struct Content {
    /// The last row of each run.
    pub rows: Rows,
    /// The line that is unfinished, if the last one is.
    pub torn: Option<usize>,
    /// Bytes up to the end of the last whole line.
    whole: u64,
}

/// Why a journal cannot be used. The study does not begin.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum JournalError {
    /// The system does not let it be read or written.
    #[error("cannot use the journal {}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: io::Error },
    /// Another process writes it.
    #[error("the journal {} is being written by another study; allowed: one at a time, or parts of it by --array", path.display())]
    Taken { path: PathBuf },
    /// A line is no line of such a journal.
    #[error("{}:{line}: {problem}; allowed: {allowed}", path.display())]
    Line { path: PathBuf, line: usize, problem: String, allowed: String },
    /// Two journals say different things of one run.
    #[error(
        "{}: the run {run} has the digest {there}, and {here} in another journal; allowed: journals of runs of \
         one program, whose models compute the same each time",
        path.display()
    )]
    Different { path: PathBuf, run: String, here: String, there: String },
}

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    whole: u64,
}

impl Journal {
    /// Opens the journal at `path`, or makes it, and reads what is in it. An unfinished last line is cut off.
    ///
    /// # Errors
    ///
    /// It cannot be read or written, another process writes it, or it is none of this program and version.
    pub fn open(path: &Path, header: &Header) -> Result<(Self, Content), JournalError> {
        let unusable = |reason| JournalError::Unusable { path: path.to_owned(), reason };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(unusable)?;
        // A pipe would never end, and a device keeps nothing.
        if !file.metadata().map_err(unusable)?.is_file() {
            return Err(unusable(io::Error::other("it is no regular file")));
        }
        // Where there are no locks, nobody has one.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(JournalError::Taken { path: path.to_owned() });
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unusable)?;
        let content = parse(path, &text, header)?;
        let mut journal = Self { file, path: path.to_owned(), whole: content.whole };
        if content.whole < text.len() as u64 {
            journal.file.set_len(content.whole).map_err(unusable)?;
        }
        if content.whole == 0 {
            journal.write(&line_of(header)).map_err(unusable)?;
        }
        Ok((journal, content))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a row, and brings it to the disk.
    ///
    /// # Errors
    ///
    /// There is no room, or the disk fails: the journal is as it was before.
    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        self.write(&line_of(row))
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.whole))?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.whole += line.len() as u64,
            // What is left of the line would be found to be unfinished as well.
            Err(_) => drop(self.file.set_len(self.whole)),
        }
        written
    }
}

/// Reads the journal at `path`, which another process may be writing; one that is not there is empty.
///
/// # Errors
///
/// It cannot be read, or it is none of this program and version.
pub fn read(path: &Path, header: &Header) -> Result<Content, JournalError> {
    match std::fs::read(path) {
        Ok(text) => parse(path, &text, header),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(Content::default()),
        Err(reason) => Err(JournalError::Unusable { path: path.to_owned(), reason }),
    }
}

/// Adds the rows of the journal at `path` to others. A run that has ended counts more than one that failed.
/// Gives the rows that are new.
///
/// # Errors
///
/// Both have a run that has ended, with different digests.
pub fn merge(rows: &mut Rows, path: &Path, others: Rows) -> Result<Vec<Row>, JournalError> {
    let mut new = Vec::new();
    for (run, other) in others {
        let is_new = match rows.get(&run) {
            None => true,
            Some(row) if row.status == Status::Failed => other.status == Status::Ended,
            Some(row) if other.status == Status::Ended && row.digest != other.digest => {
                let (here, there) = (row.digest.clone(), other.digest);
                return Err(JournalError::Different { path: path.to_owned(), run, here, there });
            }
            Some(_) => false,
        };
        if is_new {
            new.push(other.clone());
            rows.insert(run, other);
        }
    }
    Ok(new)
}

fn line_of(content: &impl Serialize) -> String {
    let json = serde_json::to_string(content).expect("texts and numbers are always JSON");
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes()))
}

/// The object of a whole line, if its checksum is right.
fn object_of(line: &[u8]) -> Option<&str> {
    let (sum, json) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let is_right = sum.len() == DIGITS && u64::from_str_radix(sum, 16) == Ok(xxh3_64(json.as_bytes()));
    is_right.then_some(json)
}

fn parse(path: &Path, text: &[u8], header: &Header) -> Result<Content, JournalError> {
    let mut content = Content::default();
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((place, line)) = lines.next() {
        let refuse = |problem: &str, allowed: String| {
            let (path, problem) = (path.to_owned(), problem.to_owned());
            Err(JournalError::Line { path, line: place + 1, problem, allowed })
        };
        let is_last = lines.peek().is_none();
        let whole = line.strip_suffix(b"\n");
        let Some(json) = whole.and_then(object_of) else {
            // Killed while it was written; a disk may also have lost what was in it.
            if is_last && (place > 0 || whole.is_none() && is_beginning(line, header)) {
                content.torn = Some(place + 1);
                return Ok(content);
            }
            if place == 0 {
                return refuse(
                    "no journal of a study",
                    format!("a journal that begins with {}", first(header)),
                );
            }
            return refuse(
                "a damaged line: its checksum is another one",
                "the lines as they were written; without this line its run is done again".to_owned(),
            );
        };
        if place == 0 {
            let found: Option<Header> = serde_json::from_str(json).ok();
            if found.as_ref() != Some(header) {
                let allowed =
                    format!("one that begins with {}; moved away, all runs are done again", first(header));
                return refuse(&format!("a journal of another version: {json}"), allowed);
            }
        } else {
            let Ok(row) = serde_json::from_str::<Row>(json) else {
                return refuse("a line that is no row of a run", "rows as they were written".to_owned());
            };
            content.rows.insert(row.run.clone(), row);
        }
        content.whole += line.len() as u64;
    }
    Ok(content)
}

/// Whether these bytes are the beginning of a first line.
fn is_beginning(bytes: &[u8], header: &Header) -> bool {
    line_of(header).as_bytes().starts_with(bytes)
}

fn first(header: &Header) -> String {
    serde_json::to_string(header).expect("texts and numbers are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn header() -> Header {
        Header::new("paceline", "1.2.3")
    }

    fn row(number: u64, value: f64) -> Row {
        let metrics: Map<String, Value> =
            [("delay_s".to_owned(), Value::from(value.to_string()))].into_iter().collect();
        let (ended_by, digest) = ("horizon".to_owned(), format!("{number:016x}"));
        let status = Status::Ended;
        Row { run: number.to_string(), seed: number, status, error: String::new(), ended_by, digest, metrics }
    }

    /// A journal with these rows, and its text.
    fn written(path: &Path, rows: &[Row]) -> Vec<u8> {
        let (mut journal, _) = Journal::open(path, &header()).unwrap();
        rows.iter().for_each(|row| journal.add(row).unwrap());
        std::fs::read(path).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn wherever_it_is_cut_whole_rows_are_there_and_the_rest_can_be_written_again(
            values in proptest::collection::vec(any::<f64>().prop_filter("JSON", |value| value.is_finite()), 1..6),
            part in 0.0..1.0,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.journal");
            let rows: Vec<Row> = values.iter().zip(0..).map(|(value, number)| row(number, *value)).collect();
            let text = written(&path, &rows);
            let cut = (text.len() as f64 * part) as usize;
            std::fs::write(&path, &text[..cut]).unwrap();
            let whole = text[..cut].iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            let (mut journal, found) = Journal::open(&path, &header()).unwrap();
            prop_assert_eq!(found.rows.into_values().collect::<Vec<_>>(), rows[..whole].to_vec());
            rows[whole..].iter().for_each(|row| journal.add(row).unwrap());
            prop_assert_eq!(std::fs::read(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_damaged_line_a_stranger_and_another_version_are_refused_by_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let text = String::from_utf8(written(&path, &[row(1, 0.5), row(2, 1.5), row(3, 2.5)])).unwrap();
        let problem = |text: &str, header: &Header| {
            std::fs::write(&path, text).unwrap();
            Journal::open(&path, header).map(|(_, content)| content.torn).map_err(|error| error.to_string())
        };
        let damaged = problem(&text.replace("1.5", "1.6"), &header()).unwrap_err();
        assert!(
            damaged.contains("a.journal:3: a damaged line") && damaged.contains("allowed: "),
            "{damaged}"
        );
        assert_eq!(problem(&text.replace("2.5", "2.6"), &header()), Ok(Some(4)), "the last line may be torn");
        let stranger = problem("seed,digest\n1,2\n", &header()).unwrap_err();
        assert!(stranger.contains("a.journal:1: no journal of a study"), "{stranger}");
        let version = problem(&text, &Header::new("paceline", "2.0.0")).unwrap_err();
        assert!(version.contains("a.journal:1: a journal of another version"), "{version}");
        assert!(
            version.contains("\"version\":\"1.2.3\"") && version.contains("\"version\":\"2.0.0\""),
            "{version}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_keeps_nothing_is_no_journal() {
        let problem = Journal::open(Path::new("/dev/null"), &header()).unwrap_err().to_string();
        assert!(problem.contains("/dev/null: it is no regular file"), "{problem}");
    }

    #[test]
    fn one_process_writes_and_journals_that_contradict_each_other_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let open = Journal::open(&path, &header()).unwrap();
        assert!(matches!(Journal::open(&path, &header()), Err(JournalError::Taken { .. })));
        drop(open);
        let mut rows: Rows = [("1".to_owned(), row(1, 0.5))].into_iter().collect();
        let failed = Row { status: Status::Failed, ..row(1, 0.5) };
        let of = |rows: Vec<Row>| rows.into_iter().map(|row| (row.run.clone(), row)).collect::<Rows>();
        assert_eq!(merge(&mut rows, &path, of(vec![failed, row(2, 1.0)])).unwrap(), [row(2, 1.0)]);
        let other = Row { digest: "f".repeat(16), ..row(1, 0.5) };
        assert!(matches!(merge(&mut rows, &path, of(vec![other])), Err(JournalError::Different { .. })));
    }
}
