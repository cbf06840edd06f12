//! The table against itself, against bytes written by hand, and against the descriptors of a public client.

mod descriptors;
mod encoding;
mod python;
mod table;
