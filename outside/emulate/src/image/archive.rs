//! Archives in the format `newc` of cpio: what a kernel unpacks as its first root folder, and what a guest
//! sends back. The format: the kernel's documentation, "initramfs buffer format".
//!
//! Invariant: equal entries give equal bytes. There are no times, and inodes are numbered in the order of the
//! paths.

use std::collections::BTreeMap;

/// What a guest's kernel and programs need beside the image, in MiB: the kernel alone takes 50 before it
/// unpacks.
const WORKING_MIB: u32 = 64;

/// What a file is stored in, in bytes.
const PAGE: usize = 4096;

/// What a path of an archive holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A folder.
    Folder,
    /// A file.
    File(Vec<u8>),
    /// A symbolic link to this path.
    Link(String),
}

/// An entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it holds.
    pub content: Content,
    /// The permission bits, such as `0o755`.
    pub permissions: u32,
    /// The numbers of its user and group.
    pub owner: (u32, u32),
}

impl Entry {
    /// A file of the superuser that all may run, or read alone.
    pub fn file(bytes: impl Into<Vec<u8>>, is_program: bool) -> Self {
        let permissions = if is_program { 0o755 } else { 0o644 };
        Self { content: Content::File(bytes.into()), permissions, owner: (0, 0) }
    }

    /// A folder of the superuser.
    pub fn folder() -> Self {
        Self { content: Content::Folder, permissions: 0o755, owner: (0, 0) }
    }

    /// A symbolic link.
    pub fn link(to: impl Into<String>) -> Self {
        Self { content: Content::Link(to.into()), permissions: 0o777, owner: (0, 0) }
    }
}

/// Why bytes are no archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The archive ends before its last entry, as when a guest was stopped while it wrote.
    #[error("the archive ends after {entries} entries, without its last one")]
    Cut {
        /// How many entries are whole.
        entries: usize,
    },
    /// An entry does not begin as one.
    #[error("at byte {offset} there is no entry of an archive (cpio, newc)")]
    NoEntry {
        /// Where it begins.
        offset: usize,
    },
    /// An entry's path leads out of the archive.
    #[error("the archive holds the path {path:?}, which leads out of it")]
    Path {
        /// The path.
        path: String,
    },
}

const MAGIC: &[u8] = b"070701";
const LAST: &str = "TRAILER!!!";
const HEADER: usize = 110;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const KINDS: u32 = 0o170_000;

/// The folders that Debian has in /usr, with links to them.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Whether a path is one of these folders or in it.
pub(super) fn is_merged(path: &str) -> bool {
    MERGED.contains(&path.split('/').next().unwrap_or_default())
}

/// The entries of an archive by their paths, which have no slash at either end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    entries: BTreeMap<String, Entry>,
}

impl Archive {
    /// Adds an entry in place of what stands at `path`, and the folders above it.
    pub fn add(&mut self, path: &str, entry: Entry) {
        let path = path.trim_matches('/');
        for (slash, _) in path.match_indices('/') {
            self.entries.entry(path[..slash].to_owned()).or_insert_with(Entry::folder);
        }
        if !path.is_empty() {
            self.entries.insert(path.to_owned(), entry);
        }
    }

    /// Moves what is in /bin, /sbin and /lib to /usr and makes links of these, as Debian has them. What is in
    /// both stays as it is in /usr.
    pub(super) fn merge_usr(&mut self) {
        let paths: Vec<String> = self.entries.keys().filter(|path| is_merged(path)).cloned().collect();
        for path in paths {
            let entry = self.entries.remove(&path).expect("the path is one of the archive's");
            let merged = format!("usr/{path}");
            if self.get(&merged).is_none() {
                self.add(&merged, entry);
            }
        }
        for folder in MERGED {
            if self.get(&format!("usr/{folder}")).is_some() {
                self.add(folder, Entry::link(format!("usr/{folder}")));
            }
        }
    }

    /// The entry at a path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path.trim_matches('/'))
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, path: &str) -> Option<&mut Entry> {
        self.entries.get_mut(path.trim_matches('/'))
    }

    /// All entries in the order of their paths, which is one in which every folder stands before its content.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The bytes of all files together.
    #[must_use]
    pub fn size(&self) -> usize {
        let size = |entry: &Entry| if let Content::File(bytes) = &entry.content { bytes.len() } else { 0 };
        self.entries.values().map(size).sum()
    }

    /// The least memory of a guest that boots it, in MiB. The kernel unpacks the archive into a folder that
    /// may hold nine tenths of the memory that is left beside kernel and archive; in less it leaves out,
    /// without a word, what it has no room for. Files take whole pages.
    #[must_use]
    pub fn least_memory_mib(&self) -> u32 {
        let pages = |entry: &Entry| match &entry.content {
            Content::File(bytes) => bytes.len().div_ceil(PAGE),
            Content::Folder | Content::Link(_) => 0,
        };
        let unpacked: usize = self.entries.values().map(pages).sum();
        // Both copies, of which one takes nine tenths of its place, with room for folders and links.
        WORKING_MIB + (unpacked * PAGE * 9 / 4).div_ceil(1 << 20) as u32
    }

    /// The path of the last entry, and the bytes of its file: whether an archive was unpacked whole shows
    /// there, since a kernel stops at what it has no room for.
    pub(super) fn last(&self) -> Option<(&str, usize)> {
        let (path, entry) = self.entries.last_key_value()?;
        let size = if let Content::File(bytes) = &entry.content { bytes.len() } else { 0 };
        Some((path, size))
    }

    /// The archive.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size() + 256 * self.entries.len());
        for (number, (path, entry)) in (1u32..).zip(&self.entries) {
            let (kind, data) = match &entry.content {
                Content::Folder => (FOLDER, &[][..]),
                Content::File(bytes) => (FILE, bytes.as_slice()),
                Content::Link(to) => (LINK, to.as_bytes()),
            };
            put(&mut out, path, number, kind | entry.permissions, entry.owner, data);
        }
        put(&mut out, LAST, 0, 0, (0, 0), &[]);
        out
    }

    /// Reads an archive. Entries that are neither files, folders nor links are left out.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let mut archive = Self::default();
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + HEADER) {
            if &header[..6] != MAGIC {
                return Err(ArchiveError::NoEntry { offset: at });
            }
            let field = |number: usize| {
                let digits = header.get(6 + 8 * number..14 + 8 * number).unwrap_or_default();
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                u32::from_str_radix(digits, 16).map_err(|_| ArchiveError::NoEntry { offset: at })
            };
            let (mode, size, name_size) = (field(1)?, field(6)? as usize, field(11)? as usize);
            let owner = (field(2)?, field(3)?);
            let cut = ArchiveError::Cut { entries: archive.entries.len() };
            let name = bytes.get(at + HEADER..at + HEADER + name_size).ok_or_else(|| cut.clone())?;
            let path = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
            if path == LAST {
                return Ok(archive);
            }
            let start = (at + HEADER + name_size).next_multiple_of(4);
            let data = bytes.get(start..start + size).ok_or(cut)?;
            at = (start + size).next_multiple_of(4);
            let content = match mode & KINDS {
                FOLDER => Content::Folder,
                FILE => Content::File(data.to_vec()),
                LINK => Content::Link(String::from_utf8_lossy(data).into_owned()),
                _ => continue,
            };
            let path = path.trim_start_matches("./").trim_matches('/').to_owned();
            // Files are written by these paths later, and for the system a zero byte ends one.
            if path.split('/').any(|part| part == ".." || part.contains('\0')) {
                return Err(ArchiveError::Path { path });
            }
            if path != "." {
                archive.add(&path, Entry { content, permissions: mode & 0o7777, owner });
            }
        }
        Err(ArchiveError::Cut { entries: archive.entries.len() })
    }
}

fn put(out: &mut Vec<u8>, path: &str, inode: u32, mode: u32, owner: (u32, u32), data: &[u8]) {
    let sizes = (data.len() as u32, path.len() as u32 + 1);
    // Inode, mode, user, group, links, time, size, four device numbers, the path's length, no checksum.
    let fields = [inode, mode, owner.0, owner.1, 1, 0, sizes.0, 0, 0, 0, 0, sizes.1, 0];
    out.extend_from_slice(MAGIC);
    for field in fields {
        out.extend_from_slice(format!("{field:08X}").as_bytes());
    }
    out.extend_from_slice(path.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Archive {
        let mut archive = Archive::default();
        archive.add("etc/hosts", Entry::file("127.0.0.1 localhost\n", false));
        archive.add("/bin/sh", Entry::link("busybox"));
        archive.add("bin/busybox", Entry::file(vec![1, 2, 3], true));
        archive
    }

    #[test]
    fn folders_stand_before_their_content_and_the_order_of_adding_does_not_matter() {
        let paths: Vec<_> = sample().iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(paths, ["bin", "bin/busybox", "bin/sh", "etc", "etc/hosts"]);
        let mut other = Archive::default();
        let all = sample();
        for (path, entry) in all.iter().collect::<Vec<_>>().into_iter().rev() {
            other.add(path, entry.clone());
        }
        assert_eq!(other.to_bytes(), all.to_bytes());
    }

    #[test]
    fn what_packages_have_beside_usr_is_moved_there() {
        let mut archive = sample();
        archive.add("usr/bin/sh", Entry::link("dash"));
        archive.merge_usr();
        let link = |path: &str| archive.get(path).unwrap().content.clone();
        assert_eq!(link("bin"), Content::Link("usr/bin".into()));
        assert_eq!(link("usr/bin/sh"), Content::Link("dash".into()));
        assert_eq!(link("usr/bin/busybox"), Content::File(vec![1, 2, 3]));
        assert!(archive.get("bin/busybox").is_none() && archive.get("lib").is_none());
    }

    #[test]
    fn what_is_cut_or_leads_out_is_refused() {
        let bytes = sample().to_bytes();
        for length in 0..bytes.len() - 12 {
            let cut = Archive::from_bytes(&bytes[..length]);
            assert!(matches!(cut, Err(ArchiveError::Cut { .. })), "{length}: {cut:?}");
        }
        assert_eq!(Archive::from_bytes(&[b'x'; 200]), Err(ArchiveError::NoEntry { offset: 0 }));
        let mut bytes = Vec::new();
        put(&mut bytes, "a/../../etc/passwd", 1, FILE | 0o644, (0, 0), b"x");
        assert!(matches!(Archive::from_bytes(&bytes), Err(ArchiveError::Path { .. })));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(files in prop::collection::btree_map("[a-z]{1,9}(/[a-z]{1,5}\\.x){0,2}", prop::collection::vec(any::<u8>(), 0..70), 0..9)) {
            let mut archive = Archive::default();
            for (path, bytes) in files {
                archive.add(&path, Entry::file(bytes, true));
            }
            prop_assert_eq!(Archive::from_bytes(&archive.to_bytes()), Ok(archive));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0usize..700, byte in any::<u8>()) {
            let _ = Archive::from_bytes(&bytes);
            let mut damaged = sample().to_bytes();
            let at = at % damaged.len();
            damaged[at] = byte;
            let _ = Archive::from_bytes(&damaged);
        }
    }
}
