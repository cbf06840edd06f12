//! Videos on demand.

use paceline_packets::application::{Applications, Client, Habit, Kind, Video};
use paceline_packets::{Flow, Network, Span};
use paceline_scenario::{Picoseconds, ScenarioError, Section};

use super::clients::REQUEST_BYTES;
use super::sizes::{self, Spans};
use super::{Common, clients_and_servers};
use crate::packets::flows::Entries;

/// The length of a segment and of the buffer of common players: dash.js asks for segments of 4 s and keeps 30
/// s of them.
const SEGMENT: Picoseconds = Picoseconds { ps: 4_000_000_000_000 };
const BUFFER: Picoseconds = Picoseconds { ps: 30_000_000_000_000 };

/// Reads `from` and `to`, `ladder_kbps`, `segment` ("4s"), `segments`, `buffer` ("30s"), `startup` (a
/// segment), `request` (328 bytes), `service` and `spans`.
pub fn read(
    entry: &mut Section,
    network: &Network,
    common: &Common,
    all: &mut Applications,
    flows: &mut Entries,
) -> Result<(), ScenarioError> {
    let pairs = clients_and_servers(entry, network)?;
    let request_bytes = sizes::request(entry, Some(REQUEST_BYTES))?;
    let service = Spans::read(entry)?.time(entry, "service", Picoseconds::default())?;
    let video = read_video(entry)?;
    for (from, to) in pairs {
        flows.flows.push(Flow::tcp(from, to, common.tcp.clone()));
        let lines = [flows.flows.len() as u32 - 1].into();
        all.clients.push(client(common, lines, request_bytes, service, &video));
    }
    Ok(())
}

fn client(common: &Common, lines: Box<[u32]>, request_bytes: u64, service: Span, video: &Video) -> Client {
    let (name, start_ps, habit) = (common.name.clone(), common.start_ps, Habit::Video(video.clone()));
    Client { name, kind: Kind::Video, lines, start_ps, request_bytes, service, habit }
}

fn read_video(entry: &mut Section) -> Result<Video, ScenarioError> {
    let allowed = "a list of whole numbers, kilobits a second, each greater than the one before";
    let ladder: Vec<u32> = entry.required_within("ladder_kbps", allowed)?;
    let ascends =
        ladder.first().is_some_and(|least| *least > 0) && ladder.windows(2).all(|two| two[0] < two[1]);
    if !ascends {
        return Err(entry.refuse("ladder_kbps", format!("the bitrates {ladder:?}"), allowed));
    }
    let segment = entry.or_where("segment", SEGMENT, |segment| segment.ps > 0, "a time above 0")?;
    let buffer: Picoseconds = entry.or("buffer", BUFFER)?;
    let startup = entry.or("startup", segment)?;
    if startup.ps.saturating_add(segment.ps) > buffer.ps {
        let problem = format!("a buffer of {buffer} for `startup` of {startup} and a `segment` of {segment}");
        return Err(entry.refuse("buffer", problem, "both together, or more"));
    }
    let segments: Option<u64> = entry.optional("segments")?;
    if segments == Some(0) {
        return Err(entry.refuse("segments", "a video of 0 segments", "at least 1, or no `segments`"));
    }
    let ladder = ladder.iter().map(|kbps| u64::from(*kbps) * 1_000).collect();
    let (segment_ps, buffer_ps, startup_ps) = (segment.ps, buffer.ps, startup.ps);
    Ok(Video { segment_ps, ladder, buffer_ps, startup_ps, segments })
}
