//! RDMA flows: how much is sent, in which packets, and at which rate.

use paceline_packets::queue::Alpha;
use paceline_packets::{Dcqcn, Rdma};
use paceline_scenario::{Picoseconds, Rate, ScenarioError, Section, Size};

use super::factor::Factor;

/// Reads the keys `bytes`, `congestion` ("dcqcn", "none"), `mtu` (1000), `header_bytes` (62), `control_bytes`
/// (84), `ack_every` (1), `timeout` ("10ms"), and those of DCQCN.
pub fn read(entry: &mut Section) -> Result<Rdma, ScenarioError> {
    let usual = Rdma::default();
    let bytes: Option<Size> = entry.optional("bytes")?;
    let is_controlled = entry.choice("congestion", &[("dcqcn", true), ("none", false)], Some(true))?;
    let length = |entry: &mut Section, key: &str, default: u32| {
        let allowed = "a whole number from 1 to 500000";
        entry.or_where(key, default, |value| (1..=500_000).contains(&value), allowed)
    };
    Ok(Rdma {
        bytes: bytes.map(|size| size.bytes as u64),
        mtu: length(entry, "mtu", usual.mtu)?,
        header_bytes: length(entry, "header_bytes", usual.header_bytes)?,
        control_bytes: length(entry, "control_bytes", usual.control_bytes)?,
        ack_every: entry.or_where(
            "ack_every",
            usual.ack_every,
            |value| value > 0,
            "a whole number from 1",
        )?,
        timeout_ps: span(entry, "timeout", usual.timeout_ps)?,
        dcqcn: if is_controlled { Some(read_dcqcn(entry)?) } else { None },
    })
}

/// Reads `gain` ("1/256"), `alpha_timer` ("55us"), `rate_timer` ("55us"), `byte_counter` ("10MB"),
/// `fast_recovery` (5), `additive_increase` ("40Mbps"), `hyper_increase` ("400Mbps"), `least_rate` ("40Mbps")
/// and `notification_interval` ("50us").
fn read_dcqcn(entry: &mut Section) -> Result<Dcqcn, ScenarioError> {
    let usual = Dcqcn::default();
    let Factor(gain) = entry.or("gain", Factor(Alpha { over: 1, under: 1 << usual.gain_shift }))?;
    if gain.over != 1 || !gain.under.is_power_of_two() {
        let problem = format!("a gain of {}", Factor(gain));
        return Err(entry.refuse("gain", problem, "one over a power of two, such as \"1/256\""));
    }
    let byte_counter = entry.or("byte_counter", Size { bytes: usual.byte_counter as usize })?;
    let rate = |entry: &mut Section, key: &str, bps: u64| Ok(entry.or(key, Rate { bps })?.bps);
    Ok(Dcqcn {
        gain_shift: gain.under.trailing_zeros(),
        alpha_timer_ps: span(entry, "alpha_timer", usual.alpha_timer_ps)?,
        rate_timer_ps: span(entry, "rate_timer", usual.rate_timer_ps)?,
        byte_counter: byte_counter.bytes as u64,
        fast_recovery: entry.or("fast_recovery", usual.fast_recovery)?,
        additive_increase: rate(entry, "additive_increase", usual.additive_increase)?,
        hyper_increase: rate(entry, "hyper_increase", usual.hyper_increase)?,
        least_rate: rate(entry, "least_rate", usual.least_rate)?,
        notification_ps: entry.or("notification_interval", Picoseconds { ps: usual.notification_ps })?.ps,
    })
}

/// A time above zero, in picoseconds.
fn span(entry: &mut Section, key: &str, default_ps: u64) -> Result<u64, ScenarioError> {
    let value = entry.or(key, Picoseconds { ps: default_ps })?;
    if value.ps == 0 {
        return Err(entry.refuse(key, format!("`{key}` is 0"), "a time above 0"));
    }
    Ok(value.ps)
}
