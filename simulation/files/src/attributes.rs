//! What a new file takes over from the one that it replaces: permissions, owner, group, and the list of who
//! else may do what.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Gives `file` the permissions and the owner of the file at `path`, which `data` is of. Says whether it has
/// got them: only root may give files away.
#[cfg(unix)]
pub(crate) fn take_over(file: &File, path: &Path, data: &Metadata) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let current = file.metadata()?;
    let owner = Some(data.uid()).filter(|uid| *uid != current.uid());
    let group = Some(data.gid()).filter(|gid| *gid != current.gid());
    if (owner.is_some() || group.is_some()) && fchown(file, owner, group).is_err() {
        return Ok(false);
    }
    // After the owner, since a change of owner takes permissions away.
    file.set_permissions(data.permissions())?;
    Ok(take_over_list(file, path))
}

#[cfg(not(unix))]
pub(crate) fn take_over(_file: &File, _path: &Path, _data: &Metadata) -> io::Result<bool> {
    Ok(true)
}

/// The access control list, if the old file has one. Says whether the new one has the same.
#[cfg(target_os = "linux")]
fn take_over_list(file: &File, path: &Path) -> bool {
    use rustix::fs::{XattrFlags, fsetxattr, getxattr};
    const NAME: &str = "system.posix_acl_access";
    let mut list = vec![0u8; 1 << 16];
    // Most files have none, and many file systems know of none.
    let Ok(length) = getxattr(path, NAME, &mut list[..]) else { return true };
    fsetxattr(file, NAME, &list[..length], XattrFlags::empty()).is_ok()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn take_over_list(_file: &File, _path: &Path) -> bool {
    true
}
