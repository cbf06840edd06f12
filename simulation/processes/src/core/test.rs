//! What is over is forgotten: after many short processes with all that they use, a core keeps no more than of
//! a few.

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};

use super::*;

/// One process after the other is spawned by the first; each does `acts` in its first turn, is answered, and
/// ends or is killed.
fn shorts(count: u64, acts: impl Fn(&mut Core<u64, Constant>, ProcessId, u64)) -> Core<u64, Constant> {
    let mut core: Core<u64, _> = Core::new(Constant::new(0.0), &[(1e9, 1); 2]);
    let boss = core.spawn(HostId(0), "boss".into());
    let mut round = Vec::new();
    let never = Request::Receive { from: "never".into(), limit: None };
    for number in 0..count {
        assert_eq!(core.next_round(Time::MAX, &mut round), Step::Round);
        let name = Name::from(&*format!("short {number}"));
        let host = HostId((number % 2) as u32);
        let child = core.request(boss, Request::Spawn { host, name }).expect("it is spawned");
        while core.next_round(Time::MAX, &mut round) == Step::Round && !round.contains(&child) {}
        acts(&mut core, child, number);
        core.request(boss, Request::Sleep(Time::nanos(5)));
        if number % 3 == 0 {
            core.request(boss, Request::Kill(child));
        } else {
            core.end(child);
        }
        core.take_killed();
    }
    core.next_round(Time::MAX, &mut round);
    core.request(boss, never);
    core.next_round(Time::MAX, &mut round);
    core
}

#[test]
fn processes_mailboxes_objects_and_entries_of_the_calendar_are_forgotten() {
    const COUNT: u64 = 30_000;
    let core = shorts(COUNT, |core, child, number| {
        let object = |kind| ObjectId { owner: child, number: 0, kind };
        let named = Mailbox::named(&format!("inbox of {number}"));
        core.request(child, Request::Put(object(ObjectKind::Queue), 1));
        core.request(child, Request::Get { queue: object(ObjectKind::Queue), limit: None });
        core.request(child, Request::Acquire { object: object(ObjectKind::Mutex), limit: None });
        core.request(child, Request::Release(object(ObjectKind::Mutex)));
        core.request(child, Request::Release(object(ObjectKind::Semaphore(2))));
        core.request(child, Request::Acquire { object: object(ObjectKind::Semaphore(2)), limit: None });
        core.request(child, Request::BarrierWait(object(ObjectKind::Barrier(1))));
        core.request(child, Request::StartReceive { activity: 0, from: (1 << 40 | number).into() });
        core.request(child, Request::StartCompute { activity: 1, flops: 1e15 });
        core.request(child, Request::Receive { from: named, limit: Some(Time::secs(1_000_000)) });
    });
    assert_eq!(core.counts().processes, COUNT + 1);
    let (processes, objects) = (core.processes.iter().count(), core.objects.len());
    let (mailboxes, entries) = (core.messages.named(), core.calendar.len());
    assert_eq!(processes, 1);
    // Looked at when there are so many.
    assert!(objects <= 1024 && mailboxes <= 1024 && entries <= 4096, "{objects} {mailboxes} {entries}");
    assert!(core.unreceived().is_empty());
}

#[test]
fn what_is_not_as_it_was_made_is_kept() {
    let (used, full) = (5, 7);
    let mut core = shorts(5000, |core, child, number| {
        let object = |kind| ObjectId { owner: child, number: 0, kind };
        if number == used {
            core.request(child, Request::Release(object(ObjectKind::Semaphore(1))));
        }
        if number == full {
            core.request(child, Request::Put(object(ObjectKind::Queue), 77));
        }
        let to = Mailbox::named(&format!("inbox of {number}"));
        let (payload, bytes) = (number, 0.0);
        if number % 1000 == 0 {
            core.request(child, Request::Detach { to, payload, bytes });
        } else {
            core.request(child, Request::Receive { from: to, limit: Some(Time::secs(9)) });
        }
    });
    let left: Vec<String> = core.unreceived().iter().map(|(mailbox, _)| mailbox.to_string()).collect();
    assert_eq!(left, [0, 1000, 2000, 3000, 4000].map(|number| format!("mailbox `inbox of {number}`")));
    let reader = core.spawn(HostId(0), "reader".into());
    let mut round = Vec::new();
    core.next_round(Time::MAX, &mut round);
    // The boss is process 0, and the others follow it.
    let object = |owner, kind| ObjectId { owner: ProcessId(owner as u32 + 1), number: 0, kind };
    let queue = object(full, ObjectKind::Queue);
    core.request(reader, Request::Get { queue, limit: None });
    core.next_round(Time::MAX, &mut round);
    assert_eq!(core.answer(reader), Some(Answer::Message(77)));
    let semaphore = object(used, ObjectKind::Semaphore(1));
    for taken in [true, true, false] {
        core.request(reader, Request::Acquire { object: semaphore, limit: Some(Time::ZERO) });
        core.next_round(Time::MAX, &mut round);
        assert_eq!(core.answer(reader), Some(Answer::Truth(taken)));
    }
}

#[test]
fn who_was_forgotten_has_ended_and_who_never_was_is_unknown() {
    let mut core = shorts(40, |_, _, _| {});
    let asks = core.spawn(HostId(0), "asks".into());
    let mut round = Vec::new();
    core.next_round(Time::MAX, &mut round);
    for other in 1..=40 {
        let process = ProcessId(other);
        core.request(asks, Request::Kill(process));
        core.request(asks, Request::Suspend(process));
        core.request(asks, Request::Resume(process));
        assert_eq!(core.waits_for(process), None);
        core.request(asks, Request::Join { process, limit: None });
        core.next_round(Time::MAX, &mut round);
        assert_eq!((core.answer(asks), core.take_killed()), (Some(Answer::Done), vec![]));
    }
    core.request(asks, Request::Join { process: ProcessId(42), limit: None });
    core.next_round(Time::MAX, &mut round);
    assert_eq!(core.answer(asks), Some(Answer::Failed(RequestError::Unknown)));
}

#[test]
fn an_item_that_comes_back_may_make_room_for_those_who_wait_to_put() {
    let mut core: Core<u64, _> = Core::new(Constant::new(0.0), &[(1e9, 1)]);
    let resource = ResourceId { owner: ResourceId::SETUP, number: 0, host: 0 };
    let kind = ResourceKind::Store { capacity: 2 };
    core.make(resource, ResourceSpec { name: None, is_sampled: true, has_quantiles: false, kind });
    let process = core.spawn(HostId(0), "all".into());
    core.next_round(Time::MAX, &mut Vec::new());
    let put = |item: u64| Want::Put { item: Value::new(item), priority: 0 };
    let is_even = |item: &Value| item.get::<u64>().is_some_and(|item| item % 2 == 0);
    let any = Want::Get { test: None, least: 1, most: 1 };
    let even = Want::Get { test: Some(Test(std::sync::Arc::new(is_even))), least: 2, most: 2 };
    // 0 is taken and not looked at, 3 waits for room, and only 2 is even of what is left.
    for (claim, want) in (0..).zip([put(0), put(1), any, put(2), put(3), even]) {
        core.request(process, Request::Claim { claim, resource, want, limit: Time::MAX });
    }
    let outcome =
        |core: &mut Core<_, _>, claim| Answer::take_outcome(&mut core.processes[process].answer, claim);
    assert_eq!((outcome(&mut core, 4), outcome(&mut core, 5)), (None, None), "both wait");
    core.request(process, Request::Withdraw { claim: 2, resource, unseen: None });
    assert!(matches!(outcome(&mut core, 5), Some(Outcome::Items(_, items)) if items.iter().all(is_even)));
    assert_eq!(outcome(&mut core, 4), Some(Outcome::Done), "0 and 2 are gone, 1 is there");
}
