//! Decimal numbers with units, read exactly: no float between a file and an integer.

/// A decimal number that is not negative: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Reads digits with a point and an exponent, such as `10`, `2.5` or `1e10`; nothing where it is not
    /// that, or has more than 30 digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.strip_prefix('+').unwrap_or(exponent)),
            None => (text, "0"),
        };
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // Zeros at the end say nothing: 10000000000.000 is as good as without.
        let fraction = fraction.trim_end_matches('0');
        let is_number = !number.is_empty()
            && number != "."
            && number.bytes().all(|letter| letter.is_ascii_digit() || letter == b'.');
        let digits = format!("{whole}{fraction}");
        if !is_number || fraction.contains('.') || digits.trim_start_matches('0').len() > 30 {
            return None;
        }
        let digits = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self { digits, exponent })
    }

    /// The number in units of ten to the power of `-places`, rounded to the nearest; nothing where that is
    /// 2^64 or more.
    pub(super) fn scaled(self, places: i32) -> Option<u64> {
        let exponent = self.exponent.checked_add(places)?;
        if self.digits == 0 {
            return Some(0);
        }
        if exponent >= 0 {
            let factor = 10u128.checked_pow(u32::try_from(exponent).ok()?)?;
            return u64::try_from(self.digits.checked_mul(factor)?).ok();
        }
        let Some(divisor) = 10u128.checked_pow(exponent.unsigned_abs()) else { return Some(0) };
        let (quotient, rest) = (self.digits / divisor, self.digits % divisor);
        u64::try_from(quotient + u128::from(rest >= divisor.div_ceil(2))).ok()
    }

    /// The number, if it is whole and below 2^64.
    pub(super) fn whole(self) -> Option<u64> {
        let whole = self.scaled(0)?;
        let exact = Self { digits: u128::from(whole), exponent: 0 };
        (self.reduced() == exact.reduced()).then_some(whole)
    }

    fn reduced(mut self) -> Self {
        while self.digits != 0 && self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.exponent += 1;
        }
        if self.digits == 0 { Self { digits: 0, exponent: 0 } } else { self }
    }
}

/// What a rate may be, for messages.
pub(super) const RATE: &str =
    "a rate from 1bps to 10^15 bps, such as 10Mbps, 2.5Gbps or a number of bits a second";
/// What a time may be, for messages.
pub(super) const TIME: &str = "a time up to 11 days, such as 20ms, 1.5us or 0.02s";

/// The highest rate, in bits a second, and the longest time, in picoseconds.
const RATE_MAX: u64 = 1_000_000_000_000_000;
const TIME_MAX: u64 = 1_000_000_000_000_000_000;

/// A number with a unit: where the text ends with the first name of a pair, the second is its power of ten.
fn with_unit(text: &str, units: &[(&str, i32)]) -> Option<u64> {
    units.iter().find_map(|(unit, places)| {
        let number = text.strip_suffix(unit)?.trim_end();
        Decimal::parse(number)?.scaled(*places)
    })
}

/// Bits a second: a number, or one with a unit.
pub(super) fn rate(text: &str) -> Option<u64> {
    const UNITS: [(&str, i32); 7] =
        [("Tbps", 12), ("Gbps", 9), ("Mbps", 6), ("kbps", 3), ("Kbps", 3), ("bps", 0), ("", 0)];
    with_unit(text.trim(), &UNITS).filter(|rate| (1..=RATE_MAX).contains(rate))
}

/// Picoseconds: a number with a unit.
pub(super) fn time(text: &str) -> Option<u64> {
    const UNITS: [(&str, i32); 5] = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)];
    with_unit(text.trim(), &UNITS).filter(|time| *time <= TIME_MAX)
}

/// Picoseconds from a number of units of ten to the power of `places` picoseconds.
pub(super) fn time_in(text: &str, places: i32) -> Option<u64> {
    Decimal::parse(text.trim())?.scaled(places).filter(|time| *time <= TIME_MAX)
}
