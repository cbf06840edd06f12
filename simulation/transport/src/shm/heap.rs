//! Replaces the file of shared memory under shuttle, whose atomics cannot be in a file: all members are in
//! this process.
#![allow(unsafe_code)] // the bytes of a ring are shared

use std::cell::UnsafeCell;

use super::{Group, JOINED, Post};
use crate::shm::ring::{Control, Ring};

#[derive(Debug)]
pub(super) struct Region {
    posts: Vec<Post>,
    rings: Vec<(Control, Box<[UnsafeCell<u8>]>)>,
}

// SAFETY: the bytes of rings are used as `ring` states; all else is made of atomics.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    pub(super) fn new(group: &Group) -> Self {
        let members = group.members.len();
        let ring = |_| (Control::default(), (0..group.ring_bytes).map(|_| UnsafeCell::new(0)).collect());
        let post = |_| Post { state: JOINED.into(), ..Post::default() };
        Self { posts: (0..members).map(post).collect(), rings: (0..members * members).map(ring).collect() }
    }

    pub(super) fn post(&self, member: usize) -> &Post {
        &self.posts[member]
    }

    pub(super) fn ring(&self, from: usize, to: usize) -> Ring<'_> {
        let (control, bytes) = &self.rings[from * self.posts.len() + to];
        // SAFETY: the bytes live as long as `self`, and only rings of this control use them.
        unsafe { Ring::new(control, UnsafeCell::raw_get(bytes.as_ptr()), bytes.len() as u64) }
    }

    pub(super) fn is_alive(&self, _member: usize) -> bool {
        true
    }
}
