//! Durations on the command line, written as those in scenarios.
//!
//! Invariant: what the program reads as a duration, a scenario would read as the same one.

#[cfg(target_os = "linux")]
use std::time::Duration;

use paceline_kernel::Time;
use paceline_scenario::Value;

/// Reads a span of simulated time; the error says what is wrong with it and what is allowed.
pub fn time(text: &str) -> Result<Time, String> {
    paceline_scenario::duration(text).map_err(|error| format!("{error}; allowed: {}", Time::EXPECTED))
}

/// Reads a span of real time, in the same way.
#[cfg(target_os = "linux")]
pub fn duration(text: &str) -> Result<Duration, String> {
    time(text).map(|time| Duration::from_nanos(time.as_nanos()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_scenarios() {
        assert_eq!(duration("1.5ms"), Ok(Duration::from_micros(1_500)));
        assert_eq!(duration("2 min"), Ok(Duration::from_secs(120)));
        // Ways to write them that scenarios do not have.
        for text in ["1sec", "1h 30min", "2m", "5"] {
            let error = duration(text).expect_err(text);
            assert!(error.ends_with("(units: ps, ns, us, ms, s, min, h, d)"), "{text}: {error}");
        }
    }
}
