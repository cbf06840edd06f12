//! The bytes of `libpaceline_mpi.so`, which `build.rs` has compiled.
//!
//! Invariant: the library fits the system that this program was compiled for, or is absent.

/// Empty where there was no C compiler.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libpaceline_mpi.so"));

/// The shared library for `LD_PRELOAD`; `None` where this program was built without a C compiler.
pub fn shim() -> Option<&'static [u8]> {
    Some(LIBRARY).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn with_a_c_compiler_there_is_a_shim() {
        if Command::new("cc").arg("--version").output().is_err() {
            eprintln!("skipped: there is no cc");
            return;
        }
        let library = shim().expect("it was compiled");
        assert_eq!(&library[..5], b"\x7fELF\x02", "a library of 64 bits");
    }
}
