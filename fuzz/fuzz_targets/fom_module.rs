//! Any text as a module of an object model: it is read, and merged with the standard's module, or refused
//! with a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_rti::fom::{Fom, Module, STANDARD_MIM};

fuzz_target!(|text: &str| {
    let standard = Module::read(STANDARD_MIM).expect("ours can be read");
    match Module::read(text) {
        Ok(module) => {
            let mut fom = Fom::default();
            fom.merge(&standard).expect("ours can be merged");
            if let Err(error) = fom.merge(&module) {
                assert!(!error.to_string().is_empty(), "a refusal says something");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty(), "a refusal says something"),
    }
});
