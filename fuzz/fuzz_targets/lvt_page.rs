//! Any bytes as an LVT page and as the memory of a guest, as they are and as the slots behind a header that
//! fits: what they say can be read, shown and claimed, or is refused with a message.
#![no_main]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::folder;
use paceline_lvt::layout::{DONE, LVT_MAX, RECORD_BYTES, header};
use paceline_lvt::{Error, GuestMemory, Page, Publisher};

static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = folder().join("page");
    fs::write(&path, []).expect("a temporary file can be written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
    path
});

fuzz_target!(|input: &[u8]| {
    let mut slots = input.to_vec();
    slots.resize(input.len().next_multiple_of(RECORD_BYTES).max(RECORD_BYTES), 0);
    let whole = [&header((slots.len() / RECORD_BYTES) as u32)[..], &slots].concat();
    for (content, read) in
        [(input, page as fn() -> Result<(), Error>), (input, guest), (&whole, page), (&whole, guest)]
    {
        fs::write(&*PATH, content).expect("a temporary file can be written");
        if let Err(error) = read() {
            assert!(!error.to_string().is_empty());
        }
    }
});

fn page() -> Result<(), Error> {
    let page = Page::open(&*PATH)?;
    for slot in page.slots()? {
        assert!(!format!("{slot:?} {}", slot.name).is_empty());
    }
    page.reclaim()?;
    Publisher::claim(&page, "fuzz")?.publish(1);
    Ok(())
}

fn guest() -> Result<(), Error> {
    let report = GuestMemory::open(&PATH)?.report(Instant::now())?;
    assert!(report.is_none_or(|report| report.lvt_ns <= LVT_MAX || report.lvt_ns == DONE));
    Ok(())
}
