//! Machines that cannot go on end the run, and say when.

use paceline_emulate::run::MachineState;
use paceline_kernel::Time;
use paceline_packets::{LinkSpec, topology};

use crate::run::support::{Behaviour, Fault, PLAIN, model, run};

#[test]
fn a_machine_that_cannot_go_on_ends_the_run() {
    let link = LinkSpec::new(100_000_000, 1_000_000_000);
    for (fault, expected) in [
        (Fault::Is(MachineState::Reset), "guest host-1 has reset itself after 0.025000000 s"),
        (Fault::Is(MachineState::Crashed), "guest host-1 has crashed after 0.025000000 s"),
        (Fault::Dies, "guest host-1 was killed after 25000000 ns"),
        (Fault::Hangs, "guest host-1 has not answered after 25000000 ns"),
    ] {
        let model = model(topology::star(3, &link).unwrap(), vec![], &["host-0", "host-1", "host-2"]);
        let ping = Behaviour { pings: Some((0, 3_000_000)), ..Behaviour::default() };
        let pong = Behaviour { fault: Some((25_000_000, fault)), ..Behaviour::default() };
        let machines = [("host-0", "host-1", ping), ("host-1", "host-0", pong), ("host-2", "host-0", ping)];
        let (report, seen) = run(&model, &machines, Time::secs(1), PLAIN);
        let error = report.unwrap_err().to_string();
        assert!(error.contains(expected), "{fault:?}: {error}");
        assert!(seen[0].round_trips.len() > 2, "{fault:?}: {:?}", seen[0]);
    }
}

#[test]
fn a_machine_that_switches_itself_off_is_silent_from_then_on() {
    let link = LinkSpec::new(100_000_000, 1_000_000_000);
    let model = model(topology::star(2, &link).unwrap(), vec![], &["host-0", "host-1"]);
    let ping = Behaviour { pings: Some((0, 3_000_000)), ..Behaviour::default() };
    let off = Fault::Is(MachineState::ShutDown);
    let pong = Behaviour { fault: Some((25_000_000, off)), ..Behaviour::default() };
    let machines = [("host-0", "host-1", ping), ("host-1", "host-0", pong)];
    let (report, seen) = run(&model, &machines, Time::millis(100), PLAIN);
    assert_eq!(report.unwrap().end_time, Time::millis(100));
    // Requests arrive 2 ms after they leave, from 5 ms on.
    assert_eq!(seen[0].round_trips.len(), 7, "{:?}", seen[0]);
    assert!(seen[1].arrivals.iter().all(|arrival| *arrival < 25_000_000), "{:?}", seen[1]);
}
