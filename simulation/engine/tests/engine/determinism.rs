//! Models that look at something they should not are caught and named; those that do not are not.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::mesh::Mesh;
use crate::script::{Play, Script, script};
use paceline_engine::determinism::{Comparison, DeterminismError, Difference, Ended, Moment, Same, compare};
use paceline_engine::{Monitor, Protocol, Simulation};
use paceline_kernel::{Channels, Context, LpId, Model, Partition, RuleErrorKind, TieBreak, Time};

/// What LP 3 does wrong in its fifth event; nobody else ever does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    Clock,
    Counter,
    Address,
    HashOrder,
    Draws,
    Unhashed,
    Silence,
    Rule,
    RuleByClock,
}

static COUNTER: AtomicU64 = AtomicU64::new(0);
/// Of one test only, so that its two runs see neighbouring numbers.
static PARITY: AtomicU64 = AtomicU64::new(0);

struct Ring {
    wrong: Wrong,
    at_init: bool,
    /// When the program began, so that clocks are seen as a number.
    start: Instant,
}

#[derive(Clone, Debug, Default, Hash)]
struct Seen {
    visits: u64,
    odd: Odd,
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

#[derive(Clone, Debug, Default, Hash)]
struct Odd {
    word: u64,
}

impl Ring {
    fn new(wrong: Wrong) -> Self {
        Self { wrong, at_init: false, start: Instant::now() }
    }

    /// A clock that has moved on since it was last looked at, however coarse it is.
    fn clock(&self) -> u64 {
        let before = self.start.elapsed();
        let moved = std::iter::repeat_with(|| self.start.elapsed()).find(|now| *now > before);
        moved.map_or(0, |now| now.as_nanos() as u64)
    }

    fn look(&self, seen: &Seen, cx: &mut Context<Self>) -> u64 {
        match self.wrong {
            Wrong::Nothing | Wrong::Unhashed | Wrong::Silence | Wrong::Rule | Wrong::RuleByClock => 0,
            Wrong::Clock => self.clock(),
            Wrong::Counter => COUNTER.fetch_add(1, Ordering::Relaxed),
            Wrong::Address => std::ptr::from_ref(seen).addr() as u64,
            Wrong::HashOrder => {
                let set: HashSet<u64> = (0..100).collect();
                set.iter().fold(0, |sum, key| sum * 31 % 1_000_003 + key)
            }
            Wrong::Draws => {
                let odd = PARITY.fetch_add(1, Ordering::Relaxed) % 2;
                if odd == 1 {
                    cx.rng().u64();
                }
                0
            }
        }
    }
}

impl Model for Ring {
    type State = Seen;
    type Event = u64;
    type Output = ();

    fn lps(&self) -> u32 {
        8
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Seen {
        cx.schedule(Time::millis(u64::from(lp.0)), 0);
        let seen = Seen::default();
        let word = if self.at_init && lp == LpId(3) { self.look(&seen, cx) } else { 0 };
        Seen { odd: Odd { word }, ..seen }
    }
    fn handle(&self, seen: &mut Seen, token: &u64, cx: &mut Context<Self>) {
        seen.visits += 1;
        let next = LpId((cx.lp().0 + 1) % 8);
        let wrong = !self.at_init && cx.lp() == LpId(3) && seen.visits == 5;
        if wrong {
            match self.wrong {
                // Every other call is silent: one of each pair of runs.
                Wrong::Silence if PARITY.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => return,
                Wrong::Unhashed => seen.unhashed.turns = self.clock(),
                Wrong::Rule => cx.send(next, Time::ZERO, 9),
                Wrong::RuleByClock => cx.send(next, Time::nanos(1 + self.clock() % 1_000_000), 9),
                _ => seen.odd.word = self.look(seen, cx),
            }
        }
        cx.send(next, Time::secs(1), token + 1);
    }
}

fn how() -> Comparison {
    Comparison { until: Time::secs(100), ..Comparison::default() }
}

fn check(wrong: Wrong, at_init: bool) -> Result<Same, Box<DeterminismError>> {
    let ring = || Ring { at_init, ..Ring::new(wrong) };
    compare(&ring(), &ring(), &how())
}

/// The event at which it goes wrong: LP `n` starts at `n` ms; tokens move on at whole seconds from their
/// starts.
fn caught(wrong: Wrong) -> Difference {
    let different = check(wrong, false).expect_err("the two runs differ");
    let Moment::Event(time, event) = &different.moment else { panic!("{different}") };
    // A token a round passes LP 3; in the fifth round that is the one of LP 7, the last of its round.
    assert_eq!((different.lp, event.as_str(), different.events), (LpId(3), "4", 39), "{wrong:?}");
    assert_eq!(*time, Time::millis(4_007), "{wrong:?}");
    assert!(different.to_string().starts_with("LP 3 at 4.007s, handling 4: "), "{different}");
    different.difference
}

#[test]
fn a_clock_a_global_an_address_and_hash_order_are_caught_in_the_state() {
    for wrong in [Wrong::Clock, Wrong::Counter, Wrong::Address, Wrong::HashOrder] {
        let Difference::State { field, first, second } = caught(wrong) else { panic!("{wrong:?}") };
        assert_eq!(field, "odd.word", "{wrong:?}: the field is named");
        let number = |word: &str| word.parse::<u64>().expect("the value is shown");
        assert_ne!(number(&first), number(&second), "{wrong:?}");
    }
}

#[test]
fn fields_that_the_hash_leaves_out_are_compared_too() {
    let Difference::State { field, first, second } = caught(Wrong::Unhashed) else { panic!("the state") };
    assert_eq!(field, "unhashed.turns");
    assert_ne!(first, second);
}

#[test]
fn messages_draws_and_broken_rules_are_compared_too() {
    let Difference::Message { number: 1, first, second } = caught(Wrong::Silence) else {
        panic!("a message")
    };
    assert!([&first, &second].contains(&&"none".to_owned()), "{first}, {second}");
    assert!([first, second].contains(&"5 to LP 4 for 5.007s".to_owned()), "the message is shown");
    let Difference::Draws(one, other) = caught(Wrong::Draws) else { panic!("draws") };
    assert_eq!(one.abs_diff(other), 1);
    assert!(matches!(caught(Wrong::RuleByClock), Difference::Rule(one, other) if one != other));
}

#[test]
fn a_start_that_differs_is_caught() {
    for wrong in [Wrong::Clock, Wrong::Counter, Wrong::HashOrder] {
        let different = check(wrong, true).expect_err("the two runs differ");
        assert_eq!(
            (different.lp, &different.moment, different.events),
            (LpId(3), &Moment::Init, 0),
            "{wrong:?}"
        );
        assert!(matches!(different.difference, Difference::State { field, .. } if field == "odd.word"));
    }
}

/// A model that only starts: LP 2 sends itself one message, or two.
struct Starts(u64);

impl Play for Starts {
    fn lps(&self) -> u32 {
        4
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        let messages = if lp == LpId(2) { self.0 } else { 1 };
        for number in 0..messages {
            cx.schedule(Time::secs(number), number);
        }
        0
    }
    fn handle(&self, _: &mut u64, _: u64, _: &mut Context<Script>) {}
}

#[test]
fn first_messages_are_compared() {
    let different = compare(&script(Starts(1)), &script(Starts(2)), &how()).expect_err("one sends more");
    assert_eq!((different.lp, &different.moment), (LpId(2), &Moment::Init));
    let (first, second) = ("none".to_owned(), "1 to LP 2 for 1s".to_owned());
    assert_eq!(different.difference, Difference::Message { number: 2, first, second });
    assert!(compare(&script(Starts(2)), &script(Starts(2)), &how()).is_ok());
}

/// LPs 1 and 2 have one counter, which counts the events of both.
struct Sharing(Arc<Mutex<u64>>);

#[derive(Clone, Debug)]
struct Counter(Arc<Mutex<u64>>);

impl Hash for Counter {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.lock().unwrap().hash(hasher);
    }
}

impl Model for Sharing {
    type State = Counter;
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        4
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Counter {
        cx.schedule(Time::secs(1 + u64::from(lp.0)), ());
        Counter(if matches!(lp.0, 1 | 2) { self.0.clone() } else { Arc::default() })
    }
    fn handle(&self, counter: &mut Counter, (): &(), _: &mut Context<Self>) {
        *counter.0.lock().unwrap() += 1;
    }
}

#[test]
fn states_that_two_lps_share_are_caught() {
    let sharing = || Sharing(Arc::default());
    let different = compare(&sharing(), &sharing(), &how()).expect_err("an event of LP 2 changes LP 1");
    assert_eq!((different.lp, &different.difference), (LpId(1), &Difference::Touched));
}

/// A model that answers one kind of question otherwise from the second time on, or from the first event on.
struct Fickle {
    kind: &'static str,
    by_event: bool,
    changed: AtomicBool,
}

impl Fickle {
    fn script(kind: &'static str, by_event: bool) -> Script {
        script(Self { kind, by_event, changed: AtomicBool::new(false) })
    }

    fn otherwise(&self, kind: &str) -> bool {
        let changed = self.changed.load(Ordering::Relaxed);
        if kind == self.kind && !self.by_event {
            self.changed.store(true, Ordering::Relaxed);
        }
        kind == self.kind && changed
    }
}

impl Play for Fickle {
    fn lps(&self) -> u32 {
        if self.otherwise("lps") { 5 } else { 4 }
    }
    fn lookahead(&self) -> Time {
        if self.otherwise("lookahead") { Time::secs(2) } else { Time::secs(1) }
    }
    fn channels(&self, lp: LpId) -> Channels {
        let next = LpId((lp.0 + if self.otherwise("channels") { 2 } else { 1 }) % 4);
        Channels::Only(vec![(next, Time::secs(1))])
    }
    fn partition(&self, federates: u32) -> Partition {
        let mut owner: Vec<u32> = (0..4).map(|lp| lp * federates.min(4) / 4).collect();
        if self.otherwise("partition") {
            owner.reverse();
        }
        Partition::table(&owner)
    }
    fn init(&self, _: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::secs(1), 0);
        0
    }
    fn handle(&self, _: &mut u64, _: u64, _: &mut Context<Script>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

#[test]
fn answers_that_change_are_caught() {
    let compared =
        |kind, by_event| compare(&Fickle::script(kind, by_event), &Fickle::script(kind, by_event), &how());
    for (kind, words) in
        [("lps", "LPs"), ("lookahead", "lookahead"), ("channels", "channels"), ("partition", "dealt to")]
    {
        for by_event in [false, true] {
            let different = compared(kind, by_event).expect_err("it changes its mind");
            let expected = (&Moment::Asked, if by_event { 4 } else { 0 });
            assert_eq!((&different.moment, different.events), expected, "{kind}: {different}");
            assert!(different.to_string().contains(words), "{kind}: {different}");
        }
    }
    assert!(compared("nothing", true).is_ok());
}

#[test]
fn models_that_keep_the_rules_do_not_differ() {
    for case in 0..200 {
        let mesh = Mesh::draw(case, case % 2 == 0);
        let ties = if case % 3 == 0 { TieBreak::Random(case) } else { TieBreak::Fixed };
        let how = Comparison { until: mesh.until(), seed: case, ties, ..Comparison::default() };
        let same = compare(&mesh, &mesh, &how).unwrap_or_else(|different| panic!("case {case}: {different}"));
        let run = Simulation::new(mesh.clone()).protocol(Protocol::Sequential).until(mesh.until());
        let run = run.seed(case).ties(ties).run().expect("the model keeps the rules");
        assert_eq!(same.events, run.events, "case {case}: every event was compared");
    }
}

#[test]
fn a_comparison_ends_and_says_why() {
    let ended = |how: Comparison| {
        let same = compare(&Ring::new(Wrong::Nothing), &Ring::new(Wrong::Nothing), &how);
        let same = same.expect("nothing differs");
        (same.events, same.ended)
    };
    // Eight tokens, each at its start and once a second from there.
    assert_eq!(ended(how()), (800, Ended::Horizon));
    let endless = || Comparison { events: 1000, ..Comparison::default() };
    assert_eq!(ended(endless()), (1000, Ended::Limit));
    let monitor = Monitor::new();
    monitor.stop();
    assert_eq!(ended(Comparison { monitor, ..endless() }), (0, Ended::Interrupted));
    let Same { events, ended, .. } =
        compare(&script(Starts(2)), &script(Starts(2)), &endless()).expect("nothing differs");
    assert_eq!((events, ended), (5, Ended::NoEvents));
    let Ok(Same { events: 39, ended: Ended::Rule(fault), .. }) = check(Wrong::Rule, false) else {
        panic!("both break the same rule")
    };
    assert_eq!((fault.from, fault.kind), (LpId(3), RuleErrorKind::Lookahead { lookahead: Time::secs(1) }));
}
