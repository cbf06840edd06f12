//! What a mistake in a model looks like: `main` returns the error of the run, which says who did what, and
//! when.
//!
//! The model promises that every message takes a second, and at the third round a station is faster than
//! that. With the argument `panic`, it panics instead.

use paceline::prelude::*;

/// Stations that pass a parcel on, each to the next.
struct Relay {
    panics: bool,
}

#[derive(Clone, Debug, Hash, PartialEq)]
struct Parcel {
    stops: u32,
}

impl Model for Relay {
    type State = ();
    type Event = Parcel;
    type Output = ();

    fn lps(&self) -> u32 {
        4
    }
    fn lookahead(&self) -> Time {
        Time::secs(1)
    }
    fn init(&self, station: LpId, cx: &mut Context<Self>) {
        if station == LpId(0) {
            cx.schedule(Time::ZERO, Parcel { stops: 0 });
        }
    }
    fn handle(&self, _state: &mut (), parcel: &Parcel, cx: &mut Context<Self>) {
        let next = LpId((cx.lp().0 + 1) % self.lps());
        let third = parcel.stops == 8;
        assert!(!(self.panics && third), "the parcel is lost");
        let takes = if third { Time::millis(250) } else { Time::secs(1) };
        cx.send(next, takes, Parcel { stops: parcel.stops + 1 });
    }
}

pub(crate) fn main() -> Result<(), RunError> {
    let panics = std::env::args().any(|argument| argument == "panic");
    let report = Simulation::new(Relay { panics }).threads(1).until(Time::secs(60)).run()?;
    println!("digest {}", report.digest);
    Ok(())
}
