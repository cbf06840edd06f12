//! The programs that a command names: where they are, and whether a library can be preloaded into them.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The first bytes of an ELF file of 64 bits, little-endian.
const ELF64: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
/// Where an ELF header has the offset, the size and the number of the program headers.
const OFFSET_AT: usize = 32;
const SIZE_AT: usize = 54;
const COUNT_AT: usize = 56;
/// The kind of a program header that names the dynamic loader.
const INTERPRETER: u32 = 3;
/// The limit of program headers that are read: more than a program has.
const HEADERS_MAX: u16 = 256;

/// The executable file that a word of a command names: a path, or a name that is searched in `PATH`.
pub fn find(word: &OsStr) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if Path::new(word).components().count() > 1 {
        return Some(PathBuf::from(word)).filter(is_executable);
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(word)).find(is_executable)
}

/// Whether a program is linked statically; `None` if it is not a 64-bit ELF program, for example a script.
pub fn is_static(path: &Path) -> Option<bool> {
    let file = File::open(path).ok()?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if header[..ELF64.len()] != ELF64 || half(COUNT_AT) > HEADERS_MAX {
        return None;
    }
    let offset = u64::from_le_bytes(header[OFFSET_AT..OFFSET_AT + 8].try_into().expect("eight bytes"));
    for index in 0..half(COUNT_AT) {
        let mut kind = [0; 4];
        file.read_exact_at(&mut kind, offset.checked_add(u64::from(index) * u64::from(half(SIZE_AT)))?)
            .ok()?;
        if u32::from_le_bytes(kind) == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_and_known_to_be_dynamic() {
        let shell = find(OsStr::new("sh")).expect("there is a shell");
        assert_eq!(find(shell.as_os_str()), Some(shell.clone()));
        assert_eq!(is_static(&shell), Some(false), "{}", shell.display());
        assert_eq!(find(OsStr::new("there is no such program")), None);
        assert_eq!(is_static(Path::new("/proc/version")), None, "it is text");
        // A header without program headers is that of a static program.
        let file = tempfile::NamedTempFile::new().expect("there is a temporary folder");
        file.as_file().write_all_at(&[&ELF64[..], &[0; 58]].concat(), 0).expect("there is room");
        assert_eq!(is_static(file.path()), Some(true));
    }
}
