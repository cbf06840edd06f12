//! A BitTorrent swarm as a model of processes that a program runs, and what it reports.

use std::sync::Arc;

use paceline_network::Network;
use paceline_processes::{ProcessModel, Report, Simulation};
use paceline_results::Summary;

use super::{BLOCKS_SENT, Bittorrent, DUPLICATES, Message, Outcome, UNCHOKED};

impl ProcessModel for Bittorrent {
    type Message = Message;
    type Outcome = Arc<Outcome>;

    fn hosts(&self) -> u32 {
        // The peers and the tracker.
        self.peers + 1
    }

    fn needs_horizon(&self) -> bool {
        // Peers may stay as seeds.
        true
    }

    fn acts_at_once(&self) -> Option<&'static str> {
        self.takes_back.then_some(
            "takes back messages that are on their way (model.takes_back); where it does not, its hosts run apart",
        )
    }

    fn spawn<N: Network>(&self, simulation: &mut Simulation<Message, N>, seed: u64) -> Arc<Outcome> {
        let hosts = simulation.hosts();
        Self::spawn(self, simulation, hosts, seed)
    }

    /// Which peers have completed the file, when, and how long each took.
    fn results(&self, outcome: Arc<Outcome>, report: &Report) -> Result<Summary, String> {
        let (completions, mut summary) = (outcome.completions(), Summary::default());
        summary.line("leechers_completed", completions.len());
        if let (Some(first), Some(last)) = (completions.first(), completions.last()) {
            let median = completions[completions.len() / 2];
            summary.line("first_completion_s", first.as_secs_f64());
            summary.line("median_completion_s", median.as_secs_f64());
            summary.line("last_completion_s", last.as_secs_f64());
        }
        summary.line(BLOCKS_SENT, report.outputs.count(BLOCKS_SENT));
        summary.line(DUPLICATES, report.outputs.count(DUPLICATES));
        let most = report.outputs.tally(UNCHOKED).greatest().unwrap_or(0.0);
        summary.line("most_unchoked", most as u64);
        Ok(summary)
    }
}
