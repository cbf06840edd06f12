//! What is said of applications: lines of the summary, and the file `applications.csv`.
//!
//! Invariant: means are quotients of sums of integers; quantiles are within 0.4 % of a value.

use std::fmt::Write;

use paceline_kernel::Time;
use paceline_results::{Column, Summary};

use super::rows::{quoted, seconds};
use super::times::Times;
use super::web;
use crate::Packets;
use crate::application::{Client, ClientResult, Habit, Kind, Table};
use crate::clock::{PS_PER_SECOND, exact};
use crate::results::NetResults;

/// The columns of `applications.csv`.
const APPLICATIONS: [Column; 16] = [
    Column::texts("application"),
    Column::texts("kind"),
    Column::texts("host"),
    Column::integers("responses"),
    Column::reals("mean_response_s"),
    Column::reals("p50_response_s"),
    Column::reals("p99_response_s"),
    Column::integers("jobs"),
    Column::reals("mean_job_s"),
    Column::reals("p50_job_s"),
    Column::reals("p99_job_s"),
    Column::integers("segments"),
    Column::reals("mean_bitrate_bps"),
    Column::integers("switches"),
    Column::integers("stalls"),
    Column::reals("stalled_s"),
];

/// What is said of the videos of clients.
#[derive(Default)]
struct Videos {
    segments: u64,
    bitrate_sum: u128,
    switches: u64,
    stalls: u64,
    stalled_ps: u64,
}

impl Videos {
    fn add(&mut self, client: &Client, result: &ClientResult, end_ps: u64) {
        if let (Habit::Video(video), Some(playback)) = (&client.habit, &result.video) {
            let (stalls, stalled_ps) = playback.stalls_until(video, end_ps);
            self.segments += playback.segments;
            self.bitrate_sum += playback.bitrate_sum;
            self.switches += playback.switches;
            self.stalls += stalls;
            self.stalled_ps += stalled_ps;
        }
    }

    fn mean_bitrate(&self) -> Option<f64> {
        (self.segments > 0).then(|| self.bitrate_sum as f64 / self.segments as f64)
    }

    fn fields(&self) -> String {
        let mean = self.mean_bitrate().map_or(String::new(), |bitrate| format!("{bitrate:.0}"));
        let &Self { segments, switches, stalls, stalled_ps, .. } = self;
        format!("{segments},{mean},{switches},{stalls},{}", seconds(stalled_ps))
    }

    fn tell(&self, summary: &mut Summary) {
        summary.line("segments_done", self.segments);
        if let Some(bitrate) = self.mean_bitrate() {
            summary.line("mean_bitrate_bps", bitrate);
        }
        summary.line("bitrate_switches", self.switches);
        summary.line("stalls", self.stalls);
        summary.line("stalled_s", self.stalled_ps as f64 / PS_PER_SECOND as f64);
    }
}

impl Packets {
    /// What applications have done, where there are any but flows that wait for flows.
    pub(super) fn tell_of_applications(
        &self,
        all: &NetResults,
        end: Time,
        names: &[String],
        summary: &mut Summary,
    ) {
        let mut text = String::new();
        let table = self.applications.as_ref();
        if let Some(table) = table.filter(|of| !of.all.clients.is_empty() || !of.all.groups.is_empty()) {
            tell(table, all, exact(end, 0), summary);
            self.rows(table, all, end, names, &mut text);
        }
        if let Some(table) = &self.web {
            web::tell(table, all, end.as_secs_f64(), summary);
            web::rows(table, all, names, &mut text);
        }
        if !text.is_empty() {
            summary.table("applications.csv", &APPLICATIONS, move |to| to.write_all(text.as_bytes()));
        }
    }

    /// A row for each client and each group.
    fn rows(&self, table: &Table, all: &NetResults, end: Time, names: &[String], text: &mut String) {
        let end_ps = exact(end, 0);
        for (client, result) in table.all.clients.iter().zip(&all.clients) {
            let host = &names[self.flows.ends[client.lines[0] as usize].from as usize];
            let (responses, jobs) = (Times::of(result.responses.iter()), Times::of(result.jobs.iter()));
            let mut video = Videos::default();
            video.add(client, result, end_ps);
            let video = if client.kind == Kind::Video { video.fields() } else { ",,,,".to_owned() };
            let (name, kind) = (quoted(&client.name), client.kind.name());
            let (responses, jobs) = (responses.fields(), jobs.fields());
            let _ = writeln!(text, "{name},{kind},{host},{responses},{jobs},{video}");
        }
        for (number, group) in (0..).zip(&table.all.groups) {
            let jobs = rounds(all, number).fields();
            let _ = writeln!(text, "{},{},,,,,,{jobs},,,,,", quoted(&group.name), group.kind);
        }
    }
}

fn rounds(all: &NetResults, group: u32) -> Times {
    Times::of(all.collective(group).iter().map(|(begin_ps, end_ps)| end_ps - begin_ps))
}

/// The lines of the summary: those of the kinds that there are.
fn tell(table: &Table, all: &NetResults, end_ps: u64, summary: &mut Summary) {
    let of = |kind: Kind| {
        let clients = table.all.clients.iter().zip(&all.clients);
        clients.filter(move |(client, _)| client.kind == kind)
    };
    let has = |kind: Kind| of(kind).next().is_some();
    let asking = [Kind::RequestResponse, Kind::Http, Kind::Incast];
    if asking.into_iter().any(has) {
        let results = asking.into_iter().flat_map(of).flat_map(|(_, result)| result.responses.iter());
        let names = ["requests_done", "mean_response_s", "p50_response_s", "p99_response_s"];
        Times::of(results).tell(names, summary);
    }
    let jobs = [
        (Kind::Http, ["pages_done", "mean_page_s", "p50_page_s", "p99_page_s"]),
        (Kind::Incast, ["rounds_done", "mean_round_s", "p50_round_s", "p99_round_s"]),
    ];
    for (kind, names) in jobs {
        if has(kind) {
            Times::of(of(kind).flat_map(|(_, result)| result.jobs.iter())).tell(names, summary);
        }
    }
    if has(Kind::Video) {
        let mut videos = Videos::default();
        of(Kind::Video).for_each(|(client, result)| videos.add(client, result, end_ps));
        videos.tell(summary);
    }
    let groups = 0..table.all.groups.len() as u32;
    if !groups.is_empty() {
        let times =
            groups.flat_map(|group| all.collective(group).iter().map(|(begin_ps, end_ps)| end_ps - begin_ps));
        let names = ["collectives_done", "mean_collective_s", "p50_collective_s", "p99_collective_s"];
        Times::of(times).tell(names, summary);
    }
}
