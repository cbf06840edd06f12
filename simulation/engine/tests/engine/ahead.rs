//! Outside federates that run ahead: what they do wrong is refused and named, what goes wrong in them counts
//! only once it is final, and they speculate as the federates inside do. That their results are those of the
//! run alone is tested in `outside.rs` and `steps.rs`.
//!
//! `PACELINE_CASES` sets the number of random models (default 60), `PACELINE_SEED` the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::facts::{assert_same, facts, sequential_facts, setting};
use crate::mesh::{Hop, Mesh};
use crate::outside::{message, refused};
use crate::script::{Play, Script, run_of, script};
use paceline_engine::{
    Door, HandOver, IfLate, Outside, OutsideErrorKind, OutsideFederate, OutsideLps, Permit, Protocol,
    RunError, Simulation, Speculation, Standing, ThreadFederate,
};
use paceline_kernel::{
    Context, Effort, Event, EventError, EventErrorKind, LpId, Mail, Model, PanicNote, Rng, Rollbacks, Time,
};

const PROTOCOLS: [Protocol; 2] = [Protocol::Optimistic, Protocol::Mixed];

/// A run in which every federate is outside and runs ahead.
fn all_outside<M: Model + Clone + 'static>(model: &M, seed: u64, federates: u32) -> Simulation<M>
where
    M::State: 'static,
    M::Event: 'static,
    M::Output: 'static,
{
    let chaos = (!seed.is_multiple_of(4)).then_some(seed);
    let run = Simulation::new(model.clone()).federates(federates).threads(1 + seed as u32 % 3);
    let run = run.speculation(Speculation { chaos, ..Speculation::default() });
    (0..federates).fold(run, |run, federate| {
        let model = model.clone();
        let thread = match (seed + u64::from(federate)) % 3 {
            0 => ThreadFederate::optimistic(model),
            _ => ThreadFederate::optimistic_dawdling(model, seed + u64::from(federate)),
        };
        run.outside(federate, Outside::new(thread))
    })
}

#[test]
fn all_may_run_ahead_outside_and_what_they_roll_back_is_counted() {
    let first = setting("PACELINE_SEED", 0);
    let mut all = Rollbacks::default();
    for seed in first..first + setting("PACELINE_CASES", 60) {
        let (mesh, mut rng) = (Mesh::draw(seed, false), Rng::new(seed, 0x6168_6561));
        let base = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = sequential_facts(base());
        for protocol in PROTOCOLS {
            let federates = 1 + rng.below(u64::from(mesh.lps().min(6))) as u32;
            let what = format!("case {seed}: {protocol:?}, {federates} federates outside");
            let run = all_outside(&mesh, seed, federates).until(mesh.until()).seed(seed).protocol(protocol);
            let mut run = run.run().unwrap_or_else(|error| panic!("{what}: {error}"));
            let rollbacks = run.rollbacks.take().expect("optimistic runs count their rollbacks");
            assert_eq!(rollbacks.processed - rollbacks.undone, run.events, "{what}");
            all.join(&rollbacks);
            assert_same(&facts(run), &reference, &what);
        }
    }
    assert!(all.primary > 100 && all.secondary > 10 && all.antis > 10, "{all:?}");
}

/// What a liar says of the first hand-over.
type Lie = fn(&mut OutsideLps<Mesh>, &HandOver<Hop>) -> Standing<Hop>;

/// Says once where it stands, as it was asked to.
struct Liar {
    lie: Lie,
    lps: Option<(OutsideLps<Mesh>, Door<Mesh>)>,
}

impl OutsideFederate<Mesh> for Liar {
    fn begin(&mut self, lps: OutsideLps<Mesh>, door: Door<Mesh>) -> Time {
        assert!(lps.optimism().is_some(), "it is to run ahead");
        let reached = lps.reached;
        self.lps = Some((lps, door));
        reached
    }

    fn advance(&mut self, _bound: Time, _events: Vec<Event<Hop>>) {
        unreachable!("it runs ahead");
    }

    fn end(&mut self) {}

    fn is_optimistic(&self) -> bool {
        true
    }

    fn run_ahead(&mut self, handed: HandOver<Hop>) {
        let (lps, door) = self.lps.as_mut().expect("it has begun");
        if handed.number == 1 {
            assert!(matches!(handed.permit, Permit::Run { .. }));
            door.stands((self.lie)(lps, &handed));
        }
    }
}

/// It stands at the beginning, with this mail.
fn standing(mail: Mail<Hop>) -> Standing<Hop> {
    Standing { taken_in: 1, floor: Time::ZERO, front: Time::ZERO, mail, effort: Effort::default() }
}

fn sent(events: Vec<Event<Hop>>) -> Standing<Hop> {
    standing(Mail { events, antis: Vec::new() })
}

#[test]
fn who_breaks_a_rule_is_named_with_what_was_allowed() {
    let liar = |lie: Lie| Outside::new(Liar { lie, lps: None });
    let far = Time::secs(500);
    for protocol in PROTOCOLS {
        let kind = refused(protocol, liar(|lps, _| sent(vec![message(lps, 0, Time::ZERO)])));
        assert!(matches!(kind, OutsideErrorKind::TooEarly { at: Time::ZERO, .. }), "{kind:?}");
        let kind = refused(protocol, liar(|lps, _| sent(vec![message(lps, 1 << 30, Time::secs(500))])));
        assert!(matches!(kind, OutsideErrorKind::UnknownLp { to: LpId(0x4000_0000), .. }), "{kind:?}");
        let kind = refused(
            protocol,
            liar(|_, _| {
                let foreign =
                    Event::from_outside(Default::default(), 0, Time::secs(500), LpId(0), Hop::outside(1));
                sent(vec![foreign])
            }),
        );
        assert!(matches!(kind, OutsideErrorKind::ForeignSender { .. }), "{kind:?}");
        // Taken back before it is sent, twice, or with another payload.
        let kind = refused(
            protocol,
            liar(|lps, _| {
                let event = message(lps, 0, Time::secs(500));
                standing(Mail { antis: vec![(0, event.clone())], events: vec![event] })
            }),
        );
        assert!(matches!(kind, OutsideErrorKind::NeverSent { to: LpId(0), at, .. } if at == far), "{kind:?}");
        let kind = refused(
            protocol,
            liar(|lps, _| {
                let event = message(lps, 0, Time::secs(500));
                let antis = vec![(1, event.clone()), (1, event.clone())];
                standing(Mail { antis, events: vec![event] })
            }),
        );
        assert!(matches!(kind, OutsideErrorKind::NeverSent { .. }), "{kind:?}");
        let kind = refused(
            protocol,
            liar(|lps, _| {
                let event = message(lps, 0, Time::secs(500));
                let mut other = event.clone();
                other.payload = Hop::outside(2);
                standing(Mail { antis: vec![(1, other)], events: vec![event] })
            }),
        );
        assert!(matches!(kind, OutsideErrorKind::NeverSent { .. }), "{kind:?}");
        let kind = refused(
            protocol,
            liar(|_, _| Standing { front: Time::secs(2_000), ..standing(Mail::default()) }),
        );
        assert!(matches!(kind, OutsideErrorKind::BeyondPermit { allowed, .. } if allowed < far), "{kind:?}");
        for taken_in in [0, 2] {
            let lie: Lie = match taken_in {
                0 => |_, _| Standing { taken_in: 0, floor: Time::MAX, ..standing(Mail::default()) },
                _ => |_, _| Standing { taken_in: 2, ..standing(Mail::default()) },
            };
            // That nothing was taken in is no lie, but then the run waits for it.
            let outside = liar(lie).limit(Duration::from_millis(20), IfLate::EndRun);
            let kind = refused(protocol, outside);
            match taken_in {
                0 => assert_eq!(kind, OutsideErrorKind::Late(Duration::from_millis(20))),
                _ => assert_eq!(kind, OutsideErrorKind::NotHandedOver { taken_in: 2, least: 0, most: 1 }),
            }
        }
        let kind = refused(protocol, Outside::new(Falls::default()));
        assert!(
            matches!(kind, OutsideErrorKind::FloorFell { floor: Time::ZERO, earliest } if earliest > Time::ZERO),
            "{kind:?}"
        );
    }
}

/// Takes everything in without doing it; its floor rises, and falls again.
#[derive(Default)]
struct Falls(Option<Door<Mesh>>, Time);

impl OutsideFederate<Mesh> for Falls {
    fn begin(&mut self, _lps: OutsideLps<Mesh>, door: Door<Mesh>) -> Time {
        self.0 = Some(door);
        Time::secs(1)
    }
    fn advance(&mut self, _bound: Time, _events: Vec<Event<Hop>>) {}
    fn end(&mut self) {}
    fn is_optimistic(&self) -> bool {
        true
    }
    fn run_ahead(&mut self, handed: HandOver<Hop>) {
        let door = self.0.as_ref().expect("it has begun");
        // Its first mail is from the start of the run; then its floor is a second.
        self.1 = if handed.number == 1 { Time::secs(1) } else { Time::ZERO };
        let taken_in = handed.number;
        door.stands(Standing { taken_in, floor: self.1, ..standing(Mail::default()) });
    }
}

/// LP 0 counts what the others send it in each round. It may panic where something is missing, or in a given
/// round.
#[derive(Clone)]
struct Office {
    fails_at: Option<u64>,
    fails_out_of_order: bool,
    /// Failures, those that were rolled back included.
    seen: Arc<AtomicU64>,
}

const SOURCES: u64 = 3;
const ROUNDS: u64 = 60;
/// What is sent to LP 0; anything else is the number of a round.
const TICKET: u64 = u64::MAX;

impl Play for Office {
    fn lps(&self) -> u32 {
        1 + SOURCES as u32
    }
    fn lookahead(&self) -> Time {
        Time::millis(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(if lp == LpId(0) { Time::millis(5) } else { Time::ZERO }, 0);
        0
    }
    fn handle(&self, tickets: &mut u64, round: u64, cx: &mut Context<Script>) {
        if round == TICKET {
            *tickets += 1;
            return;
        }
        if cx.lp() == LpId(0) {
            let missing = *tickets != SOURCES * (round + 1);
            if self.fails_out_of_order && missing || self.fails_at == Some(round) {
                self.seen.fetch_add(1, Ordering::Relaxed);
                panic!("{tickets} tickets in round {round}");
            }
        } else {
            cx.send(LpId(0), Time::millis(1), TICKET);
        }
        if round < ROUNDS {
            cx.schedule(Time::millis(10), round + 1);
        }
    }
}

#[test]
fn a_failure_outside_counts_once_it_is_final() {
    let office = |fails_at, fails_out_of_order| Office {
        fails_at,
        fails_out_of_order,
        seen: Arc::new(AtomicU64::new(0)),
    };
    let sound = run_of(office(None, true)).protocol(Protocol::Sequential).run();
    let digest = sound.expect("in the order of simulated time nothing is missing").digest;
    let mut rolled_back = 0;
    for seed in 0..40 {
        let model = office(None, true);
        let run = all_outside(&script(model.clone()), seed, 4).protocol(Protocol::Optimistic).run();
        assert_eq!(run.expect("what is rolled back has not happened").digest, digest, "case {seed}");
        rolled_back += model.seen.load(Ordering::Relaxed);
        let model = office(Some(7), false);
        let error = all_outside(&script(model.clone()), seed, 4).protocol(Protocol::Optimistic).run();
        let message = format!("{} tickets in round 7", SOURCES * 8);
        let expected = EventError {
            kind: EventErrorKind::Panic(PanicNote::saying(message)),
            lp: LpId(0),
            at: Time::millis(75),
            event: "7".into(),
        };
        assert_eq!(error.expect_err("it is final"), RunError::Event(expected), "case {seed}");
    }
    assert!(rolled_back > 0, "some failures were rolled back");
}
