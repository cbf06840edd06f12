//! Machines that cannot go on end the run, and say when.

use paceline_emulate::run::MachineState;
use paceline_kernel::Time;
use paceline_packets::{LinkSpec, topology};

use crate::support::{Behaviour, Fault, PLAIN, model, run};

#[test]
fn a_machine_that_cannot_go_on_ends_the_run() {
    let link = LinkSpec::new(100_000_000, 1_000_000_000);
    for (fault, expected) in [
        (Fault::Is(MachineState::ShutDown), "guest host-1 has switched itself off after 0.025000000 s"),
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
