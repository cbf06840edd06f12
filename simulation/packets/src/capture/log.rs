//! The packets that a port has begun to send.
//!
//! A log is part of a state, which optimistic runs copy before every event. Only the last records are copied
//! with it; those before stand in chunks that never change and that copies share. Where nothing is copied,
//! chunks are longer.
//!
//! Invariant: records are in the order in which their packets begin to be sent.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::record::Record;
use super::words::{self, AsTheyAre, Before, MOST_WORDS, Reader, Visit};
use crate::tcp::Segment;

/// How many words are copied with a state at most, where it is copied often.
const LEAST_CHUNK: usize = 64;
/// How many words a chunk has at most.
const MOST_CHUNK: usize = 2_048;

/// A log; an empty one takes a word and no memory besides.
#[derive(Clone, Default)]
pub(crate) struct Log(Option<Box<Records>>);

#[derive(Clone)]
struct Records {
    /// The words of the last ones.
    open: Vec<u64>,
    /// How many they may be before they become a chunk.
    most: usize,
    /// What these say.
    before: Before,
    /// The words before the open ones.
    closed: Option<Arc<Chunk>>,
}

/// Each has whole records.
struct Chunk {
    words: Vec<u64>,
    previous: Option<Arc<Self>>,
}

impl Log {
    #[inline(always)]
    pub fn push(&mut self, record: &Record<&Segment, &[u8]>) {
        let records = self.0.get_or_insert_with(Records::new);
        if records.open.len() + MOST_WORDS > records.most {
            records.close();
        }
        words::write(record, &mut records.before, &mut records.open);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The heap memory that a copy takes, in bytes.
    pub fn copied_bytes(&self) -> usize {
        let open = |records: &Records| size_of::<Records>() + size_of_val(&records.open[..]);
        self.0.as_deref().map_or(0, open)
    }

    /// All records, in their order.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let (mut chunks, mut words, mut reader) = (self.chunks(), &[][..], Reader::default());
        std::iter::from_fn(move || {
            loop {
                if let Some(record) = reader.next(&mut words, &mut AsTheyAre) {
                    return Some(record);
                }
                words = chunks.next()?;
            }
        })
    }

    /// Has all records visited, in their order, until there is an error.
    #[inline(always)]
    pub(super) fn visit<E>(&self, visitor: &mut impl Visit<Gives = Result<(), E>>) -> Result<(), E> {
        let mut reader = Reader::default();
        for mut words in self.chunks() {
            while let Some(visited) = reader.next(&mut words, visitor) {
                visited?;
            }
        }
        Ok(())
    }

    /// The words of all records, in their order.
    fn chunks(&self) -> impl Iterator<Item = &[u64]> {
        let mut chunks = Vec::new();
        let mut chunk = self.0.as_deref().and_then(|records| records.closed.as_deref());
        while let Some(this) = chunk {
            chunks.push(&this.words[..]);
            chunk = this.previous.as_deref();
        }
        let open = self.0.as_deref().map_or(&[][..], |records| &records.open[..]);
        chunks.into_iter().rev().chain([open])
    }
}

impl Records {
    fn new() -> Box<Self> {
        let open = Vec::with_capacity(LEAST_CHUNK);
        Box::new(Self { open, most: LEAST_CHUNK, before: Before::default(), closed: None })
    }

    /// Makes a chunk of the open words.
    #[inline(never)]
    fn close(&mut self) {
        // A chunk that somebody else has is that of a copy.
        let is_shared = self.closed.as_ref().is_some_and(|last| Arc::strong_count(last) > 1);
        self.most = if is_shared { LEAST_CHUNK } else { (2 * self.most).min(MOST_CHUNK) };
        let words = std::mem::replace(&mut self.open, Vec::with_capacity(self.most));
        self.closed = Some(Arc::new(Chunk { words, previous: self.closed.take() }));
    }
}

/// A chain is taken apart link by link: dropped as it is, a long one would overflow the stack.
impl Drop for Records {
    fn drop(&mut self) {
        let mut next = self.closed.take();
        while let Some(chunk) = next {
            next = Arc::into_inner(chunk).and_then(|mut chunk| chunk.previous.take());
        }
    }
}

/// Not part of the digest, which is that of the run without captures.
impl Hash for Log {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PartialEq for Log {
    fn eq(&self, other: &Self) -> bool {
        // Equal records are equal words.
        self.chunks().flatten().eq(other.chunks().flatten())
    }
}

impl Eq for Log {}

/// A count: states are shown in error messages.
impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.records().count())
    }
}

impl Serialize for Log {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.records().count()))?;
        self.records().try_for_each(|record| sequence.serialize_element(&record))?;
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for Log {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut log = Self::default();
        for record in Vec::<Record>::deserialize(deserializer)? {
            log.push(&record.as_ref());
        }
        Ok(log)
    }
}

#[cfg(test)]
mod test;
