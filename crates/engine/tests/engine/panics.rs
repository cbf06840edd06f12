//! A model that panics while it handles an event: under every protocol, and however the run is driven, it ends with the same error,
//! which names the LP, the time and the event. Nobody is left waiting.

use std::sync::Arc;

use crate::channels::PROTOCOLS;
use paceline_engine::{Observer, Outside, Protocol, QueueKind, RunError, Simulation, ThreadFederate};
use paceline_kernel::{Context, LpId, Model, Time, Trouble, TroubleKind};

/// Where LP 3 panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    /// Handling a message from another LP.
    Message,
    /// Handling a message to itself that is due at once.
    Late,
    /// Committing a message.
    Commit,
}

/// LPs in a ring, each of which tells the next something every second, and itself at once.
#[derive(Clone, Copy)]
struct Ring(Where);

#[derive(Clone, Debug, Hash, PartialEq)]
enum Told {
    Round(u32),
    Late(u32),
}

impl Model for Ring {
    type State = u32;
    type Event = Told;
    type Output = ();

    fn lps(&self) -> u32 {
        8
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u32 {
        cx.schedule(Time::millis(10 * u64::from(lp.0)), Told::Round(0));
        0
    }
    fn handle(&self, seen: &mut u32, told: &Told, cx: &mut Context<Self>) {
        let strikes = |place, round: u32| self.0 == place && cx.lp() == LpId(3) && round == 5;
        *seen += 1;
        match *told {
            Told::Round(round) => {
                assert!(!strikes(Where::Message, round), "no more of {round}");
                cx.schedule(Time::ZERO, Told::Late(round));
                cx.send(LpId((cx.lp().0 + 1) % 8), Time::secs(1), Told::Round(round + 1));
            }
            Told::Late(round) => assert!(!strikes(Where::Late, round), "no more of {round}"),
        }
    }
    fn commit(&self, lp: LpId, _at: Time, told: &Told, _output: &mut ()) {
        let strikes = self.0 == Where::Commit && lp == LpId(3) && *told == Told::Round(5);
        assert!(!strikes, "no more of 5");
    }
}

impl Where {
    /// What the run is to end with. The fifth round of LP 3 was begun by LP 6.
    fn trouble(self) -> Trouble {
        let event = if self == Self::Late { "Late(5)" } else { "Round(5)" };
        let kind = TroubleKind::Panic { message: "no more of 5".into() };
        Trouble { kind, lp: LpId(3), at: Time::millis(5_060), event: event.into() }
    }
}

fn ring(place: Where, protocol: Protocol) -> Simulation<Ring> {
    Simulation::new(Ring(place)).until(Time::secs(20)).protocol(protocol).threads(2)
}

#[test]
fn a_panic_ends_the_run_with_one_error_under_every_protocol() {
    struct Silent;
    impl Observer<Ring> for Silent {}
    for protocol in PROTOCOLS {
        // Under Time Warp events are committed apart from their handling.
        let commits = !matches!(protocol, Protocol::Optimistic | Protocol::Mixed);
        for place in [Where::Message, Where::Late, Where::Commit]
            .into_iter()
            .filter(|p| commits || *p != Where::Commit)
        {
            for federates in [1, 3, 8] {
                for queue in [QueueKind::Heap, QueueKind::Bucket] {
                    let what = format!("{protocol:?}, {place:?}, {federates} federates, {queue:?}");
                    let run = || ring(place, protocol).federates(federates).queue(queue).groups(u32::MAX);
                    let error = Some(RunError::Trouble(place.trouble()));
                    assert_eq!(run().run().err(), error, "{what}");
                    assert_eq!(run().observe(Arc::new(Silent)).run().err(), error, "{what}, observed");
                }
            }
        }
    }
}

#[test]
fn a_panic_ends_a_run_that_is_driven_step_by_step() {
    for place in [Where::Message, Where::Late, Where::Commit] {
        let error = RunError::Trouble(place.trouble());
        let mut run = ring(place, Protocol::Window).federates(4).start().expect("it can start");
        let stepped = loop {
            match run.run_event() {
                Ok(Some(_)) => {}
                other => break other,
            }
        };
        assert_eq!(stepped.err(), Some(error.clone()));
        assert_eq!(run.run_until(Time::MAX).err(), Some(RunError::Failed));
        let mut run = ring(place, Protocol::NullMessage).federates(4).start().expect("it can start");
        assert!(run.run_until(Time::secs(5)).is_ok());
        assert_eq!(run.run_window().err(), Some(error));
    }
}

#[test]
fn a_panic_on_a_thread_of_its_own_is_told_alike() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let place = Where::Message;
        let outside = Outside::new(ThreadFederate::new(Ring(place)));
        let run = ring(place, protocol).federates(2).outside(0, outside).run();
        assert_eq!(run.err(), Some(RunError::Trouble(place.trouble())), "{protocol:?}");
    }
}

#[test]
fn the_error_reads_as_a_sentence() {
    let run = ring(Where::Message, Protocol::Sequential).run();
    let told = run.expect_err("it panics").to_string();
    assert_eq!(told, "the model panicked: no more of 5\nin LP 3 at 5.06s, handling Round(5)");
}
