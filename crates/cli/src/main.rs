//! The paceline program.
fn main() {}
