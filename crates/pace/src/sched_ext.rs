//! The policy in the kernel's extensible scheduling class (sched_ext).

use std::path::Path;

use crate::pacer::{Pacer, Refusal};
use crate::settings::PaceSettings;

/// What the kernel shows where it has the class.
const CLASS: &str = "/sys/kernel/sched_ext";

/// Loads the policy, or says why it cannot.
pub fn start(_settings: &PaceSettings) -> Result<Box<dyn Pacer>, Refusal> {
    let reason = match Path::new(CLASS).exists() {
        false => "this kernel has no sched_ext",
        true => "this program was built without it",
    };
    Err(Refusal { policy: "sched-ext", reason: reason.into() })
}
