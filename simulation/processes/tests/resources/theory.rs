//! Queues whose means are known: each mean lies within its 99 % interval, and runs on several threads and
//! federates end with one digest and one statistic, to the last bit.
//!
//! The interval is that of 20 independent runs of a model, which are the hosts of one world: Student's t with
//! 19 degrees of freedom.

use paceline_kernel::Rng;
use paceline_processes::resources::ResourceStatistics;
use paceline_processes::{Rounds, all_of};

use super::*;

const HOSTS: usize = 20;
/// Student's t at 0.995 with 19 degrees of freedom.
const T: f64 = 2.861;

/// The name of a resource, what is right by theory, and what is measured of it.
type Row = (&'static str, f64, fn(&ResourceStatistics) -> Option<f64>);

/// A world of hosts without any traffic between them, each with a model of its own.
fn worlds(model: impl Fn(&mut World, HostId)) -> World {
    let mut world = Simulation::new(Constant::new(1e6), &[(1e9, 1); HOSTS]).seed(41);
    (0..HOSTS as u32).for_each(|host| model(&mut world, HostId(host)));
    world.measure_from(secs(1_000)).until(secs(21_000))
}

/// Asserts that the mean over hosts of what `value` reads from the statistics of `name` is right.
fn expect(model: impl Fn(&mut World, HostId), rows: &[Row]) {
    let plain = run(worlds(&model));
    for (name, right, value) in rows {
        let of_hosts: Vec<f64> = plain
            .resources
            .iter()
            .filter(|statistics| statistics.name.as_deref() == Some(name))
            .map(|statistics| value(statistics).expect("it was measured"))
            .collect();
        assert_eq!(of_hosts.len(), HOSTS);
        let mean = of_hosts.iter().sum::<f64>() / HOSTS as f64;
        let squares: f64 = of_hosts.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = T * (squares / (HOSTS - 1) as f64 / HOSTS as f64).sqrt();
        assert!((mean - right).abs() <= half_width, "{name}: {mean} +- {half_width}, by theory {right}");
        assert!(half_width < 0.06 * right, "{name}: {mean} +- {half_width} says little");
    }
    for other in [worlds(&model).threads(2).rounds(Rounds::Always), worlds(&model).federates(3).threads(2)] {
        let other = run(other);
        assert_eq!((other.digest, &other.resources), (plain.digest, &plain.resources));
    }
}

fn exponential(cx: &Process<()>, mean_s: f64) -> Time {
    Time::from_secs_f64(cx.draw(|rng: &mut Rng| rng.exponential(mean_s)))
}

/// Customers that come after exponential times, of mean `between_s`, and are served as `serve` says.
fn customers<F: Future<Output = ()> + Send + 'static>(
    world: &mut World,
    host: HostId,
    between_s: f64,
    serve: impl Fn(Process<()>) -> F + Clone + Send + 'static,
) {
    world.spawn("source", host, async move |cx: Process<()>| {
        loop {
            cx.sleep(exponential(&cx, between_s)).await;
            let serve = serve.clone();
            cx.spawn("customer", host, serve).await.unwrap();
        }
    });
}

#[test]
fn several_servers_wait_as_erlang_says() {
    // M/M/3 with 2 erlangs: 4/9 of the customers wait, for 1 s on average.
    expect(
        |world, host| {
            let desk = world.make(host, Spec::resource(3).named("desk"));
            customers(world, host, 0.5, move |cx| async move {
                desk.serve(&cx, exponential(&cx, 1.0)).await.unwrap();
            });
        },
        &[
            ("desk", 4.0 / 9.0, |desk| desk.waits.mean_s()),
            ("desk", 8.0 / 9.0, |desk| desk.mean_waiting),
            ("desk", 2.0 / 3.0, |desk| desk.utilisation),
        ],
    );
}

#[test]
fn services_of_any_distribution_wait_as_pollaczek_and_khinchine_say() {
    // M/G/1: 0.5 s or 2.5 s with equal chances, mean 1.5, mean square 3.25; one customer in 2.5 s.
    expect(
        |world, host| {
            let desk = world.make(host, Spec::resource(1).named("desk"));
            customers(world, host, 2.5, move |cx| async move {
                let long = cx.draw(|rng| rng.chance(0.5));
                let _place = desk.request(&cx).await.unwrap();
                cx.hold(Time::millis(if long { 2500 } else { 500 })).await.unwrap();
            });
        },
        &[("desk", 0.4 * 3.25 / (2.0 * (1.0 - 0.6)), |desk| desk.waits.mean_s())],
    );
}

#[test]
fn the_urgent_do_not_notice_others_and_all_together_are_as_without_priorities() {
    // M/M/1 with preemptive priority: urgent ones are in the system for 1 / (1 - 0.3), and all for
    // 1 / (1 - 0.6), whatever the order, as services have no memory.
    expect(
        |world, host| {
            let server = world.make(host, Spec::resource(1).named("server"));
            let (urgent, all) = (Spec::resource(u32::MAX).named("urgent"), Spec::resource(u32::MAX));
            let (urgent, all) = (world.make(host, urgent), world.make(host, all.named("all")));
            customers(world, host, 1.0 / 0.6, move |cx| async move {
                let is_urgent = cx.draw(|rng| rng.chance(0.5));
                let _present = all.request(&cx).await.unwrap();
                let _urgent = if is_urgent { Some(urgent.request(&cx).await.unwrap()) } else { None };
                let service = server.serve(&cx, exponential(&cx, 1.0));
                service.priority(i64::from(!is_urgent)).preempting().await.unwrap();
            });
        },
        &[
            ("urgent", 0.3 / 0.7, |urgent| urgent.mean_level),
            ("all", 0.6 / 0.4, |all| all.mean_level),
            ("server", 0.6, |server| server.utilisation),
        ],
    );
}

#[test]
fn machines_wait_for_their_repairman_as_a_finite_population_does() {
    // 5 machines that run for 10 s and are repaired in 3 s, both exponential, by one repairman.
    let weight = |broken: u32| (5 - broken + 1..=5).map(|running| f64::from(running) * 0.3).product::<f64>();
    let weights: Vec<f64> = (0..=5).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    let busy = 1.0 - weights[0] / sum;
    let waiting =
        weights.iter().zip(0..).map(|(weight, broken)| weight / sum * f64::from((broken - 1i32).max(0)));
    expect(
        |world, host| {
            let repairman = world.make(host, Spec::resource(1).named("repairman"));
            for _ in 0..5 {
                world.spawn("machine", host, async move |cx: Process<()>| {
                    loop {
                        cx.hold(exponential(&cx, 10.0)).await.unwrap();
                        repairman.serve(&cx, exponential(&cx, 3.0)).await.unwrap();
                    }
                });
            }
        },
        &[
            ("repairman", busy, |repairman| repairman.utilisation),
            ("repairman", waiting.sum(), |repairman| repairman.mean_waiting),
        ],
    );
}

#[test]
fn a_closed_network_is_as_mean_value_analysis_says() {
    // 4 customers: think for 2 s, then two stations of 1 s and 0.5 s in turn.
    let (think, services) = (2.0, [1.0, 0.5]);
    let (mut present, mut rate) = ([0.0; 2], 0.0);
    for customers in 1..=4u32 {
        let stays = [0, 1].map(|station| services[station] * (1.0 + present[station]));
        rate = f64::from(customers) / (think + stays[0] + stays[1]);
        present = stays.map(|stay| rate * stay);
    }
    expect(
        |world, host| {
            let stations = ["first", "second"].map(|name| world.make(host, Spec::resource(1).named(name)));
            for _ in 0..4 {
                world.spawn("customer", host, async move |cx: Process<()>| {
                    loop {
                        cx.hold(exponential(&cx, think)).await.unwrap();
                        for (station, service) in stations.into_iter().zip(services) {
                            let held = all_of([station.request(&cx)]).await;
                            cx.hold(exponential(&cx, service)).await.unwrap();
                            drop(held);
                        }
                    }
                });
            }
        },
        &[
            ("first", rate * services[0], |first| first.utilisation),
            ("first", present[0] - rate * services[0], |first| first.mean_waiting),
            ("second", rate * services[1], |second| second.utilisation),
            ("second", present[1] - rate * services[1], |second| second.mean_waiting),
        ],
    );
}
