//! Stalls are named once, whatever runs the code of a process.

use std::sync::mpsc::channel;

use paceline_network::Constant;

use super::*;
use crate::{ContextKind, Process, Rounds, Simulation};

#[test]
fn a_turn_is_named_once_when_it_was_seen_for_long() {
    let known = Arc::new(Mutex::new(Known::from(0)));
    let slot = Arc::new(Slot::new(Arc::clone(&known), ExitListener::default()));
    let mut watched = Watched::default();
    watched.slots.push((Arc::clone(&slot), NOBODY.into(), 0));
    lock(&known).know(ProcessId(7), &"slow".into(), HostId(3));
    let mut look = || watched.look().len();
    assert_eq!([look(), look(), look(), look()], [0; 4], "nobody has a turn");
    for _ in 0..2 {
        slot.begin(ProcessId(7), Time::secs(2));
        assert_eq!([look(), look(), look(), look()], [0, 0, 1, 0]);
        slot.end();
        assert_eq!([look(), look(), look(), look()], [0; 4]);
    }
    // The same process again and again, each time for short.
    for _ in 0..9 {
        slot.begin(ProcessId(7), Time::secs(2));
        assert_eq!(look(), 0);
        slot.end();
    }
    assert_eq!([look(), look(), look(), look()], [0; 4], "the last turn was short, too");
    slot.begin(ProcessId(7), Time::secs(5));
    let stall = (0..3).flat_map(|_| watched.look()).next().unwrap();
    assert_eq!((stall.time, stall.host), (Time::secs(5), HostId(3)));
    let text = stall.to_string();
    assert!(text.starts_with("process 7 `slow` on host 3 keeps its thread at 5s"), "{text}");
}

#[test]
fn who_keeps_a_thread_is_named_on_any_thread_context_and_federate() {
    let kinds = [
        (1, ContextKind::Future, 0),
        (2, ContextKind::Coroutine, 0),
        (2, ContextKind::Thread, 0),
        (2, ContextKind::Future, 2),
    ];
    for (threads, context, federates) in kinds {
        let mut world = Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1); 2])
            .threads(threads)
            .rounds(Rounds::Always)
            .context(context);
        let (sink, stalls) = channel();
        world.settings.stall.0 = Duration::from_millis(2);
        let mut world = world.on_stall(move |stall| sink.send(stall.clone()).unwrap_or(()));
        world.spawn("quick", HostId(0), async |cx: Process<()>| cx.sleep(Time::secs(9)).await);
        let stalls = Mutex::new(stalls);
        world.spawn("slow", HostId(1), async move |cx: Process<()>| {
            cx.sleep(Time::secs(3)).await;
            // Blocks until it was reported. Beside load its first turn, too, may take long enough to be
            // named.
            let named = |stall: &Stall| stall.process == cx.id() && stall.time == Time::secs(3);
            let stall = stalls.lock().unwrap().iter().find(named).expect("it is reported");
            assert_eq!((&*stall.name, stall.host), ("slow", HostId(1)));
        });
        let world = if federates > 0 { world.federates(federates) } else { world };
        assert_eq!(world.run().unwrap().end_time, Time::secs(9));
    }
}
