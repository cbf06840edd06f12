//! The kernel of dom0 and of PV guests: the uncompressed program from Debian's boot image. Xen can start it
//! without unpacking it, which would take seconds under emulation.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{LabError, io};
use crate::process::{Stop, command, run};

/// Offsets in a boot image's header (Linux, Documentation/arch/x86/boot.rst).
const SETUP_SECTORS: usize = 0x1f1;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const SECTOR: usize = 512;

/// The first bytes of a payload that is compressed with xz.
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];

/// The kernel's version, and the uncompressed kernel in `root`, which is made the first time.
pub(crate) fn kernel(root: &Path, stop: &Stop) -> Result<(String, PathBuf), LabError> {
    let boot = root.join("boot");
    let names = fs::read_dir(&boot).map_err(io("read", &boot))?.filter_map(Result::ok);
    let version = names
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("vmlinuz-").map(str::to_owned))
        .max();
    let version =
        version.ok_or_else(|| LabError::Skipped(format!("there is no kernel in {}", boot.display())))?;
    let (packed, plain) = (boot.join(format!("vmlinuz-{version}")), boot.join(format!("vmlinux-{version}")));
    if !plain.exists() {
        let image = fs::read(&packed).map_err(io("read", &packed))?;
        let payload = payload(&image).filter(|payload| payload.starts_with(XZ));
        let payload = payload.ok_or_else(|| {
            LabError::Skipped(format!("{} is no boot image with a kernel compressed by xz", packed.display()))
        })?;
        let half = boot.join("half.xz");
        fs::write(&half, payload).map_err(io("write", &half))?;
        let mut unpack = command("xz");
        unpack.args(["--decompress", "--single-stream", "--force"]).arg(&half);
        run("uncompressing the kernel", unpack, stop)?;
        fs::rename(boot.join("half"), &plain).map_err(io("rename", &half))?;
    }
    Ok((version, plain))
}

/// The compressed kernel in a boot image, without the size that follows it.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number =
        |place: usize| Some(u32::from_le_bytes(image.get(place..place + 4)?.try_into().ok()?) as usize);
    let start = (usize::from(*image.get(SETUP_SECTORS)?) + 1) * SECTOR + number(PAYLOAD_OFFSET)?;
    image.get(start..(start + number(PAYLOAD_LENGTH)?).checked_sub(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_found_by_the_header_and_a_short_image_has_none() {
        let mut image = vec![0; 4096];
        image[SETUP_SECTORS] = 2;
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&100_u32.to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&20_u32.to_le_bytes());
        image[3 * SECTOR + 100..3 * SECTOR + 116].fill(7);
        assert_eq!(payload(&image), Some(&[7; 16][..]));
        for length in [0, SETUP_SECTORS, PAYLOAD_LENGTH, 3 * SECTOR + 110] {
            assert_eq!(payload(&image[..length]), None, "{length}");
        }
    }
}
