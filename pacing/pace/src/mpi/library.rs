//! The bytes of `libpaceline_mpi.so`, which `build.rs` compiles.
//!
//! Invariant: the library fits the system that this program was compiled for, or is absent.

/// Empty if there was no C compiler.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libpaceline_mpi.so"));

/// The shared library for `LD_PRELOAD`; `None` if this program was built without a C compiler.
pub fn shim() -> Option<&'static [u8]> {
    Some(LIBRARY).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn with_a_c_compiler_there_is_a_shim() {
        let has_compiler = Command::new("cc").arg("--version").output().is_ok();
        assert!(shim().is_some() || !has_compiler, "it was compiled");
        assert!(shim().is_none_or(|library| &library[..5] == b"\x7fELF\x02"), "a library of 64 bits");
    }
}
