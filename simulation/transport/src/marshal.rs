//! Marshalling: records for one peer are gathered in a frame, which is sent when it is large enough or old
//! enough.
//!
//! A frame costs about the same whatever its content, so many records in one frame cost less each; but a
//! record that waits for others arrives later (ARTIS paper, section 6). [`Gather`] balances the two. It is
//! pure: time is a parameter, and the caller sends.
//!
//! - *Size.* A frame holds up to a multiple of the path's unit, so that no packet is sent half empty. By
//!   default the multiple follows the rate of records: as many units as are filled in the time that 20 frames
//!   take to send, so that sending takes about a twentieth of the time; at most 16.
//! - *Time.* By default a frame waits for twice the time in which it is expected to fill, up to a limit; it
//!   does not wait if the next record is not expected within the limit. If the receiver has said that it
//!   waits, a frame waits only if the next record is expected sooner than a frame can be sent, and no longer
//!   than that.
//! - *Withdrawal.* A record that has not been sent can be withdrawn, such as a message by its anti-message.
//!   It is only marked; its bytes are removed before the frame is sent.
//! - *Long records.* A record that no frame has room for goes in several frames ([`Gather::hand_over_long`]).
//!
//! Invariants: records are sent in the order in which they were added, each once, or never if withdrawn. A
//! frame of more than one record is never larger than the size limit in force when its last record was added.
//! Only one frame is stored.

mod estimate;
mod records;
mod settings;
#[cfg(all(test, not(paceline_shuttle)))]
mod test;

use thiserror::Error;

use crate::Handed;
use estimate::Estimate;
use records::{CONTINUES, OPENING_BYTES, PREFIX_BYTES_MAX, WAITING, prefix_bytes, put_prefix};
pub use records::{RecordError, Records};
pub use settings::{Marshalling, Reason, SizeLimit, Statistics, TimeLimit};

/// The identity of an added record, for [`Gather::withdraw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Why a record was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum AddError {
    /// The frame is full and must be sent first.
    #[error("the frame is full")]
    Full,
    /// No frame of this path has room for the record.
    #[error("a record of {length} bytes, a frame of this path takes {most}")]
    TooLong { length: usize, most: usize },
}

/// Gathers records for one peer.
///
/// ```
/// use paceline_transport::{Handed, marshal::{Gather, Marshalling, Reason, Records}};
///
/// let mut gather = Gather::new(Marshalling::default(), 1_424, 65_536);
/// let (mut now_ns, mut frames) = (0, Vec::new());
/// for number in 0..100_u32 {
///     now_ns += 50;
///     let ticket = gather.add(&number.to_le_bytes(), now_ns)?;
///     if number == 70 {
///         assert!(gather.withdraw(ticket));
///     }
///     if let Some(reason) = gather.due(now_ns) {
///         gather.hand_over(reason, |frame| { frames.push(frame.to_vec()); Ok::<_, ()>(Handed::Over) }).unwrap();
///     }
/// }
/// gather.hand_over(Reason::Asked, |frame| { frames.push(frame.to_vec()); Ok::<_, ()>(Handed::Over) }).unwrap();
/// let records: usize = frames.iter().map(|frame| Records::read(frame).unwrap().count()).sum();
/// assert_eq!((records, gather.statistics().withdrawn), (99, 1));
/// # Ok::<(), paceline_transport::marshal::AddError>(())
/// ```
#[derive(Debug)]
pub struct Gather {
    settings: Marshalling,
    unit: usize,
    limit: usize,
    /// The flags, then the records, including withdrawn ones.
    frame: Vec<u8>,
    /// The start of each record; the highest bit is set if it was withdrawn.
    places: Vec<u32>,
    /// The number of the first record in the frame.
    first: u64,
    /// The bytes and the number of withdrawn records in the frame.
    dead_bytes: usize,
    dead: usize,
    /// When the first record was added.
    since_ns: u64,
    estimate: Estimate,
    /// The peer has said that it waits, and no frame has been sent to it since.
    peer_waits: bool,
    statistics: Statistics,
}

/// Marks a record as withdrawn.
const DEAD: u32 = 1 << 31;

impl Gather {
    /// For a path whose unit and frame limit are [`crate::Transport::unit`] and
    /// [`crate::Transport::frame_limit`]. A frame has at least 64 bytes, and at most 1 GiB.
    pub fn new(settings: Marshalling, unit: usize, frame_limit: usize) -> Self {
        let limit = frame_limit.clamp(64, 1 << 30);
        Self {
            settings,
            unit: unit.clamp(64, limit),
            limit,
            frame: vec![0; OPENING_BYTES],
            places: Vec::new(),
            first: 0,
            dead_bytes: 0,
            dead: 0,
            since_ns: 0,
            estimate: Estimate::default(),
            peer_waits: false,
            statistics: Statistics::default(),
        }
    }

    /// Adds a record at time `now_ns`, which must not decrease.
    #[inline]
    pub fn add(&mut self, record: &[u8], now_ns: u64) -> Result<Ticket, AddError> {
        let most = self.limit - OPENING_BYTES - PREFIX_BYTES_MAX;
        if record.len() > most {
            return Err(AddError::TooLong { length: record.len(), most });
        }
        let bytes = prefix_bytes(record.len()) + record.len();
        if self.dead_bytes > 0 && self.frame.len() + bytes > self.size() {
            self.close_up();
        }
        if !self.is_empty()
            && (self.frame.len() + bytes > self.size() || self.settings.size == SizeLimit::Off)
        {
            return Err(AddError::Full);
        }
        // Withdrawn records use up bytes and places until the frame is sent.
        if self.places.len() >= self.limit {
            return Err(AddError::Full);
        }
        if self.places.is_empty() {
            self.since_ns = now_ns;
        }
        self.estimate.record(bytes, now_ns, self.most_ns());
        self.places.push(self.frame.len() as u32);
        put_prefix(record.len(), &mut self.frame);
        self.frame.extend_from_slice(record);
        Ok(Ticket(self.first + self.places.len() as u64 - 1))
    }

    /// Withdraws a record that has not been sent yet. Returns whether that was possible.
    pub fn withdraw(&mut self, ticket: Ticket) -> bool {
        let number = ticket.0.wrapping_sub(self.first);
        let Some(place) = self.places.get(number as usize).copied().filter(|place| place & DEAD == 0) else {
            return false;
        };
        let next =
            self.places.get(number as usize + 1).map_or(self.frame.len(), |next| (next & !DEAD) as usize);
        self.places[number as usize] |= DEAD;
        self.dead_bytes += next - place as usize;
        self.dead += 1;
        self.statistics.withdrawn += 1;
        if self.dead == self.places.len() {
            self.clear();
        }
        true
    }

    /// A record that waits: `None` once it has been sent or withdrawn.
    pub fn get(&self, ticket: Ticket) -> Option<&[u8]> {
        let number = ticket.0.wrapping_sub(self.first);
        let place = self.places.get(number as usize).copied().filter(|place| place & DEAD == 0)?;
        let bytes = &self.frame[place as usize..];
        let (length, start) = records::length(bytes, 0)?;
        bytes.get(start..start + length)
    }

    /// Whether no record waits.
    pub fn is_empty(&self) -> bool {
        self.places.len() == self.dead
    }

    /// The number of records that wait.
    pub fn records(&self) -> usize {
        self.places.len() - self.dead
    }

    /// The reason to send the frame now, if there is one.
    #[inline]
    pub fn due(&self, now_ns: u64) -> Option<Reason> {
        if self.is_empty() {
            return None;
        }
        let live = self.frame.len() - self.dead_bytes;
        if self.settings.size == SizeLimit::Off || live + self.estimate.record_bytes() > self.size() {
            return Some(Reason::Size);
        }
        (now_ns.saturating_sub(self.since_ns) >= self.patience_ns()).then_some(Reason::Time)
    }

    /// When the frame is to be sent because of its age, if no record is added before.
    pub fn due_at_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.since_ns.saturating_add(self.patience_ns()))
    }

    /// Sends the frame with `send`. After [`Handed::Over`] the next record begins a new frame. After
    /// [`Handed::Full`] or an error the frame stays, and records can still be added and withdrawn. An
    /// empty frame may be sent too: it says whether this side waits.
    pub fn hand_over<E>(
        &mut self,
        reason: Reason,
        send: impl FnOnce(&[u8]) -> Result<Handed, E>,
    ) -> Result<Handed, E> {
        self.close_up();
        let handed = send(&self.frame)?;
        if handed == Handed::Over {
            let statistics = &mut self.statistics;
            statistics.frames += 1;
            statistics.records += (self.places.len() - self.dead) as u64;
            statistics.bytes += self.frame.len() as u64;
            *match reason {
                Reason::Size => &mut statistics.by_size,
                Reason::Time => &mut statistics.by_time,
                Reason::Asked => &mut statistics.asked,
            } += 1;
            self.peer_waits = false;
            self.clear();
        }
        Ok(handed)
    }

    /// Sends a record that [`Gather::add`] has found too long, in as many frames as it needs, each of which
    /// says that it continues but for the last. `send` waits until there is room for a frame; after an
    /// error of it the peer cannot read what follows. What was added before must have been sent.
    pub fn hand_over_long<E>(
        &mut self,
        record: &[u8],
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(self.is_empty(), "records are sent in the order in which they were added");
        self.clear();
        let most = self.limit - OPENING_BYTES - PREFIX_BYTES_MAX;
        let mut pieces = record.chunks(most).peekable();
        while let Some(piece) = pieces.next() {
            let flags = if pieces.peek().is_some() { CONTINUES } else { 0 };
            self.frame[0] = self.frame[0] & WAITING | flags;
            put_prefix(piece.len(), &mut self.frame);
            self.frame.extend_from_slice(piece);
            let sent = send(&self.frame);
            let statistics = &mut self.statistics;
            statistics.frames += 1;
            statistics.by_size += 1;
            statistics.bytes += self.frame.len() as u64;
            self.frame[0] &= WAITING;
            self.clear();
            sent?;
        }
        self.statistics.records += 1;
        self.peer_waits = false;
        Ok(())
    }

    /// Records whether the peer waits, as [`Records::is_waiting`] of its latest frame says. This is valid
    /// until a frame is sent to it.
    pub fn peer_waits(&mut self, waits: bool) {
        self.peer_waits = waits;
    }

    /// Sets whether the next frames say that this side waits for the peer.
    pub fn say_waiting(&mut self, waiting: bool) {
        self.frame[0] = if waiting { WAITING } else { 0 };
    }

    /// The statistics of what has been sent.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The current size limit of a frame with several records.
    pub fn size(&self) -> usize {
        let size = match self.settings.size {
            SizeLimit::Adaptive if self.peer_waits => self.unit,
            SizeLimit::Adaptive => self.unit * self.estimate.units(self.unit),
            SizeLimit::Bytes(bytes) => bytes,
            SizeLimit::Off => 0,
        };
        size.min(self.limit)
    }

    /// How long the first record waits under the current estimates.
    pub fn patience_ns(&self) -> u64 {
        match self.settings.time {
            TimeLimit::Fixed { ns } => ns,
            TimeLimit::Adaptive { most_ns } if self.peer_waits => {
                self.estimate.patience_waited_for_ns().min(most_ns)
            }
            TimeLimit::Adaptive { most_ns } => self.estimate.patience_ns(self.size(), most_ns),
        }
    }

    fn most_ns(&self) -> u64 {
        match self.settings.time {
            TimeLimit::Adaptive { most_ns: ns } | TimeLimit::Fixed { ns } => ns,
        }
    }

    fn clear(&mut self) {
        self.first += self.places.len() as u64;
        self.places.clear();
        self.frame.truncate(OPENING_BYTES);
        (self.dead, self.dead_bytes) = (0, 0);
    }

    /// Removes the bytes of withdrawn records from the frame. Their tickets stay withdrawn; the other tickets
    /// stay valid.
    fn close_up(&mut self) {
        if self.dead_bytes == 0 {
            return;
        }
        let (mut to, end) = (OPENING_BYTES, self.frame.len());
        for number in 0..self.places.len() {
            let place = self.places[number];
            let next = self.places.get(number + 1).map_or(end, |next| (next & !DEAD) as usize);
            self.places[number] = to as u32 | place & DEAD;
            if place & DEAD == 0 {
                self.frame.copy_within(place as usize..next, to);
                to += next - place as usize;
            }
        }
        self.frame.truncate(to);
        self.dead_bytes = 0;
    }
}
