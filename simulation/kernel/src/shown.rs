//! Comparing what `Debug` shows of two values.
//!
//! Invariant: the order of lines does not count, because a hash map shows its entries in another order every
//! time.

/// Whether two texts have the same lines, as often and in any order.
///
/// ```
/// use paceline_kernel::same_lines;
/// assert!(same_lines("{\n 1,\n 2,\n}", "{\n 2,\n 1,\n}"));
/// assert!(!same_lines("{\n 1,\n}", "{\n 1,\n 1,\n}"));
/// ```
pub fn same_lines(one: &str, other: &str) -> bool {
    let sorted = |text| {
        let mut lines: Vec<&str> = str::lines(text).collect();
        lines.sort_unstable();
        lines
    };
    one == other || sorted(one) == sorted(other)
}
