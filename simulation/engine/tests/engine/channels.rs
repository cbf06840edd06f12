//! A model that declares channels is held to them when it sends: under every protocol, between federates and
//! within one, the fault names the sender, the receiver, and the time at which the sender stood.

use paceline_engine::{Protocol, RunError, Simulation};
use paceline_kernel::{Channels, Context, LpId, Partition, RuleError, RuleErrorKind, Time};

use crate::script::{Play, Script, run_of};

const LPS: u32 = 16;
/// What a channel takes at least; the model's lookahead is far less.
const HOP: Time = Time::secs(1);

/// LPs in a ring, each of which sends to the next now and then. LP 5 does something else once.
#[derive(Clone, Copy)]
struct Ring {
    /// To whom LP 5 sends, and how far ahead, in its fourth event.
    stray: Option<(LpId, Time)>,
    /// LP 5 sends to all.
    open: bool,
    scatter: bool,
}

impl Play for Ring {
    fn lps(&self) -> u32 {
        LPS
    }
    fn lookahead(&self) -> Time {
        Time::millis(1)
    }
    fn channels(&self, lp: LpId) -> Channels {
        match self.open && lp == LpId(5) {
            true => Channels::All,
            false => {
                Channels::Only(vec![(LpId((lp.0 + 1) % LPS), HOP), (LpId((lp.0 + 1) % LPS), Time::secs(3))])
            }
        }
    }
    fn partition(&self, federates: u32) -> Partition {
        match self.scatter {
            true => Partition::table(&(0..LPS).map(|lp| lp % federates).collect::<Vec<_>>()),
            false => Partition::runs(LPS, federates),
        }
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::millis(37 * u64::from(lp.0)), 0);
        // What is sent at the start needs no channel.
        cx.send(LpId((lp.0 + 7) % LPS), Time::ZERO, 100);
        0
    }
    fn handle(&self, seen: &mut u64, payload: u64, cx: &mut Context<Script>) {
        if payload >= 100 {
            return;
        }
        *seen += 1;
        match self.stray {
            Some((to, delay)) if cx.lp() == LpId(5) && *seen == 4 => cx.send(to, delay, payload),
            _ => cx.send(LpId((cx.lp().0 + 1) % LPS), HOP, payload + 1),
        }
        // To oneself no channel is needed.
        if cx.rng().chance(0.3) {
            cx.schedule(Time::millis(5), 100);
        }
    }
}

/// Every protocol that is not chosen by the run itself.
pub const PROTOCOLS: [Protocol; 7] = [
    Protocol::Sequential,
    Protocol::TimeStep,
    Protocol::Window,
    Protocol::NullMessage,
    Protocol::NullMessageOnDemand,
    Protocol::Optimistic,
    Protocol::Mixed,
];

/// Those of them that never run ahead.
pub const CONSERVATIVE: [Protocol; 5] = [
    Protocol::Sequential,
    Protocol::TimeStep,
    Protocol::Window,
    Protocol::NullMessage,
    Protocol::NullMessageOnDemand,
];

/// Runs the ring in every way.
fn ways(ring: Ring) -> impl Iterator<Item = (String, Simulation<Script>)> {
    PROTOCOLS.into_iter().flat_map(move |protocol| {
        [1, 2, 4, 16].into_iter().flat_map(move |federates| {
            [false, true].map(|scatter| {
                let run = run_of(Ring { scatter, ..ring }).until(Time::secs(10)).threads(2).groups(u32::MAX);
                let what = format!("{protocol:?}, {federates} federates, scatter {scatter}");
                (what, run.protocol(protocol).federates(federates))
            })
        })
    })
}

#[test]
fn what_no_channel_allows_is_the_same_fault_in_every_way() {
    // The fourth event of LP 5 came from LP 2, which began at 74 ms.
    let now = Time::millis(37 * 2) + HOP + HOP + HOP;
    for (to, delay) in [
        // No channel; and one behind the end of the window of anyone.
        (LpId(12), Time::millis(1)),
        (LpId(12), Time::secs(60)),
        // The other way round, and often in the same federate.
        (LpId(4), HOP),
        // A channel, but nearer than it says.
        (LpId(6), HOP - Time::nanos(1)),
    ] {
        let fault = RuleError {
            kind: RuleErrorKind::Channel,
            from: LpId(5),
            now,
            to,
            at: now + delay,
            event: "3".into(),
        };
        for (what, run) in ways(Ring { stray: Some((to, delay)), open: false, scatter: false }) {
            assert_eq!(run.run().err(), Some(RunError::Rule(fault.clone())), "{what}");
        }
    }
}

#[test]
fn what_the_channels_allow_gives_one_digest() {
    for ring in [
        Ring { stray: None, open: false, scatter: false },
        Ring { stray: Some((LpId(12), Time::millis(1))), open: true, scatter: false },
        Ring { stray: Some((LpId(6), HOP)), open: false, scatter: false },
    ] {
        let reference = run_of(ring).until(Time::secs(10)).protocol(Protocol::Sequential).run();
        let reference = reference.expect("it keeps to its channels");
        assert!(reference.events > 150);
        for (what, run) in ways(ring) {
            let report = run.run().expect("it keeps to its channels");
            assert_eq!((report.digest, report.events), (reference.digest, reference.events), "{what}");
        }
    }
}
