//! Master and workers: the run time that SimGrid gives for its tutorial's program, and the tasks lost when
//! hosts fail.

use paceline_kernel::Time;
use paceline_models::master_workers::MasterWorkers;
use paceline_network::{FlowModel, Platform, read};
use paceline_processes::{Report, RunError, Simulation};

/// A cluster of five hosts; `more` is added to its zone.
fn cluster(more: &str) -> Platform {
    let text = format!(
        r#"<platform version="4.1"><zone id="all" routing="Full">
             <cluster id="cluster" prefix="node-" suffix="" radical="0-4" speed="98.095Mf" bw="41.279125MBps" lat="59.904us"/>
             {more}
           </zone></platform>"#
    );
    read("cluster.xml", &text, &mut |_| Err("there are no other files".into())).unwrap()
}

/// A master on `node-0` with this many tasks for `workers`, which restart with their hosts.
fn program(platform: &Platform, tasks: u32, workers: &[&str]) -> MasterWorkers {
    let named: String = workers.iter().map(|worker| format!("<argument value=\"{worker}\"/>")).collect();
    let placed = workers
        .iter()
        .map(|worker| format!("<actor host=\"{worker}\" function=\"worker\" on_failure=\"RESTART\"/>"));
    let text = format!(
        r#"<platform version="4.1"><actor host="node-0" function="master">
             <argument value="{tasks}"/> <argument value="5e7"/> <argument value="1e6"/> {named}
           </actor> {}</platform>"#,
        placed.collect::<String>()
    );
    MasterWorkers::read("deployment.xml", &text, platform).unwrap_or_else(|error| panic!("{error}"))
}

fn run(platform: &Platform, program: &MasterWorkers) -> Result<Report, RunError> {
    let mut simulation = Simulation::on_platform(platform, FlowModel::LV08);
    program.spawn(&mut simulation);
    simulation.run()
}

/// Tasks that were done and lost.
fn tasks(report: &Report) -> [u64; 2] {
    ["tasks_done", "tasks_lost"].map(|name| report.outputs.count(name))
}

#[test]
fn it_takes_the_time_that_simgrid_says() {
    let platform = cluster("");
    let workers: Vec<String> = (1..5).map(|number| format!("node-{number}")).collect();
    let workers: Vec<&str> = workers.iter().map(String::as_str).collect();
    let report = run(&platform, &program(&platform, 20, &workers)).unwrap();
    // SimGrid 3.32: 2.762374645 s.
    assert!(report.end_time.as_nanos().abs_diff(2_762_374_645) <= 2);
    assert_eq!(tasks(&report), [20, 0]);
}

#[test]
fn what_a_host_that_fails_has_is_lost_and_it_goes_on_when_it_is_back() {
    // A task takes half a second; the second worker's host fails while it computes its first task.
    let platform = cluster(
        r#"<trace id="away">0.4 0
             10 1</trace> <trace_connect kind="HOST_AVAIL" trace="away" element="node-2"/>"#,
    );
    let report = run(&platform, &program(&platform, 10, &["node-1", "node-2"]));
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.end_time > Time::secs(10), "the master waits for it: {}", report.end_time);
    assert_eq!(tasks(&report), [9, 1], "what it was computing is lost");
    assert_eq!(report.counts.processes, 4, "it started again");
}

/// An actor on `node-HOST` with these attributes and arguments.
fn actor(host: u32, function: &str, attributes: &str, arguments: &[&str]) -> String {
    let arguments: String =
        arguments.iter().map(|argument| format!("<argument value=\"{argument}\"/>")).collect();
    format!("<actor host=\"node-{host}\" function=\"{function}\" {attributes}>{arguments}</actor>")
}

fn deployment(platform: &Platform, actors: &[String]) -> Result<MasterWorkers, paceline_network::ReadError> {
    let text = format!("<platform version=\"4.1\">{}</platform>", actors.concat());
    MasterWorkers::read("deployment.xml", &text, platform)
}

/// Ends within 10 ns of what SimGrid 3.32 says, which rounds no computation to nanoseconds, with as many
/// tasks computed.
#[track_caller]
fn ends_like(platform: &Platform, actors: &[String], end_ns: u64, done: u64) {
    let program = deployment(platform, actors).unwrap_or_else(|error| panic!("{error}"));
    let report = run(platform, &program).unwrap_or_else(|error| panic!("{error}"));
    let end = report.end_time.as_nanos();
    assert!(end.abs_diff(end_ns) <= 10, "{end} ns, and not {end_ns}");
    assert_eq!(tasks(&report)[0], done);
}

#[test]
fn actors_start_and_end_when_the_deployment_says() {
    let platform = cluster("");
    let master = |attributes: &str, tasks: &str, workers: &[&str]| {
        actor(0, "master", attributes, &[&[tasks, "5e7", "1e6"], workers].concat())
    };
    // The ends come too late to matter.
    let [one, two] = [actor(1, "worker", "kill_time=\"50\"", &[]), actor(2, "worker", "", &[])];
    let late = [master("kill_time=\"100\"", "20", &["node-1", "node-2"]), one, two];
    ends_like(&platform, &late, 5_390_524_295, 20);
    // First the master, then the worker that waits for it.
    let both = [master("kill_time=\"1\"", "20", &["node-1"]), actor(1, "worker", "kill_time=\"1.5\"", &[])];
    ends_like(&platform, &both, 1_500_000_000, 2);
    // The worker while it computes; the master then waits for one that is gone, until its own end.
    let worker = actor(1, "worker", "start_time=\"1\" kill_time=\"3\"", &[]);
    ends_like(&platform, &[master("kill_time=\"5\"", "20", &["node-1"]), worker], 5_000_000_000, 3);
    let worker = actor(1, "worker", "start_time=\"2\" kill_time=\"-1.0\"", &[]);
    ends_like(&platform, &[master("start_time=\"-1.0\"", "4", &["node-1"]), worker], 4_146_531_636, 4);
    // The end holds for the worker that comes back with its host, too.
    let away = r#"<trace id="away">0.4 0
             10 1</trace> <trace_connect kind="HOST_AVAIL" trace="away" element="node-1"/>"#;
    let worker = actor(1, "worker", "on_failure=\"RESTART\" kill_time=\"12\"", &[]);
    let fails = cluster(away);
    ends_like(&fails, &[master("kill_time=\"20\"", "10", &["node-1"]), worker], 20_000_000_000, 3);
    // Without an end of the master, the run names who waits.
    let worker = actor(1, "worker", "kill_time=\"3\"", &[]);
    let program = deployment(&platform, &[master("", "20", &["node-1"]), worker]).unwrap();
    let error = run(&platform, &program).expect_err("the master waits for ever").to_string();
    assert!(error.contains("master"), "{error}");
}

#[test]
fn workers_may_have_numbers() {
    let platform = cluster("");
    let master = |tasks: &str, count: &str| actor(0, "master", "", &[tasks, "5e7", "1e6", count]);
    let workers = (0..4).map(|number| actor(number + 1, "worker", "", &[&number.to_string()]));
    let all: Vec<String> = std::iter::once(master("20", "4")).chain(workers).collect();
    ends_like(&platform, &all, 2_762_374_645, 20);
    let two = [master("9", "2"), actor(1, "worker", "", &["0"]), actor(1, "worker", "", &["1"])];
    ends_like(&platform, &two, 4_617_040_438, 9);
    // Without numbers of workers the last argument is a name.
    let named = deployment(&platform, &[master("0", "4"), actor(1, "worker", "", &[])]).unwrap();
    assert!(run(&platform, &named).is_err(), "nobody receives from a mailbox of the name 4");
    for (actors, problem) in [
        ([master("1", "0"), actor(1, "worker", "", &["0"])], "`0` as the number of workers of a master"),
        ([master("1", "few"), actor(1, "worker", "", &["0"])], "`few` as the number of workers of a master"),
        ([master("1", "2e9"), actor(1, "worker", "", &["0"])], "`2e9` as the number of workers of a master"),
        ([master("1", "1"), actor(1, "worker", "", &["node-1"])], "`node-1` as the number of a worker"),
        ([master("1", "1"), actor(1, "worker", "", &["0", "1"])], "a worker with 2 arguments"),
    ] {
        assert_eq!(deployment(&platform, &actors).expect_err(problem).problem, problem);
    }
}
