//! Frames leave and enter at exact virtual times.

use super::support::{LATENCY, MAC, MS, console, emulator, folder, loaded, run_to_end};
use paceline_emulate::guest::GuestState;

#[test]
fn a_ping_takes_the_time_that_the_network_takes() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; ping -c 4 10.0.0.2";
    let settings = loaded(&emulator, &folder("ping"), script);
    let (frames, _, state) = run_to_end(&settings, &emulator, LATENCY);
    assert_eq!(state, GuestState::ShutDown);
    assert!(frames.is_sorted_by_key(|frame| frame.time_ns));
    assert!(frames.iter().all(|frame| frame.bytes[6..12] == MAC && frame.card == 0));
    let shown = console(&settings);
    let times: Vec<f64> =
        shown.lines().filter_map(|l| l.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect();
    assert_eq!(times.len(), 4, "console:\n{shown}");
    // The rest is what the guest computes: at a nanosecond an instruction, tens of microseconds.
    let latency = LATENCY as f64 / MS as f64;
    assert!(times[1..].iter().all(|&time| time >= latency && time < latency + 0.15), "{times:?}");
}
