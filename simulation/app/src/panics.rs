//! Panics: every one of them comes to the user once, as the error that ends the program, with its file and
//! line.
//!
//! The engine catches those of a model with the LP, the time and the event; what else panics is caught here.
//! Invariant: a panic that is rolled back is not reported.

use paceline_engine::{RunError, tell_panics_once};
use paceline_kernel::catch;

use crate::failure::CommandError;

/// Does what a command line says; a panic in it is a failure like any other.
pub fn as_failures<T>(work: impl FnOnce() -> Result<T, CommandError>) -> Result<T, CommandError> {
    tell_panics_once();
    catch(work).unwrap_or_else(|panic| Err(RunError::from(panic).into()))
}
