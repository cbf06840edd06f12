//! The experiments of the ARTIS paper that run on simulated machines, with few steps: that they run, and give
//! the same whenever they do. Those that take real time are tested beside their code.

use paceline_experiments::Calibration;

use crate::{findings, is_whole, seconds};

#[test]
fn runs_of_machines_give_findings_that_can_be_drawn() {
    let names = ["artis-fig1", "artis-fig2", "artis-fig3", "artis-fig4", "artis-fig5"];
    findings(&names, 2, Calibration::default()).iter().for_each(is_whole);
}

#[test]
fn runs_of_machines_give_the_same_on_any_number_of_workers() {
    let of = |workers| findings(&["artis-fig4"], workers, Calibration::default());
    assert_eq!(of(1), of(2));
}

#[test]
fn one_lp_takes_the_time_of_its_work_whatever_the_runtime() {
    // 6000 hosts, and 6000 * 6000 * pi * 250^2 / 10,000^2 pings that are heard, of 2 us each, in each of 1000
    // steps.
    let hosts = 6_000.0f64;
    let work = 2e-6 * 1_000.0 * (hosts + hosts * hosts * std::f64::consts::PI * 250.0 * 250.0 / 1e8);
    for runtime in ["TimedWait(2000000)", "Signals", "SingleThreaded"] {
        let key = format!("artis/{runtime}/1lp/smt-false/Linux/scattered/6000hosts/20steps");
        let took = seconds("artis-fig1", &key, Calibration::of_the_table());
        assert!((1.0..1.02).contains(&(took / work)), "{runtime}: {took} s for {work} s of work");
    }
}

#[test]
fn a_longer_timed_wait_takes_longer_and_signals_do_not_care() {
    let longer = || Calibration::of_the_table().scaled("artis.timed_wait", 5, 1);
    let key = |runtime: &str| format!("artis/{runtime}/2lp/smt-false/Linux/scattered/6000hosts/20steps");
    let timed = |wait_ns: u64, calibration| {
        seconds("artis-fig1", &key(&format!("TimedWait({wait_ns})")), calibration)
    };
    assert!(timed(10_000_000, longer()) > timed(2_000_000, Calibration::of_the_table()));
    let signals = |calibration| seconds("artis-fig2", &key("Signals"), calibration);
    assert_eq!(signals(longer()), signals(Calibration::of_the_table()));
}

#[test]
fn marshalling_gains_by_what_a_packet_costs() {
    let gain = |calibration: fn() -> Calibration| {
        let time = |marshalling: bool| {
            let key = format!("artis/two-hosts/3000/mtu1500/marshalling-{marshalling}/6steps");
            seconds("artis-fig4", &key, calibration())
        };
        time(false) / time(true)
    };
    let cheap = || Calibration::of_the_table().scaled("artis.send", 1, 4).scaled("artis.receive", 1, 4);
    let (full, less) = (gain(Calibration::of_the_table), gain(cheap));
    assert!(full > less && less > 1.0, "{full} and {less}");
}

#[test]
fn threads_that_sleep_wake_in_the_order_of_their_lvts() {
    // A courier that is put off for a main thread with a whole step to do would cost half a step.
    let strips = |lps: u32| {
        seconds(
            "artis-fig2",
            &format!("artis/Signals/{lps}lp/smt-false/least LVT/strips/6000hosts/20steps"),
            Calibration::of_the_table(),
        )
    };
    let two = strips(2);
    for lps in 3..=8 {
        assert!(strips(lps) < 1.06 * two, "{lps} LPs: {} s, two: {two} s", strips(lps));
    }
}

#[test]
fn threads_that_do_nothing_but_switch_are_an_error_that_says_so() {
    let calibration = Calibration::of_the_table().scaled("artis.switch", 1_000, 1);
    let found = findings(&["artis-fig1"], 2, calibration);
    let printed = format!("{:?}", found[0].checks);
    assert!(printed.contains("spend the time on switches, with artis.switch at 2500000 ns"), "{printed}");
}
