//! Pages in pinned BPF maps. A map that is read by a policy in the kernel is a page as any other.
//!
//! Needs the right to make BPF maps and file systems; skipped, with the reason, where that lacks.
#![allow(unsafe_code)] // bpf(2) has no safe wrapper that does not bring a whole loader

use std::ffi::{CString, c_long};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use paceline_lvt::layout::{RECORD_BYTES, header};
use paceline_lvt::{Error, Page, Publisher};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
};

const BPF_MAP_CREATE: c_long = 0;
const BPF_MAP_UPDATE_ELEM: c_long = 2;
const BPF_OBJ_PIN: c_long = 6;
const ARRAY: u32 = 2;
const MMAPABLE: u32 = 1 << 10;

/// The part of `union bpf_attr` for `BPF_MAP_CREATE`.
#[repr(C)]
struct Create {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    max_entries: u32,
    flags: u32,
}

/// The part of `union bpf_attr` for `BPF_MAP_UPDATE_ELEM`.
#[repr(C)]
struct Update {
    map_fd: u64,
    key: u64,
    value: u64,
    flags: u64,
}

/// The part of `union bpf_attr` for `BPF_OBJ_PIN`.
#[repr(C)]
struct Pin {
    pathname: u64,
    bpf_fd: u32,
    file_flags: u32,
}

fn bpf<T>(command: c_long, attr: &T) -> io::Result<RawFd> {
    // SAFETY: `attr` is a valid prefix of `union bpf_attr`, and what it points to outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attr, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as RawFd) }
}

/// A file system for pinned maps that is mounted nowhere, and goes with the descriptor.
fn pin_board() -> io::Result<OwnedFd> {
    let context = fsopen("bpf", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "mode", "0700")?;
    fsconfig_create(&context)?;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// A map of this shape, pinned on the board.
fn pinned(board: &OwnedFd, name: &str, attr: &Create, header: [u8; RECORD_BYTES]) -> io::Result<PathBuf> {
    let fd = bpf(BPF_MAP_CREATE, attr)?;
    // SAFETY: the kernel has just made this descriptor for us.
    let map = unsafe { OwnedFd::from_raw_fd(fd) };
    if attr.value_bytes as usize == RECORD_BYTES {
        let (key, value) = (0_u32, header);
        let (key, value) = ((&raw const key) as u64, (&raw const value) as u64);
        bpf(BPF_MAP_UPDATE_ELEM, &Update { map_fd: map.as_raw_fd() as u64, key, value, flags: 0 })?;
    }
    let path = format!("/proc/self/fd/{}/{name}", board.as_raw_fd());
    let pathname = CString::new(path.clone()).expect("no NUL");
    let bpf_fd = map.as_raw_fd().cast_unsigned();
    bpf(BPF_OBJ_PIN, &Pin { pathname: pathname.as_ptr() as u64, bpf_fd, file_flags: 0 })?;
    Ok(PathBuf::from(path))
}

fn shape(max_entries: u32) -> Create {
    Create { map_type: ARRAY, key_bytes: 4, value_bytes: RECORD_BYTES as u32, max_entries, flags: MMAPABLE }
}

fn open(path: &Path) -> Result<Page, Error> {
    Page::open(path)
}

#[test]
fn a_pinned_map_is_a_page() {
    let board =
        match pin_board().and_then(|board| pinned(&board, "probe", &shape(2), header(1)).map(|_| board)) {
            Ok(board) => board,
            Err(error) => return eprintln!("skipped: no BPF maps here: {error}"),
        };
    let make = |name: &str, attr: &Create, header| pinned(&board, name, attr, header).expect("as the probe");

    let path = make("page", &shape(11), header(10));
    let page = open(&path).unwrap();
    assert_eq!((page.capacity(), page.slots().unwrap().len()), (10, 0));
    let mut publisher = Publisher::claim(&open(&path).unwrap(), "vcpu 0").unwrap();
    publisher.publish(123_456);
    let seen = page.slots().unwrap();
    assert_eq!((seen.len(), seen[0].lvt_ns, seen[0].name.to_string()), (1, 123_456, "vcpu 0".to_owned()));
    drop(publisher);
    assert_eq!((page.slots().unwrap().len(), page.reclaim().unwrap()), (0, 0));

    let told_more = make("told_more", &shape(11), header(11));
    assert!(matches!(open(&told_more), Err(Error::Size { bytes: 704, expected: 768, .. })));
    let empty = make("empty", &shape(11), [0; RECORD_BYTES]);
    assert!(matches!(open(&empty), Err(Error::NotAPage(_))));
    let lonely = make("lonely", &shape(1), header(0));
    assert!(matches!(open(&lonely), Err(Error::Size { bytes: 64, expected: 128, .. })));
    let narrow = make("narrow", &Create { value_bytes: 32, ..shape(11) }, header(10));
    assert!(matches!(open(&narrow), Err(Error::Map { value_bytes: 32, .. })));
    let unmapped = make("unmapped", &Create { flags: 0, ..shape(11) }, header(10));
    assert!(matches!(open(&unmapped), Err(Error::Map { flags: 0, .. })));
}

/// Publishes on the page that is its argument until its input ends.
const PYTHON: &str = "
import sys, lvt as paceline_lvt
try:
    publisher = paceline_lvt.Publisher(sys.argv[1], 'python')
    publisher.publish(77)
    print('published', flush=True)
    sys.stdin.read()
    publisher.close()
except paceline_lvt.PageError as error:
    print(error, flush=True)
";

fn python(board: &OwnedFd, name: &str) -> (Child, String) {
    let path = format!("/proc/{}/fd/{}/{name}", std::process::id(), board.as_raw_fd());
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../outside/python/python/paceline");
    let mut command = Command::new("python3");
    command.args(["-c", PYTHON, &path]).env("PYTHONPATH", module).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it was there before");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("it is piped"))
        .read_line(&mut line)
        .expect("it says something");
    (child, line)
}

#[test]
fn python_publishes_on_a_pinned_map() {
    let found = Command::new("python3").args(["-c", "import ctypes; ctypes.CDLL('libatomic.so.1')"]).status();
    if !found.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: there is no python3 with libatomic");
    }
    let board =
        match pin_board().and_then(|board| pinned(&board, "page", &shape(11), header(10)).map(|_| board)) {
            Ok(board) => board,
            Err(error) => return eprintln!("skipped: no BPF maps here: {error}"),
        };
    let (mut child, said) = python(&board, "page");
    assert_eq!(said.trim(), "published");
    let page = open(Path::new(&format!("/proc/self/fd/{}/page", board.as_raw_fd()))).unwrap();
    let seen = page.slots().unwrap();
    assert_eq!((seen.len(), seen[0].lvt_ns, seen[0].name.to_string()), (1, 77, "python".to_owned()));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(page.slots().unwrap().len(), 0);

    pinned(&board, "narrow", &Create { value_bytes: 32, ..shape(11) }, header(10)).unwrap();
    pinned(&board, "unmapped", &Create { flags: 0, ..shape(11) }, header(10)).unwrap();
    for name in ["narrow", "unmapped"] {
        let (mut child, said) = python(&board, name);
        assert!(said.contains("not an LVT page (its kind or size is wrong)"), "{said}");
        assert!(child.wait().unwrap().success());
    }
}
