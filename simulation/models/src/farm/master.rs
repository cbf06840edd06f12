//! The master: it hands a task to each idle worker until it has the results of all tasks.
//!
//! A task is lost if its message fails, if its worker restarts after the message has arrived, or if its
//! result does not arrive within the time limit. A worker that has lost its task reports that it is idle as
//! soon as it is, so the master waits for no worker forever.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_processes::{Activity, Process};

use super::assignments::Assignments;
use super::{DONE, DUPLICATES, Message, Outcome, REASSIGNED, Shared};
use crate::inbox::Inbox;

/// The most messages that the master receives at a time.
const MOST_OPEN_RECEIVES: usize = 256;

pub(super) async fn run(cx: Process<Message>, shared: Arc<Shared>) {
    let (farm, outcome) = (&shared.farm, &shared.outcome);
    let mut assignments = Assignments::new(farm.tasks, farm.workers);
    let mut inbox = Inbox::open(&cx, farm.master(), MOST_OPEN_RECEIVES.min(farm.workers as usize));
    // Tasks in transit, each with its worker.
    let mut sending: Vec<(u32, Activity<Message>)> = Vec::new();
    while !assignments.is_over() {
        while let Some((worker, task)) = assignments.assign(cx.now().saturating_add(farm.limit)) {
            sending.push((worker, cx.start_send(u64::from(worker), Message::Task { task }, farm.bytes)));
        }
        // Tasks come first in the list: an arrived task is handled before what its worker sends after that.
        let mut open: Vec<&mut Activity<Message>> = sending.iter_mut().map(|(_, task)| task).collect();
        open.push(inbox.front());
        let limit = assignments.next_limit().saturating_sub(cx.now());
        let mut lost = None;
        match Activity::wait_any_within(&cx, &mut open, limit).await {
            Ok(place) if place < sending.len() => {
                let (worker, mut task) = sending.remove(place);
                lost = task.wait(&cx).await.is_err().then_some(worker);
            }
            Ok(_) => {
                let message = inbox.front().wait(&cx).await;
                inbox.renew(&cx);
                match message {
                    // If a task is in transit to a worker that has restarted, the worker will still get it.
                    Ok(Some(Message::Ready { worker })) if sending.iter().any(|(to, _)| *to == worker) => {}
                    Ok(Some(message)) => take_in(&cx, &mut assignments, outcome, message),
                    _ => {}
                }
            }
            Err(_) => lost = assignments.late(cx.now()),
        }
        if let Some(worker) = lost {
            // A task still in transit is cancelled.
            sending.retain(|(to, _)| *to != worker);
            cx.count(REASSIGNED, u64::from(assignments.lose(worker)));
        }
    }
}

/// The same where masters and workers are permanent receivers: tasks flow at once, and nothing is heard of
/// one that is lost but what its worker reports, or that no result arrives.
pub(super) async fn run_apart(cx: Process<Message>, shared: Arc<Shared>) {
    let (farm, outcome) = (&shared.farm, &shared.outcome);
    let mut assignments = Assignments::new(farm.tasks, farm.workers);
    while !assignments.is_over() {
        while let Some((worker, task)) = assignments.assign(cx.now().saturating_add(farm.limit)) {
            cx.send_detached(u64::from(worker), Message::Task { task }, farm.bytes);
        }
        let limit = assignments.next_limit().saturating_sub(cx.now());
        match cx.receive_within(farm.master(), limit).await {
            Ok(message) => take_in(&cx, &mut assignments, outcome, message),
            Err(_) => {
                if let Some(worker) = assignments.late(cx.now()) {
                    cx.count(REASSIGNED, u64::from(assignments.lose(worker)));
                }
            }
        }
    }
}

/// Takes in what a worker has sent.
fn take_in(cx: &Process<Message>, assignments: &mut Assignments, outcome: &Outcome, message: Message) {
    match message {
        Message::Ready { worker } => {
            cx.count(REASSIGNED, u64::from(assignments.lose(worker)));
            assignments.ready(worker);
        }
        Message::Done { worker, task } => {
            if assignments.finish(worker, task) {
                cx.record(u64::from(task));
                outcome.done_ns[task as usize].store(cx.now().as_nanos(), Ordering::Relaxed);
                cx.count(DONE, 1);
            } else {
                cx.count(DUPLICATES, 1);
            }
            assignments.ready(worker);
        }
        // Workers send no tasks.
        Message::Task { .. } => {}
    }
}
