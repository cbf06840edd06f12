//! What is said of an option that does not exist: a setting of a run is a key, and no option.
//!
//! Invariant: the keys are those that are read from the section `[run]`; nobody keeps a second list of them.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::settings::{NO_QUEUE, RunSettings};

/// Words that other programs have for what is a key here, and what to type instead.
const OTHER_WORDS: [(&str, &str); 12] = [
    ("jobs", "run.threads"),
    ("cores", "run.threads"),
    ("cpus", "run.threads"),
    ("workers", "run.threads"),
    ("end", "run.until"),
    ("stop", "run.until"),
    ("duration", "run.until"),
    ("horizon", "run.until"),
    ("max-time", "run.until"),
    ("random-seed", "run.seed"),
    ("sync", "run.protocol"),
    ("lps", "model.lps"),
];

/// What to say of this error, where an option was given that is a key of a scenario; `arguments` are those of
/// the command line.
pub fn instead(error: &clap::Error, arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let word = option.strip_prefix("--")?.split('=').next()?;
    if word == "queue" {
        return Some(format!("error: there is no option --queue: {NO_QUEUE}"));
    }
    let key = key_of(word)?;
    let value = value_of(word, arguments).unwrap_or_else(|| "VALUE".to_owned());
    Some(format!(
        "error: there is no option --{word}: it is a key of the scenario; say `--set {key}={value}`"
    ))
}

/// The key that this word means.
fn key_of(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    if let Some((_, key)) = OTHER_WORDS.iter().find(|(other, _)| *other == word) {
        return Some((*key).to_owned());
    }
    if word.starts_with("model.") || word.starts_with("run.") {
        return Some(word);
    }
    let key = word.replace('-', "_");
    RunSettings::keys().contains(&key).then(|| format!("run.{key}"))
}

/// The value that was given to the option.
fn value_of(word: &str, mut arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let (option, with_value) = (format!("--{word}"), format!("--{word}="));
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str() else { continue };
        if let Some(value) = text.strip_prefix(&with_value) {
            return Some(value.to_owned());
        }
        if text == option {
            let next = arguments.next()?.into_string().ok()?;
            // What follows may be the scenario, or another option.
            let is_scenario = Path::new(&next).extension().is_some_and(|extension| extension == "toml");
            return Some(next).filter(|next| !next.starts_with('-') && !is_scenario);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_users_are_keys() {
        for (word, key) in [
            ("threads", Some("run.threads")),
            ("seed", Some("run.seed")),
            ("until", Some("run.until")),
            ("protocol", Some("run.protocol")),
            ("check-rollback", Some("run.check_rollback")),
            ("jobs", Some("run.threads")),
            ("duration", Some("run.until")),
            ("run.threads", Some("run.threads")),
            ("model.lps", Some("model.lps")),
            ("nonsense", None),
        ] {
            assert_eq!(key_of(word).as_deref(), key, "{word}");
        }
    }

    #[test]
    fn the_value_is_the_one_that_was_given() {
        let value = |word: &str, line: &str| value_of(word, line.split(' ').map(OsString::from));
        assert_eq!(value("threads", "run a.toml --threads 2").as_deref(), Some("2"));
        assert_eq!(value("threads", "run a.toml --threads=3").as_deref(), Some("3"));
        assert_eq!(value("threads", "run --threads a.toml"), None);
        assert_eq!(value("threads", "run a.toml --threads --json"), None);
        assert_eq!(value("threads", "run a.toml --threads"), None);
    }
}
