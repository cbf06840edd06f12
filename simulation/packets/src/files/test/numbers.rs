//! Numbers are read exactly.

use super::number::{Decimal, rate, time, time_in};

#[test]
fn decimals_are_exact() {
    for (text, places, expected) in [
        ("0", 0, Some(0)),
        ("10", 0, Some(10)),
        ("2.5", 9, Some(2_500_000_000)),
        ("0.1", 18, Some(100_000_000_000_000_000)),
        ("10000000000.0", 0, Some(10_000_000_000)),
        ("1e10", 0, Some(10_000_000_000)),
        ("1.5E+3", 0, Some(1500)),
        ("15e-1", 1, Some(15)),
        (".5", 1, Some(5)),
        ("5.", 0, Some(5)),
        ("0.49", 0, Some(0)),
        ("0.5", 0, Some(1)),
        ("1e-400", 18, Some(0)),
        ("18446744073709551615", 0, Some(u64::MAX)),
        ("18446744073709551616", 0, None),
        ("1e400", 0, None),
        ("0e400", 0, Some(0)),
    ] {
        assert_eq!(Decimal::parse(text).and_then(|number| number.scaled(places)), expected, "{text}");
    }
    for wrong in ["", ".", "-1", "+1", "1.2.3", "1e", "e1", "0x10", "1_000", "NaN", "inf", "١", "1 2", "1..0"]
    {
        assert_eq!(Decimal::parse(wrong), None, "{wrong}");
    }
    let whole = |text| Decimal::parse(text).and_then(Decimal::whole);
    assert_eq!(
        [whole("1e3"), whole("70.00"), whole("0"), whole("2.5")],
        [Some(1000), Some(70), Some(0), None]
    );
    assert_eq!(whole("1e-3"), None);
}

#[test]
fn units_are_powers_of_ten() {
    for (text, expected) in [
        ("10Gbps", Some(10_000_000_000)),
        (" 2.5 Gbps", Some(2_500_000_000)),
        ("9600", Some(9600)),
        ("1kbps", Some(1000)),
        ("1e15", Some(1_000_000_000_000_000)),
        ("1.1e15", None),
        ("0", None),
        ("1GBps", None),
        ("10 G", None),
    ] {
        assert_eq!(rate(text), expected, "{text}");
    }
    for (text, expected) in [
        ("20ms", Some(20_000_000_000)),
        ("0.5us", Some(500_000)),
        ("1.5ns", Some(1500)),
        ("7ps", Some(7)),
        ("0s", Some(0)),
        ("1e6s", Some(1_000_000_000_000_000_000)),
        ("1.1e6s", None),
        ("5", None),
        ("5m", None),
    ] {
        assert_eq!(time(text), expected, "{text}");
    }
    assert_eq!(time_in("2.000000001", 12), Some(2_000_000_001_000));
}
