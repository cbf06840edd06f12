//! Any bytes as calls of three federates to the run-time infrastructure: each is answered, and what its
//! bounded test names holds.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../outside/rti/tests/rti/any_calls.rs"]
mod any_calls;

fuzz_target!(|bytes: &[u8]| any_calls::check(bytes));
