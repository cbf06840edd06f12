//! Pinned BPF maps: the two calls of bpf(2) that a page needs, by path to a map and what the map looks like.
//!
//! Needs no privilege beyond access to the pinned file (Linux 5.19; before, unprivileged users may have no
//! BPF at all).
#![allow(unsafe_code)] // bpf(2) has no safe wrapper that does not bring a whole loader

use std::ffi::{CStr, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

const BPF_OBJ_GET: c_long = 7;
const BPF_OBJ_GET_INFO_BY_FD: c_long = 15;
pub(crate) const MAP_TYPE_ARRAY: u32 = 2;
/// The flag of a map that can be mapped into memory.
pub(crate) const F_MMAPABLE: u32 = 1 << 10;

/// The part of `union bpf_attr` for `BPF_OBJ_GET`.
#[repr(C)]
struct ObjGet {
    pathname: u64,
    bpf_fd: u32,
    file_flags: u32,
}

/// The part of `union bpf_attr` for `BPF_OBJ_GET_INFO_BY_FD`.
#[repr(C)]
struct InfoByFd {
    bpf_fd: u32,
    info_len: u32,
    info: u64,
}

/// The first members of `struct bpf_map_info`.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct MapInfo {
    pub(crate) map_type: u32,
    id: u32,
    key_bytes: u32,
    pub(crate) value_bytes: u32,
    pub(crate) max_entries: u32,
    pub(crate) flags: u32,
}

/// The object that is pinned at `path`.
pub(crate) fn open_pinned(path: &CStr) -> io::Result<OwnedFd> {
    let attr = ObjGet { pathname: path.as_ptr() as u64, bpf_fd: 0, file_flags: 0 };
    // SAFETY: `attr` is a valid prefix of `union bpf_attr` of the size that is given, and `path` outlives the
    // call.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_OBJ_GET, &raw const attr, size_of::<ObjGet>()) };
    match RawFd::try_from(fd) {
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn map_info(map: BorrowedFd<'_>) -> io::Result<MapInfo> {
    let mut info = MapInfo::default();
    let attr = InfoByFd {
        bpf_fd: map.as_raw_fd().cast_unsigned(),
        info_len: size_of::<MapInfo>() as u32,
        info: (&raw mut info) as u64,
    };
    // SAFETY: as above; the kernel writes at most `info_len` bytes to `info`, which is that long.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &raw const attr, size_of::<InfoByFd>())
    };
    if result == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}
