//! Clients and servers: requests and responses, pages, video, incast.

use super::{FlowDemand, Workload, WorkloadError, exponential_ps};
use crate::files::Cdf;

/// A client that asks a server again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResponse {
    /// The bytes of a request.
    pub request_bytes: u64,
    /// The sizes of responses.
    pub response: Cdf,
    /// How long the server works on a request (ps).
    pub service_ps: u64,
    /// The mean of the exponential time after a response until the next request (ps); 0 for none.
    pub think_ps: u64,
    /// How many requests there are.
    pub rounds: u32,
}

/// A client that looks at pages of a web site (HTTP/1.1 with several connections): a page is a document and,
/// when that has arrived, objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// The bytes of a request.
    pub request_bytes: u64,
    /// The sizes of documents.
    pub document: Cdf,
    /// The sizes of objects.
    pub object: Cdf,
    /// The least and the most objects of a page; all numbers between are alike.
    pub objects: (u32, u32),
    /// How many objects are asked for at once; the next one when one of them has arrived.
    pub parallel: u32,
    /// How long the server works on a request (ps).
    pub service_ps: u64,
    /// The mean of the exponential time after a page until the next one (ps); 0 for none.
    pub think_ps: u64,
    /// How many pages there are.
    pub pages: u32,
}

/// A client that watches a video of one quality, which comes in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    /// The bytes of a request for a chunk.
    pub request_bytes: u64,
    /// The bits of a second of video.
    pub rate: u64,
    /// How long a chunk plays (ps).
    pub chunk_ps: u64,
    /// How many chunks the client may have asked for before the first has played: it asks for these as fast
    /// as they come, then for one whenever one has played.
    pub ahead: u32,
    /// How many chunks there are.
    pub chunks: u32,
}

/// A client that asks many servers at once for parts of an answer, and for the next when it has all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incast {
    /// The bytes of a request.
    pub request_bytes: u64,
    /// The bytes of each server's part.
    pub part_bytes: u64,
    /// Each server waits for up to so long (ps), all times alike, before it answers.
    pub jitter_ps: u64,
    /// How long after an answer the client asks again (ps).
    pub pause_ps: u64,
    /// How many answers there are.
    pub rounds: u32,
}

/// A client, a server, and what the server does with a request.
#[derive(Clone, Copy)]
struct Pair {
    client: u32,
    server: u32,
    request_bytes: u64,
    service_ps: u64,
}

/// When the client asks.
struct Ask<'a> {
    start_ps: u64,
    after: &'a [u32],
    pause_ps: u64,
}

impl Workload {
    /// Adds a request and its response, and returns the number of the response.
    fn exchange(&mut self, pair: Pair, ask: &Ask, response: impl Size) -> Result<u32, WorkloadError> {
        let request = self.push(FlowDemand {
            from: pair.client,
            to: pair.server,
            bytes: pair.request_bytes,
            start_ps: ask.start_ps,
            after: ask.after.into(),
            pause_ps: ask.pause_ps,
        })?;
        let bytes = response.size(self);
        self.push(FlowDemand {
            from: pair.server,
            to: pair.client,
            bytes,
            start_ps: 0,
            after: [request].into(),
            pause_ps: pair.service_ps,
        })
    }

    /// Adds the requests and responses of a client, the first request at `start_ps`.
    ///
    /// # Errors
    /// As for [`Workload::bulk`].
    pub fn request_response(
        &mut self,
        client: u32,
        server: u32,
        start_ps: u64,
        settings: &RequestResponse,
    ) -> Result<(), WorkloadError> {
        let pair =
            Pair { client, server, request_bytes: settings.request_bytes, service_ps: settings.service_ps };
        let mut before: Option<u32> = None;
        for _ in 0..settings.rounds {
            let pause_ps = self.pause(before, settings.think_ps);
            let ask = Ask { start_ps, after: before.as_slice(), pause_ps };
            before = Some(self.exchange(pair, &ask, &settings.response)?);
        }
        Ok(())
    }

    /// The time to think before the next flow: none before the first.
    fn pause(&self, before: Option<u32>, think_ps: u64) -> u64 {
        before.map_or(0, |_| exponential_ps(&mut self.draws(), think_ps))
    }

    /// Adds the pages of a client, the first at `start_ps`.
    ///
    /// # Errors
    /// As for [`Workload::bulk`]; or no object may be asked for, or the most objects are fewer than the
    /// least.
    pub fn http(
        &mut self,
        client: u32,
        server: u32,
        start_ps: u64,
        settings: &Http,
    ) -> Result<(), WorkloadError> {
        let (least, most) = settings.objects;
        if settings.parallel == 0 || least > most {
            let what = format!("pages of {least} to {most} objects, {} at once", settings.parallel);
            return Err(WorkloadError { what, allowed: "the lower number first, 1 or more at once" });
        }
        let pair =
            Pair { client, server, request_bytes: settings.request_bytes, service_ps: settings.service_ps };
        // The responses of the last page that nothing was asked for after.
        let mut last: Vec<u32> = Vec::new();
        for _ in 0..settings.pages {
            let pause_ps = self.pause(last.first().copied(), settings.think_ps);
            let ask = Ask { start_ps, after: &last, pause_ps };
            let document = self.exchange(pair, &ask, &settings.document)?;
            let objects = least + self.draws().below(u64::from(most - least) + 1) as u32;
            last = vec![document; settings.parallel.min(objects).max(1) as usize];
            for object in 0..objects {
                let lane = object as usize % last.len();
                let ask = Ask { start_ps: 0, after: &last[lane..=lane], pause_ps: 0 };
                last[lane] = self.exchange(pair, &ask, &settings.object)?;
            }
        }
        Ok(())
    }

    /// Adds the chunks of a video, the first request at `start_ps`.
    ///
    /// # Errors
    /// As for [`Workload::bulk`]; or a chunk would have no bytes, or none may be asked for.
    pub fn video(
        &mut self,
        client: u32,
        server: u32,
        start_ps: u64,
        settings: &Video,
    ) -> Result<(), WorkloadError> {
        const PS_PER_BYTE_SECOND: u128 = 8_000_000_000_000;
        let bytes = u128::from(settings.rate) * u128::from(settings.chunk_ps) / PS_PER_BYTE_SECOND;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if bytes == 0 || settings.ahead == 0 {
            let what = format!("a video of {bytes} bytes a chunk, {} ahead", settings.ahead);
            return Err(WorkloadError { what, allowed: "1 byte or more a chunk, 1 chunk or more ahead" });
        }
        let pair = Pair { client, server, request_bytes: settings.request_bytes, service_ps: 0 };
        let mut before: Option<u32> = None;
        for chunk in 0..settings.chunks {
            let played = u64::from((chunk + 1).saturating_sub(settings.ahead));
            let start_ps = start_ps.saturating_add(played.saturating_mul(settings.chunk_ps));
            let ask = Ask { start_ps, after: before.as_slice(), pause_ps: 0 };
            before = Some(self.exchange(pair, &ask, bytes)?);
        }
        Ok(())
    }

    /// Adds the answers to a client, the first request at `start_ps`.
    ///
    /// # Errors
    /// As for [`Workload::bulk`].
    pub fn incast(
        &mut self,
        client: u32,
        servers: &[u32],
        start_ps: u64,
        settings: &Incast,
    ) -> Result<(), WorkloadError> {
        let mut parts: Vec<u32> = Vec::new();
        for _ in 0..settings.rounds {
            let pause_ps = if parts.is_empty() { 0 } else { settings.pause_ps };
            let ask = Ask { start_ps, after: &parts, pause_ps };
            let next: Result<Vec<u32>, WorkloadError> = servers
                .iter()
                .map(|server| {
                    let service_ps = self.draws().below(settings.jitter_ps.saturating_add(1));
                    let request_bytes = settings.request_bytes;
                    let pair = Pair { client, server: *server, request_bytes, service_ps };
                    self.exchange(pair, &ask, settings.part_bytes)
                })
                .collect();
            parts = next?;
        }
        Ok(())
    }
}

/// The size of a response: fixed, or drawn for the next flow.
trait Size {
    fn size(self, workload: &Workload) -> u64;
}

impl Size for u64 {
    fn size(self, _workload: &Workload) -> u64 {
        self
    }
}

impl Size for &Cdf {
    fn size(self, workload: &Workload) -> u64 {
        self.draw(&mut workload.draws())
    }
}
