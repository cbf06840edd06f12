//! What is said of web clients: lines of the summary, and rows of `applications.csv`.
//!
//! Invariant: as for other applications, means are quotients of sums of integers.

use std::collections::BTreeMap;
use std::fmt::Write;

use paceline_results::Summary;

use super::rows::quoted;
use super::times::Times;
use crate::results::NetResults;
use crate::web::{WebCounts, WebTable};

/// The lines of all web clients in a run of `run_s` seconds.
pub(super) fn tell(table: &WebTable, all: &NetResults, run_s: f64, summary: &mut Summary) {
    if table.clients().next().is_some() {
        let names = ["web_requests_done", "mean_web_response_s", "p50_web_response_s", "p99_web_response_s"];
        let times = Times::of(all.web.iter().flat_map(|result| result.responses.iter()));
        times.tell(names, summary);
        summary.line("web_requests_failed", all.web.iter().map(|result| result.failed).sum::<u64>());
        summary.line("web_requests_waiting", all.web.iter().map(|result| result.waiting).sum::<u64>());
        if run_s > 0.0 {
            summary.line("web_throughput_rps", times.count() as f64 / run_s);
        }
        summary.line("web_body_bytes", all.web.iter().map(|result| result.body_bytes).sum::<u64>());
        summary.line("web_connections", all.web.iter().map(|result| result.connections).sum::<u64>());
        let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
        for (status, count) in all.web.iter().flat_map(|result| &result.statuses) {
            *statuses.entry(*status).or_default() += count;
        }
        if !statuses.is_empty() {
            let each: Vec<String> =
                statuses.iter().map(|(status, count)| format!("{count} of {status}")).collect();
            summary.line("web_statuses", each.join(", "));
        }
    }
    if all.web_counts != WebCounts::default() {
        let WebCounts { other_protocol, fragments, malformed, checksum, without_connection } = all.web_counts;
        let each = [
            (other_protocol, "not TCP over IPv4"),
            (fragments, "fragments"),
            (malformed, "malformed"),
            (checksum, "with a wrong checksum"),
            (without_connection, "of no connection"),
        ];
        let each = each.iter().filter(|(count, _)| *count > 0);
        let each: Vec<String> = each.map(|(count, what)| format!("{count} {what}")).collect();
        summary.line("web_frames_refused", each.join(", "));
    }
}

/// Rows of `applications.csv`, one for each entry.
pub(super) fn rows(table: &WebTable, all: &NetResults, names: &[String], text: &mut String) {
    for (clients, result) in table.clients().zip(&all.web) {
        let (name, host) = (quoted(&clients.name), &names[clients.host as usize]);
        let responses = Times::of(result.responses.iter()).fields();
        let _ = writeln!(text, "{name},http-clients,{host},{responses},0,,,,,,,,");
    }
}
