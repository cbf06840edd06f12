//! States and messages: words of memory with their layout.
//!
//! Invariants: padding between fields is zero, as memory starts so and handlers write fields only, so that
//! values are equal where their words are; a value keeps no reference to anything that changes.

use std::fmt;
use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::layout::Layout;

/// Memory of a fixed number of words.
pub trait Words: AsRef<[u64]> + Clone + PartialEq + Send + 'static {
    /// `words` zeros; `words` fits.
    fn zeros(words: usize) -> Self;
    /// Where a handler reads and writes.
    fn pointer(&mut self) -> *mut u64;
}

impl<const N: usize> Words for [u64; N]
where
    [u64; N]: AsRef<[u64]>,
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
        self.layout.hash(self.words.as_ref(), hasher);
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
        self.layout.hash(&self.words, hasher);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layout.show(&self.words, f)
    }
}
