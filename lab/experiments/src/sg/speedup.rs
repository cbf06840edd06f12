//! Speed-up of many threads over one, by the number of peers (SimGrid report, section 3.1, figure 1).

use paceline_models::chord::Starts;
use paceline_processes::Rounds;

use super::runs::{ALONE, Comparison, Net, Way, Workload};
use super::{Size, about, cores, horizon, peers, thread_counts, turns};
use crate::prelude::*;

/// From so many on it was faster (published).
const PUBLISHED: u32 = 100_000;
/// `Auto` may be slower than one thread by this.
const ALLOWED: f64 = 1.03;

#[derive(Clone, Debug)]
struct Runs {
    sizes: Vec<Size>,
    /// The most peers in the precise network, in place of more.
    most_precise: u32,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let peers_of = parameters.points("peers", &peers())?;
    let until_s = parameters.beside("until", &horizon(), ("peers", &peers_of))?;
    let turns = parameters.beside("turns", &turns(), ("peers", &peers_of))?;
    let sizes = peers_of.iter().zip(until_s).zip(turns);
    let sizes = sizes.map(|((peers, until_s), turns)| Size { peers: *peers, until_s, turns: turns as usize });
    let runs = Runs { sizes: sizes.collect(), most_precise: parameters.one("most_precise", &peers())? };
    let all = Net::ALL.into_iter().flat_map(|net| runs.comparisons(net));
    let cells = all.map(|comparison| comparison.cell()).collect();
    Ok(Plan::new(cells, move |results| judge(&runs, results)))
}

impl Runs {
    fn comparisons(&self, net: Net) -> Vec<Comparison> {
        let mut ways = vec![("one thread".to_owned(), ALONE)];
        for threads in thread_counts() {
            ways.push((format!("{threads} threads, always"), Way::on(threads, Rounds::Always)));
        }
        ways.push((format!("{} threads, auto", cores()), Way::on(cores(), Rounds::Auto)));
        let comparison = |size: &Size| {
            let Size { until_s, turns, .. } = *size;
            let peers = if net == Net::Precise { size.peers.min(self.most_precise) } else { size.peers };
            Comparison {
                workload: Workload { net, peers, until_s, work_ns: 0, starts: Starts::Lockstep },
                ways: ways.clone(),
                turns,
            }
        };
        self.sizes.iter().map(comparison).collect()
    }
}

fn judge(runs: &Runs, results: &Results) -> Found<Finding> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let columns = ["network", "peers", "way", "time (ms)", "speed-up"];
    let mut table = Table::new("Times and speed-ups", columns);
    let (mut slowest_auto, mut claims) = (None::<Estimate>, Claims::default());
    for net in Net::ALL {
        let (comparisons, mut series) = (runs.comparisons(net), Vec::new());
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
                    let auto = times.compared(way, 0);
                    slowest_auto = slowest_auto.filter(|slowest| slowest.value >= auto.value).or(Some(auto));
                }
            }
            if how.rounds == Rounds::Always {
                passes(&mut claims, net, how.threads, &points)?;
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
        finding.figures.push(plot(title, caption, [x, y], series));
    }
    claims.add("auto: the most that it takes compared with one thread", || {
        let slowest = slowest_auto.ok_or_else(|| CellError::NotRun("auto".into()))?;
        Ok((Criterion::goal(Shape::at_most(ALLOWED)), Ours::one(slowest, "times")))
    })?;
    finding.tables.push(table);
    finding.notes.push(
        "Published are 2 to 24 threads on 24 cores, up to some 500,000 peers. A process of ours takes a fraction of a microsecond \
         where it has no work of its own, so that the requests, which one thread answers, are most of the time; the bound of \
         sg-fig3 says how much there is to gain at all."
            .into(),
    );
    Ok(claims.put_into(finding))
}

/// That the speed-up rises with the number of peers, and where it passes 1.
fn passes(claims: &mut Claims, net: Net, threads: u32, points: &[(f64, f64)]) -> Found<()> {
    let what = |what: &str| format!("{}, {threads} threads, all rounds in parallel: {what}", net.name());
    claims.add(what("speed-up with the fewest and the most peers"), || {
        let ((few, first), (many, last)) = several(points)?;
        let criterion =
            Criterion::stated(Statement::Order, "increases with the system size", Shape::Rises(0.0));
        Ok((criterion, Ours::all([*first, *last], "").with(format!("with {few} and {many} peers"))))
    })?;
    claims.add(what("peers from which it is faster than one"), || {
        let (_, (many, last)) = several(points)?;
        // From there on, not just there.
        let slower = points.iter().rposition(|(_, speed_up)| *speed_up <= 1.0);
        let passed = points.get(slower.map_or(0, |place| place + 1));
        let criterion =
            Criterion::published(f64::from(PUBLISHED), Tolerance::TIMES).saying("beyond; on 24 cores");
        let criterion = criterion.or_of("the speed-up with the most peers is", [*last], Shape::Above(1.0));
        let ours = match passed {
            Some((peers, _)) => Ours::one(*peers, "peers"),
            None => Ours::all([] as [f64; 0], "peers").with(format!("never, up to {many}")),
        };
        Ok((criterion, ours))
    })
}

#[cfg(test)]
mod test {
    use paceline_report::Verdict;

    use super::*;

    fn judged(points: [(f64, f64); 3]) -> [Check; 2] {
        let mut claims = Claims::default();
        passes(&mut claims, Net::Constant, 2, &points).expect("there are several points");
        let finding = claims.put_into(Finding::default());
        finding.checks.try_into().expect("there are two checks")
    }

    #[test]
    fn where_many_threads_are_never_faster_it_is_said() {
        let verdicts = |points| judged(points).map(|check| check.verdict());
        let [rises, passed] = judged([(100.0, 0.4), (1_000.0, 0.9), (10_000.0, 0.95)]);
        assert_eq!([rises.verdict(), passed.verdict()], [Verdict::Reproduced, Verdict::Differs]);
        assert_eq!(passed.ours(), "never, up to 10000");
        let once = verdicts([(100.0, 0.4), (1_000.0, 1.1), (10_000.0, 0.9)]);
        assert_eq!(once[1], Verdict::Differs, "once is not for good");
        let [falls, passed] = judged([(100.0, 1.4), (1_000.0, 1.3), (10_000.0, 1.2)]);
        assert_eq!([falls.verdict(), passed.verdict()], [Verdict::Differs, Verdict::SameOrder]);
        assert_eq!(passed.ours(), "100 peers");
        let there = verdicts([(100.0, 0.4), (1_000.0, 0.8), (100_000.0, 1.2)]);
        assert_eq!(there, [Verdict::Reproduced; 2]);
    }
}
