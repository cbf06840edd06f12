//! Frames leave and enter at exact virtual times.

use super::support::{LATENCY, MAC, MS, SECOND, console, emulator, folder, loaded, run_to_end, settings};
use paceline_emulate::guest::{Card, Frame, Guest, GuestError, GuestState};

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

#[test]
fn a_frame_that_the_card_does_not_take_is_counted() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth0 up; sleep 1; echo got $(cat /sys/class/net/eth0/statistics/rx_packets)";
    let settings = loaded(&emulator, &folder("too-long"), script);
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let time_ns = guest.wait().unwrap().time_ns + 1500 * MS;
    guest.grant(time_ns, &[]).unwrap();
    guest.wait().unwrap();
    // The longest frame with a VLAN tag, and one byte more.
    let frames = [1518, 1519].map(|length| {
        let mut bytes = vec![0; length];
        bytes[..6].copy_from_slice(&MAC);
        Frame { time_ns, card: 0, bytes }
    });
    guest.grant(time_ns + 2 * SECOND, &frames).unwrap();
    guest.wait().unwrap();
    assert_eq!(guest.too_long(), 1);
    let shown = console(&settings);
    assert!(shown.contains("got 1\n") || shown.contains("got 1\r"), "console:\n{shown}");
}

#[test]
fn frames_that_too_many_others_wait_before_are_counted() {
    let Some(emulator) = emulator() else { return };
    let script =
        "sleep 3; ip link set eth0 up; sleep 1; echo got $(cat /sys/class/net/eth0/statistics/rx_packets)";
    let settings = loaded(&emulator, &folder("dropped"), script);
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let time_ns = guest.wait().unwrap().time_ns + 1500 * MS;
    guest.grant(time_ns, &[]).unwrap();
    guest.wait().unwrap();
    let mut bytes = vec![0; 60];
    bytes[..6].copy_from_slice(&MAC);
    let frames = vec![Frame { time_ns, card: 0, bytes }; 10_300];
    guest.grant(time_ns + SECOND, &frames).unwrap();
    guest.wait().unwrap();
    // A card that is not up takes no frame, so 10,000 wait.
    assert_eq!(guest.dropped(), 300);
    guest.grant(time_ns + 5 * SECOND, &[]).unwrap();
    guest.wait().unwrap();
    let shown = console(&settings);
    assert!(shown.contains("got 10000"), "console:\n{shown}");
    assert_eq!(guest.dropped(), 300);
}

#[test]
fn a_guest_that_floods_its_card_is_given_up() {
    let Some(emulator) = emulator() else { return };
    // 6 MB a virtual second.
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; arp -s 10.0.0.2 52:54:00:00:00:02; \
                  ping -s 60000 -i 0.01 10.0.0.2";
    let mut settings = loaded(&emulator, &folder("floods"), script);
    settings.most_bytes = 1 << 20;
    let mut guest = Guest::start(&settings, &emulator).unwrap();
    let start = guest.wait().unwrap().time_ns;
    guest.grant(start + 10 * SECOND, &[]).unwrap();
    let error = guest.wait().unwrap_err();
    let during = start..start + 10 * SECOND;
    let is_named =
        |at: &u64| during.contains(at) && error.to_string().starts_with("guest web: floods its cards");
    assert!(matches!(&error, GuestError::Flooded { time_ns, .. } if is_named(time_ns)), "{error}");
}
