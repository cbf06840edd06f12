//! Messages between the processes of a run, as bytes.
//!
//! A message is a record of a frame: its kind and the round in which it was sent (1 byte), and its content in
//! the postcard format. Events are encoded by plain functions that are made where the model is known to be
//! serializable, so that only runs of several processes need such a model. `docs/wire-format.md` describes
//! the format for other programs.
//!
//! Invariant: whatever has arrived, reading it ends in a message that is fit to be handled here or in an
//! error, never in a panic: every federate that is named is run by this process, every event is for one of
//! its LPs.
//!
//! To change a message, change `docs/wire-format.md` with it.

use paceline_kernel::{Event, LpId, Mail, Migrants, Model, Part, Partition, Receipt, Time};
use paceline_transport::marshal::Records;
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Delivery;
use super::rounds::{COLOURS, Saying};

const EVENTS: u8 = 1;
const MESSAGE: u8 = 2;
const PROMISE: u8 = 3;
const REQUEST: u8 = 4;
const UP: u8 = 5;
const DOWN: u8 = 6;
const ASK: u8 = 7;
const FAILED: u8 = 8;
const ANTI: u8 = 9;
const BUNDLE: u8 = 10;
const ALIVE: u8 = 11;
/// The most bytes of a message, 4 GiB: one that never ends is an error, and not a list that grows for ever.
const LONGEST_MESSAGE: usize = u32::MAX as usize;
/// The kind is in these bits, above them the round modulo [`COLOURS`].
const KIND_BITS: u32 = 4;

/// What another process has sent.
pub(super) enum Message<M: Model> {
    /// Something for a federate here, the round in which it was sent, and in how many messages.
    Delivery(Delivery<M>, u8, u64),
    /// Something for the owner of the run, and the round in which it was sent.
    Bundle(Vec<u8>, u8),
    /// Something about a round.
    Round(Saying),
    /// It cannot continue.
    Failed(String),
}

impl<M: Model> Message<M> {
    /// The round, modulo [`COLOURS`], in which it was sent, where that counts.
    pub(super) fn round(&self) -> Option<u8> {
        match self {
            Self::Delivery(_, round, _) | Self::Bundle(_, round) => Some(*round),
            Self::Round(_) | Self::Failed(_) => None,
        }
    }
}

impl<M: Model> std::fmt::Debug for Message<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Delivery(..) => "Delivery",
            Self::Bundle(..) => "Bundle",
            Self::Round(_) => "Round",
            Self::Failed(_) => "Failed",
        })
    }
}

type Events<M> = Vec<Event<<M as Model>::Event>>;
/// What is left of some bytes, and what was read from them.
type Read<'b, T> = Result<(T, &'b [u8]), postcard::Error>;
pub(super) type Written = Result<(), postcard::Error>;
/// Adds a value to some bytes.
type Write<T> = fn(&mut Vec<u8>, &T) -> Written;
/// Reads a value from the front of some bytes.
type Take<T> = for<'b> fn(&'b [u8]) -> Read<'b, T>;
type Outputs<M> = paceline_kernel::Outputs<<M as Model>::Output>;

/// How a model's events and parts are written and read.
pub(crate) struct Codec<M: Model> {
    write_events: Write<[Event<M::Event>]>,
    read_events: Take<Events<M>>,
    write_event: Write<Event<M::Event>>,
    read_event: Take<Event<M::Event>>,
    pub(super) write_part: Write<Part<M>>,
    pub(super) read_part: Take<Part<M>>,
    pub(super) write_migrants: Write<Migrants<M>>,
    pub(super) read_migrants: Take<Migrants<M>>,
    pub(super) write_outputs: Write<Outputs<M>>,
    pub(super) read_outputs: Take<Outputs<M>>,
}

impl<M: Model> Codec<M>
where
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    pub(crate) fn new() -> Self {
        Self {
            write_events: put,
            read_events: |bytes| postcard::take_from_bytes(bytes),
            write_event: put,
            read_event: |bytes| postcard::take_from_bytes(bytes),
            write_part: put,
            read_part: |bytes| postcard::take_from_bytes(bytes),
            write_migrants: put,
            read_migrants: |bytes| postcard::take_from_bytes(bytes),
            write_outputs: put,
            read_outputs: |bytes| postcard::take_from_bytes(bytes),
        }
    }
}

/// Bytes at the end of a list.
struct Tail<'o>(&'o mut Vec<u8>);

impl Flavor for Tail<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    /// Most of what is added is a number of a few bytes: its parts have known lengths, so that no call copies
    /// them.
    #[inline]
    fn try_extend(&mut self, mut bytes: &[u8]) -> postcard::Result<()> {
        if bytes.len() >= 16 {
            self.0.extend_from_slice(bytes);
            return Ok(());
        }
        while let Some((eight, rest)) = bytes.split_first_chunk::<8>() {
            self.0.extend_from_slice(eight);
            bytes = rest;
        }
        if let Some((four, rest)) = bytes.split_first_chunk::<4>() {
            self.0.extend_from_slice(four);
            bytes = rest;
        }
        self.0.extend(bytes.iter().copied());
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

pub(super) fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Written {
    postcard::serialize_with_flavor(value, Tail(out))
}

impl<M: Model> Codec<M> {
    pub(super) fn events(
        &self,
        out: &mut Vec<u8>,
        round: u8,
        to: u32,
        events: &[Event<M::Event>],
    ) -> Written {
        head(out, EVENTS, round, to)?;
        (self.write_events)(out, events)
    }

    /// A message under Time Warp.
    pub(super) fn message(&self, out: &mut Vec<u8>, round: u8, to: u32, event: &Event<M::Event>) -> Written {
        head(out, MESSAGE, round, to)?;
        (self.write_event)(out, event)
    }

    /// The anti-message of [`Codec::message`].
    pub(super) fn anti(&self, out: &mut Vec<u8>, round: u8, to: u32, receipt: &Receipt<M::Event>) -> Written {
        head(out, ANTI, round, to)?;
        (self.write_event)(out, receipt)
    }

    pub(super) fn promise(
        &self,
        out: &mut Vec<u8>,
        round: u8,
        (to, slot, clock): (u32, u32, Time),
        events: &[Event<M::Event>],
    ) -> Written {
        head(out, PROMISE, round, to)?;
        put(out, &(slot, clock))?;
        (self.write_events)(out, events)
    }

    /// Reads a message to the process `rank`, which runs the federates of `partition` that `owners` says.
    /// Where it can be delivered together with the `last` one of the same sender, it is added to that.
    pub(super) fn read(
        &self,
        message: &[u8],
        partition: &Partition,
        rank: u32,
        owners: &[u32],
        last: Option<&mut Message<M>>,
    ) -> Result<Option<Message<M>>, String> {
        let damaged = |error: postcard::Error| error.to_string();
        let (&first, content) = message.split_first().ok_or("an empty message")?;
        let (kind, round) = (first & ((1 << KIND_BITS) - 1), first >> KIND_BITS);
        if usize::from(round) >= COLOURS {
            return Err(format!("a message of round {round}"));
        }
        match kind {
            UP | DOWN | ASK => return Ok(Some(Message::Round(read_saying(kind, content).map_err(damaged)?))),
            // Of any content: whoever asked for it reads and checks it.
            BUNDLE => return Ok(Some(Message::Bundle(content.to_vec(), round))),
            FAILED => return Ok(Some(Message::Failed(String::from_utf8_lossy(content).into_owned()))),
            _ => {}
        }
        let (to, content): (u32, _) = postcard::take_from_bytes(content).map_err(damaged)?;
        if owners.get(to as usize) != Some(&rank) {
            return Err(format!("a message for federate {to}, which is not run here"));
        }
        let events = |content| self.read_events_for(to, partition, content);
        let delivery = match kind {
            EVENTS => Delivery::Events { to, events: events(content)? },
            MESSAGE | ANTI => {
                let event = self.read_event_for(to, partition, content)?;
                let add = |mail: &mut Mail<M::Event>| match kind {
                    ANTI => mail.push_anti(event),
                    _ => mail.events.push(event),
                };
                if let Some(Message::Delivery(Delivery::Mail { to: other, mail }, of, count)) = last
                    && (*other, *of) == (to, round)
                {
                    add(mail);
                    *count += 1;
                    return Ok(None);
                }
                let mut mail = Mail::default();
                add(&mut mail);
                Delivery::Mail { to, mail }
            }
            PROMISE => {
                let ((slot, clock), content) = postcard::take_from_bytes(content).map_err(damaged)?;
                Delivery::Promise { to, slot, clock, events: events(content)? }
            }
            REQUEST => {
                let from: u32 = postcard::from_bytes(content).map_err(damaged)?;
                if from as usize >= owners.len() {
                    return Err(format!("a request of federate {from}, which is not there"));
                }
                Delivery::Request { to, from }
            }
            other => return Err(format!("a message of kind {other}")),
        };
        Ok(Some(Message::Delivery(delivery, round, 1)))
    }

    /// Events in front of `content`, all for LPs of the federate `to`.
    fn read_events_for(&self, to: u32, partition: &Partition, content: &[u8]) -> Result<Events<M>, String> {
        let (events, _) = (self.read_events)(content).map_err(|error| error.to_string())?;
        events.iter().try_for_each(|event| check_receiver(event, to, partition))?;
        Ok(events)
    }

    /// An event in front of `content`, for an LP of the federate `to`.
    fn read_event_for(
        &self,
        to: u32,
        partition: &Partition,
        content: &[u8],
    ) -> Result<Event<M::Event>, String> {
        let (event, _) = (self.read_event)(content).map_err(|error| error.to_string())?;
        check_receiver(&event, to, partition)?;
        Ok(event)
    }
}

/// What a message of these kinds says of a round.
fn read_saying(kind: u8, content: &[u8]) -> postcard::Result<Saying> {
    Ok(match kind {
        UP => Saying::Up(postcard::from_bytes(content)?),
        DOWN => Saying::Down(postcard::from_bytes(content)?),
        _ => Saying::Ask(postcard::from_bytes(content)?),
    })
}

/// An event for an LP that is elsewhere would be handled with the wrong state.
fn check_receiver<E>(event: &Event<E>, federate: u32, partition: &Partition) -> Result<(), String> {
    match belongs(event.to(), federate, partition) {
        true => Ok(()),
        false => Err(format!("an event for another federate than {federate}")),
    }
}

fn belongs(lp: LpId, federate: u32, partition: &Partition) -> bool {
    lp.0 < partition.lps() && partition.place(lp).0 == federate
}

fn head(out: &mut Vec<u8>, kind: u8, round: u8, to: u32) -> Written {
    out.push(kind | round << KIND_BITS);
    put(out, &to)
}

pub(super) fn request(out: &mut Vec<u8>, round: u8, to: u32, from: u32) -> Written {
    head(out, REQUEST, round, to)?;
    put(out, &from)
}

/// In front of something for the owner of another process's run.
pub(super) fn bundle(out: &mut Vec<u8>, round: u8) {
    out.push(BUNDLE | round << KIND_BITS);
}

pub(super) fn saying(out: &mut Vec<u8>, saying: &Saying) -> Written {
    match saying {
        Saying::Up(all) => {
            out.push(UP);
            put(out, all)
        }
        Saying::Down(all) => {
            out.push(DOWN);
            put(out, all)
        }
        Saying::Ask(round) => {
            out.push(ASK);
            put(out, round)
        }
    }
}

#[cfg(test)]
pub(super) fn is_bundle(message: &[u8]) -> bool {
    message.first().is_some_and(|kind| kind & ((1 << KIND_BITS) - 1) == BUNDLE)
}

#[cfg(test)]
pub(super) fn contribution(message: &[u8]) -> Option<super::Contribution> {
    message.strip_prefix(&[UP]).map(|content| postcard::from_bytes(content).expect("it was written here"))
}

pub(super) fn failed(out: &mut Vec<u8>, what: &str) -> Written {
    out.push(FAILED);
    out.extend_from_slice(what.as_bytes());
    Ok(())
}

/// A sign of life: all messages of the rounds before `round` have been sent.
pub(super) fn alive(out: &mut Vec<u8>, round: u64) {
    out.push(ALIVE);
    out.extend_from_slice(&round.to_le_bytes());
}

/// The round in a sign of life, if the message is one.
pub(super) fn sign_of_life(message: &[u8]) -> Option<u64> {
    let content = message.strip_prefix(&[ALIVE])?;
    content.try_into().ok().map(u64::from_le_bytes)
}

/// Calls `each` with every message that ends in `frame`; `partial` keeps the beginning of one that does not.
/// Says whether the sender waits for this process.
pub(super) fn read_frame(
    partial: &mut Vec<u8>,
    frame: &[u8],
    mut each: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<bool, String> {
    let mut records = Records::read(frame).map_err(|error| error.to_string())?;
    let (waits, continues) = (records.is_waiting(), records.continues());
    while let Some(record) = records.next() {
        let ends = !(continues && records.is_empty());
        if ends && partial.is_empty() {
            each(record)?;
            continue;
        }
        if record.len() > LONGEST_MESSAGE - partial.len() {
            return Err(format!("a message of more than {LONGEST_MESSAGE} bytes"));
        }
        partial.extend_from_slice(record);
        if ends {
            each(partial)?;
            partial.clear();
        }
    }
    Ok(waits)
}
