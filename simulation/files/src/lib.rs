//! How files are written: logs, results, reports, traces and checkpoints all go through here.
//!
//! - [`NewFile`] is written beside its place and takes its name when it is complete. A symbolic link is
//!   followed, the file at its end is replaced, and keeps its permissions and its owner. What is not a
//!   regular file - a FIFO, a device, standard output under any of its names - is opened and written instead.
//! - [`Entries`] writes entry after entry. Where the disk fills up, it cuts the file after the last entry
//!   that is whole.
//! - [`FolderLock`] keeps two runs from writing into one folder.
//!
//! A file that is being written is called `.NAME.KERNEL-PROCESS-NUMBER.unfinished`, and its writer holds a
//! lock on it (`flock`). A process that is killed leaves it, without the lock; whoever writes that file, or
//! into that folder, next removes it ([`leftovers`]).
//!
//! Invariants: a file that another process may still be writing is never removed; under its own name a
//! regular file is complete, or what it was before.

#![forbid(unsafe_code)]

mod attributes;
mod entries;
mod folder;
pub mod leftovers;
mod new_file;
mod place;

pub use entries::{CutError, Entries};
pub use folder::FolderLock;
pub use new_file::{Lock, NewFile, discard_unfinished};
pub use place::irregular;
