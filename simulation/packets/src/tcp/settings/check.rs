//! Which settings a connection can work with: others would divide by zero, repeat a segment without a pause
//! or wait for ever.

use paceline_kernel::Time;
use thiserror::Error;

use super::{Algorithm, Ecn, Settings};

/// The longest of all times: a day.
const DAY: Time = Time::secs(86_400);

/// A setting that a connection cannot work with.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("`{key}` is {value}; allowed: {allowed}")]
pub struct SettingsError {
    /// The name of the setting.
    pub key: &'static str,
    /// What it is.
    pub value: String,
    /// What it may be.
    pub allowed: &'static str,
}

paceline_kernel::debug_tells!(SettingsError);

impl Settings {
    /// Refuses settings with which a connection makes no sense.
    ///
    /// # Errors
    ///
    /// [`SettingsError`], for the first setting that is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let number = |key, value: u32, least: u32, most: u32, allowed| {
            fits((least..=most).contains(&value), key, value.to_string(), allowed)
        };
        let time = |key, value: Time, least: Time, most: Time, allowed| {
            fits((least..=most).contains(&value), key, value.to_string(), allowed)
        };
        // Below 64 bytes headers and options leave no room; more than 65,495 do not fit an IP packet.
        number("mss", u32::from(self.mss), 64, 65_495, "from 64 to 65495 bytes")?;
        number("initial_window", u32::from(self.initial_window), 1, 65_535, "from 1 to 65535 segments")?;
        // RFC 7323, section 2.3: what scaling can show at most. With no buffer nothing is ever sent.
        number("receive_buffer", self.receive_buffer, 1, 1 << 30, "from 1 byte to 1 GiB")?;
        number("ack_every", u32::from(self.ack_every), 1, 255, "from 1 to 255 segments")?;
        number("abc", u32::from(self.abc), 0, 2, "from 0 to 2")?;
        // Tries are counted in eight bits: the last value has to be one that gives up.
        number("syn_retries", u32::from(self.syn_retries), 0, 254, "from 0 to 254")?;
        number("retries", u32::from(self.retries), 0, 254, "from 0 to 254")?;
        time("ack_delay", self.ack_delay, Time::ZERO, Time::millis(500), "from 0 to 500 ms")?;
        // A timeout of less than the clock's step would be due at once, and again.
        time("min_rto", self.min_rto, Time::nanos(1), DAY, "from 1 ns to 1 d")?;
        time("max_rto", self.max_rto, self.min_rto, DAY, "from `min_rto` to 1 d")?;
        let allowed = "from `min_rto` to `max_rto`";
        time("initial_rto", self.initial_rto, self.min_rto, self.max_rto, allowed)?;
        time("granularity", self.granularity, Time::ZERO, Time::secs(1), "from 0 to 1 s")?;
        // A clock that is faster goes round before a segment has been lost for sure (RFC 7323, section 5.4).
        time("timestamp_tick", self.timestamp_tick, Time::micros(1), Time::secs(1), "from 1 us to 1 s")?;
        time("time_wait", self.time_wait, Time::ZERO, DAY, "from 0 to 1 d")?;
        if let Some(hystart) = &self.classic_hystart {
            // It divides the least round trip by both.
            let least = u32::from(hystart.train_divisor.min(hystart.delay_divisor));
            number("classic_hystart", least, 1, 255, "divisors from 1 to 255")?;
        }
        // RFC 8257, section 3.2: it computes with the exact echo of marks.
        let is_exact = self.algorithm != Algorithm::Dctcp || self.ecn == Ecn::Dctcp;
        fits(is_exact, "ecn", format!("{:?} with DCTCP", self.ecn), "with DCTCP its own echo of marks")
    }
}

fn fits(
    is_allowed: bool,
    key: &'static str,
    value: String,
    allowed: &'static str,
) -> Result<(), SettingsError> {
    if is_allowed { Ok(()) } else { Err(SettingsError { key, value, allowed }) }
}
