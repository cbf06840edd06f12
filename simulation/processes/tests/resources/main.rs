//! What each thing means that processes wait for at resources: who gets what, when, and what is left of those
//! who leave. The times are hand calculations.

mod examples;
mod random;
mod theory;
mod waits;

use std::sync::{Arc, Mutex};

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::{Preempted, Spec};
use paceline_processes::{
    Measured, Process, Report, Resource, RunError, Simulation, Store, WaitError, select,
};

const HERE: HostId = HostId(0);

type World = Simulation<(), Constant>;

fn world() -> World {
    Simulation::new(Constant::new(1.0), &[(1e9, 1), (1e9, 1)])
}

fn secs(seconds: u64) -> Time {
    Time::secs(seconds)
}

/// What happened, and when.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, cx: &Process<()>, what: &str) {
        self.0.lock().unwrap().push(format!("{} {what}@{}", cx.name(), cx.now().as_secs_f64()));
    }

    /// Runs to the end; what was noted.
    fn of(&self, world: World) -> Vec<String> {
        world.run().unwrap_or_else(|error| panic!("{error}"));
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn run(world: World) -> Report {
    world.run().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn requests_are_granted_by_priority_and_then_in_the_order_of_coming() {
    let (mut world, log) = (world(), Log::default());
    let desk = world.make(HERE, Spec::resource(1).named("desk"));
    for (name, comes, priority) in [("a", 0, 5), ("b", 1, 5), ("c", 2, 5), ("d", 3, -1), ("e", 4, 9)] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            let held = desk.request(&cx).priority(priority).await.unwrap();
            log.note(&cx, &format!("waited {}", held.waited()));
            cx.hold(secs(10)).await.unwrap();
            held.release();
        });
    }
    let right = ["a waited 0s@0", "d waited 7s@10", "b waited 19s@20", "c waited 28s@30", "e waited 36s@40"];
    assert_eq!(log.of(world), right);
}

#[test]
fn what_is_preempted_gets_its_rest_before_others_of_its_priority() {
    for (then, right) in [
        (Preempted::Resume, ["urgent 0@5", "first 1@13", "second 0@23"]),
        (Preempted::Repeat, ["urgent 0@5", "first 1@15", "second 0@25"]),
        (Preempted::Leave, ["first left 8s@2", "urgent 0@5", "second 0@15"]),
    ] {
        let (mut world, log) = (world(), Log::default());
        let machine = world.resource(HERE, 1);
        for (name, comes, priority, takes) in [("first", 0, 1, 10), ("second", 1, 1, 10), ("urgent", 2, 0, 3)]
        {
            let log = log.clone();
            world.spawn(name, HERE, async move |cx: Process<()>| {
                cx.hold(secs(comes)).await.unwrap();
                let service = machine.serve(&cx, secs(takes)).priority(priority).preempting();
                match service.after_preemption(then).await {
                    Ok(served) => log.note(&cx, &served.preemptions.to_string()),
                    Err(error) => log.note(&cx, &format!("left {}", error.left().unwrap())),
                }
            });
        }
        assert_eq!(log.of(world), right, "{then:?}");
    }
}

#[test]
fn who_holds_a_unit_learns_of_its_preemption_whatever_it_waits_for() {
    let (mut world, log) = (world(), Log::default());
    let machine = world.resource(HERE, 1);
    let never: Store<u32> = world.store(HERE);
    let held = [("holds", 0), ("gets", 1), ("sleeps", 2)];
    for (number, (name, what)) in (0..).zip(held) {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.hold(secs(10 * number)).await.unwrap();
            let _unit = machine.request(&cx).priority(3).await.unwrap();
            let lost = match what {
                0 => cx.hold(secs(9)).await,
                1 => never.get(&cx).await.map(drop),
                _ => {
                    cx.sleep(secs(6)).await;
                    cx.hold(secs(2)).await
                }
            };
            let Err(WaitError::Preempted(lost)) = lost else { panic!("{lost:?}") };
            log.note(&cx, &format!("had it since {}, lacks {}", lost.since, lost.left));
        });
        world.spawn("takes", HERE, async move |cx: Process<()>| {
            cx.hold(secs(10 * number + 4)).await.unwrap();
            machine.serve(&cx, secs(1)).preempting().await.unwrap();
        });
    }
    let right = [
        "holds had it since 0s, lacks 5s@4",
        "gets had it since 10s, lacks 0s@14",
        "sleeps had it since 20s, lacks 2s@26",
    ];
    assert_eq!(log.of(world), right);
}

#[test]
fn units_are_released_by_scope_in_any_order_and_by_whoever_ends() {
    let (mut world, log) = (world(), Log::default());
    let (one, two) = (world.resource(HERE, 1), world.resource(HERE, 3));
    let victim = world.spawn("victim", HERE, async move |cx: Process<()>| {
        let first = one.request(&cx).await.unwrap();
        let mut three = two.request(&cx).units(3).await.unwrap();
        cx.hold(secs(1)).await.unwrap();
        drop(first);
        cx.hold(secs(1)).await.unwrap();
        three.release_some(1);
        cx.hold(secs(100)).await.unwrap();
    });
    world.spawn("killer", HERE, async move |cx: Process<()>| {
        cx.hold(secs(7)).await.unwrap();
        cx.kill(victim);
    });
    for (name, what, units) in [("w", one, 1), ("x", two, 1), ("y", two, 2)] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.yield_now().await;
            cx.yield_now().await;
            let _held = what.request(&cx).units(units).await.unwrap();
            log.note(&cx, "has it");
            cx.hold(secs(1)).await.unwrap();
        });
    }
    assert_eq!(log.of(world), ["w has it@1", "x has it@2", "y has it@7"]);
}

#[test]
fn one_may_renege_balk_or_look_before_one_waits() {
    let (mut world, log) = (world(), Log::default());
    let desk = world.make(HERE, Spec::resource(1).named("desk"));
    for (name, comes) in [("served", 0), ("waits", 1), ("balks", 2), ("looks", 3), ("tries", 4)] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            let what = match cx.name() {
                "served" => desk.serve(&cx, secs(20)).await.err(),
                "waits" => desk.request_within(&cx, secs(5)).await.err(),
                "balks" => desk.request(&cx).balking_at(1).await.err(),
                "looks" => {
                    let levels = desk.levels(&cx).await.unwrap();
                    assert_eq!((levels.waiting, levels.level, levels.capacity), (1, 1.0, 1.0));
                    None
                }
                _ => desk.try_request(&cx).await.is_none().then_some(WaitError::Balked),
            };
            log.note(&cx, &what.map_or("done".to_owned(), |error| error.to_string()));
        });
    }
    let right = [
        "balks too many others wait@2",
        "looks done@3",
        "tries too many others wait@4",
        "waits the time limit has expired@6",
        "served done@20",
    ];
    assert_eq!(log.of(world), right);
}

#[test]
fn statistics_are_exact_and_by_time() {
    let mut world = world();
    let desk = world.make(HERE, Spec::resource(2).named("desk").with_quantiles());
    for (comes, takes) in [(0, 10), (0, 4), (1, 5), (2, 5)] {
        world.spawn("customer", HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            desk.serve(&cx, secs(takes)).await.unwrap();
        });
    }
    // 0-4 two are served; 4-9 and 9-14 the third and the fourth, beside the first until 10.
    let report = run(world);
    let desk = report.resource("desk").unwrap();
    assert_eq!((desk.span, report.end_time), (secs(14), secs(14)));
    assert_eq!(desk.mean_waiting, Some((3.0 + 7.0) / 14.0));
    assert_eq!((desk.most_waiting, desk.most_level), (2, 2.0));
    assert_eq!(desk.mean_level, Some(24.0 / 14.0));
    assert_eq!(desk.utilisation, Some(24.0 / 28.0));
    assert_eq!((desk.waits.count(), desk.waits.mean_s()), (4, Some(2.5)));
    assert_eq!((desk.waits.greatest(), desk.served.mean_s()), (Some(secs(7)), Some(6.0)));
    // The squares of the distances of 0, 0, 3 and 7 from their mean add up to 33.
    assert!((desk.waits.deviation_s().unwrap() - (33f64 / 3.0).sqrt()).abs() < 1e-12);
    assert!((desk.waits.quantile_s(0.75).unwrap() - 3.0).abs() < 0.02);
    assert_eq!((desk.counts.requested, desk.counts.granted, desk.counts.reneged), (4, 4, 0));
}

#[test]
fn a_service_that_is_preempted_counts_once_with_all_its_time() {
    for (then, mean_s, ends) in [(Preempted::Resume, 6.5, 13.0), (Preempted::Repeat, 7.5, 15.0)] {
        let mut world = world();
        let machine = world.make(HERE, Spec::resource(1).named("machine"));
        for (comes, priority, takes) in [(0, 1, 10), (2, 0, 3)] {
            world.spawn("customer", HERE, async move |cx: Process<()>| {
                cx.hold(secs(comes)).await.unwrap();
                let service = machine.serve(&cx, secs(takes)).priority(priority).preempting();
                service.after_preemption(then).await.unwrap();
            });
        }
        // The first is served 0-2 and from 5 on, in all 10 or 12, the other 2-5. Both have a unit at once.
        let report = run(world);
        let machine = report.resource("machine").unwrap();
        let (served, counts) = (&machine.served, &machine.counts);
        assert_eq!((served.count(), served.mean_s()), (2, Some(mean_s)));
        assert_eq!((machine.waits.count(), machine.waits.greatest()), (2, Some(Time::ZERO)));
        assert_eq!((counts.requested, counts.granted, counts.preempted), (2, 2, 1));
        assert_eq!((machine.utilisation, machine.mean_waiting), (Some(1.0), Some(3.0 / ends)));
    }
}

#[test]
fn who_leaves_is_counted_and_waits_no_longer() {
    let mut world = world();
    let desk = world.make(HERE, Spec::resource(1).named("desk"));
    for (comes, patience) in [(0, Time::MAX), (1, secs(5)), (2, Time::MAX)] {
        world.spawn("customer", HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            let is_served = desk.serve(&cx, secs(20)).balking_at(1).within(patience).await.is_ok();
            assert_eq!(is_served, comes == 0);
        });
    }
    let report = run(world);
    let desk = report.resource("desk").unwrap();
    let counts = desk.counts;
    assert_eq!((counts.requested, counts.granted, counts.reneged, counts.balked), (3, 1, 1, 1));
    // One waits from 1 to 6, of 20 seconds.
    assert_eq!((desk.mean_waiting, desk.most_waiting), (Some(5.0 / 20.0), 1));
}

#[test]
fn what_is_before_the_warm_up_is_not_measured() {
    let mut world = world().measure_from(secs(5));
    let desk = world.make(HERE, Spec::resource(1).named("desk"));
    let tank = world.make(HERE, Spec::container(10.0, 4.0).named("tank"));
    for (comes, takes) in [(0, 4), (1, 6), (6, 10)] {
        world.spawn("customer", HERE, async move |cx: Process<()>| {
            cx.hold(secs(comes)).await.unwrap();
            tank.get(&cx, 1.0).await.unwrap();
            desk.serve(&cx, secs(takes)).await.unwrap();
        });
    }
    let report = run(world);
    let (desk, tank) = (report.resource("desk").unwrap(), report.resource("tank").unwrap());
    assert_eq!((desk.span, desk.counts.requested, desk.waits.mean_s()), (secs(15), 1, Some(4.0)));
    assert_eq!((desk.mean_waiting, desk.utilisation), (Some(4.0 / 15.0), Some(1.0)));
    assert_eq!((tank.mean_level, tank.most_level), (Some((2.0 + 14.0) / 15.0), 2.0));
}

#[test]
fn shifts_and_breakdowns_change_how_many_units_there_are() {
    let (mut world, log) = (world(), Log::default());
    // One unit from 2 to 6, and again from 12 to 16.
    let shifts = Spec::resource(0).shifts(secs(10), [(secs(2), 1), (secs(6), 0)]).preempting_at_closing();
    let clerk = world.make(HERE, shifts.named("clerk"));
    for name in ["one", "two"] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            let served = clerk.serve(&cx, secs(3)).await.unwrap();
            log.note(&cx, &format!("was preempted {} times", served.preemptions));
        });
    }
    assert_eq!(log.of(world), ["one was preempted 0 times@5", "two was preempted 1 times@14"]);

    let mut world = self::world();
    let machine = world.make(HERE, Spec::resource(2).named("machine"));
    for name in ["urgent", "late"] {
        let log = log.clone();
        world.spawn(name, HERE, async move |cx: Process<()>| {
            machine.serve(&cx, secs(10)).priority(i64::from(name == "late")).await.unwrap();
            log.note(&cx, "is served");
        });
    }
    world.spawn("fate", HERE, async move |cx: Process<()>| {
        cx.hold(secs(4)).await.unwrap();
        machine.break_down(&cx, 1);
        cx.hold(secs(3)).await.unwrap();
        machine.repair(&cx, 1);
    });
    assert_eq!(log.of(world), ["urgent is served@10", "late is served@13"]);
}

#[test]
fn a_deadlock_names_what_each_waits_for_and_who_holds_it() {
    let mut world = world();
    let (left, right) = (
        world.make(HERE, Spec::resource(1).named("left")),
        world.make(HERE, Spec::resource(1).named("right")),
    );
    for (name, first, second) in [("ann", left, right), ("bob", right, left)] {
        world.spawn(name, HERE, async move |cx: Process<()>| {
            let _first = first.request(&cx).await.unwrap();
            cx.hold(secs(1)).await.unwrap();
            let _second = second.request(&cx).await.unwrap();
        });
    }
    let Err(RunError::Deadlock { stuck, .. }) = world.run() else { panic!("nobody gives way") };
    let waits: Vec<&str> = stuck.iter().map(|stuck| &*stuck.waits_for).collect();
    let right = [
        "1 unit of resource `right`, held by process 1 `bob`",
        "1 unit of resource `left`, held by process 0 `ann`",
    ];
    assert_eq!(waits, right);
}

#[test]
fn on_federates_a_resource_is_for_processes_of_its_host() {
    for (there, is_refused) in [(HERE, false), (HostId(1), true)] {
        let mut world = world().federates(2);
        let desk = world.resource(HERE, 1);
        world.spawn("user", there, async move |cx: Process<()>| {
            desk.serve(&cx, secs(1)).await.unwrap();
        });
        match world.run() {
            Ok(report) => assert!(!is_refused && report.end_time == secs(1)),
            Err(error) => {
                let text = error.to_string();
                assert!(is_refused && text.contains("used an object of another host"), "{text}");
            }
        }
    }
}

async fn customer(cx: Process<()>, counter: Resource, patience: Time, log: Log) {
    select! {
        place = counter.request(&cx) => {
            let _place = place.unwrap();
            cx.sleep(secs(4)).await;
            log.note(&cx, "is served");
        }
        _ = cx.hold(patience) => log.note(&cx, "leaves"),
    }
}

#[test]
fn who_loses_a_race_leaves_nothing_behind() {
    let (mut world, log) = (world(), Log::default());
    let counter = world.make(HERE, Spec::resource(1).named("counter"));
    // What is due comes before what processes do in an instant: the second leaves as the first releases.
    for (name, patience) in [("a", 9), ("b", 4), ("c", 3), ("d", 9)] {
        let log = log.clone();
        world.spawn(name, HERE, move |cx| customer(cx, counter, secs(patience), log));
    }
    assert_eq!(log.of(world), ["c leaves@3", "a is served@4", "b leaves@4", "d is served@8"]);
}
