//! What becomes of a process that is suspended, killed, or loses its host, in every state that it can be in:
//! a table of states by interruptions, with the right log in each cell.
//!
//! The victim (`v`) is on host 1, a peer (`p`) on host 2, each with 4 cores of 1 Gf; a message takes 1 s.
//! They begin at 0, and the interruption comes at 2 s: the victim is suspended until 4 s or until 14 s;
//! killed; suspended and killed at 4 s; its host goes; its host goes and comes back at 3 s, and the victim
//! begins again. The logs say who heard of what at which second.
//!
//! Where they come from: SimGrid 3.32 (S4U, one program a row) says the same of sleeps, computations however
//! begun, time limits, sends, receives, semaphores and ends. It differs in three things, which are reasoned
//! here: messages of a suspended process stand still there and proceed here; a process that is killed at a
//! barrier still counts there, and leaves it here; a mutex of a process that is killed stays locked there,
//! and is released here. A message that was sent detached and waits for a receiver survives its host there,
//! and goes with it here.

mod tables;

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{
    Barrier, Condition, Mutex as Lock, Process, ProcessId, Queue, RequestError, Rounds, Semaphore, Simulation,
};

/// What befalls the victim: the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Nothing,
    SuspendedTill4,
    SuspendedTill14,
    Killed,
    SuspendedAndKilled,
    HostOff,
    HostOffAndOn,
}

const FATES: [Fate; 7] = [
    Fate::Nothing,
    Fate::SuspendedTill4,
    Fate::SuspendedTill14,
    Fate::Killed,
    Fate::SuspendedAndKilled,
    Fate::HostOff,
    Fate::HostOffAndOn,
];

type Body = fn(Process<u32>, World) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A row of the table.
struct State {
    name: &'static str,
    victim: Body,
    peer: Body,
    /// The log under each fate.
    right: [&'static str; 7],
}

/// One of each kind that processes can wait at.
type Objects = (Semaphore, Lock, Condition, Barrier, Queue);

/// What all of a world share.
#[derive(Clone, Default)]
struct World {
    log: Arc<Mutex<Vec<(Time, String)>>>,
    objects: Arc<OnceLock<Objects>>,
    peer: Arc<OnceLock<ProcessId>>,
}

impl World {
    /// Notes that `who` has heard of something.
    fn note(&self, cx: &Process<u32>, who: &str, what: &str) {
        let seconds = cx.now().as_nanos() as f64 / 1e9;
        self.log.lock().unwrap().push((cx.now(), format!("{who} {what}@{seconds}")));
    }

    fn objects(&self) -> (Semaphore, Lock, Condition, Barrier, Queue) {
        *self.objects.get().expect("they are made first")
    }
}

fn outcome<T>(result: &Result<T, RequestError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(RequestError::TimedOut) => "late",
        Err(RequestError::GivenUp) => "given up",
        Err(RequestError::HostOff) => "host off",
        Err(_) => "?",
    }
}

fn secs(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

async fn befall(cx: Process<u32>, victim: ProcessId, fate: Fate) {
    cx.sleep(secs(2.0)).await;
    match fate {
        Fate::Nothing => {}
        Fate::SuspendedTill4 | Fate::SuspendedTill14 => {
            cx.suspend(victim);
            cx.sleep_until(secs(if fate == Fate::SuspendedTill4 { 4.0 } else { 14.0 })).await;
            cx.resume(victim);
        }
        Fate::Killed => cx.kill(victim),
        Fate::SuspendedAndKilled => {
            cx.suspend(victim);
            cx.sleep(secs(2.0)).await;
            cx.kill(victim);
        }
        Fate::HostOff | Fate::HostOffAndOn => {
            cx.switch_off(HostId(1));
            cx.sleep(secs(1.0)).await;
            if fate == Fate::HostOffAndOn {
                cx.switch_on(HostId(1));
            }
        }
    }
}

/// The log of a state under a fate. The interruption may come from a process with a lower or with a higher
/// number than the victim's.
fn log(state: &State, fate: Fate, early: bool, threads: usize) -> String {
    let world = World::default();
    let mut simulation: Simulation<u32, Constant> =
        Simulation::new(Constant::new(1.0), &[(1e9, 4); 3]).threads(threads).rounds(Rounds::Always);
    simulation.place("desk", HostId(2));
    let notes = world.clone();
    simulation.spawn("makes", HostId(0), async move |cx: Process<u32>| {
        let objects = (cx.semaphore(0), cx.mutex(), cx.condition(), cx.barrier(2), cx.queue());
        assert!(notes.objects.set(objects).is_ok());
    });
    let (mut victim, (peer, body)) = (ProcessId(3), (world.clone(), state.peer));
    let interrupt = move |cx: Process<u32>, victim| befall(cx, victim, fate);
    if early {
        simulation.spawn("fate", HostId(0), move |cx| interrupt(cx, victim));
    }
    let peer = simulation.spawn("peer", HostId(2), move |cx| async move {
        cx.yield_now().await;
        body(cx, peer).await;
    });
    world.peer.set(peer).unwrap();
    let (notes, body) = (world.clone(), state.victim);
    let start = move |cx: Process<u32>| {
        let notes = notes.clone();
        async move {
            cx.yield_now().await;
            body(cx, notes).await;
        }
    };
    let expected = if early { victim } else { ProcessId(2) };
    victim = match fate {
        Fate::HostOffAndOn => simulation.spawn_restarting("victim", HostId(1), start),
        _ => simulation.spawn("victim", HostId(1), start),
    };
    assert_eq!(victim, expected);
    if !early {
        simulation.spawn("fate", HostId(0), move |cx| interrupt(cx, victim));
    }
    let ended = simulation.run();
    let mut log = std::mem::take(&mut *world.log.lock().unwrap());
    log.sort();
    let mut log: Vec<String> = log.into_iter().map(|(_, line)| line).collect();
    if let Err(error) = ended {
        assert!(error.to_string().starts_with("deadlock"), "{}: {error}", state.name);
        log.push("deadlock".into());
    }
    log.join(", ")
}

#[test]
fn every_state_takes_every_interruption_as_the_table_says() {
    let mut wrong = Vec::new();
    for state in tables::states() {
        for (fate, right) in FATES.into_iter().zip(state.right) {
            for (early, threads) in [(false, 1), (true, 1), (false, 2)] {
                let log = log(&state, fate, early, threads);
                if log != right {
                    wrong.push(format!("{}, {fate:?}, early: {early}: {log}; right: {right}", state.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn who_was_suspended_stays_so_until_it_is_resumed_however_often_and_whatever_else_happens() {
    let world = World::default();
    let mut simulation: Simulation<u32, Constant> = Simulation::new(Constant::new(1.0), &[(1e9, 1); 3]);
    let notes = world.clone();
    let worker = simulation.spawn("worker", HostId(1), async move |cx: Process<u32>| {
        let mut held = cx.start_compute(4e9);
        cx.compute(2e9).await.unwrap();
        notes.note(&cx, "v", "2");
        held.wait(&cx).await.unwrap();
        notes.note(&cx, "v", "4");
        let alone = cx.start_compute(5e9);
        cx.yield_now().await;
        cx.yield_now().await;
        alone.test(&cx).await;
        cx.sleep(secs(1.0)).await;
        notes.note(&cx, "v", "again");
        alone.detach();
    });
    let notes = world.clone();
    simulation.spawn("beside", HostId(1), async move |cx: Process<u32>| {
        cx.sleep(secs(12.0)).await;
        // The detached computation has had 3 of its 5 Gf, and the core is shared from now on.
        cx.compute(1e9).await.unwrap();
        notes.note(&cx, "b", "1");
    });
    simulation.spawn("boss", HostId(0), async move |cx: Process<u32>| {
        cx.resume(worker);
        cx.suspend(ProcessId(99));
        cx.sleep(secs(1.0)).await;
        for (until, suspends) in
            [(2.0, true), (3.0, true), (4.0, false), (4.5, false), (5.5, true), (6.0, false)]
        {
            if suspends {
                cx.suspend(worker)
            } else {
                cx.resume(worker)
            }
            cx.sleep_until(secs(until)).await;
        }
        // In one turn: nothing has happened.
        cx.suspend(worker);
        cx.resume(worker);
    });
    // One core: 2 Gf each of two in 4 s of work, of which 1 to 3 and 4.5 to 5.5 are suspended; then 2 Gf more
    // of one.
    simulation.run().unwrap();
    let log: Vec<String> = world.log.lock().unwrap().drain(..).map(|(_, line)| line).collect();
    assert_eq!(log, ["v 2@7", "v 4@9", "v again@10", "b 1@14"]);
}

#[test]
fn a_process_that_came_back_and_went_in_one_turn_never_began() {
    let world = World::default();
    let mut simulation: Simulation<u32, Constant> = Simulation::new(Constant::new(1.0), &[(1e9, 1); 3]);
    let notes = world.clone();
    simulation.spawn_restarting("victim", HostId(1), move |cx| {
        let notes = notes.clone();
        async move {
            notes.note(&cx, "v", "begins");
            cx.sleep(secs(10.0)).await;
            notes.note(&cx, "v", "ends");
        }
    });
    simulation.spawn("fate", HostId(0), async |cx: Process<u32>| {
        let host = HostId(1);
        cx.sleep(secs(2.0)).await;
        cx.switch_off(host);
        cx.switch_off(host);
        cx.sleep(secs(1.0)).await;
        cx.switch_on(host);
        cx.switch_off(host);
        cx.sleep(secs(1.0)).await;
        cx.switch_on(host);
        cx.switch_on(host);
    });
    simulation.run().unwrap();
    let log: Vec<String> = world.log.lock().unwrap().drain(..).map(|(_, line)| line).collect();
    assert_eq!(log, ["v begins@0", "v begins@4", "v ends@14"]);
}
