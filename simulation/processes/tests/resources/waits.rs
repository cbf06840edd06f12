//! Stores, containers, events, states and interrupts.

use paceline_processes::{Container, ContextKind, Event, RequestError, State, all_of, any_of};

use super::*;

#[test]
fn items_are_taken_by_priority_by_test_and_in_batches() {
    let (mut world, log) = (world(), Log::default());
    let shelf: Store<u64> = world.make(HERE, Spec::store().room(3).named("shelf"));
    let takers: [(&str, u64); 4] = [("even", 0), ("three", 1), ("any", 2), ("late", 8)];
    for (name, comes) in takers {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            let taken = match name {
                "even" => shelf.get_if(&cx, |item| item % 2 == 0).await.map(|item| vec![item]),
                "three" => shelf.get_batch(&cx, 3).await,
                "any" => shelf.get(&cx).within(secs(2)).await.map(|item| vec![item]),
                _ => shelf.get_some(&cx, 1, 9).await,
            };
            log.note(&cx, &format!("{taken:?}"));
        });
    }
    let puts = log.clone();
    world.spawn("maker", HERE, async move |cx: Process<()>| {
        cx.hold(secs(3)).await.unwrap();
        for item in [1, 3, 5, 2, 7, 9, 11, 4] {
            // "any" takes 1, "three" takes 3, 5 and 7, "even" takes 2.
            shelf.put_with_priority(&cx, item, -(item as i64)).await.unwrap();
        }
        puts.note(&cx, "has put all");
    });
    let right = [
        "any Ok([1])@3",
        "even Ok([2])@3",
        "three Ok([7, 5, 3])@3",
        "maker has put all@3",
        "late Ok([11, 9, 4])@8",
    ];
    assert_eq!(log.of(world), right);
}

#[test]
fn who_puts_waits_for_room_and_what_was_given_unseen_goes_back() {
    let (mut world, log) = (world(), Log::default());
    let shelf: Store<u64> = world.make(HERE, Spec::store().room(1).named("shelf"));
    let victim = {
        let log = log.clone();
        world.spawn("victim", HERE, async move |cx: Process<()>| {
            shelf.get(&cx).await.unwrap();
            log.note(&cx, "has it");
        })
    };
    let (puts, gets) = (log.clone(), log.clone());
    world.spawn("maker", HERE, async move |cx: Process<()>| {
        cx.hold(secs(1)).await.unwrap();
        // The victim is killed in the instant in which it is given the item, before it sees it.
        let first = shelf.put(&cx, 7);
        cx.kill(victim);
        first.await.unwrap();
        shelf.put(&cx, 8).await.unwrap();
        puts.note(&cx, "has put both");
        assert_eq!(shelf.put(&cx, 9).within(secs(1)).await, Err(WaitError::TimedOut));
    });
    world.spawn("taker", HERE, async move |cx: Process<()>| {
        cx.hold(secs(2)).await.unwrap();
        gets.note(&cx, &format!("{:?}", shelf.get(&cx).await));
        cx.hold(secs(4)).await.unwrap();
        gets.note(&cx, &format!("{:?} {:?}", shelf.try_get(&cx).await, shelf.try_get(&cx).await));
    });
    assert_eq!(log.of(world), ["maker has put both@2", "taker Ok(7)@2", "taker Some(8) None@6"]);
}

#[test]
fn who_needs_much_holds_up_who_needs_little() {
    let (mut world, log) = (world(), Log::default());
    let tank: Container = world.make(HERE, Spec::container(10.0, 5.0).named("tank"));
    for (name, comes, liters) in [("much", 0, 8.0), ("little", 1, 1.0), ("greedy", 2, 11.0), ("late", 3, 2.0)]
    {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            let limit = if name == "late" { secs(1) } else { Time::MAX };
            let got = tank.get(&cx, liters).within(limit).await;
            log.note(&cx, &got.map_or_else(|error| error.to_string(), |()| "has it".into()));
        });
    }
    let truck = log.clone();
    world.spawn("truck", HERE, async move |cx: Process<()>| {
        cx.hold(secs(6)).await.unwrap();
        tank.put(&cx, 5.0).await.unwrap();
        truck.note(&cx, "is empty");
    });
    let right = [
        "greedy more is asked for than there is at any time@2",
        "late the time limit has expired@4",
        "much has it@6",
        "little has it@6",
        "truck is empty@6",
    ];
    assert_eq!(log.of(world), right);
}

#[test]
fn an_event_reaches_all_who_wait_then_and_later() {
    let (mut world, log) = (world(), Log::default());
    let (good, bad): (Event<u64>, Event<u64>) = (world.event(HERE), world.event(HERE));
    for (name, comes) in [("early", 0), ("late", 5)] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            log.note(&cx, &format!("{:?}", good.wait(&cx).await));
            log.note(&cx, &bad.wait(&cx).await.unwrap_err().to_string());
        });
    }
    world.spawn("cause", HERE, async move |cx: Process<()>| {
        cx.hold(secs(2)).await.unwrap();
        assert_eq!(good.value(&cx).await, Ok(None));
        good.succeed(&cx, 7);
        good.succeed(&cx, 8);
        assert_eq!(good.value(&cx).await, Ok(Some(7)), "it happens once");
        bad.fail(&cx, "no power");
    });
    let failed = "the event failed: no power";
    let right = ["early Ok(7)@2", &format!("early {failed}@2"), "late Ok(7)@5", &format!("late {failed}@5")];
    assert_eq!(log.of(world), right);
}

#[test]
fn a_state_wakes_those_whose_condition_it_meets() {
    let (mut world, log) = (world(), Log::default());
    let level: State<u64> = world.state(HERE, 0);
    for (name, least) in [("low", 1), ("high", 3), ("never", 9)] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            let reached = level.wait_until(&cx, move |level| *level >= least).within(secs(5)).await;
            log.note(&cx, &format!("{reached:?}"));
        });
    }
    world.spawn("pump", HERE, async move |cx: Process<()>| {
        for _ in 0..4 {
            cx.hold(secs(1)).await.unwrap();
            level.update(&cx, |level| level + 1);
        }
        assert_eq!(level.get(&cx).await, Ok(4));
        level.set(&cx, 0);
    });
    assert_eq!(log.of(world), ["low Ok(1)@1", "high Ok(3)@3", "never Err(TimedOut)@5"]);
}

#[test]
fn an_interrupt_ends_the_wait_with_its_cause_and_what_was_left() {
    let (mut world, log) = (world(), Log::default());
    let desk = world.make(HERE, Spec::resource(1).named("desk"));
    let names = ["holds", "queues", "served", "sleeps", "receives"];
    let victims = names.map(|name| {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            let error = match name {
                "holds" => cx.hold(secs(10)).await.unwrap_err(),
                "served" => desk.serve(&cx, secs(10)).await.unwrap_err(),
                "queues" => {
                    cx.hold(Time::millis(1)).await.unwrap();
                    desk.request(&cx).await.unwrap_err()
                }
                "sleeps" => {
                    cx.sleep(secs(5)).await;
                    cx.hold(secs(3)).await.unwrap_err()
                }
                _ => {
                    assert_eq!(cx.receive("nobody").await, Err(RequestError::Interrupted));
                    cx.interruption().await.unwrap()
                }
            };
            log.note(&cx, &format!("{} {}", error.cause::<String>().unwrap(), error.left().unwrap()));
        })
    });
    world.spawn("boss", HERE, async move |cx: Process<()>| {
        for victim in victims {
            cx.hold(Time::millis(500)).await.unwrap();
            cx.interrupt(victim, "go".to_owned());
        }
    });
    let right =
        ["holds go 9.5s@0.5", "queues go 0s@1", "served go 8.5s@1.5", "receives go 0s@2.5", "sleeps go 3s@5"];
    assert_eq!(log.of(world), right);
}

#[test]
fn several_waits_are_one_for_the_first_or_for_all() {
    let (mut world, log) = (world(), Log::default());
    let [left, right, third] = [0; 3].map(|_| world.resource(HERE, 1));
    world.spawn("holder", HERE, async move |cx: Process<()>| {
        third.serve(&cx, secs(10)).await.unwrap();
    });
    for name in ["both", "other"] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            let held = all_of([left.request(&cx), right.request(&cx)]).await;
            assert!(held.iter().all(Result::is_ok));
            log.note(&cx, "has both");
            let (first, _) = any_of([cx.hold(secs(9)), cx.hold(secs(3)), cx.hold(secs(5))]).await;
            log.note(&cx, &first.to_string());
        });
    }
    let message = log.clone();
    world.spawn("plain", HERE, async move |cx: Process<()>| {
        select! {
            got = cx.receive("nobody") => panic!("{got:?}"),
            _ = left.request(&cx) => message.note(&cx, "has one"),
        }
        // What is pinned is answered while its process does something else, and seen later.
        let mut waits = std::pin::pin!(third.request(&cx));
        select! {
            _ = &mut waits => panic!("it is held"),
            _ = cx.hold(Time::TICK) => {}
        }
        cx.sleep(secs(20)).await;
        let held = waits.await.unwrap();
        message.note(&cx, &format!("waited {}", held.waited()));
    });
    let right = [
        "both has both@0",
        "both 1@3",
        "other has both@3",
        "other 1@6",
        "plain has one@6",
        "plain waited 4s@26.000000001",
    ];
    assert_eq!(log.of(world), right);
}

#[test]
fn who_drops_a_wait_gives_up_its_place_and_what_it_did_not_look_at() {
    let (mut world, log) = (world(), Log::default());
    let desk = world.resource(HERE, 1);
    let shelf: Store<u64> = world.store(HERE);
    world.spawn("holder", HERE, async move |cx: Process<()>| {
        desk.serve(&cx, secs(4)).await.map(drop).unwrap()
    });
    world.spawn("drops", HERE, async move |cx: Process<()>| {
        select! {
            _ = desk.request(&cx) => panic!("it is held"),
            _ = cx.hold(secs(1)) => {}
        }
        {
            let mut item = std::pin::pin!(shelf.get(&cx));
            select! {
                _ = &mut item => panic!("there is none"),
                _ = cx.hold(secs(1)) => {}
            }
            // The item comes meanwhile.
            cx.sleep(secs(4)).await;
        }
        cx.sleep(secs(100)).await;
    });
    let (serves, gets) = (log.clone(), log.clone());
    world.spawn("next", HERE, async move |cx: Process<()>| {
        cx.hold(secs(2)).await.unwrap();
        let served = desk.serve(&cx, secs(1)).await.unwrap();
        serves.note(&cx, &format!("waited {}", served.waited));
    });
    world.spawn("taker", HERE, async move |cx: Process<()>| {
        cx.hold(secs(3)).await.unwrap();
        gets.note(&cx, &format!("{:?}", shelf.get(&cx).await));
    });
    world.spawn("maker", HERE, async move |cx: Process<()>| {
        cx.hold(secs(4)).await.unwrap();
        shelf.put(&cx, 7).await.unwrap();
    });
    assert_eq!(log.of(world), ["next waited 2s@5", "taker Ok(7)@6"]);
}

#[test]
fn of_waits_alike_the_first_ends_first_and_all_of_waits_for_each() {
    let (mut world, log) = (world(), Log::default());
    let notes = log.clone();
    let waiter = world.spawn("waits", HERE, async move |cx: Process<()>| {
        let (first, _) = any_of([cx.hold(secs(3)), cx.hold(secs(3))]).await;
        notes.note(&cx, &first.to_string());
        let both = all_of([cx.hold(secs(5)), cx.hold(secs(2))]).await;
        notes.note(&cx, &format!("{both:?}"));
        let both = all_of([cx.hold(secs(9)), cx.hold(secs(20))]).await;
        notes.note(&cx, &format!("{:?} {:?}", both[0].clone().map_err(|error| error.left()), both[1]));
    });
    world.spawn("interrupts", HERE, async move |cx: Process<()>| {
        cx.hold(secs(10)).await.unwrap();
        cx.interrupt(waiter, "go".to_owned());
    });
    // The third pair begins at 8.
    let right = ["waits 0@3", "waits [Ok(()), Ok(())]@8", "waits Err(Some(7s)) Ok(())@28"];
    assert_eq!(log.of(world), right);
}

#[test]
fn who_looks_sees_what_was_there_when_its_round_began_and_what_it_has_done_itself() {
    // More than are handed in at once on one thread.
    const MANY: usize = 2_500;
    let run = |mut world: World, processes: usize| {
        let (tank, done) = (world.container(HERE, 1e4, 1e4), world.state(HERE, 0));
        let saw = Arc::new(Mutex::new(vec![(0.0, 0); processes]));
        for number in 0..processes {
            let saw = Arc::clone(&saw);
            world.spawn("looks", HERE, async move |cx: Process<()>| {
                cx.hold(secs(1)).await.unwrap();
                let (level, others) = (tank.levels(&cx).await.unwrap().level, done.get(&cx).await.unwrap());
                done.set(&cx, others + 1);
                assert_eq!(done.get(&cx).await, Ok(1), "its own change is there, and all saw none");
                tank.get(&cx, 1.0).await.unwrap();
                saw.lock().unwrap()[number] = (level, others);
            });
        }
        let digest = world.run().unwrap().digest;
        let saw = std::mem::take(&mut *saw.lock().unwrap());
        assert!(saw.iter().all(|seen| *seen == (1e4, 0)), "{saw:?}");
        digest
    };
    let on_two = || world().threads(2).rounds(paceline_processes::Rounds::Always);
    let digest = run(world(), MANY);
    assert_eq!((run(on_two(), MANY), run(world().federates(2), MANY)), (digest, digest));
    // Code that runs on stacks of its own, or on threads, is lent the same.
    let digest = run(world(), 40);
    for context in [ContextKind::Coroutine, ContextKind::Thread] {
        let runs = [world(), on_two()].map(|world| run(world.context(context), 40));
        assert_eq!(runs, [digest; 2], "{context:?}");
    }
}
