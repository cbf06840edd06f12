//! What a model does wrong while it runs ahead: if that is rolled back nothing has happened, if it becomes
//! final the run ends with the LP, the time and the event. And `check_rollback` names what cannot be taken
//! back.
//!
//! The models have no lookahead, so that nothing is ever safe before GVT has passed it.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paceline_engine::{Protocol, RunError, Simulation, Speculation};
use paceline_kernel::{
    Context, EventError, EventErrorKind, Kept, LpId, Model, RuleErrorKind, Saving, Time, Undo, UndoFn,
};

const SAVINGS: [Saving; 3] = [Saving::Copy, Saving::Periodic, Saving::Undo];
const SOURCES: u32 = 3;
const ROUNDS: u32 = 60;
const ROUND: Time = Time::millis(10);

/// How a clerk goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mishap {
    Panic,
    Send,
}

/// When it does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Never,
    /// When tickets are missing, which in the order of simulated time they never are.
    OutOfOrder,
    /// In this round.
    Always(u32),
}

/// LP 0, the clerk, closes every round when it has a ticket from each source.
struct Office {
    when: When,
    mishap: Mishap,
    /// Mishaps, those rolled back included.
    seen: AtomicU64,
}

#[derive(Clone, Debug, PartialEq, Hash)]
enum Note {
    Round(u32),
    Ticket,
}

impl Office {
    fn new(when: When, mishap: Mishap) -> Self {
        Self { when, mishap, seen: AtomicU64::new(0) }
    }
}

impl Model for Office {
    /// Tickets, and rounds closed.
    type State = (u32, u32);
    type Event = Note;
    type Output = ();

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        1 + SOURCES
    }
    fn lookahead(&self) -> Time {
        Time::ZERO
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> (u32, u32) {
        cx.schedule(if lp == LpId(0) { Time::millis(5) } else { Time::ZERO }, Note::Round(0));
        (0, 0)
    }
    fn handle(&self, (tickets, closed): &mut (u32, u32), note: &Note, cx: &mut Context<Self>) {
        let Note::Round(round) = note else {
            *tickets += 1;
            return;
        };
        *closed += 1;
        if cx.lp() == LpId(0) {
            let wrong = match self.when {
                When::Never => false,
                When::OutOfOrder => *tickets != SOURCES * (round + 1),
                When::Always(wrong) => wrong == *round,
            };
            if wrong {
                self.seen.fetch_add(1, Ordering::Relaxed);
                match self.mishap {
                    Mishap::Panic => panic!("{tickets} tickets in round {round}"),
                    Mishap::Send => cx.send(LpId(99), Time::ZERO, Note::Ticket),
                }
            }
        } else {
            cx.send(LpId(0), Time::millis(1), Note::Ticket);
        }
        if *round < ROUNDS {
            cx.schedule(ROUND, Note::Round(round + 1));
        }
    }
}

impl Undo for Office {
    fn undo(&self, (tickets, closed): &mut (u32, u32), note: &Note, _kept: &mut Kept<'_>) {
        match note {
            Note::Round(_) => *closed -= 1,
            Note::Ticket => *tickets -= 1,
        }
    }
}

/// Runs ahead in many ways: with one worker and more, left alone and under chaos.
fn runs(saving: Saving, office: impl Fn() -> Office) -> impl Iterator<Item = Simulation<Office>> {
    (0..12u64).map(move |seed| {
        let speculation = Speculation { saving, chaos: (seed > 2).then_some(seed), ..Speculation::default() };
        let threads = 1 + seed as u32 % 3;
        Simulation::new(office())
            .protocol(Protocol::Optimistic)
            .speculation(speculation)
            .federates(4)
            .threads(threads)
    })
}

#[test]
fn a_mishap_that_is_rolled_back_has_not_happened() {
    let sound = Simulation::new(Office::new(When::Never, Mishap::Panic)).protocol(Protocol::Sequential);
    let digest = sound.run().expect("the model keeps the rules").digest;
    for (saving, mishap) in
        SAVINGS.into_iter().flat_map(|saving| [(saving, Mishap::Panic), (saving, Mishap::Send)])
    {
        let mut seen = 0;
        for run in runs(saving, || Office::new(When::OutOfOrder, mishap)) {
            match run.run_keeping_model() {
                Ok((report, model)) => {
                    assert_eq!(report.digest, digest, "{saving:?}, {mishap:?}");
                    seen += model.seen.into_inner();
                }
                // There is no way back from half an event; the message says what helps.
                Err(RunError::Event(EventError {
                    kind: kind @ EventErrorKind::HalfUndone { .. },
                    lp,
                    ..
                })) => {
                    assert_eq!((saving, mishap, lp), (Saving::Undo, Mishap::Panic, LpId(0)));
                    assert!(kind.to_string().contains("save states by copy instead"), "{kind}");
                    seen += 1;
                }
                Err(error) => panic!("{saving:?}, {mishap:?}: {error}"),
            }
        }
        assert!(seen > 0, "{saving:?}, {mishap:?}: it happens when the clerk runs ahead");
    }
}

#[test]
fn a_panic_that_becomes_final_ends_the_run_with_its_place() {
    for saving in SAVINGS {
        for run in runs(saving, || Office::new(When::Always(7), Mishap::Panic)) {
            let Err(RunError::Event(trouble)) = run.run() else { panic!("{saving:?}: it was not noticed") };
            let EventError { kind, lp, at, event } = trouble;
            match kind {
                EventErrorKind::Panic(note) => {
                    assert_eq!(note.message, format!("{} tickets in round 7", 8 * SOURCES));
                }
                // It panicked too early, and was then rolled back.
                EventErrorKind::HalfUndone { .. } => assert_eq!(saving, Saving::Undo),
                other => panic!("{saving:?}: {other:?}"),
            }
            assert_eq!((lp, at, event.as_str()), (LpId(0), Time::millis(75), "Round(7)"), "{saving:?}");
        }
    }
}

#[test]
fn a_broken_rule_that_becomes_final_ends_the_run_with_its_place() {
    for saving in SAVINGS {
        for run in runs(saving, || Office::new(When::Always(7), Mishap::Send)) {
            let Err(RunError::Rule(fault)) = run.run() else { panic!("{saving:?}: it was not noticed") };
            assert_eq!(fault.kind, RuleErrorKind::UnknownLp { lps: 1 + SOURCES }, "{saving:?}");
            assert_eq!(
                (fault.from, fault.now, fault.to),
                (LpId(0), Time::millis(75), LpId(99)),
                "{saving:?}"
            );
        }
    }
}

/// What is wrong with how LP 3 of a walk can be taken back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    ForgetfulUndo,
    ForgetfulUndoAndHash,
    SharedClone,
    Counter,
    CounterInMessages,
}

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// LPs that pass a token round; LP 3 does something special in its fifth visit.
struct Walk(Flaw);

#[derive(Clone, Debug, Default, Hash)]
struct Place {
    visits: u64,
    fifth: u64,
    shared: Shared,
    unhashed: Unhashed,
}

/// What `Hash` leaves out.
#[derive(Clone, Debug, Default)]
struct Unhashed {
    turns: u64,
}

impl Hash for Unhashed {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A clone of it is no copy.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<u64>>);

impl Hash for Shared {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.lock().expect("nobody panics with it").hash(hasher);
    }
}

impl Model for Walk {
    type State = Place;
    type Event = u64;
    type Output = ();

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        5
    }
    fn lookahead(&self) -> Time {
        Time::ZERO
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Place {
        if lp == LpId(0) {
            cx.schedule(Time::ZERO, 7);
        }
        Place::default()
    }
    fn handle(&self, place: &mut Place, token: &u64, cx: &mut Context<Self>) {
        place.visits += 1;
        let mut next = *token;
        if (cx.lp(), place.visits) == (LpId(3), 5) {
            match self.0 {
                Flaw::None => {}
                Flaw::ForgetfulUndo => place.fifth = 55,
                Flaw::ForgetfulUndoAndHash => place.unhashed.turns = 55,
                Flaw::SharedClone => *place.shared.0.lock().expect("nobody panics with it") = 55,
                Flaw::Counter => place.fifth = COUNTER.fetch_add(1, Ordering::Relaxed),
                Flaw::CounterInMessages => next += COUNTER.fetch_add(1, Ordering::Relaxed),
            }
        }
        cx.send(LpId((cx.lp().0 + 1) % 5), Time::secs(1), next);
    }
}

impl Undo for Walk {
    fn undo(&self, place: &mut Place, _token: &u64, _kept: &mut Kept<'_>) {
        if place.visits == 5 && self.0 == Flaw::Counter {
            place.fifth = 0;
        }
        place.visits -= 1;
    }
}

fn checked(flaw: Flaw, saving: Saving, federates: u32) -> Result<(), RunError> {
    let speculation = Speculation { saving, check_rollback: true, ..Speculation::default() };
    let run = Simulation::new(Walk(flaw)).protocol(Protocol::Optimistic).speculation(speculation);
    run.federates(federates).threads(2).until(Time::secs(100)).run().map(drop)
}

#[test]
fn what_cannot_be_taken_back_is_named_with_lp_event_and_field() {
    for (flaw, savings, words, [was, is]) in [
        (Flaw::ForgetfulUndo, &[Saving::Undo][..], "`undo` does not bring back", ["fifth: 0,", "fifth: 55,"]),
        (
            Flaw::ForgetfulUndoAndHash,
            &[Saving::Undo],
            "`undo` does not bring back",
            ["turns: 0,", "turns: 55, (of the same hash)"],
        ),
        (
            Flaw::SharedClone,
            &[Saving::Copy, Saving::Periodic],
            "a copy of the state",
            ["data: 0,", "data: 55,"],
        ),
        (Flaw::Counter, &SAVINGS, "again changes the state in another way", ["fifth: ", "fifth: "]),
        (Flaw::CounterInMessages, &SAVINGS, "again sends other messages", ["", ""]),
    ] {
        for (saving, federates) in savings.iter().flat_map(|saving| [(*saving, 1), (*saving, 5)]) {
            let what = format!("{flaw:?}, {saving:?}, {federates} federates");
            let Err(RunError::Event(trouble)) = checked(flaw, saving, federates) else {
                panic!("{what}: it was not noticed")
            };
            assert_eq!(
                (trouble.lp, trouble.at, trouble.event.as_str()),
                (LpId(3), Time::secs(23), "7"),
                "{what}"
            );
            let EventErrorKind::Irreversible { what: text, before, after } = trouble.kind else {
                panic!("{what}: {:?}", trouble.kind)
            };
            assert!(text.contains(words), "{what}: {text}");
            assert!(
                before.starts_with(was) && after.starts_with(is) && before != after,
                "{what}: {before} {after}"
            );
        }
    }
}

#[test]
fn what_can_be_taken_back_is_left_alone() {
    for saving in SAVINGS {
        assert_eq!(checked(Flaw::None, saving, 5), Ok(()), "{saving:?}");
    }
}
