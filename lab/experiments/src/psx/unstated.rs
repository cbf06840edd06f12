//! What would have to be true for the gains of figure 12: three quantities that the paper does not state,
//! each changed while all else stays. Two decide the gain of conservative federates, one that of optimistic
//! ones.
//!
//! Invariant: a sweep is added only for a check whose number is not reproduced, and misses what the check
//! wants with our own value too.

use super::most::{MOST, case, gain_at_most, published};
use super::{Gear, Load, Scheduler};
use crate::parameters::kinds::{count, nanos, secs};
use crate::prelude::*;

const CSX: Scheduler = Scheduler::Csx(32);

const HOPS: &str = "Under CSX every hop of a reduction waits for the turn of a polling guest. A tree in which each federate has one below it is a chain, and \
    has the most hops; the paper does not say which way its reductions take.";
const EVENTS: &str = "Under PSX the run time is CPU time: what an event costs less shortens it, and leaves the turns under CSX as long as they are. The paper \
    does not say what an event takes.";
const AHEAD: &str = "At 1 s, the lookahead, an optimistic federate may run no further ahead of GVT than a conservative one ahead of LBTS. The further it may, \
    the more it does under CSX in each of its turns. The paper does not say how far it may.";

/// The quantities, and the load that they are tried with.
#[derive(Clone, Debug)]
pub struct Sweeps {
    load: Load,
    hops: Over,
    events: Over,
    ahead: Over,
}

impl Sweeps {
    /// Those of this set-up, with the values that are tried by its parameters.
    pub fn read(load: Load, setup: &Setup, parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let hops = Axis::linear("number of federates below each in the tree of a reduction", "");
        let events = Axis::linear("CPU time of an event", "ns");
        let ahead = Axis::linear("simulated time that optimistic federates may run ahead of GVT", "s");
        let fan_in = parameters.tried("fan_in", &count(1..=1_000))?;
        let event_ns = parameters.tried("event", &nanos(1..=1_000_000_000))?;
        let ahead_s = parameters.tried("ahead", &secs(1..=1_000_000))?;
        Ok(Self {
            load,
            hops: Over::constant("psx.fan_in", hops, &fan_in, setup),
            events: Over::constant("psx.event", events, &event_ns, setup),
            ahead: Over::constant("psx.ahead", ahead, &ahead_s, setup),
        })
    }

    /// Each with the way of synchronization whose gain it decides, and the reason to try it.
    fn all(&self) -> [(Gear, &Over, &'static str); 3] {
        [(Gear::Cons, &self.hops, HOPS), (Gear::Cons, &self.events, EVENTS), (Gear::Opt, &self.ahead, AHEAD)]
    }

    pub fn cells(&self, setup: &Setup) -> Vec<Cell> {
        let runs = |gear| {
            let cell = move |scheduler, setup: &Setup| case(self.load, MOST, gear, scheduler).cell(setup);
            move |_, setup: &Setup| [CSX, Scheduler::Psx].map(|scheduler| cell(scheduler, setup))
        };
        self.all().into_iter().flat_map(|(gear, over, _)| over.cells(setup, runs(gear))).collect()
    }

    fn seconds(&self, results: &Results, gear: Gear, scheduler: Scheduler) -> Found<f64> {
        results.seconds(&case(self.load, MOST, gear, scheduler).key())
    }

    /// Adds the sweeps of those checks that are not reproduced.
    pub fn add(&self, finding: &mut Finding, results: &Results) -> Found<()> {
        for (gear, over, reason) in self.all() {
            let what = gain_at_most(gear);
            if finding.misses(&what) {
                finding.sweeps.push(self.gain(over, results, gear, reason)?);
            }
        }
        Ok(())
    }

    fn gain(&self, over: &Over, results: &Results, gear: Gear, reason: &str) -> Found<Sweep> {
        let gain = |results: &Results| {
            Ok(self.seconds(results, gear, CSX)? / self.seconds(results, gear, Scheduler::Psx)?)
        };
        let wanted = published().wanted(0).expect("a number is published");
        let curve = over.curve(gear.name(), wanted, results, gain)?;
        Ok(over.sweep(&gain_at_most(gear), Axis::linear("gain of PSX", "times"), vec![curve], reason))
    }

    /// What a window takes under both, and what running ahead changes of either.
    pub fn parts(&self, results: &Results) -> Found<String> {
        let [csx, psx] = [CSX, Scheduler::Psx].map(|scheduler| -> Found<_> {
            let key = case(self.load, MOST, Gear::Cons, scheduler).key();
            let window_ms = 1e3 * results.seconds(&key)? / self.load.until_s as f64;
            Ok((window_ms, 100.0 * results.value(&key, "waiting_share")?))
        });
        let ((csx_ms, csx_waits), (psx_ms, psx_waits)) = (csx?, psx?);
        let times = |scheduler| {
            let seconds = |results: &Results| self.seconds(results, Gear::Opt, scheduler);
            let curve = self.ahead.curve(Gear::Opt.name(), Wanted::AtLeast(0.0), results, seconds)?;
            Ok::<_, CellError>(in_words(&curve))
        };
        Ok(format!(
            "At {MOST} domains a second of simulated time, a window of CONS, takes CSX {csx_ms:.0} ms, in which guests poll for {csx_waits:.0} % of \
             their CPU time, and PSX {psx_ms:.0} ms, in which they poll for {psx_waits:.0} %. OPT takes CSX {} ahead of GVT, and PSX {}.",
            times(CSX)?,
            times(Scheduler::Psx)?
        ))
    }
}

/// The points of a curve of run times, in words.
fn in_words(curve: &Curve) -> String {
    let point = |(ahead, seconds): &(f64, f64)| format!("{seconds:.1} s at {ahead} s");
    curve.points.iter().map(point).collect::<Vec<_>>().join(", ")
}
