//! What a program's file says of itself: its processor, its loader, the libraries that it needs and where it
//! wants them searched for. Nothing of it is run.
//!
//! The format: System V ABI, "Dynamic Linking"; the search: ld.so(8).

use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{
    DT_NEEDED, DT_NULL, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, EM_X86_64, FileHeader64, PT_LOAD,
};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};

/// What kind of file a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program or library for a guest's processor.
    Binary(Binary),
    /// A script that this program runs.
    Script { interpreter: String },
    /// A program for another processor.
    Foreign,
    /// Something else, or a damaged program.
    Other,
}

/// The part of a program's dynamic section that says what it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Binary {
    /// The loader; a static program and most libraries have none.
    pub loader: Option<String>,
    /// The names of the libraries, in the order of the search.
    pub needed: Vec<String>,
    /// Folders to search first, with `$ORIGIN` in place of the file's own folder.
    pub folders: Vec<String>,
}

impl Binary {
    /// The folders with the one of the file at `path` in place of `$ORIGIN`.
    pub fn folders_of(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let put = move |folder: &String| {
            PathBuf::from(folder.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin))
        };
        self.folders.iter().map(put)
    }
}

/// What kind of program these bytes of a file are.
pub(super) fn kind(bytes: &[u8]) -> Kind {
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        // `env` looks its word up; the guest's busybox has `env` itself.
        let word = if first.ends_with("/env") { words.next() } else { None };
        return Kind::Script { interpreter: word.unwrap_or(first).to_owned() };
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Kind::Other;
    }
    // Byte 4 is the class (2: of 64 bits), bytes 18 and 19 are the processor.
    let machine = bytes.get(18..20).map(|two| u16::from_le_bytes([two[0], two[1]]));
    match (bytes.get(4), machine) {
        (Some(2), Some(machine)) if machine == EM_X86_64.0 => binary(bytes).map_or(Kind::Other, Kind::Binary),
        (Some(_), Some(_)) => Kind::Foreign,
        _ => Kind::Other,
    }
}

fn binary(bytes: &[u8]) -> Option<Binary> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let mut found = Binary::default();
    for segment in segments {
        if let Some(loader) = segment.interpreter(endian, bytes).ok()? {
            found.loader = Some(String::from_utf8(loader.to_vec()).ok()?);
        }
    }
    let mut entries = Vec::new();
    for segment in segments {
        for entry in segment.dynamic(endian, bytes).ok()?.into_iter().flatten() {
            entries.push((entry.tag(endian), entry.val(endian)));
        }
    }
    if let Some(end) = entries.iter().position(|(tag, _)| *tag == DT_NULL) {
        entries.truncate(end);
    }
    let value = |wanted| entries.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value);
    let Some((start, size)) = value(DT_STRTAB).zip(value(DT_STRSZ)) else {
        return Some(found);
    };
    let mut loaded = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
    let strings = loaded.find_map(|segment| segment.data_range(endian, bytes, start, size).ok()?)?;
    let text = |at: u64| -> Option<String> {
        let text = strings.get(usize::try_from(at).ok()?..)?.split(|byte| *byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    };
    for (tag, at) in &entries {
        if *tag == DT_NEEDED {
            found.needed.push(text(*at)?);
        }
    }
    // DT_RPATH counts only where there is no DT_RUNPATH.
    if let Some(at) = value(DT_RUNPATH).or_else(|| value(DT_RPATH)) {
        let folders = text(at)?;
        found.folders = folders.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned).collect();
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_foreign_programs_are_told_apart() {
        let interpreter = |text: &str| kind(text.as_bytes());
        assert_eq!(interpreter("#!/bin/sh -e\ntrue"), Kind::Script { interpreter: "/bin/sh".into() });
        assert_eq!(interpreter("#! /usr/bin/env perl"), Kind::Script { interpreter: "perl".into() });
        assert_eq!(kind(b"hello"), Kind::Other);
        let mut arm = vec![0; 64];
        arm[..5].copy_from_slice(b"\x7fELF\x02");
        arm[18] = 183;
        assert_eq!(kind(&arm), Kind::Foreign);
        arm[18] = 62;
        assert_eq!(kind(&arm), Kind::Other, "a header that leads nowhere");
    }

    #[test]
    fn no_damage_to_a_program_makes_the_reader_panic() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(matches!(kind(&whole), Kind::Binary(_)));
        for at in (0..1024).chain((0..whole.len()).step_by(whole.len() / 64)) {
            let mut damaged = whole[..whole.len().min(1 << 16)].to_vec();
            let place = at % damaged.len();
            damaged[place] ^= 0xff;
            let _ = (kind(&damaged), kind(&whole[..at]));
        }
    }
}
