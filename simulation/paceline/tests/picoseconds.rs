//! Time in picoseconds: delays below a nanosecond are exact, and the digest is one under every protocol.
//! Built with the feature of that name only.
#![cfg(feature = "picoseconds")]

use paceline::prelude::*;

/// The delay of a gate.
const GATE: Time = Time::picos(15);
const GATES: u32 = 31;

/// A ring of inverters: an odd number of them, so that it never comes to rest.
struct Oscillator;

impl Model for Oscillator {
    type State = (bool, u64); // the level at its output, and how often it changed
    type Event = bool; // the level at its input
    type Output = u64;

    fn lps(&self) -> u32 {
        GATES
    }
    fn lookahead(&self) -> Time {
        GATE
    }
    fn init(&self, gate: LpId, cx: &mut Context<Self>) -> (bool, u64) {
        if gate == LpId(0) {
            cx.schedule(Time::ZERO, false);
        }
        // All but the first fit the one before.
        (gate.0 % 2 == 1, 0)
    }
    fn handle(&self, (output, changes): &mut (bool, u64), input: &bool, cx: &mut Context<Self>) {
        if *output == *input {
            *output = !*input;
            *changes += 1;
            cx.send(LpId((cx.lp().0 + 1) % GATES), GATE, *output);
        }
    }
    fn finish(&self, _: LpId, (_, changes): &(bool, u64), all: &mut u64) {
        *all += changes;
    }
}

#[test]
fn an_oscillator_keeps_its_period_to_the_picosecond_under_every_protocol() {
    let run = |protocol| {
        let run =
            Simulation::new(Oscillator).until(Time::micros(1)).protocol(protocol).federates(5).threads(2);
        run.run().expect("it keeps the rules")
    };
    let reference = run(Protocol::Sequential);
    // A microsecond has 66,666 whole delays; a change happens after each, and at the start.
    assert_eq!(reference.outputs.iter().sum::<u64>(), 66_667);
    assert_eq!(reference.digest, run(Protocol::Window).digest);
    assert_eq!(reference.digest, run(Protocol::NullMessage).digest);
    assert_eq!(reference.digest, run(Protocol::Optimistic).digest);
    assert_eq!(Time::picos(999_990).to_string(), "0.00000099999s");
}
