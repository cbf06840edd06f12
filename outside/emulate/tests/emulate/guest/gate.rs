//! What the plugin's gate is for: a main loop that is awake while the guest falls asleep.

use super::support::{LATENCY, console, emulator, folder, loaded, run_to_end};

/// Fails with the gate off: five of five such runs beside a busy main loop then had five other ends. The main
/// loop lets the clock leap to the next timer after a VCPU has halted, but before the instructions that it
/// ran last are counted.
#[test]
fn a_busy_main_loop_changes_nothing() {
    let Some(emulator) = emulator() else { return };
    let script = "ip link set eth0 up; ip addr add 10.0.0.1/24 dev eth0; ping -c 20 -i 0.05 10.0.0.2; \
                  i=0; while [ $i -lt 1000 ]; do i=$((i+1)); usleep 100; done; cat /proc/uptime";
    let run = |arguments: &[&str]| {
        let mut settings = loaded(&emulator, &folder("gate"), script);
        settings.plugin_arguments = arguments.iter().map(ToString::to_string).collect();
        (run_to_end(&settings, &emulator, LATENCY), console(&settings))
    };
    let quiet = run(&[]);
    for _ in 0..2 {
        assert_eq!(run(&["busy=on"]), quiet);
    }
}
