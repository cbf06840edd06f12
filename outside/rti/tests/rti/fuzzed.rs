//! The fuzz target of calls with a bounded number of random inputs.

use proptest::prelude::*;

use crate::any_calls::check;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_bytes_are_calls_that_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
        check(&bytes);
    }
}
