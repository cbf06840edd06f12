//! Pages: creating, opening and reading them, and taking back slots from owners that have ended.
//!
//! A reader never touches memory that can be taken from under it: sealed memory files, BPF maps and devices
//! are mapped, plain files are read with pread(2). Slots of a plain file that are to be written to - by a
//! publisher, or to take them back - are mapped all the same; a program that has mapped such a file is killed
//! by SIGBUS if the file is truncated. Only its owner can do that; [`Page::create_sealed`] makes a page that
//! cannot be truncated.

mod open;

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{self, FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

use crate::bell::Bell;
use crate::error::Error;
use crate::layout::{self, MAX_SLOTS, RECORD_BYTES, page_bytes};
use crate::mapping::Mapping;
use crate::slot::SlotView;

/// The environment variable that holds the path of the page.
pub const ENV: &str = "PACELINE_LVT";
/// The default number of slots of a page.
pub const DEFAULT_SLOTS: u32 = 1_024;

/// How the page is got at.
#[derive(Debug)]
enum Backing {
    /// A file that could be truncated: read, not mapped.
    Plain,
    /// What cannot be truncated.
    Fixed(Arc<Mapping>),
}

/// By which two openings of a page are known to be of the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageId {
    device: u64,
    inode: u64,
}

/// An LVT page.
#[derive(Debug)]
pub struct Page {
    path: PathBuf,
    fd: OwnedFd,
    slots: u32,
    id: PageId,
    backing: Backing,
}

impl Page {
    /// Makes a page in a new file that only this user may read and write. The file stays until it is removed;
    /// a folder in memory, such as /dev/shm, is the place for it.
    ///
    /// # Errors
    ///
    /// [`Error::SlotCount`]; [`Error::System`], also where there is something at `path` already.
    pub fn create(path: impl AsRef<Path>, slots: u32) -> Result<Self, Error> {
        let path = path.as_ref();
        check_count(slots)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let fd = fs::open(path, flags, mode).map_err(|error| Error::system(path, "making it", error))?;
        let made = format(&fd, slots).map_err(|error| Error::system(path, "making it", error));
        made.and_then(|()| Self::of_file(path, fd)).inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::unlink(path);
        })
    }

    /// Makes a page in a memory file that cannot be truncated. Its [`path`](Self::path) holds as long as this
    /// process has the page, and leads to it from all processes of this user; whoever has opened it may
    /// use it beyond that.
    ///
    /// # Errors
    ///
    /// [`Error::SlotCount`]; [`Error::System`].
    pub fn create_sealed(slots: u32) -> Result<Self, Error> {
        check_count(slots)?;
        let name = Path::new("in memory");
        let make = || -> Result<OwnedFd, Errno> {
            let fd = fs::memfd_create("paceline-lvt", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
            format(&fd, slots)?;
            fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            Ok(fd)
        };
        let fd = make().map_err(|error| Error::system(name, "making it", error))?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
        Self::of_file(Path::new(&path), fd)
    }

    /// Opens the page at `path`, as [`ENV`] names it: a file, a pinned BPF map, or in a virtual machine the
    /// memory of a PCI device that it shares with its host (the device's `resource2` below /sys).
    ///
    /// # Errors
    ///
    /// Every [`Error`] that names a path, except [`Error::Full`], [`Error::Claimed`] and [`Error::Changed`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        open::open(path.as_ref())
    }

    /// Opens the page that [`ENV`] names; `None` where it names none.
    ///
    /// # Errors
    ///
    /// As [`Page::open`].
    pub fn from_env() -> Result<Option<Self>, Error> {
        let named = std::env::var_os(ENV).filter(|path| !path.is_empty());
        named.map(Self::open).transpose()
    }

    /// Where the page is, for [`ENV`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many slots it has.
    pub const fn capacity(&self) -> u32 {
        self.slots
    }

    /// Which page this is.
    pub(crate) const fn id(&self) -> PageId {
        self.id
    }

    /// Copies of all slots that have an owner, by index. An owner may have ended: compare [`SlotView::owner`]
    /// with the system's processes.
    ///
    /// # Errors
    ///
    /// As [`Page::read_into`].
    pub fn slots(&self) -> Result<Vec<SlotView>, Error> {
        let mut views = Vec::new();
        self.read_into(&mut views)?;
        Ok(views)
    }

    /// As [`Page::slots`], into a vector that is emptied first and can be used again and again.
    ///
    /// # Errors
    ///
    /// [`Error::Size`], [`Error::NotAPage`], [`Error::Version`], [`Error::RecordBytes`] or [`Error::Changed`]
    /// where another program has truncated or overwritten the page; [`Error::System`] where it cannot be
    /// read.
    pub fn read_into(&self, views: &mut Vec<SlotView>) -> Result<(), Error> {
        views.clear();
        match &self.backing {
            Backing::Fixed(mapping) => {
                self.check_header(&mapping.header())?;
                // Most slots are free, and are not copied.
                let slots = (0..).zip(mapping.slots()).filter(|(_, slot)| slot.tid.load(Relaxed) != 0);
                views.extend(slots.filter_map(|(index, slot)| SlotView::decode(index, &slot.bytes())));
            }
            Backing::Plain => {
                let bytes = self.read_file()?;
                let (header, slots) = bytes.as_chunks().0.split_first().expect("a page has a header");
                self.check_header(header)?;
                views.extend((0..).zip(slots).filter_map(|(index, bytes)| SlotView::decode(index, bytes)));
            }
        }
        Ok(())
    }

    /// The bell that threads ring when they begin to wait; none on a page in a plain file, which may be
    /// truncated.
    pub fn bell(&self) -> Option<Bell> {
        match &self.backing {
            Backing::Fixed(mapping) => Some(Bell::new(Arc::clone(mapping))),
            Backing::Plain => None,
        }
    }

    /// Takes back the slots whose owners have ended, and returns their number. Reads /proc for each slot that
    /// is taken, so ten times a second is often enough.
    ///
    /// # Errors
    ///
    /// As [`Page::read_into`].
    pub fn reclaim(&self) -> Result<u32, Error> {
        let mapping = self.mapping()?;
        let gone = |slot: &&layout::Slot| match slot.owner() {
            Ok(owner) => owner.tid != 0 && owner.is_gone() && slot.take_over(owner, 0),
            Err(_) => false,
        };
        Ok(mapping.slots().iter().filter(gone).count() as u32)
    }

    /// The page in memory, checked to be what it was when it was opened.
    pub(crate) fn mapping(&self) -> Result<Arc<Mapping>, Error> {
        let mapping = match &self.backing {
            Backing::Fixed(mapping) => Arc::clone(mapping),
            Backing::Plain => {
                open::check_size(&self.path, &self.fd, self.slots)?;
                let mapped = Mapping::new(self.fd.as_fd(), self.slots);
                Arc::new(mapped.map_err(|error| Error::system(&self.path, "mapping it", error))?)
            }
        };
        self.check_header(&mapping.header())?;
        Ok(mapping)
    }

    fn check_header(&self, header: &[u8; RECORD_BYTES]) -> Result<(), Error> {
        match layout::slots_of(header).map_err(|error| Error::header(&self.path, error))? {
            slots if slots == self.slots => Ok(()),
            now => Err(Error::Changed { path: self.path.clone(), before: self.slots, now }),
        }
    }

    /// The whole of a plain file.
    fn read_file(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; page_bytes(self.slots)];
        match open::read_at_start(&self.path, &self.fd, &mut bytes)? {
            read if read == bytes.len() => Ok(bytes),
            read => {
                let (bytes, expected) = (read as u64, bytes.len() as u64);
                Err(Error::Size { path: self.path.clone(), bytes, expected })
            }
        }
    }
}

fn check_count(slots: u32) -> Result<(), Error> {
    if (1..=MAX_SLOTS).contains(&slots) { Ok(()) } else { Err(Error::SlotCount(slots)) }
}

/// Makes a page of an empty file.
fn format(fd: &OwnedFd, slots: u32) -> Result<(), Errno> {
    fs::fchmod(fd, Mode::RUSR | Mode::WUSR)?;
    let bytes = page_bytes(slots) as u64;
    // With room allocated now, no program is killed later because the file system is full.
    match fs::fallocate(fd, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP) => fs::ftruncate(fd, bytes)?,
        result => result?,
    }
    // A record lies within a block, so that it is written as a whole or not at all.
    rustix::io::pwrite(fd, &layout::header(slots), 0).map(|_| ())
}
