//! Publishing LVT: what the page says while a run goes on holds, and nothing of it shows in the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_engine::{Outside, Protocol, ThreadFederate};
use paceline_kernel::{Context, Digest, LpId, Time};
use paceline_lvt::{Page, SlotView};

use crate::script::{Play, Script, run_of, script};

const LPS: u32 = 12;
const LOOKAHEAD: Time = Time::nanos(1_000);

/// LPs that send each other events, and look at the page while they handle one.
#[derive(Clone)]
struct Looking {
    page: Option<Arc<Page>>,
    /// Events are handled again only to come back to a state, whatever their time.
    rolls_back: bool,
    /// Events at which the thread that handles them has a slot.
    seen: Arc<AtomicU64>,
}

impl Looking {
    /// The slot of the calling thread.
    fn slot(&self) -> Option<SlotView> {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let slots = self.page.as_ref()?.slots().expect("the page is in order");
        slots.into_iter().find(|slot| slot.tid == tid)
    }
}

impl Play for Looking {
    fn lps(&self) -> u32 {
        LPS
    }

    fn lookahead(&self) -> Time {
        LOOKAHEAD
    }

    fn init(&self, lp: LpId, cx: &mut Context<Script>) -> u64 {
        cx.schedule(Time::nanos(u64::from(lp.0) * 100), 60);
        0
    }

    fn handle(&self, state: &mut u64, event: u64, cx: &mut Context<Script>) {
        if let Some(slot) = self.slot() {
            let now_ns = cx.now().as_nanos();
            assert!(self.rolls_back || slot.lvt_ns <= now_ns, "{slot:?} handles an event at {now_ns} ns");
            assert!(slot.is_simulating() && !slot.is_waiting(), "{slot:?}");
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
        *state = state.wrapping_mul(31).wrapping_add(event);
        if let Some(left) = event.checked_sub(1) {
            let to = LpId(cx.rng().below(u64::from(LPS)) as u32);
            let delay = LOOKAHEAD + Time::nanos(cx.rng().below(3_000));
            cx.send(to, delay, left);
        }
    }
}

/// Digest, events, how many of them saw a slot, and why a thread did not publish.
fn run(protocol: Protocol, page: Option<Arc<Page>>) -> (Digest, u64, u64, Option<String>) {
    let seen = Arc::new(AtomicU64::new(0));
    // Where the protocol is left open, a slow machine soon finds the optimistic one the faster.
    let rolls_back = matches!(protocol, Protocol::Optimistic | Protocol::Mixed | Protocol::Auto);
    let model = Looking { page: page.clone(), rolls_back, seen: seen.clone() };
    let mut simulation = run_of(model).protocol(protocol).seed(5);
    if protocol != Protocol::Sequential {
        simulation = simulation.federates(5).threads(3);
    }
    if let Some(page) = page {
        simulation = simulation.publish(page);
    }
    let report = simulation.run().expect("the model keeps the rules");
    (report.digest, report.events, seen.load(Ordering::Relaxed), report.unpaced)
}

#[test]
fn no_thread_handles_what_is_before_the_lvt_that_it_publishes() {
    for (protocol, name, _) in Protocol::ALL {
        let (digest, events, _, _) = run(protocol, None);
        let page = Arc::new(Page::create_sealed(8).expect("there is memory"));
        let (published, _, seen, unpaced) = run(protocol, Some(page.clone()));
        assert_eq!(published, digest, "{name}: publishing changes nothing");
        // An optimistic run handles some events more than once.
        assert!(seen >= events && unpaced.is_none(), "{name}: {seen} of {events}, {unpaced:?}");
        assert_eq!(page.slots().expect("the page is in order"), [], "{name}: all slots are free again");
    }
}

#[test]
fn a_thread_that_runs_an_outside_federate_publishes_as_well() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let page = Arc::new(Page::create_sealed(8).expect("there is memory"));
        let seen = Arc::new(AtomicU64::new(0));
        let rolls_back = protocol == Protocol::Optimistic;
        let model = Looking { page: Some(page.clone()), rolls_back, seen: seen.clone() };
        let outside = || Outside::new(ThreadFederate::new(script(model.clone())));
        let run = run_of(model.clone()).protocol(protocol).seed(5).federates(5).threads(2);
        let run = run.outside(1, outside()).outside(3, outside()).publish(page.clone()).run();
        let report = run.expect("the model keeps the rules");
        assert_eq!(report.digest, self::run(Protocol::Sequential, None).0, "{protocol:?}");
        let seen = seen.load(Ordering::Relaxed);
        assert!(
            seen >= report.events && report.unpaced.is_none(),
            "{protocol:?}: {seen} of {}",
            report.events
        );
        assert_eq!(page.slots().expect("the page is in order"), [], "{protocol:?}: all slots are free again");
    }
}

#[test]
fn a_run_without_enough_slots_says_so_and_goes_on() {
    let page = Arc::new(Page::create_sealed(1).expect("there is memory"));
    let main = paceline_lvt::Publisher::claim(&page, "somebody else").expect("there is a slot");
    let (digest, events, seen, unpaced) = run(Protocol::Window, Some(page));
    assert_eq!((digest, seen), (run(Protocol::Window, None).0, 0), "{events} events");
    assert!(unpaced.expect("nobody could publish").ends_with("all 1 slots are taken"));
    drop(main);
}
