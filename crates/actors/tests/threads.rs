//! Processes on threads of their own: they may block, and they end as others do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use paceline_actors::{ContextKind, Process, Simulation};
use paceline_kernel::Time;
use paceline_network::{Constant, HostId};

const HERE: HostId = HostId(0);
const THERE: HostId = HostId(1);

fn world() -> Simulation<u32, Constant> {
    Simulation::new(Constant::new(1.0), &[(1e9, 2), (1e9, 2)])
}

fn secs(s: u64) -> Time {
    Time::secs(s)
}

#[test]
fn a_process_on_a_thread_of_its_own_may_block_and_ends_as_others_do() {
    let mut world = world().context(ContextKind::Thread).until(secs(1000));
    let dropped = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&dropped);
    /// Counts that it is dropped, and asks for something then, which nobody hears.
    struct Held(Process<u32>, Arc<AtomicU32>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.send_detached("last words", 1, 0.0);
        }
    }
    let blocks = world.spawn("blocks", HERE, async move |cx: Process<u32>| {
        let _held = Held(cx.clone(), counted);
        let block = |future| cx.block_on(future);
        block(cx.sleep(secs(1)));
        assert_eq!(cx.block_on(cx.receive("box")), Ok(3));
        cx.block_on(cx.sleep(secs(100)));
        unreachable!("it is killed while it blocks");
    });
    world.spawn("other", THERE, async move |cx: Process<u32>| {
        cx.send("box", 3, 1.0).await.unwrap();
        assert_eq!(cx.now(), secs(2));
        cx.kill(blocks);
    });
    // The run ends before this one has had enough: its thread ends too.
    let counted = Arc::clone(&dropped);
    world.spawn("daemon", HERE, async move |cx: Process<u32>| {
        cx.daemonize();
        let _counts = counts_its_end(counted);
        loop {
            cx.block_on(cx.sleep(secs(7)));
        }
    });
    world.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    let mut async_only = self::world();
    async_only.spawn("no", HERE, async |cx: Process<u32>| cx.block_on(cx.sleep(secs(1))));
    assert!(async_only.run().unwrap_err().to_string().contains("threads of their own"));
    let mut panics = self::world().context(ContextKind::Thread);
    panics.spawn("bad", HERE, async |cx: Process<u32>| {
        cx.sleep(secs(1)).await;
        panic!("on a thread");
    });
    assert_eq!(panics.run().unwrap_err().to_string(), "process 0 `bad` panicked at 1s: on a thread");
}

/// Counts when it is dropped.
fn counts_its_end(counter: Arc<AtomicU32>) -> impl Sized {
    struct Counts(Arc<AtomicU32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    Counts(counter)
}
