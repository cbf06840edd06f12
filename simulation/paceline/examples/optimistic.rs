//! Servers that hand jobs on to each other without any lookahead, run optimistically: federates run ahead,
//! and take events back by `undo` where a message comes from their past.
use paceline::prelude::*;

/// Servers that remember the longest job.
struct Servers(u32);

impl Model for Servers {
    type State = (u64, u64); // jobs done, the longest of them in nanoseconds
    type Event = u64; // a job of this length
    type Output = ();
    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        self.0
    }
    fn lookahead(&self) -> Time {
        Time::ZERO // nothing is known of how near a message may be
    }
    fn init(&self, _server: LpId, cx: &mut Context<Self>) -> (u64, u64) {
        cx.schedule(Time::ZERO, 0);
        (0, 0)
    }
    fn handle(&self, (done, longest): &mut (u64, u64), job: &u64, cx: &mut Context<Self>) {
        cx.keep(*longest); // what is overwritten is kept for `undo`
        *done += 1;
        *longest = (*longest).max(*job);
        let next = LpId(cx.rng().below(u64::from(self.0)) as u32);
        let length = Time::from_secs_f64(cx.rng().exponential(1.0));
        cx.send(next, length, length.as_nanos());
    }
}

impl Undo for Servers {
    fn undo(&self, (done, longest): &mut (u64, u64), _job: &u64, kept: &mut Kept<'_>) {
        *done -= 1;
        *longest = kept.word(); // messages and random numbers are taken back by the kernel
    }
}

fn main() -> Result<(), RunError> {
    let run = || Simulation::new(Servers(100)).until(Time::secs(20));
    let reference = run().protocol(Protocol::Sequential).run()?;
    // `check_rollback` undoes every event and compares: for the tests of a model.
    let speculation = Speculation { saving: Saving::Undo, check_rollback: true, ..Speculation::default() };
    let ahead =
        run().protocol(Protocol::Optimistic).speculation(speculation).federates(4).threads(2).run()?;
    assert_eq!(ahead.digest, reference.digest);
    let rollbacks = ahead.rollbacks.expect("an optimistic run counts its rollbacks");
    assert_eq!(rollbacks.processed - rollbacks.undone, ahead.events);
    println!("{} events, of {} that were handled", ahead.events, rollbacks.processed);
    Ok(())
}
