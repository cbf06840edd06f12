//! The LVT page: a small area of shared memory on which simulation programs publish their local virtual time
//! (LVT), so that a pacer (the governor, or a scheduling policy in the kernel) can run first the thread that
//! is furthest behind.
//!
//! The page is an array of 64-byte records ([`layout`]): a header, then slots. A thread claims a slot and is
//! then the only one that writes to it; an update is one relaxed store. The page is a mapped file, a sealed
//! memory file or a pinned BPF map, which its readers and publishers find through the environment variable
//! [`ENV`]. If that is not set, publishing does nothing and costs almost nothing.
//!
//! Invariants:
//! - A slot whose `tid` is not 0 belongs to that thread. It changes hands by compare-and-swap of `tid` only,
//!   and only once its owner has ended ([`Owner::is_gone`]). `start_time` is 0 while no thread owns the slot
//!   and until its new owner is known.
//! - A reader trusts no byte of the page: every snapshot checks the header again, and any bytes in a slot
//!   give a [`SlotView`].
//! - All threads that share a page live in one PID namespace.
//!
//! ```
//! use paceline_lvt::{Page, Publisher};
//!
//! let page = Page::create_sealed(16)?;
//! let mut publisher = Publisher::claim(&page, "federate 0")?.with_lookahead(1_000);
//! publisher.publish(5_000_000);
//! publisher.publish(5_000_400); // within the lookahead: not written
//! let slots = page.slots()?;
//! assert_eq!((slots[0].lvt_ns, slots[0].name.to_string()), (5_000_000, "federate 0".to_owned()));
//! # Ok::<(), paceline_lvt::Error>(())
//! ```
//!
//! The same in C and C++: `include/paceline_lvt.h`; in Python: `outside/python/python/paceline/lvt.py`. The
//! crate is empty on other systems than Linux.
#![cfg(target_os = "linux")]

mod bell;
mod bpf;
mod error;
mod fork;
pub mod layout;
mod mapping;
mod owner;
mod page;
mod publisher;
mod relay;
mod slot;

pub use bell::Bell;
pub use error::Error;
pub use layout::MAX_SLOTS;
pub use owner::Owner;
pub use page::{DEFAULT_SLOTS, ENV, Page};
pub use publisher::Publisher;
pub use relay::{GuestMemory, GuestReport, ProcessRelay, Relay};
pub use slot::{Name, SlotView};
