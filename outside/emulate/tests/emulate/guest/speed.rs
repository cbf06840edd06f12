//! A slower processor: instructions take longer, clocks do not.

use super::support::{MS, Run, SECOND, console, emulator, folder, settings};

/// Hundredths of seconds of the guest's clock: for the loop of a shell, and for `sleep 2`.
fn times(icount_shift: u32) -> (u64, u64) {
    let emulator = emulator().unwrap();
    let script = "cat /proc/uptime; i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; cat /proc/uptime; \
                  sleep 2; cat /proc/uptime";
    let mut settings = settings(&emulator, &folder(&format!("speed-{icount_shift}")), script);
    settings.icount_shift = icount_shift;
    let mut run = Run::start(&settings, &emulator);
    let shown = || -> Vec<u64> {
        let text = console(&settings);
        let digits = text.lines().filter_map(|line| Some(line.split_once(' ')?.0.replace('.', "")));
        digits.filter_map(|digits| digits.parse().ok()).collect()
    };
    let mut granted = Vec::new();
    for lines in 1..=3 {
        run.advance(MS, |_| shown().len() >= lines);
        granted.push(run.stopped.time_ns / (SECOND / 100));
    }
    let shown = shown();
    // However fast its processor is, the guest saw as much time pass as was granted. The last line is written
    // a little after the time that it has.
    let (passed, allowed) = (shown[2] - shown[0], granted[2] - granted[0]);
    assert!(passed.abs_diff(allowed) <= 3, "2^{icount_shift} ns: {shown:?}, granted {granted:?}");
    (shown[1] - shown[0], shown[2] - shown[1])
}

#[test]
fn half_the_speed_doubles_what_computing_takes_and_leaves_clocks_alone() {
    if emulator().is_none() {
        return;
    }
    let (computing, sleeping) = times(0);
    let (computing_at_half, sleeping_at_half) = times(1);
    assert!(computing >= 50, "too short to be compared: {computing}");
    // Both are read from a clock of 10 ms, and the kernel's timer interrupts are work as well.
    assert!(
        computing_at_half.abs_diff(2 * computing) <= 3 + computing / 50,
        "{computing} and {computing_at_half} hundredths of a second"
    );
    for sleeping in [sleeping, sleeping_at_half] {
        assert!((200..=203).contains(&sleeping), "{sleeping}");
    }
}
