//! A worker: it reports that it is idle, computes the tasks it is given, and sends the results.
//!
//! Invariant: whenever it waits for a task, it has reported that to the master since its last task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_kernel::Time;
use paceline_processes::Process;

use super::{ANSWER_BYTES, LOST_NS, Message, Shared};

/// The delay before a message that has failed is sent again.
const RETRY: Time = Time::secs(1);
/// Stands for "not computing".
const IDLE: u64 = u64::MAX;

/// The process of worker `worker`. It restarts with its host. A permanent receiver does not learn that a task
/// for it was lost on its way: it reports that it is idle again when the time limit of a task is over.
pub(super) async fn run(cx: Process<Message>, worker: u32, shared: Arc<Shared>) {
    // The run ends with the master.
    cx.daemonize();
    let begun_ns = Arc::new(AtomicU64::new(IDLE));
    // This runs when the host fails, by the farm's own process or by a profile of the platform.
    let (process, begun) = (cx.clone(), Arc::clone(&begun_ns));
    cx.on_exit(move || {
        let lost_ns = process.now().as_nanos().saturating_sub(begun.load(Ordering::Relaxed));
        process.count(LOST_NS, lost_ns);
    });
    let mut answer = Message::Ready { worker };
    loop {
        while cx.send(shared.farm.master(), answer, ANSWER_BYTES).await.is_err() {
            cx.sleep(RETRY).await;
        }
        answer = Message::Ready { worker };
        let mailbox = u64::from(worker);
        let received = match shared.farm.permanent_receivers {
            true => cx.receive_within(mailbox, shared.farm.limit).await,
            false => cx.receive(mailbox).await,
        };
        if let Ok(Message::Task { task }) = received {
            begun_ns.store(cx.now().as_nanos(), Ordering::Relaxed);
            if cx.compute(shared.farm.flops).await.is_ok() {
                answer = Message::Done { worker, task };
            }
            begun_ns.store(IDLE, Ordering::Relaxed);
        }
    }
}
