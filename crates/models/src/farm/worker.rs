//! A worker: it says that it waits, does what it is given, and sends the result.
//!
//! Invariant: whenever it waits for a task, the master has been told since the last one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_kernel::Time;
use paceline_processes::Process;

use super::{ANSWER_BYTES, Message, Shared};

/// After how long a message that has failed is sent again.
const RETRY: Time = Time::secs(1);
/// The worker does not compute.
const IDLE: u64 = u64::MAX;

/// The process of worker `worker`. It starts again with its host.
pub(super) async fn run(cx: Process<Message>, worker: u32, shared: Arc<Shared>) {
    // The run ends with the master.
    cx.daemonize();
    let begun_ns = Arc::new(AtomicU64::new(IDLE));
    let (begun, outcome) = (Arc::clone(&begun_ns), Arc::clone(&shared.outcome));
    // Its host has failed: whoever had it fail has said when.
    cx.on_exit(move || {
        let failed_ns = outcome.failed_ns.load(Ordering::Relaxed);
        outcome.lost_ns.fetch_add(failed_ns.saturating_sub(begun.load(Ordering::Relaxed)), Ordering::Relaxed);
    });
    let mut answer = Message::Ready { worker };
    loop {
        while cx.send(shared.farm.master(), answer, ANSWER_BYTES).await.is_err() {
            cx.sleep(RETRY).await;
        }
        answer = Message::Ready { worker };
        if let Ok(Message::Task { task }) = cx.receive(u64::from(worker)).await {
            begun_ns.store(cx.now().as_nanos(), Ordering::Relaxed);
            if cx.compute(shared.farm.flops).await.is_ok() {
                answer = Message::Done { worker, task };
            }
            begun_ns.store(IDLE, Ordering::Relaxed);
        }
    }
}
