//! A model that panics while it handles an event: under every protocol, and however the run is driven, it
//! ends with the same error, which names the LP, the time and the event. Nobody is left waiting.

use std::sync::Arc;

use crate::channels::PROTOCOLS;
use crate::script::{Play, Script, run_of, script};
use paceline_engine::{Observer, Outside, Protocol, RunError, Simulation, ThreadFederate};
use paceline_kernel::{Channels, Context, EventError, EventErrorKind, LpId, PanicNote, Partition, Time};

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

/// LPs in a ring, each of which sends to the next every second, and to itself at once.
#[derive(Clone, Copy)]
struct Ring(Where);

/// The message of a round is its number; what is due at once is that plus this.
const LATE: u64 = 100;

impl Play for Ring {
    fn lps(&self) -> u32 {
        8
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::millis(10 * u64::from(lp.0)), 0);
        0
    }
    fn handle(&self, seen: &mut u64, payload: u64, cx: &mut Context<Script>) {
        let strikes = |place, round: u64| self.0 == place && cx.lp() == LpId(3) && round == 5;
        *seen += 1;
        if let Some(round) = payload.checked_sub(LATE) {
            assert!(!strikes(Where::Late, round), "no more of {round}");
        } else {
            assert!(!strikes(Where::Message, payload), "no more of {payload}");
            cx.schedule(Time::ZERO, LATE + payload);
            cx.send(LpId((cx.lp().0 + 1) % 8), Time::secs(1), payload + 1);
        }
    }
    fn commit(&self, lp: LpId, payload: u64) {
        let strikes = self.0 == Where::Commit && lp == LpId(3) && payload == 5;
        assert!(!strikes, "no more of 5");
    }
}

impl Where {
    /// What the run is to end with. The fifth round of LP 3 was begun by LP 6.
    fn trouble(self) -> EventError {
        let event = if self == Self::Late { "105" } else { "5" };
        let kind = EventErrorKind::Panic(PanicNote::saying("no more of 5"));
        EventError { kind, lp: LpId(3), at: Time::millis(5_060), event: event.into() }
    }
}

fn ring(place: Where, protocol: Protocol) -> Simulation<Script> {
    run_of(Ring(place)).until(Time::secs(20)).protocol(protocol).threads(2)
}

#[test]
fn a_panic_ends_the_run_with_one_error_under_every_protocol() {
    struct Silent;
    impl Observer<Script> for Silent {}
    for protocol in PROTOCOLS {
        for place in [Where::Message, Where::Late, Where::Commit] {
            for federates in [1, 3, 8] {
                let what = format!("{protocol:?}, {place:?}, {federates} federates");
                let run = || ring(place, protocol).federates(federates).groups(u32::MAX);
                let error = Some(RunError::Event(place.trouble()));
                assert_eq!(run().run().err(), error, "{what}");
                assert_eq!(run().observe(Arc::new(Silent)).run().err(), error, "{what}, observed");
            }
        }
    }
}

#[test]
fn a_panic_ends_a_run_that_is_driven_step_by_step() {
    for place in [Where::Message, Where::Late, Where::Commit] {
        let error = RunError::Event(place.trouble());
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
fn a_panic_on_a_thread_of_its_own_is_reported_alike() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let place = Where::Message;
        let outside = Outside::new(ThreadFederate::new(script(Ring(place))));
        let run = ring(place, protocol).federates(2).outside(0, outside).run();
        assert_eq!(run.err(), Some(RunError::Event(place.trouble())), "{protocol:?}");
    }
}

#[test]
fn the_error_reads_as_a_sentence() {
    let run = ring(Where::Message, Protocol::Sequential).run();
    let message = run.expect_err("it panics").to_string();
    assert_eq!(message, "the model panicked: no more of 5\nin LP 3 at 5.06s, handling 5");
}

/// What a model is asked for besides events, where it panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Lps,
    Lookahead,
    Partition,
    Channels,
    Init,
    Finish,
    LeftOver,
}

/// A ring whose LP 3 panics when it is asked this.
struct Asked(Question);

impl Asked {
    fn strike(&self, question: Question) {
        assert!(self.0 != question, "not {question:?}");
    }
}

impl Play for Asked {
    fn lps(&self) -> u32 {
        self.strike(Question::Lps);
        8
    }
    fn lookahead(&self) -> Time {
        self.strike(Question::Lookahead);
        Time::secs(1)
    }
    fn partition(&self, federates: u32) -> Partition {
        self.strike(Question::Partition);
        Partition::runs(8, federates)
    }
    fn channels(&self, lp: LpId) -> Channels {
        if lp == LpId(3) {
            self.strike(Question::Channels);
        }
        Channels::Only(vec![(LpId((lp.0 + 1) % 8), Time::secs(1))])
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        if lp == LpId(3) {
            self.strike(Question::Init);
        }
        cx.schedule(Time::ZERO, 0);
        0
    }
    fn handle(&self, seen: &mut u64, payload: u64, cx: &mut Context<Script>) {
        *seen += payload;
        cx.send(LpId((cx.lp().0 + 1) % 8), Time::secs(1), payload + 1);
    }
    fn finish(&self, lp: LpId) {
        if lp == LpId(3) {
            self.strike(Question::Finish);
        }
    }
    fn left_over(&self, lp: LpId) {
        if lp == LpId(3) {
            self.strike(Question::LeftOver);
        }
    }
}

#[test]
fn a_panic_outside_of_events_ends_the_run_with_what_was_asked() {
    let questions = [
        (Question::Lps, "`lps`"),
        (Question::Lookahead, "`lookahead`"),
        (Question::Partition, "`partition`"),
        (Question::Channels, "`channels` of LP 3"),
        (Question::Init, "`init` of LP 3"),
        (Question::Finish, "`finish` of LP 3"),
        (Question::LeftOver, "`left_over` of LP 3, with 5 for 5s,"),
    ];
    for protocol in PROTOCOLS {
        for (question, asked) in questions {
            let simulation = run_of(Asked(question)).protocol(protocol).threads(2).federates(2);
            let error = simulation.until(Time::secs(5)).run().err();
            let message = error.map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(message, format!("the model panicked in {asked}: not {question:?}"), "{protocol:?}");
        }
    }
}

#[test]
fn many_panics_at_once_end_the_run_with_the_earliest_of_a_sequential_one() {
    /// Every LP panics in its fifth second.
    struct All;
    impl Play for All {
        fn lps(&self) -> u32 {
            8
        }
        fn handle(&self, _: &mut u64, _: u64, cx: &mut Context<Script>) {
            assert!(cx.now() < Time::secs(5), "over");
            cx.schedule(Time::secs(1), 0);
        }
    }
    for protocol in PROTOCOLS {
        let run = run_of(All).protocol(protocol).threads(2).federates(4).until(Time::secs(20)).run();
        let Err(RunError::Event(trouble)) = run else { panic!("{protocol:?} is not ended by trouble") };
        assert_eq!((trouble.at, trouble.event.as_str()), (Time::secs(5), "0"), "{protocol:?}");
    }
}
