//! Speed-up of many threads over one, by the number of peers (SimGrid report, section 3.1, figure 1).

use paceline_models::chord::Starts;
use paceline_processes::Rounds;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};

use super::runs::{ALONE, Comparison, Net, Way, Workload};
use super::{about, cores, thread_counts};
use crate::plan::{CellError, Plan, Results, Setup};

/// Peers with simulated seconds and turns; the precise network stops before the last.
const SIZES: [(u32, u64, usize); 4] = [(100, 200, 9), (1_000, 100, 9), (10_000, 40, 3), (100_000, 12, 3)];
const QUICK: [(u32, u64, usize); 3] = [(100, 40, 3), (1_000, 20, 3), (3_000, 20, 3)];
/// The most peers in the precise network, in place of more.
const MOST_PRECISE: u32 = 30_000;
/// From so many on it was faster (published).
const PUBLISHED: u32 = 100_000;
/// `Auto` may be slower than one thread by this.
const ALLOWED: f64 = 1.03;

fn comparisons(quick: bool, net: Net) -> Vec<Comparison> {
    let sizes: &[_] = if quick { &QUICK } else { &SIZES };
    let mut ways = vec![("one thread".to_owned(), ALONE)];
    for threads in thread_counts() {
        ways.push((format!("{threads} threads, always"), Way::on(threads, Rounds::Always)));
    }
    ways.push((format!("{} threads, auto", cores()), Way::on(cores(), Rounds::Auto)));
    let comparison = |&(peers, until_s, turns): &(u32, u64, usize)| {
        let peers = if net == Net::Precise { peers.min(MOST_PRECISE) } else { peers };
        Comparison {
            workload: Workload { net, peers, until_s, work_ns: 0, starts: Starts::Lockstep },
            ways: ways.clone(),
            turns,
        }
    };
    sizes.iter().map(comparison).collect()
}

/// Plans it.
pub fn plan(setup: &Setup) -> Plan {
    let quick = setup.quick;
    let all = Net::ALL.into_iter().flat_map(|net| comparisons(quick, net));
    Plan {
        cells: all.map(|comparison| comparison.cell()).collect(),
        judge: Box::new(move |results| judge(quick, results)),
    }
}

fn judge(quick: bool, results: &Results) -> Result<Finding, CellError> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let columns = ["network", "peers", "way", "time (ms)", "speed-up"];
    let mut table = Table::new("Times and speed-ups", columns);
    let mut slowest_auto = 0.0f64;
    for net in Net::ALL {
        let (comparisons, mut series) = (comparisons(quick, net), Vec::new());
        for (way, (name, how)) in comparisons[0].ways.clone().into_iter().enumerate() {
            let mut points = Vec::new();
            for comparison in &comparisons {
                let times = comparison.times(results)?;
                let ratio = times.ratio(way, 0);
                let peers = comparison.workload.peers;
                let speed_up = format!("{:.2}", 1.0 / ratio);
                table.row([
                    net.name().to_owned(),
                    peers.to_string(),
                    name.clone(),
                    times.text(way),
                    speed_up,
                ]);
                points.push((f64::from(peers), 1.0 / ratio));
                if how.rounds == Rounds::Auto {
                    slowest_auto = slowest_auto.max(ratio);
                }
            }
            if how.rounds == Rounds::Always {
                finding.checks.extend(passes(net, how.threads, &points));
            }
            // One thread is a line to compare with.
            series.push(Series::ours(name, if way > 0 { Kind::Lines } else { Kind::Steps }, points));
        }
        // Many threads are faster than one from there on.
        let of = format!("{} threads, always", thread_counts()[0]);
        series.push(Series::published(of, Kind::Points, vec![(f64::from(PUBLISHED), 1.0)]));
        let caption = format!(
            "Time on one thread by time on many; above 1 many are faster. Published, for the precise network, is that they are beyond {PUBLISHED} peers."
        );
        let title = format!("Speed-up of Chord, {} network (figure 1)", net.name());
        let (x, y) = (Axis::log("peers", ""), Axis::linear("speed-up", ""));
        finding.figures.push(Figure { title, caption, x, y, series });
    }
    finding.checks.push(Check {
        what: "auto: the most that it takes compared with one thread".into(),
        published: String::new(),
        ours: format!("{slowest_auto:.2} times"),
        must: format!("at most {ALLOWED}"),
        holds: slowest_auto <= ALLOWED,
    });
    finding.tables.push(table);
    finding.notes.push(
        "Published are 2 to 24 threads on 24 cores, up to some 500,000 peers. A process of ours takes a fraction of a microsecond \
         where it has no work of its own, so that the requests, which one thread answers, are most of the time; the bound of \
         sg-fig3 says how much there is to gain at all."
            .into(),
    );
    Ok(finding)
}

/// That the speed-up rises with the number of peers, and where it passes 1.
fn passes(net: Net, threads: u32, points: &[(f64, f64)]) -> [Check; 2] {
    let what = |what: &str| format!("{}, {threads} threads, all rounds in parallel: {what}", net.name());
    let ((few, first), (many, last)) = (points[0], points[points.len() - 1]);
    // From there on, not just there.
    let slower = points.iter().rposition(|(_, speed_up)| *speed_up <= 1.0);
    let passed = points.get(slower.map_or(0, |place| place + 1));
    [
        Check {
            what: what("speed-up with the fewest and the most peers"),
            published: "rises with the number of peers".into(),
            ours: format!("{first:.2} with {few}, {last:.2} with {many}"),
            must: "rises".into(),
            holds: last > first,
        },
        Check {
            what: what("peers from which it is faster than one"),
            published: format!("beyond {PUBLISHED}"),
            ours: passed.map_or(format!("never, up to {many}"), |(peers, _)| format!("{peers}")),
            must: format!("at most {PUBLISHED}"),
            holds: passed.is_some_and(|(peers, _)| *peers <= f64::from(PUBLISHED)),
        },
    ]
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn where_many_threads_are_never_faster_it_is_said() {
        let [rises, passed] = passes(Net::Constant, 2, &[(100.0, 0.4), (1_000.0, 0.9)]);
        assert!(rises.holds && !passed.holds && passed.ours == "never, up to 1000", "{passed:?}");
        let [_, passed] = passes(Net::Constant, 2, &[(100.0, 0.4), (1_000.0, 1.1), (10_000.0, 0.9)]);
        assert!(!passed.holds, "once is not for good: {passed:?}");
        let [falls, passed] = passes(Net::Constant, 2, &[(100.0, 1.4), (1_000.0, 1.2)]);
        assert!(!falls.holds && passed.holds && passed.ours == "100", "{passed:?}");
    }
}
