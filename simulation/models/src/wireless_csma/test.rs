//! Small networks whose outcome can be predicted by hand.

use paceline_kernel::Time;
use paceline_scenario::Scenario;

use super::*;

/// A network whose hosts stand still in a row, `gap` units apart; frames can be decoded up to 100 units away.
fn row(hosts: u32, gap: u32, keys: &str) -> (Csma, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lines: Vec<String> = (0..hosts).map(|host| format!("0 {} 0\n", host * gap)).collect();
    std::fs::write(folder.path().join("row.movements"), lines.concat()).expect("a file");
    let text = format!(
        "[model]\ntrace = \"row.movements\"\nformat = \"bonnmotion\"\nshadowing = 0\nrequest_every = \"1h\"\n{keys}\n"
    );
    let mut scenario = Scenario::parse("row.toml", &text, folder.path(), &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    let network = Csma::from_section(&mut section, 1).unwrap_or_else(|error| panic!("{}", error.one_line()));
    section.finish().expect("all keys are read");
    (network, folder)
}

fn run(network: Csma, seconds: u64) -> Vec<Tally> {
    let simulation = paceline_engine::Simulation::new(network).until(Time::secs(seconds)).seed(3);
    let report =
        simulation.protocol(paceline_engine::Protocol::Sequential).run().expect("it keeps the rules");
    let mut hosts: Vec<_> = report.outputs.into_iter().flat_map(|output| output.hosts).collect();
    hosts.sort_unstable();
    hosts.into_iter().map(|(_, _, tally)| tally).collect()
}

fn sum(tallies: &[Tally], of: fn(&Tally) -> u64) -> u64 {
    tallies.iter().map(of).sum()
}

/// In a row, frames reach the next host only: the hops of a route equal the hosts' distance in the row.
#[test]
fn routes_in_a_row_have_as_many_hops_as_hosts_are_apart() {
    let (network, _folder) = row(5, 90, "");
    let network = Csma { request_every: Time::secs(2), ..network };
    let tallies = run(network, 400);
    let (asked, answered) = (sum(&tallies, |tally| tally.asked), sum(&tallies, |tally| tally.answered));
    // Hosts two apart do not detect each other: some frames collide.
    assert!(asked > 500 && answered * 2 > asked, "{answered} of {asked}");
    for (host, tally) in tallies.iter().enumerate() {
        let farthest = host.max(4 - host);
        assert!(tally.hops.len() <= farthest + 1, "host {host}: {:?}", tally.hops);
        assert!(tally.hops.iter().skip(1).all(|count| *count > 0), "host {host}: {:?}", tally.hops);
    }
}

#[test]
fn requests_end_at_the_hop_limit() {
    let (network, _folder) = row(5, 90, "hop_limit = 2");
    let tallies = run(Csma { request_every: Time::secs(2), ..network }, 200);
    assert!(sum(&tallies, |tally| tally.answered) > 50);
    assert!(tallies.iter().all(|tally| tally.hops.len() <= 3));
}

/// Two hosts alone: a frame is lost only if both begin to send in one slot.
#[test]
fn two_hosts_in_range_hear_each_other() {
    let (network, _folder) = row(2, 50, "");
    let tallies = run(Csma { request_every: Time::secs(1), ..network }, 300);
    let (asked, answered) = (sum(&tallies, |tally| tally.asked), sum(&tallies, |tally| tally.answered));
    assert!(asked > 400 && answered + 3 >= asked, "{answered} of {asked}");
    assert_eq!(sum(&tallies, |tally| tally.collided), 0, "there is no third one");
}

/// The outer two hosts do not detect each other; if both send at once, the host between them receives neither
/// frame.
#[test]
fn hidden_hosts_collide_and_those_that_sense_each_other_do_so_less() {
    let dense = |gap| {
        let (network, _folder) = row(3, gap, "capture = 100");
        // A frame every few milliseconds at each host.
        let tallies = run(Csma { request_every: Time::millis(5), hop_limit: 1, ..network }, 20);
        tallies[1].collided as f64 / tallies[1].in_range as f64
    };
    let (hidden, sensed) = (dense(95), dense(40));
    assert!(hidden > 0.1 && sensed < hidden / 2.0, "hidden {hidden}, sensed {sensed}");
}

/// Replies go to one host each, and sometimes collide here.
#[test]
fn frames_for_one_host_are_sent_again_as_often_as_allowed() {
    let counts = |retries: &str| {
        let (network, _folder) = row(3, 95, retries);
        let tallies = run(Csma { request_every: Time::millis(20), ..network }, 20);
        (sum(&tallies, |tally| tally.resent), sum(&tallies, |tally| tally.given_up))
    };
    let ((never, lost), (again, lost_again)) = (counts("retries = 0"), counts("retries = 7"));
    assert_eq!(never, 0);
    assert!(
        lost > 50 && again > 50 && lost_again * 5 < lost,
        "{lost} lost; {again} sent again, {lost_again} lost"
    );
}
