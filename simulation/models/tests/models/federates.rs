//! Swarms, masters and workers whose hosts run apart: the same results on any number of federates and
//! threads as without them. What acts at once on another host says so.

use paceline_kernel::Time;
use paceline_models::bittorrent::Bittorrent;
use paceline_models::farm::{Failing, Farm};
use paceline_models::master_workers::MasterWorkers;
use paceline_models::mpi_trace::MpiTrace;
use paceline_network::{Constant, FlowModel, Flows, Network, Platform, read};
use paceline_processes::{ProcessModel, Report, Simulation};

const HOSTS: u32 = 9;

fn cluster() -> Platform {
    let text = r#"<platform version="4.1">
        <cluster id="c" prefix="h" suffix="" radical="0-8" speed="1Gf" bw="1MBps" lat="5ms" bb_bw="3MBps" bb_lat="2ms"/>
    </platform>"#;
    read("cluster.xml", text, &mut |_| Err("there are no other files".into())).expect("it is well-formed")
}

/// All that a run reports, in words.
fn facts<M: ProcessModel>(model: &M, outcome: M::Outcome, report: &Report) -> String {
    let lines = model.results(outcome, report).expect("the totals match").lines;
    let counts = (report.counts.messages, report.counts.steps, report.counts.processes);
    format!("{} {:?} {counts:?} {lines:?}", report.digest, report.end_time)
}

fn ran<M: ProcessModel, N: Network + Clone + Send + Sync>(
    model: &M,
    network: N,
    federates: Option<(u32, usize)>,
) -> String {
    let world = Simulation::new(network, &[(1e9, 1); HOSTS as usize]).until(Time::secs(400)).seed(3);
    let mut world = match federates {
        Some((federates, threads)) => world.federates(federates).threads(threads),
        None => world,
    };
    let outcome = model.spawn(&mut world, 3);
    let report = world.run().unwrap_or_else(|error| panic!("{federates:?}: {error}"));
    facts(model, outcome, &report)
}

fn compare<M: ProcessModel>(model: &M) {
    let platform = cluster();
    assert_eq!(model.acts_at_once(), None);
    let (constant, flows) = (Constant::new(0.03), Flows::new(&platform, FlowModel::LV08));
    let (plain, shared) = (ran(model, constant.clone(), None), ran(model, flows.clone(), None));
    for federates in [(1, 1), (2, 2), (4, 1), (9, 2)] {
        assert_eq!(ran(model, constant.clone(), Some(federates)), plain, "constant, {federates:?}");
        assert_eq!(ran(model, flows.clone(), Some(federates)), shared, "flows, {federates:?}");
    }
}

#[test]
fn a_swarm_that_takes_nothing_back_is_divided() {
    let swarm = Bittorrent {
        peers: 30,
        seeds: 2,
        pieces: 12,
        starts: Time::secs(20),
        linger: Some(Time::secs(60)),
        takes_back: false,
        ..Bittorrent::default()
    };
    compare(&swarm);
    let why = Bittorrent::default().acts_at_once().expect("blocks are taken back");
    assert!(why.contains("model.takes_back"), "{why}");
}

#[test]
fn a_farm_of_permanent_receivers_is_divided_and_does_every_task_whatever_fails() {
    let failing = Failing { between_failures: Time::secs(20), repair: Time::secs(5) };
    let (limit, failing) = (Time::secs(40), Some(failing));
    let farm = Farm { workers: 10, tasks: 120, flops: 4e9, bytes: 1e5, limit, failing, ..Farm::default() };
    let why = farm.acts_at_once().expect("the master learns at once of tasks that are lost");
    assert!(why.contains("model.permanent_receivers"), "{why}");
    let farm = Farm { permanent_receivers: true, ..farm };
    compare(&farm);
    let mut world = Simulation::new(Constant::new(0.03), &[(1e9, 1); HOSTS as usize]).until(Time::secs(4000));
    let outcome = farm.spawn(&mut world, HOSTS).expect("there are hosts enough");
    let report = world.run().unwrap_or_else(|error| panic!("{error}"));
    let count = |name| report.outputs.count(name);
    assert_eq!((count("tasks_done"), outcome.results().iter().flatten().count()), (120, 120));
    assert!(count("host_failures") > 5 && count("tasks_reassigned") > 0 && count("lost_computing_ns") > 0);
}

#[test]
fn ranks_that_are_permanent_receivers_are_divided() {
    // More ranks than hosts; large and small messages, to anybody and by tag, and collective actions.
    let (ranks, mut lines) = (11, String::new());
    for rank in 0..ranks {
        let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        lines += &format!(
            "{rank} init\n{rank} compute {}\n{rank} isend {next} 4 {}\n{rank} irecv {previous} 4 1\n\
             {rank} send {next} 5 200\n{rank} recv -1 5 1\n{rank} waitall 2\n{rank} allreduce 1000 1e8\n\
             {rank} bcast 20000 3\n{rank} alltoall 500 500\n{rank} barrier\n{rank} finalize\n",
            1e8 * f64::from(1 + rank % 4),
            100_000 * rank
        );
    }
    let read = |text: &str| {
        MpiTrace::read("ring.txt", text, &mut |_| Err("there are no other files".into()))
            .expect("it is a trace")
    };
    let why = read(&lines).acts_at_once().expect("messages wait for their receivers");
    assert!(why.contains("model.permanent_receivers"), "{why}");
    compare(&read(&lines).with_permanent_receivers());
    // A large message comes while its receiver computes, instead of after that.
    let late =
        read("0 init\n1 init\n0 send 1 0 1e6\n1 compute 5e9\n1 recv 0 0 1e6\n0 finalize\n1 finalize\n");
    for (trace, ends) in [(late.clone(), [6, 6]), (late.with_permanent_receivers(), [1, 5])] {
        let mut world = Simulation::new(Constant::new(1.0), &[(1e9, 1); 2]);
        let outcome = trace.spawn(&mut world, 2);
        world.run().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.ends(), ends.map(|end| Some(Time::secs(end))));
    }
}

#[test]
fn workers_that_are_permanent_receivers_are_divided() {
    let platform = cluster();
    let actor = |host: u32, function: &str, arguments: &[&str]| {
        let arguments: String =
            arguments.iter().map(|value| format!("<argument value=\"{value}\"/>")).collect();
        format!("<actor host=\"h{host}\" function=\"{function}\">{arguments}</actor>")
    };
    let mut actors = vec![actor(0, "master", &["40", "5e8", "2e5", "h2", "h3", "h4", "h5"])];
    actors.push(actor(1, "master", &["30", "7e8", "1e5", "h6", "h7", "h8"]));
    actors.extend((2..HOSTS).map(|host| actor(host, "worker", &[])));
    let program = |actors: &[String]| {
        let text = format!("<platform version=\"4.1\">{}</platform>", actors.concat());
        MasterWorkers::read("deployment.xml", &text, &platform).expect("it is a deployment")
    };
    let why = program(&actors).acts_at_once().expect("messages wait for their receivers");
    assert!(why.contains("model.permanent_receivers"), "{why}");
    let permanent = program(&actors).with_permanent_receivers().expect("each worker has a mailbox");
    compare(&permanent);
    let done = ran(&permanent, Constant::new(0.03), None);
    for line in ["tasks_done", "tasks_sent"] {
        assert!(done.contains(line), "{done}");
    }
    // The masters do not wait for workers that compute.
    let waits = program(&actors);
    assert_ne!(ran(&waits, Constant::new(0.03), None), done);
    let shared = ["0", "0"].iter().zip(2..).map(|(number, host)| actor(host, "worker", &[number]));
    let shared: Vec<String> = shared.chain([actor(0, "master", &["1", "1", "1", "1"])]).collect();
    let error = program(&shared).with_permanent_receivers().expect_err("two hosts").to_string();
    assert!(error.contains("workers of two hosts receive from mailbox `worker-0`"), "{error}");
}
