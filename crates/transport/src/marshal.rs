//! Marshalling: records for one peer gather in a frame, which goes when it is large enough or old enough.
//!
//! One frame costs about the same whatever is in it, so many records in one cost less each; but a record that waits for others arrives
//! later (ARTIS paper, section 6). [`Gather`] weighs the two. It is pure: time is a parameter, and the caller sends.
//!
//! - *Size.* A frame holds up to a multiple of the path's unit, so that no unit goes half empty. By default the multiple follows the
//!   rate of records: as many units as fill while 20 frames could be sent, so that sending takes a twentieth of the time at most.
//! - *Time.* By default a frame waits for as long as it is worth it: twice the time in which it should fill, up to a limit; not at all
//!   if the next record is not expected within the limit. If the receiver says that it is waiting, a frame waits only while the next
//!   record is expected sooner than a frame can be sent, and for no longer than that.
//! - *Withdrawal.* A record that has not gone yet can be taken back, such as a message by its anti-message. This marks it; the bytes
//!   are closed up once, before the frame goes.
//!
//! Invariants: records go in the order in which they were added, each once or, if withdrawn, never. A frame of more than one record is
//! never larger than the size in force when its last record was added. Nothing is kept but the one frame.

mod estimate;
mod records;
mod settings;
#[cfg(all(test, not(paceline_shuttle)))]
mod test;

use thiserror::Error;

use crate::Handed;
use estimate::Estimate;
use records::{OPENING_BYTES, PREFIX_BYTES_MAX, WAITING, prefix_bytes, put_prefix};
pub use records::{RecordError, Records};
pub use settings::{Marshalling, Reason, SizeLimit, Statistics, TimeLimit};

/// A record that was added, as [`Gather::withdraw`] knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Why a record was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AddError {
    /// The frame is full: it has to go first.
    #[error("the frame is full")]
    Full,
    /// No frame of this path is large enough.
    #[error("a record of {length} bytes, a frame of this path takes {most}")]
    TooLong {
        /// The bytes of the record.
        length: usize,
        /// The most that a record may have.
        most: usize,
    },
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
    /// The opening, then the records, withdrawn ones too.
    frame: Vec<u8>,
    /// Where each record begins, with the highest bit set if it was withdrawn.
    places: Vec<u32>,
    /// The number of the first of them.
    first: u64,
    /// Bytes and number of withdrawn ones among them.
    dead_bytes: usize,
    dead: usize,
    /// When the first of them was added.
    since_ns: u64,
    estimate: Estimate,
    /// The peer has said that it waits, and nothing has gone to it since.
    peer_waits: bool,
    statistics: Statistics,
}

/// Marks the place of a withdrawn record.
const DEAD: u32 = 1 << 31;

impl Gather {
    /// For a path whose unit and frame limit are [`crate::Transport::unit`] and [`crate::Transport::frame_limit`]. A frame has at least
    /// 64 bytes, and at most 1 GiB.
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

    /// Adds a record at time `now_ns`, which never goes back.
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
        // Withdrawn records leave their places behind until the frame goes.
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

    /// Takes back a record that has not gone yet; whether it could be.
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

    /// Whether no record waits.
    pub fn is_empty(&self) -> bool {
        self.places.len() == self.dead
    }

    /// Records that wait.
    pub fn records(&self) -> usize {
        self.places.len() - self.dead
    }

    /// Why the frame is to go now, if it is.
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

    /// When the frame is to go for its age, if no record is added until then.
    pub fn due_at_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.since_ns.saturating_add(self.patience_ns()))
    }

    /// Has the frame sent. If it is [`Handed::Over`], the next record begins a new one; if it is [`Handed::Full`] or an error, it stays,
    /// and records can still be added and withdrawn. A frame may be empty: it says whether this side waits.
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

    /// The peer has said whether it waits: [`Records::is_waiting`] of a frame from it. That counts until a frame has gone to it.
    pub fn peer_waits(&mut self, waits: bool) {
        self.peer_waits = waits;
    }

    /// Says in the frames to come whether this side waits for the peer.
    pub fn say_waiting(&mut self, waiting: bool) {
        self.frame[0] = if waiting { WAITING } else { 0 };
    }

    /// What has gone so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The most bytes of a frame of several records, as things are.
    pub fn size(&self) -> usize {
        let size = match self.settings.size {
            SizeLimit::Adaptive if self.peer_waits => self.unit,
            SizeLimit::Adaptive => self.unit * self.estimate.units(self.unit),
            SizeLimit::Bytes(bytes) => bytes,
            SizeLimit::Off => 0,
        };
        size.min(self.limit)
    }

    /// How long the first record waits, as things are.
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

    /// Forgets all records.
    fn clear(&mut self) {
        self.first += self.places.len() as u64;
        self.places.clear();
        self.frame.truncate(OPENING_BYTES);
        (self.dead, self.dead_bytes) = (0, 0);
    }

    /// Takes the bytes of withdrawn records out of the frame. Their tickets stay withdrawn, those of others stay valid.
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
