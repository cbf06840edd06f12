//! What a reader sees of a slot: a copy, taken at some moment while its owner runs.
//!
//! Any 64 bytes can be read so. Nothing in a view is to be trusted before [`SlotView::owner`] has been looked
//! at.

use std::fmt;

use crate::layout::{
    DONE, LIBRARY_WAITING, LIBRARY_YIELDS, NAME_BYTES, RECORD_BYTES, SIMULATION, WAITING, u32_at, u64_at,
};
use crate::owner::Owner;

/// A name as it stands in a slot: at most 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Name([u8; NAME_BYTES]);

impl Name {
    /// `text` up to its first NUL, and as many of its characters as have room.
    pub fn new(text: &str) -> Self {
        let text = text.split('\0').next().unwrap_or_default();
        let mut bytes = [0; NAME_BYTES];
        let mut room = text.len().min(NAME_BYTES);
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        bytes[..room].copy_from_slice(&text.as_bytes()[..room]);
        Self(bytes)
    }

    /// The bytes in the slot, padded with NUL.
    pub const fn bytes(self) -> [u8; NAME_BYTES] {
        self.0
    }
}

/// Shows bytes that are no text, and control characters, as replacement characters.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        let text = String::from_utf8_lossy(&self.0[..end]);
        let shown: String =
            text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
        f.pad(&shown)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// A copy of a slot that has an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotView {
    /// Which slot of the page, from 0.
    pub index: u32,
    /// The LVT in ns, or [`DONE`].
    pub lvt_ns: u64,
    /// [`SIMULATION`] and [`WAITING`].
    pub flags: u32,
    /// The thread that owns the slot.
    pub tid: u32,
    /// The process of that thread; 0 for the moment in which the slot changes hands.
    pub pid: u32,
    /// When the thread was started, in clock ticks since the system was; 0 for the moment in which the slot
    /// changes hands.
    pub start_time: u64,
    /// What the owner calls itself.
    pub name: Name,
    /// [`LIBRARY_YIELDS`] and [`LIBRARY_WAITING`].
    pub library: u32,
    /// How many messages the owner's communication library has passed.
    pub messages: u64,
}

impl SlotView {
    /// The slot `index` with these bytes; `None` if it is free.
    pub fn decode(index: u32, bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let tid = u32_at(bytes, 12);
        (tid != 0).then(|| Self {
            index,
            lvt_ns: u64_at(bytes, 0),
            flags: u32_at(bytes, 8),
            tid,
            pid: u32_at(bytes, 24),
            start_time: u64_at(bytes, 16),
            name: Name(bytes[32..32 + NAME_BYTES].try_into().expect("the bytes of a name")),
            library: u32_at(bytes, 28),
            messages: u64_at(bytes, 56),
        })
    }

    /// The thread that owns the slot.
    pub const fn owner(&self) -> Owner {
        Owner { pid: self.pid, tid: self.tid, start_time: self.start_time }
    }

    /// Whether the owner is to be run by its LVT.
    pub const fn is_simulating(&self) -> bool {
        self.flags & SIMULATION != 0
    }

    /// Whether the owner, or its communication library, says that it waits for others.
    pub const fn is_waiting(&self) -> bool {
        self.flags & WAITING != 0 || self.library & LIBRARY_WAITING != 0
    }

    /// Whether the owner's communication library gives the core away whenever it waits.
    pub const fn yields(&self) -> bool {
        self.library & LIBRARY_YIELDS != 0
    }

    /// Whether the owner is done or idle.
    pub const fn is_done(&self) -> bool {
        self.lvt_ns == DONE
    }
}
