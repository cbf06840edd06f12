//! A run that is stopped half-way and resumed from its checkpoint, under another protocol and on more
//! threads: the result is that of a run that nobody stopped.
use std::time::Duration;

use paceline::prelude::*;
use serde::{Deserialize, Serialize};

/// Rumours that every hearer passes on to one other.
struct Village(u32);

#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize)]
struct Rumour(u64);

impl Model for Village {
    type State = u64; // rumours heard
    type Event = Rumour;
    type Output = ();

    fn lps(&self) -> u32 {
        self.0
    }
    fn lookahead(&self) -> Time {
        Time::secs(60)
    }
    fn init(&self, who: LpId, cx: &mut Context<Self>) -> u64 {
        cx.schedule(Time::ZERO, Rumour(who.0.into()));
        0
    }
    fn handle(&self, heard: &mut u64, rumour: &Rumour, cx: &mut Context<Self>) {
        *heard += 1;
        let other = LpId(cx.rng().below(u64::from(self.0)) as u32);
        let later = Time::secs(60) + Time::from_secs_f64(cx.rng().exponential(600.0));
        cx.send(other, later, Rumour(rumour.0.rotate_left(1) ^ *heard));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("paceline-village-{}.checkpoint", std::process::id()));
    let day = Time::secs(24 * 3600);
    let run = || Simulation::new(Village(500)).until(day).seed(3);
    let reference = run().run()?;

    let checkpoints = Checkpoints { path: path.clone(), every: Duration::from_secs(60), header: Vec::new() };
    let mut half =
        run().protocol(Protocol::Window).federates(4).threads(2).checkpoint(checkpoints).start()?;
    half.run_until(Time::secs(12 * 3600))?;
    half.checkpoint()?;
    drop(half); // the machine is needed for something else

    let world = CheckpointFile::open(&path)?.world(&Village(500))?;
    let resumed = run().protocol(Protocol::Optimistic).federates(8).threads(2).resume(world).run()?;
    assert_eq!(resumed.digest, reference.digest);
    println!("{} events, digest {} as without a stop", resumed.events, resumed.digest);
    std::fs::remove_file(&path)?;
    Ok(())
}
