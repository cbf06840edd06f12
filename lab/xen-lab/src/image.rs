//! Initial file systems: cpio archives. A Linux kernel unpacks several that follow each other.
//!
//! Invariant: the same files make the same archive, to the byte: no times, no owners, and inodes are numbered
//! in order.

use cpio::newc::{Builder, ModeFileType, trailer};

#[derive(Debug, Default)]
pub(crate) struct Image {
    bytes: Vec<u8>,
    entries: u32,
}

impl Image {
    /// Adds folders, those above them first: each must be named.
    pub fn folders(&mut self, paths: &[&str]) {
        for path in paths {
            self.add(path, ModeFileType::Directory, 0o755, &[]);
        }
    }

    /// Adds a file; with `executable`, one that can be run.
    pub fn file(&mut self, path: &str, contents: &[u8], executable: bool) {
        self.add(path, ModeFileType::Regular, if executable { 0o755 } else { 0o644 }, contents);
    }

    fn add(&mut self, path: &str, kind: ModeFileType, permissions: u32, contents: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(contents.len()).expect("files of a guest are small");
        let builder =
            Builder::new(path).ino(self.entries).nlink(1).mode(permissions).set_mode_file_type(kind);
        let mut writer = builder.write(&mut self.bytes, size);
        let written =
            std::io::Write::write_all(&mut writer, contents).and_then(|()| writer.finish().map(|_| ()));
        written.expect("memory can be written to");
    }

    /// The archive with its trailer, filled up so that another one may follow.
    pub fn finish(mut self) -> Vec<u8> {
        trailer(&mut self.bytes).expect("memory can be written to");
        // The next archive starts at a multiple of four bytes.
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use std::io::{Cursor, Read};

    #[test]
    fn what_was_put_in_comes_out_and_the_same_again_is_the_same_archive() {
        let make = || {
            let mut image = Image::default();
            image.folders(&["bin"]);
            image.file("bin/sh", b"#!", true);
            image.finish()
        };
        assert_eq!(make(), make());
        let (mut rest, mut found) = (Cursor::new(make()), Vec::new());
        loop {
            let mut reader = Reader::new(rest).expect("an entry");
            if reader.entry().is_trailer() {
                break;
            }
            let (name, mode) = (reader.entry().name().to_owned(), reader.entry().mode());
            let mut contents = String::new();
            reader.read_to_string(&mut contents).expect("contents");
            found.push((name, mode, contents));
            rest = reader.finish().expect("the next entry");
        }
        let expected = [("bin", 0o40755, ""), ("bin/sh", 0o100_755, "#!")];
        assert_eq!(found, expected.map(|(name, mode, contents)| (name.into(), mode, contents.into())));
    }
}
