//! Archives with one file, and what is none.

use miniz_oxide::deflate::compress_to_vec;
use paceline_fedpro::{ArchiveError, MODULE_MAX, unpack};

/// An archive of one file.
pub fn pack(content: &[u8], method: u16) -> Vec<u8> {
    let data = if method == 8 { compress_to_vec(content, 6) } else { content.to_vec() };
    let sizes = [data.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
    let name = b"module.xml";
    let mut bytes = b"PK\x03\x04\x14\0\0\0".to_vec();
    bytes.extend(method.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(&sizes);
    bytes.extend([name.len() as u8, 0, 0, 0]);
    bytes.extend(name);
    bytes.extend(&data);
    let directory = bytes.len() as u32;
    bytes.extend(b"PK\x01\x02\x14\0\x14\0\0\0");
    bytes.extend(method.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(&sizes);
    bytes.extend([name.len() as u8, 0]);
    bytes.extend([0; 16]);
    bytes.extend(name);
    let size = bytes.len() as u32 - directory;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(size.to_le_bytes());
    bytes.extend(directory.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn a_file_is_unpacked() {
    let content = b"<objectModel/>".repeat(10);
    for method in [0, 8] {
        assert_eq!(unpack(&pack(&content, method)).as_deref(), Ok(&*content));
    }
    assert_eq!(unpack(&pack(&content, 9)), Err(ArchiveError::Method { method: 9 }));
    assert_eq!(unpack(b"<objectModel/>, which is no archive"), Err(ArchiveError::Damaged));
}

#[test]
fn an_archive_that_would_fill_the_memory_is_refused() {
    let archive = pack(&vec![0; 1 << 20], 8);
    let packed = archive.len();
    assert_eq!(unpack(&archive), Err(ArchiveError::Large { size: 1 << 20, packed }), "1000 to 1");
    let mut lies = pack(&[1; 500], 0);
    let at = lies.windows(4).position(|bytes| bytes == b"PK\x01\x02").expect("it has a directory") + 24;
    lies[at..at + 4].copy_from_slice(&(MODULE_MAX as u32 + 1).to_le_bytes());
    assert!(matches!(unpack(&lies), Err(ArchiveError::Large { .. })));
}

#[test]
fn a_damaged_archive_is_refused_or_read() {
    let archive = pack(&b"<objectModel/>".repeat(10), 8);
    for at in 0..archive.len() {
        for bit in 0..8 {
            let mut damaged = archive.clone();
            damaged[at] ^= 1 << bit;
            // Names and dates are not looked at, so it may be read; it ends, whatever it is.
            let _ = unpack(&damaged);
        }
        assert!(unpack(&archive[..at]).is_err());
    }
}
