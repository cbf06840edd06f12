//! The bytes of a stream in their order, from segments that come in any.
//!
//! Invariants: what has been read is never read again. What is kept lies beyond it, and within the window.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What of a peer's stream has come.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct Stream {
    /// Bytes that were read.
    next: u64,
    /// By place in the stream: what came before what precedes it.
    early: BTreeMap<u64, Box<[u8]>>,
}

impl Stream {
    /// Takes the bytes of a segment, which stand at `at`, and has everything read that TCP has delivered:
    /// `delivered` bytes in all. What lies more than `window` bytes ahead is left out, as TCP does.
    pub fn take(&mut self, at: u64, bytes: &[u8], delivered: u64, window: u64, mut read: impl FnMut(&[u8])) {
        if at <= self.next {
            self.read(at, bytes, delivered, &mut read);
        } else if !bytes.is_empty() && at - self.next <= window {
            // The longer of two from one place has what the other has.
            let kept = self.early.entry(at).or_default();
            if kept.len() < bytes.len() {
                *kept = bytes.into();
            }
        }
        while let Some(entry) = self.early.first_entry().filter(|entry| *entry.key() <= self.next) {
            let (at, bytes) = entry.remove_entry();
            self.read(at, &bytes, delivered, &mut read);
        }
    }

    fn read(&mut self, at: u64, bytes: &[u8], delivered: u64, read: &mut impl FnMut(&[u8])) {
        let known = usize::try_from(self.next - at).unwrap_or(usize::MAX).min(bytes.len());
        let new = &bytes[known..];
        // A receiver takes of a segment no more than its window: what is beyond comes again.
        let count = new.len().min(usize::try_from(delivered.saturating_sub(self.next)).unwrap_or(usize::MAX));
        if count > 0 {
            self.next += count as u64;
            read(&new[..count]);
        }
    }

    /// Whether it can be that of a connection that has delivered so much: for states that come from a file.
    pub fn is_consistent(&self, delivered: u64) -> bool {
        self.next == delivered
            && self.early.iter().all(|(at, bytes)| {
                *at > self.next && !bytes.is_empty() && bytes.len() <= 0xffff && *at < u64::MAX / 2
            })
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use paceline_kernel::Rng;

    /// Segments in any order, overlapping and again: every byte is read once, in order.
    #[test]
    fn bytes_come_in_order() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed, 1);
            let all: Vec<u8> = (0..2_000u32).map(|at| (at * 7 % 251) as u8).collect();
            let (mut stream, mut read) = (Stream::default(), Vec::<u8>::new());
            let mut has = vec![false; all.len()];
            while read.len() < all.len() {
                let at = rng.below(all.len() as u64) as usize;
                let end = (at + 1 + rng.below(300) as usize).min(all.len());
                has[at..end].fill(true);
                let delivered = has.iter().take_while(|has| **has).count() as u64;
                stream.take(at as u64, &all[at..end], delivered, 1 << 20, |bytes| read.extend(bytes));
                assert!(stream.is_consistent(delivered), "{stream:?}");
            }
            assert!(read == all);
        }
    }

    #[test]
    fn what_lies_beyond_the_window_is_left_out() {
        let mut stream = Stream::default();
        stream.take(101, &[1; 8], 0, 100, |_| panic!("nothing is in order"));
        assert_eq!(stream, Stream::default());
    }
}
