//! Damaged modules: they are read and merged, or refused with a reason; the model that they would have joined
//! stays as it was.

use paceline_rti::fom::{Fom, Module, STANDARD_MIM};
use proptest::prelude::*;

/// A text with pieces cut out, copied to other places, and characters put in between.
fn damaged(text: &str, changes: &[(usize, usize, usize, char)]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (from, length, to, letter) in changes {
        let from = from % letters.len();
        let piece: Vec<char> = letters[from..letters.len().min(from + length)].to_vec();
        if letter.is_ascii_digit() {
            letters.drain(from..from + piece.len());
        } else {
            let to = to % letters.len();
            letters.splice(to..to, piece);
        }
        letters.insert(to % (letters.len() + 1), *letter);
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_modules_are_refused_and_change_nothing(
        changes in prop::collection::vec(
            (0..1_000_000_usize, 0..300_usize, 0..1_000_000_usize, prop::sample::select(vec!['<', '>', '&', '/', '0', '9', 'x', '"'])),
            1..4,
        ),
    ) {
        let mut fom = Fom::default();
        fom.merge(&Module::read(STANDARD_MIM).expect("ours can be read")).expect("ours can be merged");
        let before = format!("{fom:?}");
        match Module::read(&damaged(STANDARD_MIM, &changes)) {
            Ok(module) => if let Err(error) = fom.merge(&module) {
                prop_assert!(!error.to_string().is_empty());
                prop_assert_eq!(format!("{fom:?}"), before, "a module is merged whole, or not at all");
            },
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_text_is_a_module_or_refused(text in "[<>/&;a-z\"= !?\\[\\]-]{0,200}") {
        if let Err(error) = Module::read(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
