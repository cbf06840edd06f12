//! Opening a page, with every check that keeps a program from publishing on something else.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, FileType, Mode, OFlags, SealFlags, Stat};
use rustix::io::Errno;

use super::{Backing, Page, PageId};
use crate::bpf;
use crate::error::Error;
use crate::layout::{self, MAX_SLOTS, RECORD_BYTES, page_bytes};
use crate::mapping::Mapping;

/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS_MAGIC: u64 = 0xcafe_4a11;
/// `SYSFS_MAGIC` of linux/magic.h.
const SYSFS_MAGIC: u64 = 0x6265_6572;
/// `CAP_DAC_OVERRIDE` lets root read what belongs to others, and so may it here.
const ROOT: u32 = 0;

pub(super) fn open(path: &Path) -> Result<Page, Error> {
    let found = fs::statfs(path).map_err(|error| Error::system(path, "looking for it", error))?;
    // The type of a file system has 32 bits, with or without a sign.
    match u64::from(found.f_type as u32) {
        BPF_FS_MAGIC => open_map(path),
        SYSFS_MAGIC => open_device(path),
        _ => Page::of_file(path, opened(path)?),
    }
}

fn opened(path: &Path) -> Result<OwnedFd, Error> {
    // Without O_NONBLOCK, a page that is a pipe would be waited for.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
    fs::open(path, flags, Mode::empty()).map_err(|error| Error::system(path, "opening it", error))
}

/// The memory of a PCI device, which a virtual machine shares with its host: it can be mapped but not read,
/// and never changes its length.
fn open_device(path: &Path) -> Result<Page, Error> {
    let fd = opened(path)?;
    let stat = fs::fstat(&fd).map_err(|error| Error::system(path, "looking at it", error))?;
    check_access(path, &stat, rustix::process::geteuid().as_raw())?;
    fixed_page(path, fd, stat.st_size.cast_unsigned(), &stat)
}

impl Page {
    pub(super) fn of_file(path: &Path, fd: OwnedFd) -> Result<Self, Error> {
        let stat = fs::fstat(&fd).map_err(|error| Error::system(path, "looking at it", error))?;
        check_access(path, &stat, rustix::process::geteuid().as_raw())?;
        let mut header = [0; RECORD_BYTES];
        let read = read_at_start(path, &fd, &mut header)?;
        if read < RECORD_BYTES {
            return Err(Error::Size {
                path: path.to_owned(),
                bytes: read as u64,
                expected: page_bytes(1) as u64,
            });
        }
        let slots = checked_slots(path, &header)?;
        check_size(path, &fd, slots)?;
        let seals = fs::fcntl_get_seals(&fd).unwrap_or(SealFlags::empty());
        let backing = if seals.contains(SealFlags::SHRINK) {
            Backing::Fixed(mapped(path, &fd, slots)?)
        } else {
            Backing::Plain
        };
        Ok(Self { path: path.to_owned(), fd, slots, id: id_of(&stat), backing })
    }
}

fn open_map(path: &Path) -> Result<Page, Error> {
    let system = |doing| move |error: std::io::Error| Error::system(path, doing, error);
    let stat = fs::stat(path).map_err(|error| Error::system(path, "looking at it", error))?;
    check_access(path, &stat, rustix::process::geteuid().as_raw())?;
    let name = CString::new(path.as_os_str().as_bytes()).expect("a path that was found has no NUL");
    let fd = bpf::open_pinned(&name).map_err(system("opening the BPF map"))?;
    // Programs and links are pinned too, and may not answer.
    let info = bpf::map_info(fd.as_fd()).map_err(system("looking at the BPF map"))?;
    let shape = (info.map_type, info.value_bytes as usize, info.flags & bpf::F_MMAPABLE);
    if shape != (bpf::MAP_TYPE_ARRAY, RECORD_BYTES, bpf::F_MMAPABLE) {
        let (map_type, value_bytes, flags) = (info.map_type, info.value_bytes, info.flags);
        return Err(Error::Map { path: path.to_owned(), map_type, value_bytes, flags });
    }
    fixed_page(path, fd, u64::from(info.max_entries) * RECORD_BYTES as u64, &stat)
}

/// The page in memory that is `bytes` long, and stays so.
fn fixed_page(path: &Path, fd: OwnedFd, bytes: u64, stat: &Stat) -> Result<Page, Error> {
    let slots = (bytes / RECORD_BYTES as u64).saturating_sub(1).clamp(1, u64::from(MAX_SLOTS)) as u32;
    let expected = page_bytes(slots) as u64;
    if bytes != expected {
        return Err(Error::Size { path: path.to_owned(), bytes, expected });
    }
    let mapping = mapped(path, &fd, slots)?;
    match checked_slots(path, &mapping.header())? {
        in_header if in_header == slots => {}
        in_header => {
            return Err(Error::Size { path: path.to_owned(), bytes, expected: page_bytes(in_header) as u64 });
        }
    }
    let id = id_of(stat);
    Ok(Page { path: path.to_owned(), fd, slots, id, backing: Backing::Fixed(mapping) })
}

fn mapped(path: &Path, fd: &OwnedFd, slots: u32) -> Result<Arc<Mapping>, Error> {
    Mapping::new(fd.as_fd(), slots).map(Arc::new).map_err(|error| Error::system(path, "mapping it", error))
}

fn id_of(stat: &Stat) -> PageId {
    PageId { device: stat.st_dev, inode: stat.st_ino }
}

/// Kind, owner and mode, for `user`.
fn check_access(path: &Path, stat: &Stat, user: u32) -> Result<(), Error> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Error::Kind(path.to_owned()));
    }
    let owner = stat.st_uid;
    if owner != user && user != ROOT {
        return Err(Error::ForeignOwner { path: path.to_owned(), owner, user });
    }
    match stat.st_mode & 0o7777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(Error::Mode { path: path.to_owned(), mode }),
    }
}

fn checked_slots(path: &Path, header: &[u8; RECORD_BYTES]) -> Result<u32, Error> {
    match layout::slots_of(header).map_err(|error| Error::header(path, error))? {
        slots @ 1..=MAX_SLOTS => Ok(slots),
        slots => Err(Error::SlotCount(slots)),
    }
}

/// An error if the file has not exactly the length of a page with `slots` slots.
pub(super) fn check_size(path: &Path, fd: &OwnedFd, slots: u32) -> Result<(), Error> {
    let stat = fs::fstat(fd).map_err(|error| Error::system(path, "looking at it", error))?;
    let (bytes, expected) = (stat.st_size.cast_unsigned(), page_bytes(slots) as u64);
    if bytes == expected { Ok(()) } else { Err(Error::Size { path: path.to_owned(), bytes, expected }) }
}

/// Fills `bytes` from the start of the file, as far as it goes.
pub(super) fn read_at_start(path: &Path, fd: &OwnedFd, bytes: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(fd, &mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system(path, "reading it", error)),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_for_its_owner_and_root() {
        let page = Page::create_sealed(1).expect("there is memory");
        let mut stat = fs::fstat(&page.fd).expect("it is open");
        stat.st_uid = 1_000;
        for user in [1_000, ROOT] {
            assert!(check_access(page.path(), &stat, user).is_ok());
        }
        let refused = check_access(page.path(), &stat, 1_001);
        assert!(matches!(refused, Err(Error::ForeignOwner { owner: 1_000, user: 1_001, .. })));
    }
}
