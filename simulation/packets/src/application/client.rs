//! A client: what it asks for, and what it does when a response has come.
//!
//! Invariants: a connection has one request at a time. A request is asked for only on a connection without
//! one, and a response is whole when as many bytes have been delivered on its connection as all requests on
//! it have asked for.

use paceline_kernel::Rng;
use serde::{Deserialize, Serialize};

use super::log::Log;
use super::sizes::{Pareto, Sizes, length_ps};
use super::video::{Playback, Video};
use super::{Client, Habit};
use crate::udp::Span;

/// Jobs that a client does one after the other: a request and its response; a page, which is a document and,
/// when that is there and parsed, its objects; or a question to many servers at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    /// What a job asks for by itself before its objects, and how long the client is busy with it then.
    pub document: Option<(Sizes, Span)>,
    /// How many objects a job has.
    pub objects: Counts,
    /// How many bytes each object has.
    pub object: Sizes,
    /// How long after a job the next one begins.
    pub think: Span,
    /// How many jobs there are; without a number, up to the end of the run.
    pub count: Option<u64>,
    /// Each job has a connection of its own, and closes it: then there are as many as jobs, and a job is one
    /// request. Else they stay open to the end.
    pub is_fresh: bool,
}

/// How many objects there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Counts {
    /// From the first to the second, all alike.
    Between(u32, u32),
    /// By how much a number of this distribution is greater than the least one.
    Beyond(Pareto),
}

impl Counts {
    fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Self::Between(least, most) => least + rng.below(u64::from(most - least) + 1) as u32,
            Self::Beyond(pareto) => (pareto.draw(rng) - pareto.least) as u32,
        }
    }

    /// Whether there is always one.
    pub(crate) fn is_one(&self) -> bool {
        *self == Self::Between(1, 1)
    }

    /// What is wrong with it, and what is allowed.
    pub(crate) fn mistake(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Between(least, most) => {
                let is_range = least <= most && *most < u32::MAX;
                (!is_range)
                    .then(|| (format!("from {least} to {most} objects"), "the least first, below 2^32 - 1"))
            }
            Self::Beyond(pareto) if pareto.most >= u64::from(u32::MAX) => {
                Some((format!("up to {} objects", pareto.most), "below 2^32 - 1"))
            }
            Self::Beyond(pareto) => Sizes::Pareto(*pareto).mistake(),
        }
    }

    /// The least count.
    pub(crate) const fn least(&self) -> u32 {
        match self {
            Self::Between(least, _) => *least,
            Self::Beyond(_) => 0,
        }
    }
}

/// What a client does next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// The places of connections on which it sends a request.
    pub asks: Vec<u32>,
    /// The places of connections that it closes.
    pub closes: Vec<u32>,
    /// When it is to be woken, in picoseconds.
    pub wake_ps: Option<u64>,
}

/// A connection of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Line {
    /// The bytes delivered on it when all that was asked for on it is there.
    wanted: u64,
    /// When the request was sent to which the response is missing, in picoseconds.
    asked_ps: Option<u64>,
    /// How long the response to the last request is to be, in bytes.
    asks: u64,
}

/// What of a job is going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Stage {
    /// Nothing: the next job begins when the client is woken.
    #[default]
    Idle,
    /// The document was asked for.
    Document,
    /// The document is there: objects are asked for when the client is woken.
    Parsing,
    /// Objects were asked for.
    Objects,
}

/// What a client remembers.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct ClientState {
    stage: Stage,
    /// Jobs that have begun, and when the last of them did.
    begun: u64,
    began_ps: u64,
    /// Requests of the job that are still to be sent.
    left: u32,
    lines: Vec<Line>,
    /// How long each response took, from the request being sent to being whole.
    pub(crate) responses: Log,
    /// How long each job took, where that is more than one response.
    pub(crate) jobs: Log,
    /// Of a client of a video.
    pub(crate) playback: Option<Playback>,
}

impl ClientState {
    pub(crate) fn new(client: &Client) -> Self {
        let playback = matches!(client.habit, Habit::Video(_)).then(Playback::default);
        Self {
            stage: Stage::Idle,
            begun: 0,
            began_ps: 0,
            left: 0,
            lines: vec![Line::default(); client.lines.len()],
            responses: Log::default(),
            jobs: Log::default(),
            playback,
        }
    }

    /// The time has come for which the client asked.
    pub(crate) fn wake(&mut self, client: &Client, now_ps: u64, rng: &mut Rng) -> Reaction {
        let mut reaction = Reaction::default();
        match &client.habit {
            Habit::Jobs(jobs) => match self.stage {
                Stage::Parsing => self.fetch(jobs, now_ps, rng, &mut reaction),
                Stage::Idle if jobs.count.is_none_or(|count| self.begun < count) => {
                    self.begin(jobs, now_ps, rng, &mut reaction);
                }
                // Nothing asks for this, but an event of a damaged checkpoint.
                Stage::Idle | Stage::Document | Stage::Objects => {}
            },
            Habit::Video(video) => self.ask_for_segment(video, now_ps, &mut reaction),
        }
        reaction
    }

    /// Bytes have been delivered on the connection at `place`: so many in all.
    pub(crate) fn deliver(
        &mut self,
        client: &Client,
        place: u32,
        delivered: u64,
        now_ps: u64,
        rng: &mut Rng,
    ) -> Option<Reaction> {
        let line = &mut self.lines[place as usize];
        let asked_ps = line.asked_ps.filter(|_| delivered >= line.wanted)?;
        line.asked_ps = None;
        self.responses.push(now_ps.saturating_sub(asked_ps));
        let mut reaction = Reaction::default();
        match &client.habit {
            Habit::Jobs(jobs) => self.go_on(jobs, place, now_ps, rng, &mut reaction),
            Habit::Video(video) => {
                let playback = self.playback.as_mut().expect("clients of videos have one");
                playback.take(video, asked_ps, now_ps);
                match playback.next_ps(video) {
                    None => reaction.closes.push(0),
                    Some(at_ps) if at_ps > now_ps => reaction.wake_ps = Some(at_ps),
                    Some(_) => self.ask_for_segment(video, now_ps, &mut reaction),
                }
            }
        }
        Some(reaction)
    }

    /// Begins a job.
    fn begin(&mut self, jobs: &Jobs, now_ps: u64, rng: &mut Rng, reaction: &mut Reaction) {
        self.begun += 1;
        self.began_ps = now_ps;
        let Some((sizes, _)) = &jobs.document else {
            return self.fetch(jobs, now_ps, rng, reaction);
        };
        self.stage = Stage::Document;
        // All connections are free between jobs.
        let Some(place) = self.free_line(jobs) else { return };
        let bytes = sizes.draw(rng);
        self.ask(place, bytes, now_ps, reaction);
    }

    /// Asks for the objects of a job; without any, the job is done.
    fn fetch(&mut self, jobs: &Jobs, now_ps: u64, rng: &mut Rng, reaction: &mut Reaction) {
        self.stage = Stage::Objects;
        self.left = jobs.objects.draw(rng);
        self.fill(jobs, now_ps, rng, reaction);
    }

    /// A response is whole.
    fn go_on(&mut self, jobs: &Jobs, place: u32, now_ps: u64, rng: &mut Rng, reaction: &mut Reaction) {
        if jobs.is_fresh {
            reaction.closes.push(place);
        }
        if self.stage == Stage::Document {
            let parse = jobs.document.as_ref().map_or(Span::Fixed(0), |(_, parse)| *parse);
            match length_ps(parse, rng) {
                0 => self.fetch(jobs, now_ps, rng, reaction),
                busy_ps => {
                    self.stage = Stage::Parsing;
                    reaction.wake_ps = Some(now_ps.saturating_add(busy_ps));
                }
            }
        } else {
            self.fill(jobs, now_ps, rng, reaction);
        }
    }

    /// Sends requests for objects on connections that are free; with no object left or missing the job ends.
    fn fill(&mut self, jobs: &Jobs, now_ps: u64, rng: &mut Rng, reaction: &mut Reaction) {
        while self.left > 0
            && let Some(place) = self.free_line(jobs)
        {
            self.left -= 1;
            let bytes = jobs.object.draw(rng);
            self.ask(place, bytes, now_ps, reaction);
        }
        if self.left > 0 || self.lines.iter().any(|line| line.asked_ps.is_some()) {
            return;
        }
        if jobs.document.is_some() || !jobs.objects.is_one() {
            self.jobs.push(now_ps.saturating_sub(self.began_ps));
        }
        self.stage = Stage::Idle;
        if jobs.count == Some(self.begun) {
            let rest = 0..if jobs.is_fresh { 0 } else { self.lines.len() as u32 };
            reaction.closes.extend(rest);
            return;
        }
        match length_ps(jobs.think, rng) {
            // A job has a request, and a response takes time: this does not go on at one moment.
            0 => self.begin(jobs, now_ps, rng, reaction),
            think_ps => reaction.wake_ps = Some(now_ps.saturating_add(think_ps)),
        }
    }

    /// The place of the first connection without a request.
    fn free_line(&self, jobs: &Jobs) -> Option<u32> {
        if jobs.is_fresh {
            return Some((self.begun - 1) as u32);
        }
        self.lines.iter().position(|line| line.asked_ps.is_none()).map(|place| place as u32)
    }

    fn ask_for_segment(&mut self, video: &Video, now_ps: u64, reaction: &mut Reaction) {
        let playback = self.playback.as_mut().expect("clients of videos have one");
        if self.lines[0].asked_ps.is_none() && playback.next_ps(video).is_some() {
            let bytes = playback.choose(video);
            self.ask(0, bytes, now_ps, reaction);
        }
    }

    fn ask(&mut self, place: u32, bytes: u64, now_ps: u64, reaction: &mut Reaction) {
        let line = &mut self.lines[place as usize];
        line.wanted = line.wanted.saturating_add(bytes);
        (line.asked_ps, line.asks) = (Some(now_ps), bytes);
        reaction.asks.push(place);
    }

    /// What the last request on the connection at `place` asks for, in bytes.
    pub(crate) fn asks(&self, place: u32) -> u64 {
        self.lines[place as usize].asks
    }

    /// Whether it is one that this client can have: for states that come from a file.
    pub(crate) fn fits(&self, client: &Client) -> bool {
        let fits = match (&client.habit, &self.playback) {
            (Habit::Jobs(_), None) => true,
            (Habit::Video(video), Some(playback)) => playback.fits(video),
            _ => false,
        };
        fits && self.lines.len() == client.lines.len()
    }

    /// The heap memory of a copy, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>() + self.responses.heap_bytes() + self.jobs.heap_bytes()
    }
}
