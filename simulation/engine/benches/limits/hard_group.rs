//! The group of hard models: which protocols run them, and for how long.

use paceline_engine::Protocol;
use paceline_kernel::Time;

use crate::hard::{Hard, Kind};
use crate::row::{Case, Horizon, Way};

/// What the models are.
pub const ABOUT: &[&str] = &[
    "2048 LPs. A message goes to any LP with probability 0.25, else back to its sender, after lookahead + Exp(1), where the \
     model does not say otherwise.",
    "Burst: all delays are 1, so that 100,352 events happen in one instant. Zero-delay chains: 8 messages without delay \
     follow each one with a delay. Uneven load: nine of ten messages go to the first tenth of the LPs (lookahead 0.01). All \
     to all: every message goes to any LP (lookahead 0.01). 1 in 1000 without delay: all others take 1 + Exp(1) (lookahead \
     0). Uneven work: an event works for about 100 ns, on the first tenth of the LPs 2000 ns (lookahead 0.01), with LPs that \
     stay and with LPs that move.",
];

/// LPs move after some tenths of a second: such rows take so many times as long as others.
const BALANCED_TIMES: f64 = 6.0;

/// The first simulated time, of about 10^5 events.
const FIRST_S: f64 = 3.0;

fn ways(lookahead: Time) -> Vec<Way> {
    let mut ways = vec![Way::sequential()];
    if lookahead > Time::ZERO {
        ways.push(Way::new(Protocol::Window, 2, 2));
    }
    ways.extend([2, 8, 64].map(Way::optimistic));
    ways.push(Way::new(Protocol::Auto, 8, 2));
    ways
}

fn case(name: &str, kind: Kind, lookahead: Time) -> Case {
    let rows = ways(lookahead).into_iter().map(|way| way.row(&Hard { kind, lookahead })).collect();
    let (name, first_s) = (name.to_owned(), if kind == Kind::Chains { FIRST_S / 6.0 } else { FIRST_S });
    Case { name, horizon: Horizon::Fitted { first_s, times: 1.0 }, rows }
}

/// A tenth of the LPs works longer, with LPs that move and without.
fn heavy() -> Case {
    let model = Hard { kind: Kind::Heavy, lookahead: Time::millis(10) };
    let ways = ways(model.lookahead);
    // Windows, and optimistic with 2 and 8 federates.
    let balanced = ways[1..4].iter().cloned().map(Way::balanced);
    let rows = ways.iter().cloned().chain(balanced).map(|way| way.row(&model)).collect();
    let horizon = Horizon::Fitted { first_s: FIRST_S, times: BALANCED_TIMES };
    Case { name: "uneven work".into(), horizon, rows }
}

pub fn cases() -> Vec<Case> {
    let hundredth = Time::millis(10);
    vec![
        case("burst, lookahead 1", Kind::Burst, Time::secs(1)),
        case("burst, lookahead 0", Kind::Burst, Time::ZERO),
        case("zero-delay chains", Kind::Chains, Time::ZERO),
        case("uneven load", Kind::Tenth, hundredth),
        case("all to all", Kind::AllToAll, hundredth),
        case("1 in 1000 without delay", Kind::RareZero, Time::ZERO),
        heavy(),
    ]
}
