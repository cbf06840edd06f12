//! What processes measure is the same to the last bit on any number of threads and federates, and ends with
//! the run.

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{EndedBy, Process, Report, Rounds, RunError, Simulation};
use paceline_results::Output;

const HOSTS: u32 = 8;
const LATENCY_S: f64 = 0.5;

fn declared() -> [Output; 5] {
    [
        Output::tally("wait_s").quantile(0.9),
        Output::tally("draw").steady(),
        Output::level("present").steady(),
        Output::count("done"),
        Output::series("arrivals", Time::secs(10)),
    ]
}

/// Measures what it draws, for so many steps; numbers of very different sizes, whose sum depends on their
/// order where it is rounded.
async fn visitor(cx: Process<()>, steps: u32) {
    for _ in 0..steps {
        let (span, size) = cx.draw(|rng| (rng.exponential(0.3), rng.below(30) as i32 - 15));
        let here = cx.raise("present", 2f64.powi(size) / 3.0);
        cx.series("arrivals", 1.0);
        cx.sleep(Time::from_secs_f64(span)).await;
        drop(here);
        cx.tally("wait_s", span);
        cx.tally("draw", 10f64.powi(size));
        cx.count("done", 1);
    }
}

/// A visitor on each host, of which the last ends the run; and a daemon on each, which goes on measuring.
fn world(until: Time) -> Simulation<(), Constant> {
    let mut simulation = Simulation::new(Constant::new(LATENCY_S), &[(1e9, 1); HOSTS as usize]);
    simulation.measure(declared());
    for host in 0..HOSTS {
        simulation.spawn("visitor", HostId(host), move |cx| visitor(cx, 40 + 20 * host));
        simulation.spawn("daemon", HostId(host), async |cx: Process<()>| {
            cx.daemonize();
            loop {
                visitor(cx.clone(), 1).await;
            }
        });
    }
    simulation.until(until).measure_from(Time::secs(5)).seed(11)
}

fn run(simulation: Simulation<(), Constant>) -> Report {
    simulation.run().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn threads_and_federates_change_no_bit() {
    for (until, ended_by) in [(Time::MAX, EndedBy::Processes), (Time::secs(20), EndedBy::Horizon)] {
        let reference = run(world(until));
        assert_eq!(reference.ended_by, ended_by);
        assert!(reference.outputs.count("done") > 500);
        let lines = |report: &Report| report.summary().lines;
        for threads in [2, 3] {
            let other = run(world(until).threads(threads).rounds(Rounds::Always));
            assert_eq!(other.outputs, reference.outputs, "{threads} threads");
        }
        for federates in [1, 2, 4, 8] {
            for threads in [1, 2] {
                let other = run(world(until).federates(federates).threads(threads));
                assert_eq!(other.outputs, reference.outputs, "{federates} federates, {threads} threads");
                assert_eq!((other.digest, lines(&other)), (reference.digest, lines(&reference)));
            }
        }
    }
}

#[test]
fn who_is_killed_lowers_what_it_has_raised_and_what_is_done_at_its_end_counts() {
    let mut simulation = Simulation::<(), _>::new(Constant::new(0.0), &[(1e9, 1)]);
    simulation.measure([Output::level("here"), Output::count("ends")]);
    let guest = simulation.spawn("guest", HostId(0), async |cx: Process<()>| {
        let _here = cx.raise("here", 1.0);
        let process = cx.clone();
        cx.on_exit(move || process.count("ends", 1));
        cx.sleep(Time::secs(100)).await;
    });
    simulation.spawn("host", HostId(0), async move |cx: Process<()>| {
        cx.sleep(Time::secs(5)).await;
        cx.kill(guest);
        cx.sleep(Time::secs(5)).await;
    });
    let report = simulation.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.outputs.mean("here"), report.outputs.count("ends")), (Some(0.5), 1));
}

#[test]
fn what_is_not_declared_or_has_no_sum_ends_the_run_by_name() {
    let refused = |measure: fn(&Process<()>), federates: Option<u32>| {
        let mut simulation = Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1); 2]);
        simulation.measure([Output::tally("wait_s"), Output::count("lost")]);
        simulation.spawn("clerk", HostId(1), async move |cx: Process<()>| {
            cx.sleep(Time::secs(3)).await;
            measure(&cx);
            cx.sleep(Time::secs(3)).await;
        });
        let simulation = match federates {
            Some(federates) => simulation.federates(federates),
            None => simulation,
        };
        let error = simulation.run().expect_err("it is a mistake");
        assert!(matches!(error, RunError::Output { .. }), "{error:?}");
        error.to_string()
    };
    for federates in [None, Some(2)] {
        let error = refused(|cx| cx.tally("wait", 1.0), federates);
        let place = "process 0 `clerk` at 3s";
        assert_eq!(error, format!("{place}: no output `wait` is declared; declared: wait_s, lost"));
        let error = refused(|cx| cx.level("lost", 1.0), federates);
        assert_eq!(error, format!("{place}: output `lost` is declared as a count, and used as a level"));
        let error = refused(|cx| cx.tally("wait_s", f64::NAN), federates);
        assert!(error.starts_with(&format!("{place}: output `wait_s` gets NaN; allowed")), "{error}");
    }
    let mut twice = Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1)]);
    twice.measure([Output::tally("x"), Output::count("x")]);
    assert!(twice.run().is_err_and(|error| error.to_string().contains("`x` is declared twice")));
}
