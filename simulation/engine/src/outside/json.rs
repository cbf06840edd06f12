//! An outside federate on the other side of a socket or a pipe, in any language: it speaks lines of JSON.
//!
//! We send `{"join": {"federate": 1, "lps": [2, 3], "reached_ns": 0}}` once, then again and again
//! `{"advance": {"bound_ns": 5000, "events": [{"to": 2, "at_ns": 4000, "event": ...}]}}`, with `null` for a
//! bound without end. The other side answers with one line `{"done": {"next_ns": 7000, "events": [{"from": 2,
//! "to": 0, "at_ns": 9000, "event": ...}]}}`, where `next_ns` is `null` if it does nothing by itself any
//! more. Before that it may send `{"promise": {"at_least_ns": 4500}}`, if it sends nothing to others for
//! before then plus the lookahead, or `{"failed": "why"}`. The end of the stream is the end of the run.
//!
//! An event is as serde writes it. The digest has the events handed over, and the final states of the LPs as
//! they were when they were handed out.
//!
//! Invariant: a line is at most [`MOST_BYTES`] long.

use std::fmt;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use paceline_kernel::{Event, LpId, Model, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Door, FederateError, OutsideFederate, OutsideLps};
use crate::sync::mpsc::{self, Receiver, Sender};
use crate::sync::thread;

/// Bytes of a line, 256 MiB. A longer line is cut; what is left is no JSON, and ends the run.
const MOST_BYTES: u64 = 1 << 28;

/// What we say.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Question<'e, E> {
    Join { federate: u32, lps: Vec<u32>, reached_ns: u64 },
    Advance { bound_ns: Option<u64>, events: Vec<Handed<'e, E>> },
}

#[derive(Serialize)]
struct Handed<'e, E> {
    to: u32,
    at_ns: u64,
    event: &'e E,
}

/// What the other side says.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Reply<E> {
    Done {
        next_ns: Option<u64>,
        #[serde(default = "Vec::new")]
        events: Vec<Sent<E>>,
    },
    Promise {
        at_least_ns: u64,
    },
    Failed(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent<E> {
    from: u32,
    to: u32,
    at_ns: u64,
    event: E,
}

enum Order<M: Model> {
    Begin(Box<OutsideLps<M>>, Door<M>),
    Advance(Time, Vec<Event<M::Event>>),
    End,
}

/// The LPs of a federate are run by the program on the other side of a stream of lines of JSON (see the
/// module).
///
/// ```
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// use std::io::{BufRead, BufReader, Write};
/// use std::os::unix::net::UnixStream;
///
/// use paceline_engine::{JsonFederate, Outside, Protocol, Simulation};
/// # #[derive(Clone)]
/// # struct Ring;
/// # impl Model for Ring {
/// #     type State = u64;
/// #     type Event = u64;
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 2 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
/// #         if lp.0 == 0 { cx.send(LpId(1), Time::secs(1), 1); }
/// #         0
/// #     }
/// #     fn handle(&self, sum: &mut u64, payload: &u64, cx: &mut Context<Self>) {
/// #         *sum += payload;
/// #         cx.send(LpId(1 - cx.lp().0), Time::secs(1), payload + 1);
/// #     }
/// # }
///
/// let (ours, theirs) = UnixStream::pair()?;
/// // LP 1 of a ring of two, on the other side: it sends everything back a second later.
/// let other = std::thread::spawn(move || -> std::io::Result<()> {
///     let mut writer = theirs.try_clone()?;
///     for line in BufReader::new(theirs).lines() {
///         let line: serde_json::Value = serde_json::from_str(&line?)?;
///         let Some(advance) = line.get("advance") else { continue };
///         let events = advance["events"].as_array().into_iter().flatten();
///         let back = events.map(|event| {
///             let (at_ns, payload) = (event["at_ns"].as_u64(), event["event"].as_u64());
///             let at_ns = at_ns.unwrap_or(0) + 1_000_000_000;
///             serde_json::json!({ "from": 1, "to": 0, "at_ns": at_ns, "event": payload.unwrap_or(0) + 1 })
///         });
///         let back: Vec<_> = back.collect();
///         writeln!(writer, "{}", serde_json::json!({ "done": { "next_ns": null, "events": back } }))?;
///     }
///     Ok(())
/// });
/// let outside = Outside::new(JsonFederate::new(Ring, ours.try_clone()?, ours));
/// let run = Simulation::new(Ring).protocol(Protocol::Window).federates(2).until(Time::secs(10));
/// assert_eq!(run.outside(1, outside).run()?.events, 9);
/// other.join().expect("the other side does not panic")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JsonFederate<M: Model> {
    orders: Sender<Order<M>>,
}

impl<M: Model> fmt::Debug for JsonFederate<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonFederate").finish_non_exhaustive()
    }
}

impl<M: Model + 'static> JsonFederate<M>
where
    M::State: 'static,
    M::Event: Serialize + DeserializeOwned + 'static,
    M::Output: 'static,
{
    /// Reads answers from `reader` and writes questions to `writer`. `model` is that of the run: its methods
    /// for commits are called.
    pub fn new(model: M, reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> Self {
        let (orders, inbox) = mpsc::channel();
        let stream = Stream { reader: BufReader::new(reader), writer: BufWriter::new(writer), line: 0 };
        // It ends when the orders do, or when the other side is gone; a read that never ends keeps nobody
        // else.
        thread::spawn(move || work(&model, stream, &inbox));
        Self { orders }
    }
}

impl<M: Model + 'static> OutsideFederate<M> for JsonFederate<M>
where
    M::State: 'static,
    M::Event: Serialize + DeserializeOwned + 'static,
    M::Output: 'static,
{
    fn begin(&mut self, lps: OutsideLps<M>, door: Door<M>) -> Time {
        // It is asked at once, and says then when it does something by itself.
        let reached = lps.reached;
        let _ = self.orders.send(Order::Begin(Box::new(lps), door));
        reached
    }

    fn advance(&mut self, bound: Time, events: Vec<Event<M::Event>>) {
        let _ = self.orders.send(Order::Advance(bound, events));
    }

    fn end(&mut self) {
        let _ = self.orders.send(Order::End);
    }
}

struct Stream<R, W: Write> {
    reader: BufReader<R>,
    writer: BufWriter<W>,
    line: u64,
}

/// Why the other side cannot continue.
fn failed(why: impl std::fmt::Display) -> FederateError {
    FederateError::Other(why.to_string())
}

impl<R: Read, W: Write> Stream<R, W> {
    fn write<E: Serialize>(&mut self, question: &Question<'_, E>) -> Result<(), FederateError> {
        let written = serde_json::to_writer(&mut self.writer, question).map_err(io::Error::from);
        let written = written.and_then(|()| self.writer.write_all(b"\n")).and_then(|()| self.writer.flush());
        written.map_err(|error| failed(format_args!("cannot write to it: {error}")))
    }

    fn read<E: DeserializeOwned>(&mut self) -> Result<Reply<E>, FederateError> {
        let mut line = String::new();
        let read = self.reader.by_ref().take(MOST_BYTES).read_line(&mut line);
        self.line += 1;
        match read {
            Err(error) => Err(failed(format_args!("cannot read from it: {error}"))),
            Ok(0) => Err(failed("it has closed the stream")),
            Ok(_) => serde_json::from_str(&line).map_err(|error| {
                let start: String = line.trim_end().chars().take(60).collect();
                failed(format_args!("line {} from it, {start:?}: {error}", self.line))
            }),
        }
    }
}

/// The body of the thread that exchanges lines with the other side, until the orders end.
fn work<M: Model, R: Read, W: Write>(model: &M, mut stream: Stream<R, W>, inbox: &Receiver<Order<M>>)
where
    M::Event: Serialize + DeserializeOwned,
{
    let mut joined = false;
    while let Ok(Order::Begin(mut lps, door)) = inbox.recv() {
        if !joined {
            let numbers = lps.lps().map(|lp| lp.0).collect();
            let (federate, reached_ns) = (door.federate(), lps.reached.as_nanos());
            let join: Question<'_, M::Event> = Question::Join { federate, lps: numbers, reached_ns };
            if let Err(failure) = stream.write(&join) {
                return door.failed(failure);
            }
            joined = true;
        }
        loop {
            let advanced = match inbox.recv() {
                Ok(Order::Advance(bound, events)) => {
                    advance(model, &mut stream, &mut lps, &door, bound, events)
                }
                Ok(Order::End) => break door.ended(*lps),
                Ok(Order::Begin(..)) => unreachable!("a stretch ends before the next begins"),
                Err(_) => return,
            };
            if let Err(failure) = advanced {
                return door.failed(failure);
            }
        }
    }
}

/// One question and its answers.
fn advance<M: Model, R: Read, W: Write>(
    model: &M,
    stream: &mut Stream<R, W>,
    lps: &mut OutsideLps<M>,
    door: &Door<M>,
    bound: Time,
    mut events: Vec<Event<M::Event>>,
) -> Result<(), FederateError>
where
    M::Event: Serialize + DeserializeOwned,
{
    let OutsideLps { federate, partition, .. } = lps;
    // What the model has cancelled before the LPs came here.
    events.retain(|event| !federate.pass_over(partition, event));
    events.iter().for_each(|event| federate.commit_taken(model, event));
    let handed = |event: &'_ Event<M::Event>| (event.to().0, event.time().as_nanos());
    let list = events.iter().map(|event| {
        let (to, at_ns) = handed(event);
        Handed { to, at_ns, event: &event.payload }
    });
    let bound_ns = (bound < Time::MAX).then(|| bound.as_nanos());
    stream.write(&Question::Advance { bound_ns, events: list.collect() })?;
    loop {
        let (next_ns, sent) = match stream.read::<M::Event>()? {
            Reply::Promise { at_least_ns } => {
                door.promise(Time::nanos(at_least_ns));
                continue;
            }
            Reply::Failed(why) => return Err(FederateError::Other(why)),
            Reply::Done { next_ns, events } => (next_ns, events),
        };
        let mut messages = Vec::with_capacity(sent.len());
        for Sent { from, to, at_ns, event } in sent {
            if !federate.holds(LpId(from), partition) {
                return Err(failed(format_args!(
                    "a message in the name of LP {from}, which is not one of its LPs"
                )));
            }
            messages.push(federate.send_from(partition, LpId(from), LpId(to), Time::nanos(at_ns), event));
        }
        door.done(next_ns.map_or(Time::MAX, Time::nanos), messages);
        return Ok(());
    }
}
