//! Frames leave and enter at exact virtual times.

use super::support::{LATENCY, MAC, MS, console, emulator, folder, loaded, run_to_end, settings};
use paceline_emulate::guest::{Card, GuestState};

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

#[test]
fn each_card_has_its_own_address_frames_and_mtu() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth1 up; ip addr add 10.0.0.1/24 dev eth1; ping -c 1 -s 8000 10.0.0.2; \
                  echo mtu $(cat /sys/class/net/eth0/mtu) $(cat /sys/class/net/eth1/mtu)";
    let mut settings = settings(&emulator, &folder("cards"), script);
    let second = [0x52, 0x54, 0, 0, 1, 1];
    settings.cards.push(Card { mac: second, mtu: 9000 });
    let (frames, ..) = run_to_end(&settings, &emulator, LATENCY);
    let shown = console(&settings);
    assert!(
        shown.contains("mtu 1500 9000") && shown.contains("8008 bytes from 10.0.0.2"),
        "console:\n{shown}"
    );
    assert!(frames.iter().all(|frame| frame.card == 1 && frame.bytes[6..12] == second));
    // Headers of Ethernet, IPv4 and ICMP; one frame, since it fits.
    assert!(frames.iter().any(|frame| frame.bytes.len() == 14 + 20 + 8 + 8000));
}
