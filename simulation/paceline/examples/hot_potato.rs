//! Players throw potatoes at each other: the small model that `docs/coming-from-ross.md` shows in C as well.
use paceline::prelude::*;

struct Players(u32);

impl Model for Players {
    type State = u64; // potatoes caught
    type Event = (); // a potato
    type Output = u64; // potatoes caught by all players of a federate
    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        self.0
    }
    fn lookahead(&self) -> Time {
        Time::millis(100)
    }
    fn init(&self, _player: LpId, cx: &mut Context<Self>) -> u64 {
        cx.schedule(self.lookahead(), ());
        0
    }
    fn handle(&self, caught: &mut u64, _potato: &(), cx: &mut Context<Self>) {
        *caught += 1;
        let to = LpId(cx.rng().below(u64::from(self.0)) as u32);
        let flight = Time::from_secs_f64(cx.rng().exponential(1.0));
        cx.send(to, self.lookahead() + flight, ());
    }
    fn finish(&self, _player: LpId, caught: &u64, total: &mut u64) {
        *total += caught;
    }
}

impl Undo for Players {
    fn undo(&self, caught: &mut u64, _potato: &(), _: &mut Kept<'_>) {
        *caught -= 1;
    }
}

fn main() -> Result<(), RunError> {
    let ahead = Speculation { saving: Saving::Undo, ..Speculation::default() };
    let game = Simulation::new(Players(1024)).until(Time::secs(60));
    let report = game.protocol(Protocol::Optimistic).speculation(ahead).threads(2).run()?;
    println!("{} potatoes caught", report.outputs.iter().sum::<u64>());
    Ok(())
}
