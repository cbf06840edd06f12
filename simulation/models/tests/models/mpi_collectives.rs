//! Collective actions of replayed MPI traces take as long as in SimGrid 3.32 with the algorithms that it
//! takes by itself.
//!
//! Measured with `smpirun -replay --cfg=network/model:CM02`: hosts of 1 Gf, between each two of them a link
//! of 100 MB/s and 0.1 ms. Rank r computes for r ms first, so that the ranks come one after the other.

use paceline_models::mpi_trace::MpiTrace;
use paceline_network::{FlowModel, Flows, read};
use paceline_processes::Simulation;

/// Ranks; the line, with `OWN` for the count of its rank, `ALL` for all counts, `ROW` for all from its own
/// on; the counts; when the last rank ends, and the sum of the ends of all, in seconds.
type Case = (usize, &'static str, &'static [u64], f64, f64);

#[rustfmt::skip]
const MEASURED: &[Case] = &[
    (2, "barrier", &[], 0.0012, 0.0023),
    (3, "barrier", &[], 0.0022, 0.0065),
    (5, "barrier", &[], 0.0042, 0.0209),
    (8, "barrier", &[], 0.0072, 0.0575),
    (2, "bcast 1000 1", &[], 0.001_111, 0.002_111),
    (2, "bcast 200000 1", &[], 0.0032, 0.0064),
    (2, "reduce 1000 2e6 1", &[], 0.003_111, 0.005_111),
    (2, "reduce 200000 0 1", &[], 0.0032, 0.0064),
    (2, "gather 1000 1000 1", &[], 0.001_111, 0.001_111),
    (2, "scatter 300000 300000 1", &[], 0.00425, 0.0085),
    (2, "gatherv OWN ALL 1", &[3000, 0], 0.001_132, 0.001_132),
    (2, "scatterv ALL OWN 1", &[3000, 0], 0.001_132, 0.002_132),
    (5, "bcast 1000 0", &[], 0.004_111, 0.010_444),
    (5, "bcast 200000 0", &[], 0.010_601, 0.048_604),
    (5, "reduce 1000 2e6 0", &[], 0.006_111, 0.024_111),
    (5, "reduce 200000 0 0", &[], 0.0062, 0.025),
    (5, "gather 1000 1000 0", &[], 0.004_111, 0.014_111),
    (5, "scatter 300000 300000 0", &[], 0.00725, 0.03025),
    (5, "gatherv OWN ALL 0", &[3000, 0, 120_000, 70000, 8], 0.0041, 0.016_295),
    (5, "scatterv ALL OWN 0", &[3000, 0, 120_000, 70000, 8], 0.0041, 0.01623),
    (7, "bcast 1000 3", &[], 0.006_111, 0.027_886),
    (7, "bcast 200000 3", &[], 0.009_601, 0.065_006),
    (7, "reduce 1000 2e6 3", &[], 0.008_111, 0.038_111),
    (7, "reduce 200000 0 3", &[], 0.0082, 0.0454),
    (7, "gather 1000 1000 3", &[], 0.006_111, 0.024_111),
    (7, "scatter 300000 300000 3", &[], 0.00925, 0.05275),
    (7, "gatherv OWN ALL 3", &[3000, 0, 120_000, 70000, 8, 1_000_000, 65536], 0.0156, 0.047_348),
    (7, "scatterv ALL OWN 3", &[3000, 0, 120_000, 70000, 8, 1_000_000, 65536], 0.0156, 0.05268),
    (1, "allreduce 8 0", &[], 0.0, 0.0),
    (1, "allreduce 100000 3e6", &[], 0.003, 0.003),
    (1, "allgather 1000 1000", &[], 0.0, 0.0),
    (1, "allgather 100000 100000", &[], 0.0, 0.0),
    (1, "allgatherv OWN ALL", &[3000], 0.0, 0.0),
    (1, "scan 1000 1e6", &[], 0.001, 0.001),
    (1, "exscan 100000 0", &[], 0.0, 0.0),
    (1, "reducescatter ALL 1e6", &[1000], 0.001, 0.001),
    (1, "reducescatter ALL 0", &[90000], 0.0, 0.0),
    (2, "allreduce 8 0", &[], 0.001_201, 0.002_301),
    (2, "allreduce 100000 3e6", &[], 0.0063, 0.0126),
    (2, "allgather 1000 1000", &[], 0.001_121, 0.002_242),
    (2, "allgather 100000 100000", &[], 0.0032, 0.0064),
    (2, "allgatherv OWN ALL", &[3000, 0], 0.001_132, 0.002_232),
    (2, "scan 1000 1e6", &[], 0.002_111, 0.003_111),
    (2, "exscan 100000 0", &[], 0.00215, 0.0043),
    (2, "reducescatter ALL 1e6", &[1000, 1000], 0.002_232, 0.004_353),
    (2, "reducescatter ALL 0", &[90000, 90000], 0.004_035, 0.00807),
    (4, "allreduce 8 0", &[], 0.003_301, 0.012_803),
    (4, "allreduce 100000 3e6", &[], 0.009_451, 0.037_804),
    (4, "allgather 1000 1000", &[], 0.003_121, 0.012_484),
    (4, "allgather 100000 100000", &[], 0.0052, 0.0208),
    (4, "allgatherv OWN ALL", &[3000, 0, 120_000, 70000], 0.005_095, 0.017_892),
    (4, "scan 1000 1e6", &[], 0.004_111, 0.010_333),
    (4, "exscan 100000 0", &[], 0.00415, 0.0166),
    (4, "reducescatter ALL 1e6", &[1000, 1000, 1000, 1000], 0.004_253, 0.016_901),
    (4, "reducescatter ALL 0", &[90000, 90000, 90000, 90000], 0.007_925, 0.0317),
    (7, "allreduce 8 0", &[], 0.006_301, 0.043_606),
    (7, "allreduce 100000 3e6", &[], 0.013_601, 0.094_057),
    (7, "allgather 1000 1000", &[], 0.006_121, 0.042_847),
    (7, "allgather 100000 100000", &[], 0.0082, 0.0574),
    (7, "allgatherv OWN ALL", &[3000, 0, 120_000, 70000, 8, 1_000_000, 65536], 0.017_288, 0.114_603),
    (7, "scan 1000 1e6", &[], 0.007_111, 0.028_666),
    (7, "exscan 100000 0", &[], 0.00715, 0.05005),
    (7, "reducescatter ALL 1e6", &[1000, 1000, 1000, 1000, 1000, 1000, 1000], 0.007_284, 0.050_878),
    (7, "reducescatter ALL 0", &[90000, 90000, 90000, 90000, 90000, 90000, 90000], 0.01376, 0.09632),
    (2, "reducescatter ALL 0", &[1000, 1100], 0.001_122, 0.002_243),
    (2, "reducescatter ALL 0", &[0, 400_000], 0.0053, 0.0106),
    (2, "reducescatter ALL 1e6 0", &[1, 200_001], 0.018_901, 0.037_802),
    (3, "reducescatter ALL 0", &[1000, 1100, 1200], 0.002_257, 0.006_518),
    (3, "reducescatter ALL 0", &[0, 0, 400_000], 0.013_901, 0.041_503),
    (3, "reducescatter ALL 1e6 0", &[1, 200_001, 400_001], 0.070_401, 0.194_403),
    (5, "reducescatter ALL 0", &[1000, 1100, 1200, 1300, 1400], 0.00446, 0.021_377),
    (5, "reducescatter ALL 0", &[0, 0, 0, 0, 400_000], 0.024_501, 0.121_905),
    (5, "reducescatter ALL 1e6 0", &[1, 200_001, 400_001, 600_001, 800_001], 0.274_201, 1.253_405),
    (6, "reducescatter ALL 0", &[1000, 1100, 1200, 1300, 1400, 1500], 0.005_555, 0.032_697),
    (6, "reducescatter ALL 0", &[0, 0, 0, 0, 0, 400_000], 0.024_401, 0.146_006),
    (6, "reducescatter ALL 1e6 0", &[1, 200_001, 400_001, 600_001, 800_001, 1_000_001], 0.460_102, 2.542_212),
    (8, "reducescatter ALL 0", &[1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700], 0.007_768, 0.062_056),
    (8, "reducescatter ALL 0", &[0, 0, 0, 0, 0, 0, 0, 400_000], 0.024_301, 0.194_408),
    (8, "reducescatter ALL 1e6 0", &[1, 200_001, 400_001, 600_001, 800_001, 1_000_001, 1_200_001, 1_400_001], 0.882_302, 6.537_616),
    (2, "alltoall 100 100", &[], 0.001_102, 0.002_204),
    (2, "alltoall 20000 20000", &[], 0.00152, 0.00304),
    (3, "alltoall 70000 70000", &[], 0.00357, 0.01071),
    (4, "alltoall 600000 600000", &[], 0.041_101, 0.164_404),
    (4, "alltoall 2000000 2000000", &[], 0.0451, 0.1804),
    (8, "alltoall 100 100", &[], 0.007_102, 0.056_816),
    (8, "alltoall 300000 300000", &[], 0.0134, 0.1072),
    (16, "alltoall 100 100", &[], 0.015_443, 0.247_088),
    (16, "alltoall 600 600", &[], 0.015_113, 0.241_808),
    (17, "alltoall 3 3", &[], 0.0161, 0.2737),
    (16, "alltoall 16 16 0 0", &[], 0.015_455, 0.24728),
    (5, "alltoall 66000 66000 1 1", &[], 0.009_644, 0.04822),
    (2, "alltoallv 9 ROW 9 ROW", &[3000, 0], 0.0011, 0.0022),
    (4, "alltoallv 9 ROW 9 ROW", &[3000, 0, 120_000, 70000], 0.00462, 0.01738),
    (5, "alltoallv 9 ROW 9 ROW", &[3000, 0, 120_000, 70000, 8], 0.00662, 0.026_643),
];

fn platform(hosts: usize) -> String {
    let host = |host| format!("<host id=\"h{host}\" speed=\"1Gf\"/>");
    let link = |from, to| format!("<link id=\"l{from}_{to}\" bandwidth=\"100MBps\" latency=\"100us\"/>");
    let route =
        |from, to| format!("<route src=\"h{from}\" dst=\"h{to}\"><link_ctn id=\"l{from}_{to}\"/></route>");
    let pairs = || (0..hosts).flat_map(|from| (from + 1..hosts).map(move |to| (from, to)));
    let hosts: String = (0..hosts).map(host).collect();
    let links: String = pairs().map(|(from, to)| link(from, to)).collect();
    let routes: String = pairs().map(|(from, to)| route(from, to)).collect();
    format!(
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">{hosts}{links}{routes}</zone></platform>"
    )
}

fn listed(counts: impl IntoIterator<Item = u64>) -> String {
    counts.into_iter().map(|count| count.to_string()).collect::<Vec<_>>().join(" ")
}

fn text(ranks: usize, line: &str, counts: &[u64]) -> String {
    let lines = (0..ranks).map(|rank| {
        let turned = counts.iter().cycle().skip(rank).take(counts.len());
        let count = counts.get(rank).copied().unwrap_or(0).to_string();
        let line = line.replace("OWN", &count).replace("ALL", &listed(counts.iter().copied()));
        let line = line.replace("ROW", &listed(turned.copied()));
        format!("{rank} init\n{rank} compute {rank}e6\n{rank} {line}\n{rank} finalize\n")
    });
    lines.collect()
}

#[test]
fn collective_actions_take_as_long_as_in_simgrid() {
    let mut wrong = Vec::new();
    for (ranks, line, counts, last, sum) in MEASURED {
        let trace = MpiTrace::read("t", &text(*ranks, line, counts), &mut |_| Err("no".into())).expect(line);
        let platform = read("p.xml", &platform(*ranks), &mut |_| Err("no".into())).expect("it is sound");
        let network = Flows::new(&platform, FlowModel::CM02);
        let mut simulation = Simulation::new(network, &vec![(1e9, 1); *ranks]);
        let outcome = trace.spawn(&mut simulation, *ranks as u32);
        let report = simulation.run().unwrap_or_else(|error| panic!("{ranks} ranks, {line}: {error}"));
        assert!(report.unreceived.is_empty(), "{ranks} ranks, {line}: what is sent is received");
        let ends: Vec<f64> =
            outcome.ends().into_iter().map(|end| end.expect("every rank ends").as_secs_f64()).collect();
        let own_last = ends.iter().copied().fold(0.0, f64::max);
        // SimGrid prints microseconds, of each rank.
        let is_near = (own_last - last).abs() < 1.6e-6
            && (ends.iter().sum::<f64>() - sum).abs() < 1e-6 * (1.0 + *ranks as f64);
        if !is_near {
            wrong.push(format!(
                "{ranks} ranks, {line}, {counts:?}: {own_last} {ends:?}, SimGrid: {last} {sum}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
