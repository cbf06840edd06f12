//! `Debug` of error types for people: what `Display` says.
//!
//! A `main` that returns an error, and `unwrap` and `expect`, show its `Debug`. The author of a model meets
//! the error there, so `Debug` is the message, not the fields. Programs have the fields to match on.

use std::error::Error;
use std::fmt;

/// Writes what `error` says, and, each in a line of its own, what its sources say that it has not said
/// itself.
///
/// ```
/// use std::fmt;
/// use paceline_kernel::{LpId, PartitionError, tell_error};
///
/// struct Readable(PartitionError);
///
/// impl fmt::Debug for Readable {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         tell_error(&self.0, f)
///     }
/// }
///
/// let error = PartitionError::Missing { lp: LpId(12), dealt: 12, lps: 16 };
/// assert_eq!(format!("{:?}", Readable(error)), error.to_string());
/// ```
pub fn tell_error(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = error.to_string();
    f.write_str(&text)?;
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            write!(f, "\nbecause: {more}")?;
            text.push_str(&more);
        }
        source = error.source();
    }
    Ok(())
}

/// Gives error types a `Debug` that says what `Display` says, with the sources ([`tell_error`]).
///
/// ```
/// /// There is no more room.
/// struct Full;
///
/// impl std::fmt::Display for Full {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("the parking lot is full")
///     }
/// }
///
/// impl std::error::Error for Full {}
/// paceline_kernel::debug_tells!(Full);
/// assert_eq!(format!("{Full:?}"), "the parking lot is full");
/// ```
#[macro_export]
macro_rules! debug_tells {
    ($($error:ty),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::tell_error(self, f)
            }
        }
    )+};
}

#[cfg(test)]
mod test {
    use thiserror::Error;

    #[derive(Error)]
    #[error("the disk is full")]
    struct Inner;

    #[derive(Error)]
    #[error("cannot write the results")]
    struct Outer(#[source] Inner);

    #[derive(Error)]
    #[error("it ends: {0}")]
    struct Quoting(#[source] Outer);

    crate::debug_tells!(Inner, Outer, Quoting);

    #[test]
    fn sources_are_reported_once() {
        assert_eq!(format!("{Inner:?}"), "the disk is full");
        assert_eq!(format!("{:?}", Outer(Inner)), "cannot write the results\nbecause: the disk is full");
        let quoting = format!("{:#?}", Quoting(Outer(Inner)));
        assert_eq!(quoting, "it ends: cannot write the results\nbecause: the disk is full");
    }
}
