//! Processes with stacks of their own, on coroutines or threads: they may block, and they end as others do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use paceline_processes::{ContextKind, Process, Rounds, RunError};

use super::{HERE, THERE, run, secs, world};

#[test]
fn a_process_with_a_stack_of_its_own_may_block_and_ends_as_others_do() {
    for threads in [1, 3] {
        let digests = [ContextKind::Thread, ContextKind::Coroutine].map(|context| blocks(context, threads));
        assert_eq!(digests[0], digests[1], "{threads} threads");
    }
}

fn blocks(context: ContextKind, threads: usize) -> String {
    let mut world = world().context(context).until(secs(1000)).threads(threads).rounds(Rounds::Always);
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
    let report = run(world);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    let mut async_only = self::world();
    async_only.spawn("no", HERE, async |cx: Process<u32>| cx.block_on(cx.sleep(secs(1))));
    assert!(async_only.run().unwrap_err().to_string().contains("stacks of their own"));
    let mut panics = self::world().context(context);
    panics.spawn("bad", HERE, async |cx: Process<u32>| {
        cx.block_on(cx.sleep(secs(1)));
        panic!("on a stack");
    });
    assert_eq!(panics.run().unwrap_err().to_string(), "process 0 `bad` on host 0 panicked at 1s: on a stack");
    let mut stuck = self::world().context(context).threads(threads);
    stuck.spawn("waits", HERE, async |cx: Process<u32>| {
        assert_eq!(cx.block_on(cx.receive("nothing")), Ok(0));
    });
    let error = stuck.run().unwrap_err().to_string();
    assert!(error.contains("`waits`") && error.contains("nothing"), "{error}");
    report.digest.to_string()
}

#[test]
fn whoever_blocks_when_a_run_ends_early_is_dropped() {
    for threads in [1, 3] {
        let dropped = Arc::new(AtomicU32::new(0));
        let mut world = world().context(ContextKind::Coroutine).threads(threads).rounds(Rounds::Always);
        for number in 0..50 {
            let counted = Arc::clone(&dropped);
            world.spawn("blocks", HERE, async move |cx: Process<u32>| {
                let _counts = counts_its_end(counted);
                cx.sleep(secs(number % 3)).await;
                cx.block_on(cx.sleep(secs(10)));
                unreachable!("the run ends before");
            });
        }
        world.spawn("bad", THERE, async |cx: Process<u32>| {
            cx.sleep(secs(5)).await;
            panic!("that is enough");
        });
        assert!(matches!(world.run(), Err(RunError::Panic { .. })));
        assert_eq!(dropped.load(Ordering::Relaxed), 50, "{threads} threads");
    }
}

#[test]
fn a_simulation_within_a_process_that_blocks_does_not_touch_it() {
    let mut outer = world().context(ContextKind::Coroutine);
    for number in 1..4 {
        outer.spawn("outer", HERE, async move |cx: Process<u32>| {
            for context in [ContextKind::Coroutine, ContextKind::Thread, ContextKind::Coroutine] {
                let mut inner = world().context(context).threads(2).rounds(Rounds::Always);
                for _ in 0..3 {
                    inner.spawn("inner", THERE, async |cx: Process<u32>| cx.block_on(cx.sleep(secs(3))));
                }
                assert_eq!(run(inner).end_time, secs(3));
                let mut inner = world();
                inner.spawn("future", HERE, async |cx: Process<u32>| cx.block_on(cx.yield_now()));
                assert!(inner.run().unwrap_err().to_string().contains("stacks of their own"));
                cx.block_on(cx.sleep(secs(number)));
            }
            assert_eq!(cx.now(), secs(3 * number));
        });
    }
    assert_eq!(run(outer).end_time, secs(9));
}

#[test]
fn many_that_block_fit_beside_each_other() {
    // Each needs a stack; and guards that each took a mapping would be too many.
    let many = if cfg!(target_os = "linux") { 100 } else { 10 };
    let mut world = world().context(ContextKind::Coroutine);
    for _ in 0..many {
        world.spawn("blocks", HERE, async |cx: Process<u32>| {
            (0..3).for_each(|_| cx.block_on(cx.yield_now()));
        });
    }
    assert_eq!(run(world).counts.steps, many * 4);
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
