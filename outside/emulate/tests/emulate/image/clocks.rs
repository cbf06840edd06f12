//! Every clock of a guest is the time that it was granted: none of them tells simulated from real time.

use crate::image::support::{Booted, MS, SECOND, emulator};
use paceline_emulate::image::Contents;

/// A line of `probe clocks`, in nanoseconds; the chips in their own units.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    /// The end of the grant in which the line came.
    granted: i64,
    machine: i64,
    monotonic: i64,
    raw: i64,
    boot: i64,
    real: i64,
    tai: i64,
    acpi_ticks: i64,
    calendar_s: i64,
}

impl Clocks {
    fn read(granted: u64, line: &str) -> Option<Self> {
        let numbers = line.strip_prefix("clocks ")?.split(' ').map(|number| number.parse().unwrap());
        let numbers: Vec<i64> = numbers.collect();
        let [machine, monotonic, raw, boot, real, tai, acpi_ticks, calendar_s] = numbers[..] else {
            panic!("{line}")
        };
        let granted = granted as i64;
        Some(Self { granted, machine, monotonic, raw, boot, real, tai, acpi_ticks, calendar_s })
    }

    /// How much more than the machine's clock each of the kernel's clocks has advanced since `start`.
    fn gained(&self, start: &Self) -> [(&'static str, i64); 5] {
        let of = |clock: fn(&Self) -> i64| clock(self) - clock(start) - (self.machine - start.machine);
        [
            ("CLOCK_MONOTONIC", of(|clocks| clocks.monotonic)),
            ("CLOCK_MONOTONIC_RAW", of(|clocks| clocks.raw)),
            ("CLOCK_BOOTTIME", of(|clocks| clocks.boot)),
            ("CLOCK_REALTIME", of(|clocks| clocks.real)),
            ("CLOCK_TAI", of(|clocks| clocks.tai)),
        ]
    }
}

/// Ticks a second of the ACPI timer (ACPI specification, "Power Management Timer"), which has 24 bits.
const ACPI_HZ: i64 = 3_579_545;

#[test]
fn all_clocks_are_the_granted_time_whether_a_guest_idles_or_computes() {
    let Some(emulator) = emulator() else { return };
    let booted = Booted::new(emulator, "clocks", &Contents::default());
    let script = "probe clocks; sleep 30; probe clocks; probe work 500000000; probe clocks; sleep 28; probe clocks; \
                  probe waits 250000000; date '+date %F %T'";
    let mut setup = booted.setup("web", script);
    let epoch_s = 1_782_993_600; // 2026-07-02 12:00:00
    setup.epoch_ns = Some(epoch_s * SECOND as i64 - booted.at_ns as i64);
    setup.stop_ns = Some(booted.at_ns + 70 * SECOND);
    let ended = booted.run_for(&setup, 80 * SECOND);
    let lines: Vec<Clocks> =
        ended.lines.iter().filter_map(|(granted, line)| Clocks::read(*granted, line)).collect();
    let [start, idled, worked, end] = lines[..] else { panic!("{}", ended.console) };
    assert!(end.machine - start.machine > 59 * SECOND as i64, "{lines:?}");
    for clocks in [start, idled, worked, end] {
        // A line needs some time for the console.
        let late = clocks.granted - clocks.machine;
        assert!((0..30 * MS as i64).contains(&late), "{late} ns after the machine's clock was read");
        // The other clocks are read some hundred instructions after the machine's.
        for (name, gained) in clocks.gained(&start) {
            eprintln!("{name} gains {gained} ns in {} ns", clocks.machine - start.machine);
            assert!(gained.abs() < 2_000, "{name} gains {gained} ns");
        }
        // The ACPI timer wraps at 24 bits, after 4.7 s.
        let passed = i128::from(clocks.machine - start.machine) * i128::from(ACPI_HZ) / 1_000_000_000;
        let ticks = i128::from(clocks.acpi_ticks - start.acpi_ticks);
        let apart = (ticks - passed + 100).rem_euclid(1 << 24) - 100;
        assert!(apart < 100, "{apart} ticks");
        // Where the calendar's seconds begin, the machine's start decides.
        let second = clocks.real.div_euclid(SECOND as i64);
        assert!((clocks.calendar_s - second).abs() <= 1, "{clocks:?}");
        let date = clocks.real - (clocks.machine - booted.at_ns as i64);
        assert!((date - epoch_s * SECOND as i64).abs() < 10_000, "{date}");
    }
    let number = |line: &str| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    let waited: Vec<&str> = ended.console.lines().filter(|line| line.starts_with("waited ")).collect();
    assert_eq!(waited.len(), 6, "{}", ended.console);
    for line in waited {
        let late = number(line).checked_sub(250 * MS).unwrap_or_else(|| panic!("too early: {line}"));
        // The kernel may wake a sleeper 50 us late, and one that polls a thousandth of its time.
        assert!(late < 400_000, "{line}");
    }
    // Two instructions a round, a nanosecond each, and what interrupts take.
    let worked = ended.console.lines().find(|line| line.starts_with("worked ")).unwrap();
    assert!((1_000_000_000..1_010_000_000).contains(&number(worked)), "{worked}");
    assert!(ended.console.contains("date 2026-07-02 12:01:"), "{}", ended.console);
}
