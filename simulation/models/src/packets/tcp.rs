//! TCP flows: how much is sent, and the settings of both ends of a connection.

use std::ops::RangeInclusive;

use paceline_kernel::Time;
use paceline_packets::Tcp;
use paceline_packets::tcp::{Algorithm, ClassicHyStart, Ecn, Settings};
use paceline_scenario::{ScenarioError, Section, Size};

const ALGORITHMS: [(&str, Algorithm); 4] = [
    ("newreno", Algorithm::NewReno),
    ("cubic", Algorithm::Cubic),
    ("dctcp", Algorithm::Dctcp),
    ("bbr", Algorithm::Bbr),
];

const CLASSIC_HYSTARTS: [(&str, Option<ClassicHyStart>); 3] =
    [("off", None), ("linux", Some(ClassicHyStart::LINUX)), ("ns-3", Some(ClassicHyStart::NS3))];

const ECNS: [(&str, Ecn); 3] = [("off", Ecn::Off), ("classic", Ecn::Classic), ("dctcp", Ecn::Dctcp)];

/// The largest window that scaling can show (RFC 7323, section 2.3).
const MOST_WINDOW: u64 = 1 << 30;
/// The most headers below TCP, in bytes.
const MOST_BELOW: u32 = 1000;

/// Reads the keys `bytes` and those of [`read_settings`].
pub fn read(entry: &mut Section) -> Result<Tcp, ScenarioError> {
    let bytes: Option<Size> = entry.optional("bytes")?;
    let tcp = read_settings(entry, Settings::default())?;
    Ok(match bytes {
        Some(size) => tcp.bytes(size.bytes as u64),
        None => tcp,
    })
}

/// Reads the keys `congestion` ("newreno"), `below_bytes` (22), and those of the [`Settings`], which are as
/// `usual` without a key.
pub fn read_settings(entry: &mut Section, usual: Settings) -> Result<Tcp, ScenarioError> {
    let algorithm = entry.choice("congestion", &ALGORITHMS, Some(Algorithm::NewReno))?;
    let below_bytes = number(entry, "below_bytes", 22, 0..=MOST_BELOW)?;
    let settings = Settings {
        algorithm,
        ecn: read_ecn(entry, algorithm)?,
        mss: number(entry, "mss", u32::from(usual.mss), 64..=65_495)? as u16,
        initial_window: number(entry, "initial_window", u32::from(usual.initial_window), 1..=65_535)? as u16,
        receive_buffer: read_buffer(entry, usual.receive_buffer)?,
        ack_every: number(entry, "ack_every", u32::from(usual.ack_every), 1..=255)? as u8,
        abc: number(entry, "abc", u32::from(usual.abc), 0..=2)? as u8,
        syn_retries: number(entry, "syn_retries", u32::from(usual.syn_retries), 0..=254)? as u8,
        retries: number(entry, "retries", u32::from(usual.retries), 1..=254)? as u8,
        timestamps: entry.or("timestamps", usual.timestamps)?,
        window_scaling: entry.or("window_scaling", usual.window_scaling)?,
        sack: entry.or("sack", usual.sack)?,
        limited_transmit: entry.or("limited_transmit", usual.limited_transmit)?,
        rack: entry.or("rack", usual.rack)?,
        prr: entry.or("prr", usual.prr)?,
        hystart: entry.or("hystart", usual.hystart)?,
        classic_hystart: entry.choice("classic_hystart", &CLASSIC_HYSTARTS, Some(None))?,
        pacing: entry.or("pacing", usual.pacing)?,
        nagle: entry.or("nagle", usual.nagle)?,
        restart_after_idle: entry.or("restart_after_idle", usual.restart_after_idle)?,
        ..read_timers(entry, usual)?
    };
    Ok(Tcp { below_bytes, ..Tcp::new(settings) })
}

fn number(
    entry: &mut Section,
    key: &str,
    default: u32,
    range: RangeInclusive<u32>,
) -> Result<u32, ScenarioError> {
    let allowed = format!("a whole number from {} to {}", range.start(), range.end());
    entry.or_where(key, default, |value| range.contains(&value), allowed)
}

/// Reads `ecn`: with DCTCP there is one way alone (RFC 8257, section 3.2).
fn read_ecn(entry: &mut Section, algorithm: Algorithm) -> Result<Ecn, ScenarioError> {
    let usual = if algorithm == Algorithm::Dctcp { Ecn::Dctcp } else { Ecn::Off };
    let ecn = entry.choice("ecn", &ECNS, Some(usual))?;
    if algorithm == Algorithm::Dctcp && ecn != Ecn::Dctcp {
        let problem = "DCTCP without the exact echo of marks that it computes with";
        return Err(entry.refuse("ecn", problem, "\"dctcp\", or no `ecn`"));
    }
    Ok(ecn)
}

fn read_buffer(entry: &mut Section, usual: u32) -> Result<u32, ScenarioError> {
    let size = entry.or("receive_buffer", Size { bytes: usual as usize })?;
    if size.bytes as u64 > MOST_WINDOW {
        let problem = format!("a receive buffer of {size}");
        return Err(entry.refuse("receive_buffer", problem, "at most 1GiB, the largest window of TCP"));
    }
    Ok(size.bytes as u32)
}

/// Reads `ack_delay` ("40ms"), `initial_rto` ("1s"), `min_rto` ("1s") and `max_rto` ("1min").
fn read_timers(entry: &mut Section, usual: Settings) -> Result<Settings, ScenarioError> {
    let half_second = Time::millis(500);
    let ack_delay =
        entry.or_where("ack_delay", usual.ack_delay, |value| value < half_second, "a time below 500ms")?;
    let min_rto = entry.or_where("min_rto", usual.min_rto, |value| value > Time::ZERO, "a time above 0")?;
    let allowed = "a time from `min_rto` to 1d";
    let fits = |value: Time| value >= min_rto && value <= Time::secs(86_400);
    let max_rto = entry.or_where("max_rto", usual.max_rto, fits, allowed)?;
    let fits = |value: Time| value >= min_rto && value <= max_rto;
    let initial_rto =
        entry.or_where("initial_rto", usual.initial_rto, fits, "from `min_rto` to `max_rto`")?;
    Ok(Settings { ack_delay, initial_rto, min_rto, max_rto, ..usual })
}
