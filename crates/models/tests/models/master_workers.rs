//! Master and workers: the run time that SimGrid gives for its tutorial's program, and the tasks lost when hosts fail.

use paceline_kernel::Time;
use paceline_models::master_workers::{MasterWorkers, Outcome};
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

fn run(platform: &Platform, program: &MasterWorkers) -> (Result<Report, RunError>, std::sync::Arc<Outcome>) {
    let mut simulation = Simulation::on_platform(platform, FlowModel::LV08);
    let outcome = program.spawn(&mut simulation);
    (simulation.run(), outcome)
}

#[test]
fn it_takes_the_time_that_simgrid_says() {
    let platform = cluster("");
    let workers: Vec<String> = (1..5).map(|number| format!("node-{number}")).collect();
    let workers: Vec<&str> = workers.iter().map(String::as_str).collect();
    let (report, outcome) = run(&platform, &program(&platform, 20, &workers));
    // SimGrid 3.32: 2.762374645 s.
    assert!(report.unwrap().end_time.as_nanos().abs_diff(2_762_374_645) <= 2);
    assert_eq!((outcome.done(), outcome.lost()), (20, 0));
}

#[test]
fn what_a_host_that_fails_has_is_lost_and_it_goes_on_when_it_is_back() {
    // A task takes half a second; the second worker's host fails while it computes its first task.
    let platform = cluster(
        r#"<trace id="away">0.4 0
             10 1</trace> <trace_connect kind="HOST_AVAIL" trace="away" element="node-2"/>"#,
    );
    let (report, outcome) = run(&platform, &program(&platform, 10, &["node-1", "node-2"]));
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert!(report.end_time > Time::secs(10), "the master waits for it: {}", report.end_time);
    assert_eq!((outcome.done(), outcome.lost()), (9, 1), "what it was computing is lost");
    assert_eq!(report.counts.processes, 4, "it started again");
}
