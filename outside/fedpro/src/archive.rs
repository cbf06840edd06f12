//! The one file of a zip archive (ISO/IEC 21320-1), as which some clients send modules.
//!
//! Only what that standard allows is read: files that are stored or deflated, in one part, without
//! encryption. Sizes are checked before anything is unpacked.

use miniz_oxide::inflate::decompress_to_vec_with_limit;
use thiserror::Error;

/// The most bytes of a module.
pub const MODULE_MAX: usize = 16 << 20;
/// How many times larger than its archive a module may be.
pub const RATIO_MAX: usize = 100;

/// An archive that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum ArchiveError {
    /// A part of it is missing.
    #[error("it is no zip archive, or a damaged one")]
    Damaged,
    /// A module is one file.
    #[error("it has {files} files, not one")]
    Files { files: u16 },
    /// It is packed in another way.
    #[error("its file is packed by method {method}; 0 and 8 are known")]
    Method { method: u16 },
    /// It would be too large.
    #[error(
        "its file has {size} bytes, more than {MODULE_MAX} or more than {RATIO_MAX} times the archive's {packed}"
    )]
    Large { size: usize, packed: usize },
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<usize, ArchiveError> {
    let field = bytes.get(at..at + N).ok_or(ArchiveError::Damaged)?;
    Ok(field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Where the record that ends an archive begins: at the end, before a comment.
fn end_record(archive: &[u8]) -> Result<usize, ArchiveError> {
    const SIZE: usize = 22;
    let last = archive.len().checked_sub(SIZE).ok_or(ArchiveError::Damaged)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let found = (first..=last).rev().find(|at| archive[*at..].starts_with(b"PK\x05\x06"));
    found.ok_or(ArchiveError::Damaged)
}

/// Unpacks the file.
pub fn unpack(archive: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let end = end_record(archive)?;
    let files = number::<2>(archive, end + 10)? as u16;
    if files != 1 {
        return Err(ArchiveError::Files { files });
    }
    let entry = number::<4>(archive, end + 16)?;
    let entry = archive.get(entry..).filter(|entry| entry.starts_with(b"PK\x01\x02"));
    let entry = entry.ok_or(ArchiveError::Damaged)?;
    let (method, packed, size) = (number::<2>(entry, 10)?, number::<4>(entry, 20)?, number::<4>(entry, 24)?);
    if size > MODULE_MAX || size > archive.len().saturating_mul(RATIO_MAX) {
        return Err(ArchiveError::Large { size, packed: archive.len() });
    }
    let header = archive.get(number::<4>(entry, 42)?..).ok_or(ArchiveError::Damaged)?;
    let data = 30 + number::<2>(header, 26)? + number::<2>(header, 28)?;
    let data = header.get(data..data + packed).ok_or(ArchiveError::Damaged)?;
    let unpacked = match method {
        0 => data.to_vec(),
        8 => decompress_to_vec_with_limit(data, size).map_err(|_| ArchiveError::Damaged)?,
        method => return Err(ArchiveError::Method { method: method as u16 }),
    };
    if unpacked.len() == size { Ok(unpacked) } else { Err(ArchiveError::Damaged) }
}
