//! Files that are no pages, pages of other users, and pages that are truncated or overwritten while they are
//! in use.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::path::PathBuf;

use paceline_lvt::layout::{RECORD_BYTES, header};
use paceline_lvt::{Error, Page, Publisher, SlotView};
use proptest::prelude::*;
use tempfile::TempDir;

/// A folder, and the path of a file with these bytes in it that only this user may read.
fn file_with(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("page");
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    (folder, path)
}

fn open_error(bytes: &[u8]) -> Error {
    let (_folder, path) = file_with(bytes);
    let error = Page::open(&path).expect_err("that is no page");
    assert!(error.to_string().contains(path.to_str().unwrap()) || matches!(error, Error::SlotCount(_)));
    error
}

/// A page of this many bytes.
fn page_of(header: [u8; RECORD_BYTES], bytes: usize) -> Vec<u8> {
    let mut page = header.to_vec();
    page.resize(bytes, 0);
    page
}

#[test]
fn files_that_are_no_pages_are_refused() {
    assert!(matches!(open_error(b""), Error::Size { bytes: 0, .. }));
    assert!(matches!(open_error(&header(3)[..63]), Error::Size { bytes: 63, .. }));
    assert!(matches!(open_error(&[7; 256]), Error::NotAPage(_)));
    assert!(matches!(open_error(&page_of(header(3), 255)), Error::Size { bytes: 255, expected: 256, .. }));
    assert!(matches!(open_error(&page_of(header(3), 257)), Error::Size { bytes: 257, expected: 256, .. }));
    assert!(matches!(open_error(&page_of(header(0), 64)), Error::SlotCount(0)));
    assert!(matches!(open_error(&page_of(header(u32::MAX), 64)), Error::SlotCount(u32::MAX)));
    let mut newer = header(3);
    newer[8..12].copy_from_slice(&3_u32.to_ne_bytes());
    assert!(matches!(open_error(&page_of(newer, 256)), Error::Version { found: 3, .. }));
    let mut wider = header(3);
    wider[12..16].copy_from_slice(&128_u32.to_ne_bytes());
    assert!(matches!(open_error(&page_of(wider, 256)), Error::RecordBytes { found: 128, .. }));
    let (folder, path) = file_with(&page_of(header(3), 256));
    assert_eq!(Page::open(&path).unwrap().capacity(), 3);
    drop(folder);
    assert!(matches!(Page::open(&path), Err(Error::System { .. })));
}

#[test]
fn pages_of_others_and_for_others_are_refused() {
    let (folder, path) = file_with(&page_of(header(3), 256));
    for mode in [0o640, 0o606, 0o622] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert!(matches!(Page::open(&path), Err(Error::Mode { mode: printed, .. }) if printed == mode));
    }
    assert!(matches!(Page::open(folder.path()), Err(Error::System { .. } | Error::Kind(_))));
    assert!(matches!(Page::open("/dev/null"), Err(Error::Kind(_))));
    assert!(matches!(Page::create(&path, 3), Err(Error::System { .. })), "there is a file already");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    if chown(&path, Some(1), None).is_ok() {
        assert!(Page::open(&path).is_ok(), "root may use everybody's");
    }
}

#[test]
fn created_files_are_for_their_owner_only_and_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let page = Page::create(&path, 5).unwrap();
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.permissions().mode() & 0o7777, found.len()), (0o600, 64 * 6));
    let opened = Page::open(&path).unwrap();
    let mut publisher = Publisher::claim(&opened, "in a file").unwrap();
    publisher.publish(77);
    assert_eq!(page.slots().unwrap()[0].lvt_ns, 77);
    assert!(matches!(Publisher::claim(&page, "again"), Err(Error::Claimed { .. })));
    drop(publisher);
    assert_eq!((page.slots().unwrap().len(), page.reclaim().unwrap()), (0, 0));
}

#[test]
fn a_truncated_file_is_an_error_to_its_readers_and_claimers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let page = Page::create(&path, 100).unwrap();
    for bytes in [6_400, 65, 63, 0] {
        OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        assert!(
            matches!(page.slots(), Err(Error::Size { bytes: printed, .. }) if printed == bytes),
            "{bytes}"
        );
        assert!(matches!(page.reclaim(), Err(Error::Size { .. })), "{bytes}");
        assert!(matches!(Publisher::claim(&page, "late"), Err(Error::Size { .. })), "{bytes}");
    }
    OpenOptions::new().write(true).open(&path).unwrap().set_len(6_464).unwrap();
    assert!(matches!(page.slots(), Err(Error::NotAPage(_))), "its header is gone");
}

#[test]
fn a_sealed_page_cannot_be_truncated() {
    let page = Page::create_sealed(100).unwrap();
    let mut publisher = Publisher::claim(&page, "").unwrap();
    let file = OpenOptions::new().write(true).open(page.path()).unwrap();
    for bytes in [0, 64, 100_000] {
        assert!(file.set_len(bytes).is_err(), "{bytes}");
    }
    assert!(File::create(page.path()).is_err(), "opening it must not empty it either");
    publisher.publish(3);
    assert_eq!(page.slots().unwrap()[0].lvt_ns, 3);
}

#[test]
fn a_header_that_is_overwritten_is_an_error_to_readers() {
    let folder = tempfile::tempdir().unwrap();
    for page in [Page::create(folder.path().join("page"), 4).unwrap(), Page::create_sealed(4).unwrap()] {
        let mut publisher = Publisher::claim(&page, "").unwrap();
        let file = OpenOptions::new().write(true).open(page.path()).unwrap();
        file.write_all_at(&header(3), 0).unwrap();
        assert!(matches!(page.slots(), Err(Error::Changed { before: 4, now: 3, .. })));
        file.write_all_at(b"overwritten", 0).unwrap();
        assert!(matches!(page.slots(), Err(Error::NotAPage(_))));
        assert!(matches!(page.reclaim(), Err(Error::NotAPage(_))));
        publisher.publish(1);
    }
}

proptest! {
    #[test]
    fn no_bytes_trouble_a_reader(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        slots in 0..6_u32,
        with_header in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if with_header {
            bytes.splice(..bytes.len().min(RECORD_BYTES), header(slots));
        }
        let (_folder, path) = file_with(&bytes);
        if let Ok(page) = Page::open(&path) {
            prop_assert!(with_header && bytes.len() == RECORD_BYTES * (slots as usize + 1));
            let shown = |slot: &SlotView| !format!("{slot:?} {}", slot.name).is_empty();
            prop_assert!(page.slots().unwrap().iter().all(shown));
        }
    }

    #[test]
    fn slots_full_of_anything_are_taken_back_and_claimed(
        bytes in proptest::collection::vec(any::<u8>(), 4 * RECORD_BYTES),
    ) {
        let page = Page::create_sealed(4).unwrap();
        let mut file = OpenOptions::new().write(true).open(page.path()).unwrap();
        file.seek(SeekFrom::Start(RECORD_BYTES as u64)).unwrap();
        file.write_all(&bytes).unwrap();
        let seen = page.slots().unwrap();
        // Who owns a slot by chance is no concern of this test.
        prop_assume!(seen.iter().all(|slot| slot.owner().has_no_thread()));
        let publisher = Publisher::claim(&page, "mine").unwrap();
        prop_assert!(publisher.is_present());
        page.reclaim().unwrap();
        let left = page.slots().unwrap();
        prop_assert_eq!(left.len(), 1);
        prop_assert_eq!(left[0].name.to_string(), "mine");
    }
}
