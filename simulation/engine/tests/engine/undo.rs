//! What an `undo` is given besides words: the LP, the time, and the random numbers as they stood before the
//! event.

use paceline_engine::{Protocol, Simulation, Speculation};
use paceline_kernel::{Context, Kept, LpId, Model, Saving, Time, Undo, UndoFn};

/// LPs that add what they draw, and the time, to a sum: nothing is kept, since all of it can be had again.
struct Sums;

/// What an LP remembers: who it is, and its sum.
type Sum = (LpId, u64);

impl Model for Sums {
    type State = Sum;
    type Event = u8;
    type Output = ();
    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        24
    }
    fn lookahead(&self) -> Time {
        Time::ZERO
    }
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Sum {
        cx.schedule(Time::nanos(cx.draw().below(1_000)), 0);
        (lp, 0)
    }
    fn handle(&self, (_, sum): &mut Sum, _: &u8, cx: &mut Context<Self>) {
        *sum = sum.wrapping_add(cx.rng().u64()).wrapping_mul(3).wrapping_add(cx.now().as_ticks());
        // Draws within the arguments of a send, in the order in which they stand.
        cx.send(LpId(cx.draw().below(24) as u32), Time::nanos(1 + cx.draw().exponential(500.0) as u64), 1);
    }
}

impl Undo for Sums {
    fn undo(&self, (lp, sum): &mut Sum, _: &u8, kept: &mut Kept<'_>) {
        assert_eq!(*lp, kept.lp());
        /// Of 3, modulo 2^64.
        const INVERSE: u64 = 0xaaaa_aaaa_aaaa_aaab;
        let before = sum.wrapping_sub(kept.now().as_ticks()).wrapping_mul(INVERSE);
        *sum = before.wrapping_sub(kept.rng().u64());
    }
}

#[test]
fn an_undo_that_keeps_nothing_has_the_lp_the_time_and_the_draws() {
    let run =
        |protocol| Simulation::new(Sums).until(Time::micros(60)).protocol(protocol).threads(2).federates(4);
    let alone = run(Protocol::Sequential).run().expect("it is sound");
    let mut undone = 0;
    for case in 0..20 {
        let check_rollback = case % 4 == 0;
        let speculation =
            Speculation { saving: Saving::Undo, chaos: Some(case), check_rollback, ..Speculation::default() };
        let report =
            run(Protocol::Optimistic).trials(false).speculation(speculation).run().expect("it is sound");
        assert_eq!((report.digest, report.events), (alone.digest, alone.events), "case {case}");
        undone += report.rollbacks.map_or(0, |rollbacks| rollbacks.undone);
    }
    assert!(undone > 0, "some events were undone");
}
