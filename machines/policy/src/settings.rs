//! Named settings of policies and domains, as a scenario file gives them, and what is wrong with them.
//!
//! Invariant: a setting that the policy does not read is a mistake, which [`Settings::finish`] finds.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{DomId, PcpuId};

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A span of time in nanoseconds.
    Nanos(u64),
    /// A whole number.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// A text, such as one of several names.
    Word(String),
}

/// Why a policy, or a domain under it, cannot be set up. The policy stays as it was: a host can go on without
/// that domain, or with its old settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum PolicyError {
    /// There is no such policy.
    #[error("there is no policy {kind:?}; allowed: {allowed}")]
    UnknownPolicy { kind: String, allowed: String },
    /// The policy has no such setting.
    #[error("{who} has no setting `{key}`; allowed: {allowed}")]
    UnknownSetting {
        /// The policy, or a domain under it.
        who: String,
        /// The name that nothing reads.
        key: String,
        /// The names that are read, or "none".
        allowed: String,
    },
    /// A value that the setting does not allow.
    #[error("`{key}` cannot be {value}; allowed: {allowed}")]
    BadValue { key: String, value: String, allowed: String },
    /// A domain asks for more than a PCPU has.
    #[error(
        "{dom} cannot be admitted: {pcpu} would have to give {percent} % of its time; allowed: at most 100 %"
    )]
    Oversubscribed {
        dom: DomId,
        pcpu: PcpuId,
        /// The sum of what all domains on that PCPU ask for, rounded up.
        percent: u64,
    },
    /// A domain has too many VCPUs for the policy.
    #[error(
        "{dom} has {vcpus} VCPUs, which {policy} cannot run together on {pcpus} PCPUs; allowed: at most {pcpus}"
    )]
    TooManyVcpus { dom: DomId, vcpus: u32, policy: &'static str, pcpus: u32 },
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nanos(nanos) => write!(f, "{nanos} ns"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Word(word) => write!(f, "{word:?}"),
        }
    }
}

/// Settings that a policy takes out one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    left: BTreeMap<String, Setting>,
    known: Vec<Known>,
}

/// A setting that a policy has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name in scenarios.
    pub key: &'static str,
    /// The values that it may have.
    pub allowed: String,
    /// The value that holds without it, as a scenario would give it; of a word without a default none.
    pub default: Option<String>,
}

impl Settings {
    /// Adds a setting, in place of one of the same name.
    pub fn set(&mut self, key: impl Into<String>, value: Setting) {
        self.left.insert(key.into(), value);
    }

    /// The same, for building a list.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: Setting) -> Self {
        self.set(key, value);
        self
    }

    /// The settings that were read so far, in that order.
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    fn take(&mut self, key: &'static str, allowed: String, default: Option<String>) -> Option<Setting> {
        if !self.known.iter().any(|known| known.key == key) {
            self.known.push(Known { key, allowed, default });
        }
        self.left.remove(key)
    }

    /// A span of time from `least` to `most` nanoseconds.
    pub fn nanos(
        &mut self,
        key: &'static str,
        default: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, PolicyError> {
        let allowed = || format!("a span of time from {} to {}", span(least), span(most));
        match self.take(key, allowed(), (default < u64::MAX).then(|| format!("{:?}", span(default)))) {
            None => Ok(default),
            Some(Setting::Nanos(nanos)) if (least..=most).contains(&nanos) => Ok(nanos),
            Some(value) => Err(bad(key, &value, allowed())),
        }
    }

    /// A whole number from `least` to `most`.
    pub fn count(
        &mut self,
        key: &'static str,
        default: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, PolicyError> {
        let allowed = || format!("a whole number from {least} to {most}");
        match self.take(key, allowed(), Some(default.to_string())) {
            None => Ok(default),
            Some(Setting::Count(count)) if (least..=most).contains(&count) => Ok(count),
            Some(value) => Err(bad(key, &value, allowed())),
        }
    }

    /// Yes or no.
    pub fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, PolicyError> {
        match self.take(key, "true or false".into(), Some(default.to_string())) {
            None => Ok(default),
            Some(Setting::Flag(flag)) => Ok(flag),
            Some(value) => Err(bad(key, &value, "true or false".into())),
        }
    }

    /// A word; none is the default.
    pub fn word(&mut self, key: &'static str) -> Result<Option<String>, PolicyError> {
        match self.take(key, "a word".into(), None) {
            None => Ok(None),
            Some(Setting::Word(word)) => Ok(Some(word)),
            Some(value) => Err(bad(key, &value, "a word".into())),
        }
    }

    /// One of several words; the first is the default.
    pub fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Result<T, PolicyError> {
        let words: Vec<_> = choices.iter().map(|(word, _)| format!("{word:?}")).collect();
        let value = match self.take(key, words.join(", "), Some(words[0].clone())) {
            None => return Ok(choices[0].1),
            Some(value) => value,
        };
        let found = choices.iter().find(|(word, _)| matches!(&value, Setting::Word(vcpu) if vcpu == word));
        found.map(|(_, choice)| *choice).ok_or_else(|| bad(key, &value, words.join(", ")))
    }

    /// Everything has been read: a setting that is left is an error in the settings of `who`.
    pub fn finish(&mut self, who: impl Into<String>) -> Result<(), PolicyError> {
        match self.left.pop_first() {
            None => Ok(()),
            Some((key, _)) => {
                let known: Vec<_> = self.known.iter().map(|known| known.key).collect();
                let allowed = if known.is_empty() { "none".into() } else { known.join(", ") };
                Err(PolicyError::UnknownSetting { who: who.into(), key, allowed })
            }
        }
    }
}

/// The error for a value that is not allowed.
pub(crate) fn bad(key: &str, value: &Setting, allowed: String) -> PolicyError {
    PolicyError::BadValue { key: key.into(), value: value.to_string(), allowed }
}

/// A span of time in a readable unit.
fn span(nanos: u64) -> String {
    match nanos {
        nanos if nanos == u64::MAX => "any length".into(),
        nanos if nanos >= 1_000_000_000 && nanos.is_multiple_of(1_000_000_000) => {
            format!("{}s", nanos / 1_000_000_000)
        }
        nanos if nanos >= 1_000_000 && nanos.is_multiple_of(1_000_000) => format!("{}ms", nanos / 1_000_000),
        nanos if nanos >= 1_000 && nanos.is_multiple_of(1_000) => format!("{}us", nanos / 1_000),
        nanos => format!("{nanos}ns"),
    }
}
