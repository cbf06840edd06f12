//! Two modules that hand a message to and fro: the small model that `docs/coming-from-omnet.md` shows in NED
//! and C++ as well.
use paceline::prelude::*;

struct Tictoc {
    limit: u32,
    delay: Time,
}

const TIC: LpId = LpId(0);
const TOC: LpId = LpId(1);

impl Model for Tictoc {
    type State = u32; // how often the module may still send
    type Event = (); // the message
    type Output = Vec<(LpId, Time)>; // who got the last message, and when
    const COMMITS_STATE: bool = true;

    fn lps(&self) -> u32 {
        2
    }
    fn lookahead(&self) -> Time {
        self.delay
    }
    fn init(&self, module: LpId, cx: &mut Context<Self>) -> u32 {
        if module == TIC {
            cx.send(TOC, self.delay, ());
        }
        self.limit
    }
    fn handle(&self, counter: &mut u32, _message: &(), cx: &mut Context<Self>) {
        *counter -= 1;
        if *counter > 0 {
            let other = if cx.lp() == TIC { TOC } else { TIC };
            cx.send(other, self.delay, ());
        }
    }
    fn commit_state(&self, module: LpId, counter: &u32, at: Time, _: &(), last: &mut Vec<(LpId, Time)>) {
        if *counter == 0 {
            last.push((module, at));
        }
    }
}

fn main() -> Result<(), RunError> {
    let model = Tictoc { limit: 10, delay: Time::millis(100) };
    let report = Simulation::new(model).run()?;
    for (module, at) in report.outputs.iter().flatten() {
        println!("module {} got the last message at {at}", module.0);
    }
    Ok(())
}
