//! Decimal numbers with units, as people write them: read exactly, by integers.

/// Why a text is no number that can be computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It does not start with digits, or its point has none on one side.
    NoNumber,
    /// It has more than 128 bits.
    TooLarge,
}

/// What a number is in whole parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub whole: u128,
    /// Something is left that is less than a part.
    pub is_cut: bool,
}

/// More digits than any unit makes use of, and few enough for 128 bits.
const MOST_FRACTION_DIGITS: usize = 18;

/// The digits and points at the start of `text`, and the unit: what stands behind them and blanks.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let end = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Whether `number`, digits and points, is a number.
pub(crate) fn is_number(number: &str) -> bool {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    !whole.is_empty() && !fraction.contains('.') && !number.ends_with('.')
}

/// `number`, digits and points, in parts of which its unit has `parts`.
pub(crate) fn times(number: &str, parts: u64) -> Result<Parts, Unread> {
    if !is_number(number) {
        return Err(Unread::NoNumber);
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let kept = &fraction[..fraction.len().min(MOST_FRACTION_DIGITS)];
    let digits = |digits: &str| {
        let next = |sum: u128, digit: u8| sum.checked_mul(10)?.checked_add(u128::from(digit - b'0'));
        digits.bytes().try_fold(0u128, next).ok_or(Unread::TooLarge)
    };
    let (unit, scale) = (u128::from(parts), 10u128.pow(kept.len() as u32));
    let whole = digits(whole)?.checked_mul(unit).ok_or(Unread::TooLarge)?;
    // Below 10^18 x 2^64, which has 124 bits.
    let rest = digits(kept)? * unit;
    let whole = whole.checked_add(rest / scale).ok_or(Unread::TooLarge)?;
    Ok(Parts { whole, is_cut: rest % scale != 0 || kept.len() < fraction.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let parts = |number: &str, parts| times(number, parts).map(|parts| (parts.whole, parts.is_cut));
        // As a float, this is below 2,300,000.
        assert_eq!(parts("2.3", 1_000_000), Ok((2_300_000, false)));
        assert_eq!(parts("0.1", 3), Ok((0, true)));
        assert_eq!(parts("1.0000000000000000001", 1), Ok((1, true)));
        assert_eq!(parts(&format!("0.{}", "9".repeat(60)), u64::MAX).map(|parts| parts.1), Ok(true));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", ".5", "5.", "1.2.3"] {
            assert_eq!(times(text, 1), Err(Unread::NoNumber), "{text:?}");
        }
        for (text, parts) in [("9".repeat(60), 1), ("9".repeat(24), 86_400_000_000_000_000)] {
            assert_eq!(times(&text, parts), Err(Unread::TooLarge), "{text:?}");
        }
    }
}
