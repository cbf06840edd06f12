//! The memory that a guest publishes in, as the host sees it: a file with the layout of a page, of which
//! nothing is to be trusted.
//!
//! It is read with pread(2), so that no bytes and no truncation can hurt who reads. Its header is written for
//! the guest's programs and never read: how many slots there are follows from the length of the file.
//!
//! Whether the owner of a guest's slot lives cannot be known from outside. A process that was killed there
//! would hold the guest's LVT back for ever, so a slot that has stood still for [`LAPSE`] counts only where
//! all have.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::layout::{self, LVT_MAX, MAX_SLOTS, RECORD_BYTES};
use crate::slot::SlotView;

/// After this time without a change, a slot no longer counts if others have changed.
pub const LAPSE: Duration = Duration::from_secs(10);
/// How many records are read at a time.
const CHUNK_RECORDS: usize = 64;

/// What a guest says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestReport {
    /// The least LVT in ns of those who simulate, or [`layout::DONE`] where all are done.
    pub lvt_ns: u64,
    /// Whether all publishers that are not done wait.
    pub waiting: bool,
}

/// What stood in a slot, and since when.
#[derive(Clone, Copy, Debug)]
struct Last {
    lvt_ns: u64,
    flags: u32,
    tid: u32,
    start_time: u64,
    since: Instant,
}

/// A file that is a guest's memory.
///
/// ```
/// use paceline_lvt::{GuestMemory, Page, Publisher};
/// # use std::os::unix::fs::OpenOptionsExt;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("vm1.lvt");
/// # std::fs::OpenOptions::new().write(true).create(true).mode(0o600).open(&path)?.set_len(64 << 10)?;
///
/// let mut memory = GuestMemory::open(&path)?; // on the host
/// let mut publisher = Publisher::claim(&Page::open(&path)?, "rank 0")?; // in the guest
/// publisher.publish(5_000_000);
/// let report = memory.report(std::time::Instant::now())?;
/// assert_eq!(report.map(|report| report.lvt_ns), Some(5_000_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GuestMemory {
    path: PathBuf,
    file: File,
    records: usize,
    /// How many records at the start are read; those behind have never been used.
    used: usize,
    bytes: Vec<u8>,
    last: Vec<Option<Last>>,
}

impl GuestMemory {
    /// Opens the file, and makes it a page for the guest's programs if it is none yet. Slots that are taken
    /// stay.
    ///
    /// # Errors
    ///
    /// [`Error::System`]; [`Error::Kind`]; [`Error::GuestBytes`] where its length is not that of a page.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let system = |doing| move |error| Error::system(path, doing, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(system("opening it"))?;
        let kept = file.metadata().map_err(system("looking at it"))?;
        if !kept.is_file() {
            return Err(Error::Kind(path.to_owned()));
        }
        let most = layout::page_bytes(MAX_SLOTS) as u64;
        let bytes = kept.len();
        if bytes < 2 * RECORD_BYTES as u64 || bytes > most || !bytes.is_multiple_of(RECORD_BYTES as u64) {
            return Err(Error::GuestBytes { path: path.to_owned(), bytes });
        }
        let records = bytes as usize / RECORD_BYTES;
        let header = layout::header(records as u32 - 1);
        file.write_all_at(&header, 0).map_err(system("making it a page"))?;
        Ok(Self { path: path.to_owned(), file, records, used: 0, bytes: Vec::new(), last: Vec::new() })
    }

    /// Where the file is.
    pub const fn path(&self) -> &PathBuf {
        &self.path
    }

    /// What the guest publishes at the moment `now`; `None` if no thread there simulates.
    ///
    /// # Errors
    ///
    /// [`Error::System`] where the file cannot be read, or has become shorter.
    pub fn report(&mut self, now: Instant) -> Result<Option<GuestReport>, Error> {
        self.read().map_err(|error| Error::system(&self.path, "reading it", error))?;
        let (records, _) = self.bytes.as_chunks::<RECORD_BYTES>();
        self.last.resize(records.len(), None);
        let (mut fresh, mut stale) = (None, None);
        for (last, bytes) in self.last.iter_mut().zip(records).skip(1) {
            // A slot without a start time changes hands.
            let view = SlotView::decode(0, bytes).filter(|view| view.start_time != 0 && view.is_simulating());
            *last = view.map(|view| seen(&view, *last, now));
            let (Some(view), Some(last)) = (view, last) else { continue };
            let lapsed = now.saturating_duration_since(last.since) >= LAPSE;
            let sum = if lapsed { &mut stale } else { &mut fresh };
            *sum = Some(together(*sum, &view));
        }
        // A thread that is done does not advance and holds back no other.
        Ok(match (fresh, stale) {
            (Some(GuestReport { lvt_ns: layout::DONE, .. }) | None, Some(stale)) => Some(stale),
            (fresh, _) => fresh,
        })
    }

    /// Reads the records that are in use. Slots are claimed from the first on, so a chunk of free ones behind
    /// all that were ever used is the end. The first time all are read: programs may have come and gone
    /// before.
    fn read(&mut self) -> std::io::Result<()> {
        let (mut filled, is_first) = (0, self.bytes.is_empty());
        while filled < self.records {
            let end = (filled + CHUNK_RECORDS).min(self.records);
            self.bytes.resize(end * RECORD_BYTES, 0);
            let chunk = &mut self.bytes[filled * RECORD_BYTES..];
            self.file.read_exact_at(chunk, (filled * RECORD_BYTES) as u64)?;
            let is_free = |record: &[u8; RECORD_BYTES]| SlotView::decode(0, record).is_none();
            let skipped = usize::from(filled == 0);
            if !chunk.as_chunks().0.iter().skip(skipped).all(is_free) {
                self.used = self.used.max(end);
            }
            filled = end;
            if filled > self.used && !is_first {
                break;
            }
        }
        Ok(())
    }
}

/// What stands in a slot now, and since when.
fn seen(view: &SlotView, last: Option<Last>, now: Instant) -> Last {
    let SlotView { lvt_ns, flags, tid, start_time, .. } = *view;
    let same = |last: &Last| {
        (last.lvt_ns, last.flags, last.tid, last.start_time) == (lvt_ns, flags, tid, start_time)
    };
    last.filter(same).unwrap_or(Last { lvt_ns, flags, tid, start_time, since: now })
}

/// The sum of what some say and one more.
fn together(sum: Option<GuestReport>, view: &SlotView) -> GuestReport {
    let one = if view.is_done() {
        GuestReport { lvt_ns: layout::DONE, waiting: false }
    } else {
        GuestReport { lvt_ns: view.lvt_ns.min(LVT_MAX), waiting: view.is_waiting() }
    };
    match sum {
        None | Some(GuestReport { lvt_ns: layout::DONE, .. }) => one,
        Some(sum) if view.is_done() => sum,
        Some(sum) => GuestReport { lvt_ns: sum.lvt_ns.min(one.lvt_ns), waiting: sum.waiting && one.waiting },
    }
}
