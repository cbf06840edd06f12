//! The policy in the kernel's extensible scheduling class (sched_ext): least LVT first, decided by the kernel
//! itself.
//!
//! The policy is a program for the kernel, `pacing/linux/least_lvt.bpf.c`; it is compiled and built in with
//! the cargo feature `sched-ext`, which needs clang. The loader loads it into the kernel, starts the command
//! in the class `SCHED_EXT`, which its children inherit, and then only watches: no decision waits for it. The
//! page is a map of the policy, pinned where the command's programs find it.
//!
//! Invariants: when the loader ends (killed before its command runs: in 2 s), the kernel drops the policy;
//! tasks continue under the fair class. While tasks of the fair class leave the paced ones no CPU time, the
//! policy is removed for a while, so that all compete as equals.

#[cfg(feature = "sched-ext")]
mod loader;
#[cfg(feature = "sched-ext")]
mod pin;
#[cfg(feature = "sched-ext")]
mod policy;
#[cfg(feature = "sched-ext")]
mod report;
#[cfg(feature = "sched-ext")]
mod starvation;

use std::path::Path;

use crate::pacer::{Pacer, UnavailableError};
use crate::settings::PaceSettings;

/// A folder that exists if the kernel has the class.
const CLASS: &str = "/sys/kernel/sched_ext";

/// Loads the policy, or says why it cannot be loaded.
pub fn start(settings: &PaceSettings) -> Result<Box<dyn Pacer>, UnavailableError> {
    let refusal = |reason: String| UnavailableError { policy: "sched-ext", reason };
    if !Path::new(CLASS).exists() {
        return Err(refusal("this kernel has no sched_ext".into()));
    }
    load(settings).map_err(refusal)
}

#[cfg(feature = "sched-ext")]
fn load(settings: &PaceSettings) -> Result<Box<dyn Pacer>, String> {
    Ok(Box::new(loader::Loader::start(settings)?))
}

#[cfg(not(feature = "sched-ext"))]
fn load(_settings: &PaceSettings) -> Result<Box<dyn Pacer>, String> {
    Err("this program was built without it (cargo feature sched-ext)".into())
}
