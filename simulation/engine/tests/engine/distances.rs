//! Windows by distance: fewer where channels say that federates are far apart, the same result, and a model
//! that does not keep to its channels is found out.

use std::sync::Arc;

use crate::processes::together;
use crate::script::{Play, Script, run_of};
use paceline_engine::{Protocol, RunError, Simulation};
use paceline_kernel::{Channels, Context, LinkError, LpId, RuleErrorKind, Time};
use paceline_transport::Memory;

const SHORT: Time = Time::millis(1);
const LONG: Time = Time::secs(1);

/// Six LPs in a ring, each with a message that goes round in one direction. From LP 0 to 1 it takes a
/// millisecond, along all other channels a second.
#[derive(Clone, Copy)]
struct Ring {
    /// The channels are declared.
    declares: bool,
    /// From its tenth message on this LP sends to its neighbour as if its channel were the short one.
    hasty: Option<LpId>,
}

impl Ring {
    fn delay(from: LpId) -> Time {
        if from == LpId(0) { SHORT } else { LONG }
    }
}

impl Play for Ring {
    fn lps(&self) -> u32 {
        6
    }
    fn lookahead(&self) -> Time {
        SHORT
    }
    fn channels(&self, lp: LpId) -> Channels {
        if !self.declares {
            return Channels::All;
        }
        Channels::Only(vec![(LpId((lp.0 + 1) % 6), Self::delay(lp))])
    }
    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::millis(7 * u64::from(lp.0)), 0);
        0
    }
    fn handle(&self, seen: &mut u64, _message: u64, cx: &mut Context<Script>) {
        *seen += 1;
        let delay = Self::delay(cx.lp());
        let hastes = self.hasty == Some(cx.lp()) && *seen >= 10;
        let delay = if hastes { SHORT } else { delay };
        cx.send(LpId((cx.lp().0 + 1) % 6), delay, 0);
    }
}

fn ring(ring: Ring) -> Simulation<Script> {
    run_of(ring).until(Time::secs(300)).threads(2).groups(u32::MAX)
}

#[test]
fn one_short_channel_does_not_narrow_the_windows_of_all() {
    let reference = ring(Ring { declares: true, hasty: None }).protocol(Protocol::Sequential).run();
    let reference = reference.expect("the model keeps the rules").digest;
    let windows = |declares, federates| {
        let run = ring(Ring { declares, hasty: None }).protocol(Protocol::Window).federates(federates).run();
        let run = run.expect("the model keeps the rules");
        assert_eq!(run.digest, reference, "{federates} federates");
        run.windows
    };
    for federates in [2, 3, 6] {
        let (common, by_distance) = (windows(false, federates), windows(true, federates));
        // Every message comes by after some 5 s; each of the six opens a common window at every LP.
        assert!(common > 1500, "{common} windows");
        assert!(by_distance < 700, "{by_distance} windows of {federates} federates");
    }
}

#[test]
fn processes_of_one_thread_have_a_group_each_where_windows_are_common() {
    let groups = |declares, protocol, threads: [u32; 3]| {
        let run = |rank: u32, end: Arc<Memory>| {
            let run = run_of(Ring { declares, hasty: None }).until(Time::secs(30)).protocol(protocol);
            run.federates(6).threads(threads[rank as usize]).join(end).run()
        };
        let mut reports = together(Memory::mesh(3), run).into_iter();
        reports.next().expect("rank 0").expect("the model keeps the rules").groups
    };
    assert_eq!(groups(false, Protocol::Window, [1, 1, 1]), 3);
    assert_eq!(groups(true, Protocol::TimeStep, [1, 1, 1]), 3);
    assert_eq!(groups(false, Protocol::Window, [1, 2, 1]), 6, "the threads of one share its federates");
    assert_eq!(groups(true, Protocol::Window, [1, 1, 1]), 6, "windows differ by federate");
    assert_eq!(groups(true, Protocol::NullMessage, [1, 1, 1]), 6, "so do promises");
}

#[test]
fn whoever_sends_nearer_than_declared_is_named() {
    // LPs 2 and 3 share a federate of three, 3 and 4 do not, and all are alone in one of six.
    for (hasty, federates) in [(2, 3), (3, 3), (3, 6)] {
        let run = ring(Ring { declares: true, hasty: Some(LpId(hasty)) }).federates(federates);
        let run = run.threads(1).protocol(Protocol::Window).run();
        let Err(RunError::Rule(fault)) = run else { panic!("LP {hasty} of {federates} federates got away") };
        assert_eq!(
            (fault.kind, fault.from, fault.to),
            (RuleErrorKind::Channel, LpId(hasty), LpId(hasty + 1))
        );
    }
}

#[test]
fn a_channel_below_the_models_lookahead_is_refused() {
    struct Wrong;
    impl Play for Wrong {
        fn lps(&self) -> u32 {
            2
        }
        fn channels(&self, lp: LpId) -> Channels {
            Channels::Only(vec![(LpId(1 - lp.0), Time::millis(1))])
        }
        fn init(&self, _lp: LpId, _cx: &mut Context<Script>) -> u64 {
            0
        }
        fn handle(&self, _state: &mut u64, _event: u64, _cx: &mut Context<Script>) {}
    }
    let run = run_of(Wrong).federates(2).threads(2).protocol(Protocol::Window).run();
    let (from, to) = (LpId(0), LpId(1));
    let error = LinkError::Lookahead { from, to, lookahead: Time::millis(1), least: Time::secs(1) };
    assert_eq!(run.err(), Some(RunError::Link(error)));
}
