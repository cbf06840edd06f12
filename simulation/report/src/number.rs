//! Numbers as people read them.

/// From here on a number is written with a power of ten.
const PLAIN_BELOW: f64 = 1e9;
/// From here on that of a tick is, for there is less room.
const PLAIN_TICK_BELOW: f64 = 1e7;
/// Below this both are.
const PLAIN_FROM: f64 = 1e-4;
/// The significant digits that are kept of a fraction.
const DIGITS: i32 = 4;

/// A number with four significant digits at least, thousands apart: `1,234,567`, `0.01235`, `6.02×10²³`.
///
/// ```
/// use paceline_report::number;
/// assert_eq!([number(1_234_567.0), number(0.012_345), number(-2.5)], ["1,234,567", "0.01235", "-2.5"]);
/// assert_eq!([number(6.02e23), number(1e-9)], ["6.02×10²³", "10⁻⁹"]);
/// ```
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    if !(PLAIN_FROM..PLAIN_BELOW).contains(&value.abs()) {
        return power(value, DIGITS - 1);
    }
    let decimals = (DIGITS - 1 - value.abs().log10().floor() as i32).max(0);
    fixed(value, decimals)
}

/// A number with at most `decimals` decimals, thousands apart.
fn fixed(value: f64, decimals: i32) -> String {
    let text = format!("{value:.*}", decimals.max(0) as usize);
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction.trim_end_matches('0') {
        "" if grouped == "0" => grouped,
        "" => format!("{sign}{grouped}"),
        fraction => format!("{sign}{grouped}.{fraction}"),
    }
}

/// A number as a mantissa with at most `decimals` decimals and a power of ten.
fn power(value: f64, decimals: i32) -> String {
    let text = format!("{value:.*e}", decimals.clamp(0, 15) as usize);
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let raised: String = exponent.chars().map(superscript).collect();
    match mantissa {
        "1" => format!("10{raised}"),
        "-1" => format!("-10{raised}"),
        mantissa => format!("{mantissa}×10{raised}"),
    }
}

fn superscript(digit: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])
}

/// The label of a tick: as many decimals as distinguish it from its neighbours, `step` away.
pub(crate) fn tick(value: f64, step: f64) -> String {
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if value.abs() >= PLAIN_TICK_BELOW || step < PLAIN_FROM {
        return power(value, (value.abs() / step).log10().ceil() as i32);
    }
    fixed(value, (-step.log10()).ceil() as i32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_read_back_to_four_digits(value in -1e9..1e9) {
            let read: f64 = number(value).replace(',', "").parse().unwrap_or(0.0);
            prop_assert!((read - value).abs() <= value.abs() * 1e-3 + 1e-4, "{value} {}", number(value));
        }

        #[test]
        fn neighbouring_ticks_differ(place in -1000_i32..1000, decade in -12_i32..12, unit in 0..3_usize) {
            let step = [1.0, 2.0, 5.0][unit] * 10_f64.powi(decade);
            let at = |place: i32| tick(f64::from(place) * step, step);
            prop_assert_ne!(at(place), at(place + 1));
        }
    }
}
