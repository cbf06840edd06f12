//! Locks between labs side by side, of which only one may fetch, or build one variant of the hypervisor.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::error::{LabError, io};
use crate::process::Stop;

/// The period at which a lock that another process holds is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(300);

/// Waits until no other process holds the lock on the file `path`; the lock is released when the returned
/// value is dropped.
pub(crate) fn lock(path: &Path, stop: &Stop, listener: &mut dyn FnMut(&str)) -> Result<File, LabError> {
    let file = File::create(path).map_err(io("write", path))?;
    let mut waits = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(reason)) => return Err(io("lock", path)(reason)),
            Err(TryLockError::WouldBlock) => {
                if !waits {
                    listener("Waiting for another run of the lab that downloads or builds ...");
                    waits = true;
                }
                stop.check()?;
                thread::sleep(TRY_AGAIN);
            }
        }
    }
}
