//! Unfinished files: their names, and which of them nobody is writing any more.
//!
//! Whoever writes an unfinished file holds a lock on it, which the kernel releases when the process ends,
//! however it ends. So no number of a process is asked for, which another one could have got since, and
//! processes in other containers count as well. On a file system that other hosts write to, locks may be
//! known to one host only: there a file is removed only if its name says that it was made under the
//! kernel that runs now. Names from before there were locks (`.NAME.PROCESS.unfinished`, `.NAME.unfinished`)
//! are removed on file systems of this host.
//!
//! Invariant: what may have an owner stays.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of unfinished files end with.
const END: &str = ".unfinished";
/// So many bytes of a file's name are in that of its unfinished file: file systems take 255 in all.
const MOST_NAME_BYTES: usize = 190;
/// The digits of a kernel's number.
const KERNEL_DIGITS: usize = 8;

/// A name for the unfinished file of the file `name`; no other one of this host.
pub(crate) fn new_name(name: &OsStr) -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut whole = opening(name);
    whole.push(format!("{}-{}-{number}{END}", kernel(), std::process::id()));
    whole
}

/// What comes before the number of the kernel.
fn opening(name: &OsStr) -> OsString {
    let bytes = name.as_encoded_bytes();
    let mut opening = OsString::from(".");
    match bytes.len() > MOST_NAME_BYTES {
        false => opening.push(name),
        true => opening.push(shortened(name)),
    }
    opening.push(".");
    opening
}

#[cfg(unix)]
fn shortened(name: &OsStr) -> &OsStr {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(&name.as_bytes()[..MOST_NAME_BYTES])
}

#[cfg(not(unix))]
fn shortened(name: &OsStr) -> String {
    name.to_string_lossy().chars().take(MOST_NAME_BYTES / 4).collect()
}

/// The number of the kernel that runs now: another one after every boot.
fn kernel() -> &'static str {
    static KERNEL: OnceLock<String> = OnceLock::new();
    KERNEL.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits = boot.chars().filter(char::is_ascii_hexdigit).take(KERNEL_DIGITS).collect::<String>();
        if digits.len() == KERNEL_DIGITS { digits } else { "0".repeat(KERNEL_DIGITS) }
    })
}

/// The process that has made an unfinished file, as its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Maker {
    /// A process under the kernel of this number.
    Of(String),
    /// It is not said.
    Unsaid,
}

/// The maker of the file of this name, if it is an unfinished one of the file `of`, or of any file where that
/// is not said.
fn maker(name: &OsStr, of: Option<&OsStr>) -> Option<Maker> {
    let bytes = name.as_encoded_bytes();
    let inner = bytes.strip_suffix(END.as_bytes())?;
    let tag = match of {
        Some(of) if inner == without_dot(&opening(of)) => return Some(Maker::Unsaid),
        Some(of) => inner.strip_prefix(opening(of).as_encoded_bytes())?,
        None => {
            let dot = inner.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 1)?;
            inner.strip_prefix(b".")?;
            &inner[dot + 1..]
        }
    };
    let tag = std::str::from_utf8(tag).ok()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(tag) {
        return Some(Maker::Unsaid);
    }
    let [kernel, process, number] = tag.split('-').collect::<Vec<_>>()[..] else { return None };
    let is_kernel = kernel.len() == KERNEL_DIGITS && kernel.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_kernel && is_number(process) && is_number(number)).then(|| Maker::Of(kernel.to_owned()))
}

fn without_dot(opening: &OsStr) -> &[u8] {
    let bytes = opening.as_encoded_bytes();
    bytes.strip_suffix(b".").unwrap_or(bytes)
}

/// What was found in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Unfinished files that nobody was writing, and that are gone now.
    pub removed: u32,
    /// Those that somebody is writing.
    pub owned: u32,
    /// Those of which it cannot be known, or which may not be removed.
    pub left: u32,
}

/// Removes the unfinished files in `folder` that no process is writing.
///
/// ```
/// use paceline_files::{NewFile, leftovers};
/// # let folder = tempfile::tempdir()?;
/// let folder = folder.path();
/// // What a process that was killed has left.
/// std::fs::write(folder.join(".summary.json.4711.unfinished"), "{")?;
/// let mine = NewFile::begin(&folder.join("trips.csv"))?;
/// let found = leftovers::remove(folder);
/// assert_eq!((found.removed, found.owned), (1, 1));
/// mine.publish()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove(folder: &Path) -> Found {
    remove_those(folder, None, None)
}

/// As [`remove`], for the unfinished files of the file `name`, except the one that the caller writes.
pub(crate) fn remove_of(folder: &Path, name: &OsStr, except: Option<&OsStr>) -> Found {
    remove_those(folder, Some(name), except)
}

fn remove_those(folder: &Path, of: Option<&OsStr>, except: Option<&OsStr>) -> Found {
    let mut found = Found::default();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(maker) = maker(&name, of).filter(|_| except != Some(&name)) else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            *match remove_one(&entry.path(), &maker, folder) {
                Fate::Removed => &mut found.removed,
                Fate::Owned => &mut found.owned,
                Fate::Left => &mut found.left,
            } += 1;
        }
    }
    found
}

enum Fate {
    Removed,
    Owned,
    Left,
}

fn remove_one(path: &Path, maker: &Maker, folder: &Path) -> Fate {
    let Ok(file) = open(path) else { return Fate::Left };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Fate::Owned,
        Err(TryLockError::Error(_)) => return Fate::Left,
    }
    let is_known = matches!(maker, Maker::Of(of) if of == kernel()) || is_of_this_host(folder);
    // Its writer may have given it its name since it was opened, and another file may have this name.
    if is_known && is_at(&file, path) && fs::remove_file(path).is_ok() { Fate::Removed } else { Fate::Left }
}

/// Opens a file for its lock: some file systems want it open for writing.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Whether the file at `path` is `file`.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |data: fs::Metadata| (data.dev(), data.ino());
    let there = path.symlink_metadata().map(place);
    there.is_ok_and(|there| file.metadata().is_ok_and(|data| place(data) == there))
}

#[cfg(not(unix))]
pub(crate) fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Whether only this host writes to the file system of a folder, so that a lock that nobody here holds is
/// held by nobody.
#[cfg(target_os = "linux")]
fn is_of_this_host(folder: &Path) -> bool {
    /// Of `linux/magic.h`, and of the sources of ZFS and bcachefs: ext2 to ext4, XFS, Btrfs, F2FS, ZFS,
    /// bcachefs, tmpfs, ramfs, overlayfs, FAT, exFAT, ReiserFS, JFS, NILFS.
    const LOCAL: [u64; 14] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0xF2F5_2010,
        0x2FC1_2FC1,
        0xCA45_1A4E,
        0x0102_1994,
        0x8584_58F6,
        0x794C_7630,
        0x4D44,
        0x2011_BAB0,
        0x5265_4973,
        0x3153_464A,
        0x3434,
    ];
    rustix::fs::statfs(folder).is_ok_and(|found| LOCAL.contains(&(found.f_type as u64 & 0xFFFF_FFFF)))
}

#[cfg(not(target_os = "linux"))]
fn is_of_this_host(_folder: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_of_which_file_and_by_whom() {
        let named = |name: &str, of: Option<&str>| maker(OsStr::new(name), of.map(OsStr::new));
        let of = |kernel: &str| Some(Maker::Of(kernel.to_owned()));
        for (name, file, expected) in [
            (".log.0123abcd-77-0.unfinished", Some("log"), of("0123abcd")),
            (".log.0123abcd-77-0.unfinished", None, of("0123abcd")),
            (".log.77.unfinished", Some("log"), Some(Maker::Unsaid)),
            (".log.unfinished", Some("log"), Some(Maker::Unsaid)),
            // Whose it is cannot be said, and it may be anybody's.
            (".log.unfinished", None, None),
            (".log.2.77.unfinished", Some("log"), None),
            (".log.2.77.unfinished", Some("log.2"), Some(Maker::Unsaid)),
            (".log.0123abcd-77.unfinished", Some("log"), None),
            (".log.0123abcg-77-0.unfinished", Some("log"), None),
            (".logs.77.unfinished", Some("log"), None),
            ("log.77.unfinished", None, None),
            (".77.unfinished", None, None),
            (".log.77.unfinished~", Some("log"), None),
        ] {
            assert_eq!(named(name, file), expected, "{name} of {file:?}");
        }
        let long = "x".repeat(255);
        let name = new_name(OsStr::new(&long));
        assert!(name.len() <= 255, "{name:?}");
        assert_eq!(maker(&name, Some(OsStr::new(&long))), of(kernel()));
    }
}
