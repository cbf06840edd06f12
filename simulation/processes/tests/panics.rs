//! Panics of processes in a program whose hook leaves their places to whoever catches them; a test program of
//! its own, as the hook is that of the whole program.

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{ContextKind, OnPanic, Process, Simulation};

fn bad(context: ContextKind) -> Simulation<u32, Constant> {
    let mut world = Simulation::new(Constant::new(1.0), &[(1e9, 1); 2]).context(context);
    world.spawn("bad", HostId(1), async |cx: Process<u32>| {
        cx.sleep(Time::secs(2)).await;
        panic!("nothing left");
    });
    world
}

#[test]
fn a_panic_has_its_process_host_time_and_place_in_the_source() {
    paceline_engine::tell_panics_once();
    for context in [ContextKind::Future, ContextKind::Coroutine, ContextKind::Thread] {
        let error = bad(context).run().unwrap_err().to_string();
        let start = "process 0 `bad` on host 1 panicked at 2s, in simulation/processes/tests/panics.rs:";
        assert!(error.starts_with(start) && error.ends_with(": nothing left"), "{context:?}: {error}");
        let report = bad(context).on_panic(OnPanic::Process).run().unwrap();
        let said = &report.panicked[0].1;
        assert!(
            said.starts_with("nothing left (simulation/processes/tests/panics.rs:"),
            "{context:?}: {said}"
        );
    }
}
