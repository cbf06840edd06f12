//! The keys of `[run]` that only runs of several processes read: how messages are gathered in frames.
//!
//! In a run of one process they are checked for sense all the same, and have no effect.

use paceline_kernel::Time;
use paceline_scenario::{Raw, ScenarioError, Section, Size, Unfit, Value};
use paceline_transport::marshal::{Marshalling, SizeLimit, TimeLimit};

/// What `run.frame_bytes` may be, with a line about each.
pub const SIZES: [(&str, &str); 3] = [
    ("adaptive", "as many packets, 1 to 16, as the rate of messages fills soon: the default"),
    ("off", "each message is a frame of its own"),
    ("a size", "such as \"16kB\", or as many bytes as the path allows"),
];

/// What `run.frame_time` may be, with a line about each.
pub const TIMES: [(&str, &str); 2] = [
    ("adaptive", "a message waits for others as the rate of messages says, at most 100us: the default"),
    ("a duration", "such as \"50us\": so long; \"0s\" never"),
];

/// Reads the keys.
pub fn read(run: &mut Section) -> Result<Marshalling, ScenarioError> {
    let default = Marshalling::default();
    Ok(Marshalling {
        size: run.optional::<FrameSize>("frame_bytes")?.map_or(default.size, |size| size.0),
        time: run.optional::<FrameTime>("frame_time")?.map_or(default.time, |time| time.0),
    })
}

/// How many bytes a frame takes, as a scenario says it.
#[derive(Debug, PartialEq)]
struct FrameSize(SizeLimit);

impl Value for FrameSize {
    const EXPECTED: &'static str =
        "\"adaptive\", \"off\", a size above zero such as \"16kB\" or \"1MiB\", or a number of bytes";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        Ok(Self(match raw {
            Raw::String(text) if text == "adaptive" => SizeLimit::Adaptive,
            Raw::String(text) if text == "off" => SizeLimit::Off,
            other => SizeLimit::Bytes(Size::read(other)?.bytes),
        }))
    }
}

/// How long a message waits for others, as a scenario says it.
#[derive(Debug, PartialEq)]
struct FrameTime(TimeLimit);

impl Value for FrameTime {
    const EXPECTED: &'static str =
        "\"adaptive\", or a duration with its unit such as \"50us\" (units: ps, ns, us, ms, s, min, h, d)";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        Ok(Self(match raw {
            Raw::String(text) if text == "adaptive" => TimeLimit::default(),
            other => TimeLimit::Fixed { ns: Time::read(other)?.as_nanos() },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_sizes_and_durations_are_read() {
        let text = |text: &str| Raw::String(text.to_owned());
        let size = |raw: &Raw| FrameSize::read(raw).map(|size| size.0);
        assert_eq!(size(&text("adaptive")), Ok(SizeLimit::Adaptive));
        assert_eq!(size(&text("off")), Ok(SizeLimit::Off));
        assert_eq!(size(&text("16kB")), Ok(SizeLimit::Bytes(16_000)));
        assert_eq!(size(&Raw::Integer(1_448)), Ok(SizeLimit::Bytes(1_448)));
        for bad in [text("on"), text("0kB"), text("50us"), text(""), Raw::Integer(0)] {
            assert!(matches!(size(&bad), Err(Unfit::Content(_))), "{bad}");
        }
        assert_eq!((size(&Raw::Bool(false)), size(&Raw::Integer(-1))), (Err(Unfit::Kind), Err(Unfit::Kind)));
        let time = |raw: &Raw| FrameTime::read(raw).map(|time| time.0);
        assert_eq!(time(&text("adaptive")), Ok(TimeLimit::default()));
        assert_eq!(time(&text("50us")), Ok(TimeLimit::Fixed { ns: 50_000 }));
        assert_eq!(time(&text("0s")), Ok(TimeLimit::Fixed { ns: 0 }));
        for bad in [text("off"), text("16kB"), text("-1us"), text("50"), Raw::Integer(50)] {
            assert!(matches!(time(&bad), Err(Unfit::Content(_))), "{bad}");
        }
        assert_eq!(time(&Raw::Bool(true)), Err(Unfit::Kind));
    }
}
