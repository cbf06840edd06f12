//! Refuses applications that cannot be: connections that are not theirs, sizes that are none, waits that
//! never end.

use crate::PacketError;
use crate::application::{Applications, Client, Habit, Jobs, Transfer, Video};
use crate::flow::{Flows, Tcp, Transport};
use crate::link::MOST_LATENCY_PS;

/// What cannot be about a client, with what is allowed.
type Mistake = (String, &'static str);

/// Refuses what cannot be a client.
pub fn clients(all: &Applications, flows: &Flows) -> Result<(), PacketError> {
    let mut is_taken = vec![false; flows.list.len()];
    for client in &all.clients {
        let mistake =
            lines(client, flows, &mut is_taken).or_else(|| numbers(client)).or_else(|| habit(client));
        if let Some((problem, allowed)) = mistake {
            let application = client.name.to_string();
            return Err(PacketError::Application { application, problem, allowed });
        }
    }
    for (number, transfer) in all.transfers.iter().enumerate() {
        if is_taken.get(transfer.flow as usize) == Some(&true) {
            return Err(transfer_error(
                number,
                "a flow that a client has",
                "a flow of its own or of transfers",
            ));
        }
    }
    Ok(())
}

/// The TCP settings of a flow, if it is one.
fn tcp(flows: &Flows, flow: u32) -> Option<&Tcp> {
    flows.list.get(flow as usize).and_then(|flow| match &flow.transport {
        Transport::Tcp(tcp) => Some(tcp),
        Transport::Udp(_) | Transport::Trace(_) | Transport::Rdma(_) => None,
    })
}

fn lines(client: &Client, flows: &Flows, is_taken: &mut [bool]) -> Option<Mistake> {
    let allowed = "TCP flows without a number of bytes, all from one host, each of one client alone";
    let Some(first) = client.lines.first() else {
        return Some(("no connection".to_owned(), "at least one connection"));
    };
    for line in &client.lines {
        let is_line = tcp(flows, *line).is_some_and(|tcp| tcp.bytes.is_none());
        let is_fit = is_line && !is_taken[*line as usize];
        if !is_fit || flows.ends[*line as usize].from != flows.ends[*first as usize].from {
            return Some((format!("flow {line} as a connection"), allowed));
        }
        is_taken[*line as usize] = true;
    }
    None
}

fn numbers(client: &Client) -> Option<Mistake> {
    if client.request_bytes == 0 || client.request_bytes > 1 << 40 {
        return Some((format!("requests of {} bytes", client.request_bytes), "from 1 byte to 2^40"));
    }
    let start_ps = client.start_ps;
    (start_ps > MOST_LATENCY_PS).then(|| (format!("a start at {start_ps} ps"), "at most 10^18 ps, 11 days"))
}

fn habit(client: &Client) -> Option<Mistake> {
    match &client.habit {
        Habit::Jobs(jobs) => self::jobs(jobs, client.lines.len() as u64),
        Habit::Video(video) => self::video(video, client.lines.len()),
    }
}

fn jobs(jobs: &Jobs, lines: u64) -> Option<Mistake> {
    let document = jobs.document.as_ref().map(|(sizes, _)| sizes);
    if let Some(mistake) = document.into_iter().chain([&jobs.object]).find_map(|sizes| sizes.mistake()) {
        return Some(mistake);
    }
    if let Some(mistake) = jobs.objects.mistake() {
        return Some(mistake);
    }
    if jobs.count == Some(0) {
        return Some(("a count of 0".to_owned(), "at least 1"));
    }
    if jobs.document.is_none() && jobs.objects.least() == 0 {
        return Some(("jobs without a request".to_owned(), "a document, or at least 1 object"));
    }
    let is_single = jobs.document.is_none() && jobs.objects.is_one();
    if jobs.is_fresh && !(is_single && jobs.count == Some(lines)) {
        let problem = format!("{lines} connections, one for each job");
        return Some((problem, "as many as jobs, each of one request"));
    }
    None
}

fn video(video: &Video, lines: usize) -> Option<Mistake> {
    if lines != 1 {
        return Some((format!("a video over {lines} connections"), "1"));
    }
    if video.ladder.is_empty()
        || video.ladder[0] == 0
        || video.ladder.windows(2).any(|pair| pair[0] >= pair[1])
    {
        let allowed = "one or more, above 0, each greater than the one before";
        return Some((format!("bitrates of {:?}", video.ladder), allowed));
    }
    if video.segment_ps == 0 || video.segment_ps > MOST_LATENCY_PS {
        return Some((format!("segments of {} ps", video.segment_ps), "above 0, at most 10^18 ps"));
    }
    if video.segments == Some(0) {
        return Some(("a video of 0 segments".to_owned(), "at least 1"));
    }
    if video.startup_ps.saturating_add(video.segment_ps) > video.buffer_ps {
        let problem = format!("a buffer of {} ps, of which {} to start", video.buffer_ps, video.startup_ps);
        return Some((problem, "a buffer for one segment more than what it starts with"));
    }
    None
}

fn transfer_error(number: usize, problem: &str, allowed: &'static str) -> PacketError {
    PacketError::Application {
        application: format!("transfer {number}"),
        problem: problem.to_owned(),
        allowed,
    }
}

/// Refuses what cannot be a transfer, and waits that never end.
pub fn transfers(all: &Applications, flows: &Flows) -> Result<(), PacketError> {
    let mut is_whole = vec![false; flows.list.len()];
    for (number, transfer) in all.transfers.iter().enumerate() {
        let refuse = |problem: &str, allowed| Err(transfer_error(number, problem, allowed));
        let Some(tcp) = tcp(flows, transfer.flow) else {
            return refuse("no TCP flow to be sent on", "a TCP flow of the model");
        };
        if transfer.bytes == 0 || transfer.bytes > 1 << 60 {
            return refuse("a size that is none", "from 1 byte to 2^60");
        }
        if transfer.start_ps > MOST_LATENCY_PS {
            return refuse("a start that is too late", "at most 10^18 ps, 11 days");
        }
        if is_whole[transfer.flow as usize] || tcp.bytes.is_some_and(|bytes| bytes != transfer.bytes) {
            return refuse("a part of a flow that has a number of bytes", "all of it");
        }
        is_whole[transfer.flow as usize] = tcp.bytes.is_some();
        let is_member = |(group, round)| all.groups.get(group as usize).is_some_and(|of| round < of.rounds);
        if transfer.group.is_some_and(|group| !is_member(group)) {
            return refuse("a group or a round that is not there", "those of the model");
        }
        for before in &transfer.after {
            let Some(earlier) = all.transfers.get(*before as usize) else {
                return refuse("a wait for a transfer that is not there", "those of the model");
            };
            if flows.list[earlier.flow as usize].to != flows.list[transfer.flow as usize].from {
                return Err(PacketError::WaitElsewhere { flow: transfer.flow, before: earlier.flow });
            }
        }
    }
    circles(&all.transfers, flows.list.len())
}

/// Refuses transfers that wait for each other.
fn circles(transfers: &[Transfer], flows: usize) -> Result<(), PacketError> {
    // A transfer also waits for the one before it on its flow to begin.
    let mut last: Vec<Option<u32>> = vec![None; flows];
    let mut waits: Vec<Vec<u32>> = transfers.iter().map(|transfer| transfer.after.to_vec()).collect();
    for (number, transfer) in (0..).zip(transfers) {
        waits[number as usize].extend(last[transfer.flow as usize].replace(number));
    }
    let mut missing: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); transfers.len()];
    for (number, before) in (0..).zip(&waits) {
        before.iter().for_each(|before| waiting[*before as usize].push(number));
    }
    let mut free: Vec<u32> = (0..).zip(&missing).filter(|(_, count)| **count == 0).map(|(n, _)| n).collect();
    while let Some(number) = free.pop() {
        for after in &waiting[number as usize] {
            missing[*after as usize] -= 1;
            if missing[*after as usize] == 0 {
                free.push(*after);
            }
        }
    }
    let stuck = |before: &&u32| missing[**before as usize] > 0;
    let Some(mut number) = missing.iter().position(|count| *count > 0) else { return Ok(()) };
    // What is stuck waits for something that is stuck: going back as often as there are transfers leads into
    // a circle.
    let mut before = number;
    for _ in 0..=transfers.len() {
        number = before;
        before = waits[number].iter().find(stuck).map_or(number, |before| *before as usize);
    }
    Err(PacketError::WaitInCircle { flow: transfers[number].flow, before: transfers[before].flow })
}
