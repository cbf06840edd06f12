//! The groups of the document, and those of them that run PHOLD 2048 x 16 (one has other sizes), 25 % of
//! messages to any LP.

use paceline_engine::{Protocol, Speculation};
use paceline_kernel::{Cancellation, Saving, Time};

use crate::results::{Line, Results};
use crate::row::{Case, Facts, Horizon, Row, Way};
use crate::{drift, hard_group, yardstick};

pub const LPS: u32 = 2_048;
pub const MESSAGES: u32 = 16;

/// What a group measures.
enum Work {
    Cases(fn() -> Vec<Case>),
    Lines(fn() -> Vec<Line>),
}

/// Tables that belong together.
pub struct Group {
    /// As it is chosen.
    pub name: &'static str,
    pub title: &'static str,
    /// What is run, a paragraph each.
    pub about: &'static [&'static str],
    /// What its ratios are of.
    pub per: &'static str,
    work: Work,
}

impl Group {
    pub fn measure(&self, results: &mut Results) -> Result<(), String> {
        match self.work {
            Work::Cases(cases) => {
                cases().into_iter().try_for_each(|case| results.take(&case.measure(self.name), self.per))
            }
            Work::Lines(lines) => results.take(&lines(), self.per),
        }
    }
}

pub fn all() -> Vec<Group> {
    vec![
        Group {
            name: "lookahead",
            title: "Protocols over lookahead",
            about: &[
                "PHOLD, 2048 LPs x 16 messages, delay = lookahead + Exp(1), 25 % of messages to any LP.",
            ],
            per: "of sequential",
            work: Work::Cases(lookaheads),
        },
        Group {
            name: "sizes",
            title: "Sizes",
            about: &[
                "PHOLD with lookahead 1, LPs x messages per LP. Two hand-written loops at once are two simulations: what \
                 two cores can do without any synchronization.",
            ],
            per: "of the hand-written loop",
            work: Work::Cases(sizes),
        },
        Group {
            name: "saving",
            title: "Ways to save states",
            about: &[
                "PHOLD 2048 x 16, optimistic, 8 federates on 2 threads.",
                "1 federate: on 1 thread, with lookahead 0.01 beside windows, with lookahead 0 beside a sequential run.",
            ],
            per: "of the first",
            work: Work::Cases(savings),
        },
        Group {
            name: "hard",
            title: "Hard models",
            about: hard_group::ABOUT,
            per: "of sequential",
            work: Work::Cases(hard_group::cases),
        },
        Group {
            name: "busy",
            title: "Beside one busy process",
            about: &["PHOLD 2048 x 16 while another process uses one core without pause."],
            per: "of undisturbed",
            work: Work::Cases(beside_busy),
        },
        Group {
            name: "drift",
            title: "A long run",
            about: &[
                "PHOLD 2048 x 16, lookahead 0, optimistic, 8 federates on 2 threads: the rate of each tenth of one run.",
            ],
            per: "of the first tenth",
            work: Work::Lines(drift::lines),
        },
    ]
}

fn case<'a>(lookahead_s: f64, ways: impl IntoIterator<Item = &'a Way>) -> Case {
    let model = yardstick::model(LPS, MESSAGES, Time::from_secs_f64(lookahead_s));
    let rows = ways.into_iter().map(|way| way.clone().row(&model)).collect();
    // 65,536 events.
    let first_s = 2.0 * (1.0 + lookahead_s);
    Case { name: format!("lookahead {lookahead_s}"), horizon: Horizon::Fitted { first_s, times: 1.0 }, rows }
}

fn lookaheads() -> Vec<Case> {
    let ways = |lookahead_s: f64| {
        let mut ways = vec![Way::sequential(), Way::new(Protocol::Optimistic, 1, 1)];
        ways.extend([2, 8, 64].map(Way::optimistic));
        ways.push(Way::optimistic(8).unmerged());
        ways.push(Way::new(Protocol::Auto, 8, 2));
        if lookahead_s > 0.0 {
            ways.extend([2, 64].map(|federates| Way::new(Protocol::Window, federates, 2)));
            ways.push(Way::new(Protocol::Mixed, 8, 2));
        }
        ways
    };
    [0.0, 0.001, 0.01, 1.0].map(|lookahead_s| case(lookahead_s, &ways(lookahead_s))).into()
}

/// So many hand-written loops at once, each in a thread of its own.
fn loops(name: &str, threads: usize, lps: u32, messages: u32) -> Row {
    Row::new(name, move |until_s| {
        let one = move || yardstick::run(lps, messages, until_s as u64);
        let others: Vec<_> = (1..threads).map(|_| std::thread::spawn(one)).collect();
        let first = one();
        let others = others.into_iter().map(|other| other.join().expect("the loop does not panic"));
        Facts { events: first + others.sum::<u64>(), ..Facts::default() }
    })
}

fn sizes() -> Vec<Case> {
    // The simulated time that takes some tenths of a second.
    let sizes = [(2_048, 16, 800.0), (65_536, 16, 30.0), (1_048_576, 1, 30.0)];
    let case = |(lps, messages, until_s)| {
        let model = yardstick::model(lps, messages, Time::secs(1));
        let mut rows = vec![
            loops("hand-written loop", 1, lps, messages),
            loops("two hand-written loops, 2 threads", 2, lps, messages),
            Way::sequential().row(&model),
        ];
        let windows = [(1, 1), (2, 2), (64, 2)];
        rows.extend(
            windows.map(|(federates, threads)| Way::new(Protocol::Window, federates, threads).row(&model)),
        );
        Case { name: format!("{lps} x {messages}"), horizon: Horizon::Fixed(until_s), rows }
    };
    sizes.map(case).into()
}

fn savings() -> Vec<Case> {
    let ways = |way: &Way| -> Vec<Way> {
        let save = |name: &str, saving, cancellation| {
            let speculation = Speculation { saving, cancellation, ..Speculation::default() };
            way.clone().named(name).speculating(speculation)
        };
        vec![
            save("copy", Saving::Copy, Cancellation::Aggressive),
            save("periodic", Saving::Periodic, Cancellation::Aggressive),
            save("undo", Saving::Undo, Cancellation::Aggressive),
            save("periodic, lazy", Saving::Periodic, Cancellation::Lazy),
        ]
    };
    let mut cases: Vec<Case> =
        [0.0, 0.01].map(|lookahead_s| case(lookahead_s, &ways(&Way::optimistic(8)))).into();
    // One federate: all is safe where there is lookahead, and nearly nothing is rolled back where there is
    // none.
    for (name, lookahead_s, first) in [
        ("1 federate, 0.01", 0.01, Way::new(Protocol::Window, 1, 1).named("window")),
        ("1 federate, 0", 0.0, Way::sequential()),
    ] {
        let mut alone = vec![first];
        alone.extend(ways(&Way::new(Protocol::Optimistic, 1, 1)));
        cases.push(Case { name: name.into(), ..case(lookahead_s, &alone) });
    }
    cases
}

fn beside_busy() -> Vec<Case> {
    let rows = |lookahead_s: f64| {
        let ways = [2, 8, 64].map(Way::optimistic);
        let ways: Vec<Way> = ways.into_iter().flat_map(|way| [way.clone(), way.beside_busy()]).collect();
        let case = case(lookahead_s, &ways);
        let rows = case.rows.into_iter().enumerate().map(|(place, row)| row.compared_with(place / 2 * 2));
        Case { rows: rows.collect(), ..case }
    };
    [0.0, 1.0].map(rows).into()
}
