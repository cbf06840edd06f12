//! States and messages: words of memory with their layout.
//!
//! Invariants: padding between fields is zero, as memory starts so and handlers write fields only, so that
//! values are equal where their words are; a value keeps no reference to anything that changes. Between the
//! workers of a run, which are on one machine, go the layout's key and the bytes of the words.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use super::layout::{Layout, as_bytes};

/// Memory of a fixed number of words.
pub trait Words: AsRef<[u64]> + AsMut<[u64]> + Clone + PartialEq + Send + 'static {
    /// `words` zeros; `words` fits.
    fn zeros(words: usize) -> Self;
    /// Where a handler reads and writes.
    fn pointer(&mut self) -> *mut u64;
}

impl<const N: usize> Words for [u64; N]
where
    [u64; N]: AsRef<[u64]> + AsMut<[u64]>,
{
    #[inline(always)]
    fn zeros(words: usize) -> Self {
        debug_assert!(words <= N, "run.rs chooses memory that the layout fits");
        [0; N]
    }
    #[inline(always)]
    fn pointer(&mut self) -> *mut u64 {
        self.as_mut_ptr()
    }
}

/// Words of any number: few are kept in place.
pub type Many = SmallVec<[u64; 6]>;

impl Words for Many {
    fn zeros(words: usize) -> Self {
        SmallVec::from_elem(0, words)
    }
    fn pointer(&mut self) -> *mut u64 {
        self.as_mut_ptr()
    }
}

/// A message.
#[derive(Clone)]
pub struct Message<W> {
    pub layout: &'static Layout,
    pub words: W,
}

impl<W: Words> PartialEq for Message<W> {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl<W: Words> Hash for Message<W> {
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.layout.hash_words(self.words.as_ref(), hasher);
    }
}

impl<W: Words> fmt::Debug for Message<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layout.show(self.words.as_ref(), f)
    }
}

/// The state of an LP.
#[derive(Clone)]
pub struct State {
    pub layout: &'static Layout,
    pub words: SmallVec<[u64; 2]>,
}

impl State {
    pub fn zeros(layout: &'static Layout) -> Self {
        Self { layout, words: SmallVec::from_elem(0, layout.words()) }
    }

    /// The memory that a copy takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + if self.words.spilled() { size_of_val(&self.words[..]) } else { 0 }
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.layout.hash_words(&self.words, hasher);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layout.show(&self.words, f)
    }
}

/// Bytes that are handed over at once.
struct Bytes<'b>(&'b [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// The layout of what another worker has sent, and its words.
fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(&'static Layout, impl Iterator<Item = u64>), D::Error> {
    let (key, bytes) = <(u64, &'de [u8])>::deserialize(deserializer)?;
    let layout = Layout::known(key).ok_or_else(|| D::Error::custom("a dtype that is not known here"))?;
    let (words, rest) = bytes.as_chunks();
    if words.len() != layout.words() || !rest.is_empty() {
        return Err(D::Error::custom(format!("{} bytes of a dtype of {}", bytes.len(), layout.bytes())));
    }
    Ok((layout, words.iter().map(|word| u64::from_ne_bytes(*word))))
}

impl<W: Words> Serialize for Message<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = &self.words.as_ref()[..self.layout.words()];
        (self.layout.key(), Bytes(as_bytes(words))).serialize(serializer)
    }
}

impl<'de, W: Words> Deserialize<'de> for Message<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (layout, values) = read(deserializer)?;
        let mut words = W::zeros(layout.words());
        words.as_mut().iter_mut().zip(values).for_each(|(word, value)| *word = value);
        Ok(Self { layout, words })
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.layout.key(), Bytes(as_bytes(&self.words))).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer).map(|(layout, words)| Self { layout, words: words.collect() })
    }
}
