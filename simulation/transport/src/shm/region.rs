//! The file of shared memory of a group of processes: its layout, its mapping, and which members are alive.
//!
//! | what | bytes |
//! |---|---|
//! | header: magic and version, members, capacity of a ring, checksum of the group | 4096 |
//! | a [`Post`] for each member | 128 each |
//! | a [`Control`] for each ordered pair, by sender, then receiver | 384 each |
//! | from the next multiple of 4096: the bytes of each ring, in the same order | capacity each |
//!
//! The file has no name (memfd_create(2)): the other members open it as a descriptor of its creator
//! (`/proc/PID/fd/N`). Its size is sealed before anybody else can reach it. A file that can be truncated
//! would kill every member by SIGBUS at the next access, and nothing would say why.
//!
//! Each member locks the byte with its number in the file, through its own open file description. The kernel
//! releases the lock when the process ends, however it ends, and other processes can ask whether it is held.
//! So no process number is used, which another process could get, and the process need not do anything when
//! it ends. A forked child of a member that does not run another program keeps the member's lock.
//!
//! Invariants: the header is complete and the creator's lock held before the path is known to others. All
//! blocks are allocated when the file is created, so that a lack of memory causes an error and not a signal,
//! and neither its size nor that changes later. Other users cannot open it. Nothing of it is left when the
//! last member has ended.
#![allow(unsafe_code)] // shared memory comes from `mmap`, and rustix has no locks of open file descriptions

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use xxhash_rust::xxh3::xxh3_64;

use super::{Group, Post, SharedMemoryError};
use crate::shm::ring::{Control, Ring};

/// Identifies the file type and its version.
const MAGIC: u64 = u64::from_le_bytes(*b"PACESHM\x02");
const PAGE_BYTES: usize = 4_096;
/// What nobody may do to the file: change its size, or lift this.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The mapped file.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    members: usize,
    capacity: u64,
    /// Holds the lock of this member.
    file: File,
}

// SAFETY: what is shared through it are atomics and the bytes of rings, whose rules `ring` states; it is
// unmapped once, by its owner.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Creates the file, as the member with this number.
    pub(super) fn create(group: &Group, member: usize) -> Result<Self, SharedMemoryError> {
        let failed = |source| SharedMemoryError::Create { source };
        let file = unnamed().map_err(|error| failed(error.into()))?;
        let prepared = (|| {
            file.set_permissions(Permissions::from_mode(0o600))?;
            fallocate(&file, FallocateFlags::empty(), 0, size(group))?;
            fcntl_add_seals(&file, SEALS)?;
            file.write_all_at(&header(group), 0)?;
            hold(&file, member)?;
            Self::map(group, file)
        })();
        prepared.map_err(failed)
    }

    /// Where other processes of this host open the file, as long as this process has it.
    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor()).into()
    }

    pub(super) fn descriptor(&self) -> u32 {
        self.file.as_raw_fd().cast_unsigned()
    }

    /// Opens the file that another member has created, as the member with this number.
    pub(super) fn open(path: &Path, group: &Group, member: usize) -> Result<Self, SharedMemoryError> {
        let failed = |source| SharedMemoryError::Io { path: path.into(), source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 {
            return Err(SharedMemoryError::NotPrivate { path: path.into() });
        }
        // Of a file that knows no seals there is no answer.
        if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(SharedMemoryError::NotSealed { path: path.into() });
        }
        let mut found = [0; 32];
        file.read_exact_at(&mut found, 0).map_err(failed)?;
        if found != header(group) || meta.len() != size(group) {
            return Err(SharedMemoryError::Differs { path: path.into() });
        }
        match hold(&file, member) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(SharedMemoryError::Taken { path: path.into(), rank: group.members[member] });
            }
            held => held.map_err(failed)?,
        }
        Self::map(group, file).map_err(failed)
    }

    fn map(group: &Group, file: File) -> io::Result<Self> {
        let (members, capacity) = (group.members.len(), group.ring_bytes as u64);
        let bytes = bytes(members, capacity);
        // SAFETY: a new mapping at an address of the kernel's choice touches nobody's memory.
        let start = unsafe {
            mmap(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)?
        };
        let start = NonNull::new(start.cast()).expect("a mapping is not at address 0");
        Ok(Self { start, bytes, members, capacity, file })
    }

    #[inline]
    pub(super) fn post(&self, member: usize) -> &Post {
        assert!(member < self.members, "a member is below {}", self.members);
        // SAFETY: as many posts as there are members follow the header; they are mapped as long as `self`,
        // aligned to 128 bytes, and made of atomics, for which any bytes are valid and which other
        // processes may change at any time.
        unsafe { self.start.add(PAGE_BYTES).cast::<Post>().add(member).as_ref() }
    }

    #[inline]
    pub(super) fn ring(&self, from: usize, to: usize) -> Ring<'_> {
        assert!(from < self.members && to < self.members && from != to, "a ring joins two members");
        let pair = from * (self.members - 1) + to - usize::from(to > from);
        let controls = PAGE_BYTES + self.members * size_of::<Post>();
        let data = data_offset(self.members) + pair * self.capacity as usize;
        // SAFETY: as above for the control; the bytes of this pair's ring lie within the mapping, belong to
        // this control only, and are mapped as long as `self`.
        unsafe {
            let control = self.start.add(controls).cast::<Control>().add(pair).as_ref();
            Ring::new(control, self.start.add(data).as_ptr(), self.capacity)
        }
    }

    /// Whether a member holds its lock, according to the kernel. If the kernel gives no answer, the member
    /// counts as alive.
    pub(super) fn is_alive(&self, member: usize) -> bool {
        let mut asked = lock_of(member);
        // SAFETY: the kernel reads and writes one `flock`, which lives until the call returns.
        let result = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut asked) };
        result != 0 || i32::from(asked.l_type) != libc::F_UNLCK
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and no reference into it outlives `self`.
        let result = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(result.is_ok(), "a mapping of ours can be unmapped");
    }
}

/// The offset of the first ring's bytes.
fn data_offset(members: usize) -> usize {
    let pairs = members * (members - 1);
    (PAGE_BYTES + members * size_of::<Post>() + pairs * size_of::<Control>()).next_multiple_of(PAGE_BYTES)
}

/// The size of the whole file in bytes.
fn bytes(members: usize, capacity: u64) -> usize {
    data_offset(members) + members * (members - 1) * capacity as usize
}

/// The size of the file of a group in bytes.
fn size(group: &Group) -> u64 {
    bytes(group.members.len(), group.ring_bytes as u64) as u64
}

/// A file in memory without a name, whose size can be sealed and which nobody can execute. Kernels before
/// Linux 6.3 do not know the last, and some machines refuse a file without it (sysctl vm.memfd_noexec).
fn unnamed() -> rustix::io::Result<File> {
    let (name, flags) = ("paceline", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
    let file = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags),
        made => made,
    };
    file.map(File::from)
}

/// The first bytes of the file of a group.
fn header(group: &Group) -> [u8; 32] {
    let members: Vec<u8> =
        group.members.iter().chain([&group.ranks]).flat_map(|rank| rank.to_le_bytes()).collect();
    let words = [MAGIC, group.members.len() as u64, group.ring_bytes as u64, xxh3_64(&members)];
    let mut header = [0; 32];
    header
        .chunks_exact_mut(8)
        .zip(words)
        .for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    header
}

/// The lock of a member: a byte of the file.
fn lock_of(member: usize) -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: member as libc::off_t,
        l_len: 1,
        l_pid: 0,
    }
}

/// Takes the lock of a member, if it is free.
fn hold(file: &File, member: usize) -> io::Result<()> {
    let lock = lock_of(member);
    // SAFETY: the kernel reads one `flock`, which lives until the call returns.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
