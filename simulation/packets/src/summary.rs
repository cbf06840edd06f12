//! What people and scripts see of a run: lines of the summary, and the files `flows.csv`, `links.csv` and
//! `queues.csv`.
//!
//! Invariant: nothing here depends on how the run was done. Sums are of integers, and each quotient is formed
//! once.

mod applications;
mod picture;
mod queues;
mod rows;
mod times;
mod unfinished;
mod web;

use paceline_kernel::{LpId, Time};
use paceline_results::{Chart, Picture, Results, RunFacts, Summary};

use crate::capture;
use crate::frame::FrameCounts;
use crate::model::NodeState;
use crate::results::NetResults;
use crate::{NetOutput, Network, Packets};

use rows::{FLOWS, FlowRow, LINKS, LinkRow, quoted};

/// How many flows, or queues, a line names.
const NAMED: usize = 5;

impl Results for Packets {
    fn results(&self, outputs: Vec<NetOutput>, facts: &RunFacts) -> Result<Summary, String> {
        let all = NetResults::new(self.flows(), &outputs);
        let known = all.packets_arrived + all.packets_dropped + all.packets_in_flight;
        if known != all.packets_sent {
            return Err(format!(
                "packets got lost: {} were sent, but {} have arrived, {} were dropped and {} are under way",
                all.packets_sent, all.packets_arrived, all.packets_dropped, all.packets_in_flight
            ));
        }
        let flows = self.flows().iter().zip(&all.flows);
        let rows: Vec<FlowRow> =
            flows.map(|(flow, result)| FlowRow::new(self.network(), flow, result)).collect();
        let run_s = facts.end_time.as_secs_f64();
        let mut summary = Summary::default();
        self.count(&all, &mut summary);
        measure(&all, &rows, run_s, &mut summary);
        self.count_tcp(&rows, &mut summary);
        if self.switches.is_some() {
            all.switches.summarize(self.network(), &mut summary);
        }
        self.tell_of_unfinished(&all, &rows, facts.end_time, &mut summary);
        if let Some(of) = &self.capture {
            // Where nothing was left to happen, the end is only that of the last event.
            let end = outputs.iter().any(|output| output.is_cut).then_some(facts.end_time);
            let logs = outputs.into_iter().flat_map(|output| output.logs);
            capture::add_files(of, self.network(), logs, end, &mut summary);
        }
        let names = names(self.network());
        self.tell_of_applications(&all, facts.end_time, &names, &mut summary);
        let links: Vec<LinkRow> =
            all.links.iter().map(|link| LinkRow::new(self.network(), link, run_s)).collect();
        if !self.sampling.is_empty() {
            let (network, names, samples) = (self.network().clone(), names.clone(), all.queues);
            queues::charts(&network, &samples, &names).into_iter().for_each(|chart| summary.chart(chart));
            summary.table("queues.csv", &queues::QUEUES, move |to| {
                samples.iter().try_for_each(|sample| queues::line(&network, sample, &names, to))
            });
        }
        summary.table("links.csv", &LINKS, {
            let names = names.clone();
            move |to| links.iter().try_for_each(|link| to.write_all(link.line(&names).as_bytes()))
        });
        summary.table("flows.csv", &FLOWS, move |to| {
            let mut lines = (0u64..).zip(&rows);
            lines.try_for_each(|(number, row)| to.write_all(row.line(number, &names).as_bytes()))
        });
        Ok(summary)
    }

    fn picture(&self, at: Time, states: &mut dyn Iterator<Item = (LpId, &NodeState)>) -> Option<Picture> {
        Some(self.draw(at, states))
    }
}

impl Packets {
    /// What there is, and where the packets are.
    fn count(&self, all: &NetResults, summary: &mut Summary) {
        let network = self.network();
        if !self.notices.is_empty() {
            summary.line("notices", self.notices.join("; "));
        }
        summary.line("hosts", network.hosts().len());
        summary.line("nodes", network.nodes());
        // A link has an entry for each direction.
        summary.line("links", all.links.len() / 2);
        summary.line("flows", all.flows.len());
        summary.line("packets_sent", all.packets_sent);
        summary.line("packets_arrived", all.packets_arrived);
        summary.line("packets_dropped", all.packets_dropped);
        if self.network().convergence().is_some() || all.packets_without_route > 0 {
            summary.line("packets_without_route", all.packets_without_route);
        }
        summary.line("packets_in_flight", all.packets_in_flight);
        if self.stations.is_some() {
            let sum = |of: fn(&FrameCounts) -> u64| -> u64 {
                all.frames.iter().map(|(_, counts)| of(counts)).sum()
            };
            summary.line("frames_sent", sum(|counts| counts.sent));
            summary.line("frames_arrived", sum(|counts| counts.arrived));
            summary.line("frames_not_forwarded", sum(|counts| counts.unforwarded));
            summary.line("arp_answers", sum(|counts| counts.answered));
        }
    }

    /// What connections counted, where there are any, and those that were given up.
    fn count_tcp(&self, rows: &[FlowRow], summary: &mut Summary) {
        let ends = || rows.iter().flat_map(|row| row.result.ends());
        if ends().next().is_none() {
            return;
        }
        let sum = |of: fn(&crate::tcp::Counters) -> u32| -> u64 {
            ends().map(|end| u64::from(of(&end.counters))).sum()
        };
        summary.line("retransmissions", sum(|counters| counters.retransmissions));
        summary.line("timeouts", sum(|counters| counters.timeouts));
        summary.line("marks", sum(|counters| counters.marks_received));
        let given_up: Vec<usize> =
            rows.iter().enumerate().filter(|(_, row)| row.is_given_up()).map(|(flow, _)| flow).collect();
        if given_up.is_empty() {
            return;
        }
        let name = |node: u32| self.network().name(node);
        let named = |flow: &usize| {
            let row = &rows[*flow];
            format!("{flow} from {:?} to {:?}", name(row.from), name(row.to))
        };
        let mut text = given_up.iter().take(NAMED).map(named).collect::<Vec<_>>().join(", ");
        if given_up.len() > NAMED {
            text += &format!(" and {} more", given_up.len() - NAMED);
        }
        summary.line("flows_given_up", text);
    }
}

/// Rates and times; what has no value is left out.
fn measure(all: &NetResults, rows: &[FlowRow], run_s: f64, summary: &mut Summary) {
    // Where frames of machines are all there is, a goodput of zero would be read as theirs.
    let has_flows = !rows.is_empty() || all.frames.is_empty();
    if run_s > 0.0 && has_flows {
        let bytes: u64 = rows.iter().map(|row| row.bytes).sum();
        summary.line("goodput_bps", bytes as f64 * 8.0 / run_s);
    }
    if let Some(mean_s) = all.mean_delay_s {
        summary.line("mean_delay_s", mean_s);
    }
    let completions: Vec<u64> = rows.iter().filter_map(FlowRow::completion_ps).collect();
    if has_flows {
        summary.line("flows_done", completions.len());
    }
    if !completions.is_empty() {
        let sum_ps: u128 = completions.iter().map(|ps| u128::from(*ps)).sum();
        summary.line("mean_completion_s", sum_ps as f64 / completions.len() as f64 / 1e12);
        let seconds = completions.iter().map(|ps| *ps as f64 / 1e12);
        summary.chart(Chart::histogram("completion_s", seconds));
    }
}

/// The names of nodes by number, as CSV has them.
fn names(network: &Network) -> Vec<String> {
    (0..network.nodes()).map(|node| quoted(network.name(node))).collect()
}
