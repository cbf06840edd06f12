//! What models of processes say of a finished run: names and values, a unit last in the name.

use paceline_models::{bittorrent, farm, mpi_trace};

use super::summary::Lines;

/// Of a swarm: which peers have completed the file, when, and how long each took.
pub fn bittorrent(outcome: &bittorrent::Outcome) -> Lines {
    let completions = outcome.completions();
    let mut lines: Lines = vec![("leechers_completed", completions.len().into())];
    if let (Some(first), Some(last)) = (completions.first(), completions.last()) {
        let median = completions[completions.len() / 2];
        lines.extend([
            ("first_completion_s", first.as_secs_f64().into()),
            ("median_completion_s", median.as_secs_f64().into()),
            ("last_completion_s", last.as_secs_f64().into()),
        ]);
    }
    lines.extend([
        ("blocks_sent", outcome.blocks_sent().into()),
        ("duplicate_blocks", outcome.duplicate_blocks().into()),
        ("most_unchoked", outcome.most_unchoked().into()),
    ]);
    lines
}

/// Of a farm: what was done, and what was lost on the way.
pub fn farm(outcome: &farm::Outcome) -> Lines {
    let last = outcome.results().into_iter().flatten().max();
    let mut lines: Lines = vec![
        ("tasks_done", outcome.tasks_done().into()),
        ("tasks_reassigned", outcome.tasks_reassigned().into()),
        ("duplicate_results", outcome.duplicate_results().into()),
        ("host_failures", outcome.failures().into()),
        ("lost_computing_s", outcome.lost().as_secs_f64().into()),
    ];
    lines.extend(last.map(|last| ("last_result_s", last.as_secs_f64().into())));
    lines
}

/// Of a replayed trace: which ranks have performed all their actions, and when the last of them had.
pub fn mpi_trace(trace: &mpi_trace::MpiTrace, outcome: &mpi_trace::Outcome) -> Lines {
    let ends = outcome.ends();
    let over = ends.iter().flatten().count();
    let mut lines: Lines = vec![("ranks", trace.ranks().into()), ("ranks_at_their_end", over.into())];
    lines.extend(ends.into_iter().flatten().max().map(|last| ("last_end_s", last.as_secs_f64().into())));
    if trace.idle_waits() > 0 {
        lines.push(("waits_for_no_request", trace.idle_waits().into()));
    }
    lines
}
