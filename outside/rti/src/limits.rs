//! How much the infrastructure keeps for those who call it.

/// Limits of what federates can make the infrastructure keep. Without a host there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtiLimits {
    /// Federations at a time.
    pub federations: usize,
    /// Names of instances in a federation that are reserved and not used yet.
    pub reserved_names: usize,
    /// Bytes of the modules that a federation keeps.
    pub module_bytes: usize,
}

impl Default for RtiLimits {
    fn default() -> Self {
        Self { federations: usize::MAX, reserved_names: usize::MAX, module_bytes: usize::MAX }
    }
}
