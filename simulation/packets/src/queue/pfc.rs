//! Priority-based flow control (IEEE 802.1Qbb, now clause 36 of IEEE 802.1Q-2018): a switch pauses the
//! neighbour that sends into it, class by class, before its buffer for that neighbour is full.
//!
//! The bytes that came in by a port in a class count until they leave the switch. Above `xoff` the neighbour
//! gets a frame to pause, at `xon` or below one to go on. What it sends before the pause reaches it goes into
//! the headroom; a packet for which that has no room either is lost.

use serde::{Deserialize, Serialize};

use super::QueueError;

/// The bytes of a pause frame on the wire: 64 of the frame, 8 of the preamble and 12 between frames.
pub const PAUSE_BYTES: u32 = 84;

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// The thresholds of a port's class, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PfcSettings {
    /// Above so many bytes the neighbour is paused.
    pub xoff: u64,
    /// At so many bytes or fewer it goes on.
    pub xon: u64,
    /// What may come in beyond `xoff`.
    pub headroom: u64,
}

impl PfcSettings {
    /// The headroom with which nothing is lost on a link of `rate` bits a second and a latency of
    /// `latency_ps` picoseconds one way, whose packets have at most `mtu` bytes (after annex N of IEEE
    /// 802.1Q-2018): the packet that crosses `xoff`, one that the pause frame waits for, one that the
    /// neighbour has begun to send, the pause frame, and what is on the way while the pause travels, in both
    /// directions.
    pub const fn headroom(rate: u64, latency_ps: u64, mtu: u32) -> u64 {
        let bits = 2 * latency_ps as u128 * rate as u128;
        let on_the_way = bits.div_ceil(8 * PS_PER_SECOND) as u64;
        on_the_way + 3 * mtu as u64 + PAUSE_BYTES as u64
    }
}

/// What a frame says to a neighbour about a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PauseSignal {
    /// It sends nothing more of the class.
    Pause,
    /// It goes on.
    Resume,
}

/// What becomes of a packet that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PfcArrival {
    /// Whether it has room; otherwise it is to be dropped, and does not count.
    pub is_accepted: bool,
    /// What is said to the neighbour, if anything.
    pub signal: Option<PauseSignal>,
}

/// The count of a port's class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Count {
    bytes: u64,
    is_paused: bool,
}

/// The flow control of a switch or host: a count for each port and each of eight classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pfc {
    /// The thresholds of each class; classes without any are never paused, and lose nothing here.
    classes: [Option<PfcSettings>; 8],
    counts: Vec<[Count; 8]>,
}

impl Pfc {
    /// Nothing counted at any of `ports` ports.
    ///
    /// # Errors
    ///
    /// A class would go on above the threshold at which it pauses.
    pub fn new(classes: [Option<PfcSettings>; 8], ports: usize) -> Result<Self, QueueError> {
        if let Some(wrong) = classes.iter().flatten().find(|class| class.xon > class.xoff) {
            return Err(QueueError {
                what: format!("PFC that resumes at {} bytes and pauses above {}", wrong.xon, wrong.xoff),
                allowed: "xon up to xoff",
            });
        }
        Ok(Self { classes, counts: vec![[Count::default(); 8]; ports] })
    }

    /// A packet of `bytes` comes in by `port` in `class` (8 and more count as 7). Panics where there is no
    /// such port.
    pub fn arrive(&mut self, port: usize, class: u8, bytes: u32) -> PfcArrival {
        let class = usize::from(class.min(7));
        let Some(settings) = self.classes[class] else {
            return PfcArrival { is_accepted: true, signal: None };
        };
        let count = &mut self.counts[port][class];
        let with_it = count.bytes + u64::from(bytes);
        let is_accepted = with_it <= settings.xoff + settings.headroom;
        // Without headroom it is a lost packet that pauses the neighbour; but not where so little is counted
        // that no departure would resume it.
        let pauses = with_it > settings.xoff && (is_accepted || count.bytes > settings.xon);
        let signal = (pauses && !count.is_paused).then_some(PauseSignal::Pause);
        count.is_paused |= pauses;
        if is_accepted {
            count.bytes = with_it;
        }
        PfcArrival { is_accepted, signal }
    }

    /// A packet that came in by `port` in `class`, and was accepted, has left the switch or was lost in it.
    /// Panics where fewer bytes are counted.
    pub fn depart(&mut self, port: usize, class: u8, bytes: u32) -> Option<PauseSignal> {
        let class = usize::from(class.min(7));
        let settings = self.classes[class]?;
        let count = &mut self.counts[port][class];
        count.bytes = count.bytes.checked_sub(u64::from(bytes)).expect("what departs has arrived");
        let resumes = count.is_paused && count.bytes <= settings.xon;
        count.is_paused &= !resumes;
        resumes.then_some(PauseSignal::Resume)
    }

    /// Whether it has the thresholds of `fresh`, and counts these bytes by port and class.
    pub(crate) fn holds(&self, fresh: &Self, bytes: &[[u64; 8]]) -> bool {
        let counts = |counts: &[Count; 8]| counts.map(|count| count.bytes);
        self.classes == fresh.classes && self.counts.iter().map(counts).eq(bytes.iter().copied())
    }

    /// The number of ports.
    pub const fn ports(&self) -> usize {
        self.counts.len()
    }

    /// The bytes counted for a port's class.
    pub fn counted(&self, port: usize, class: u8) -> u64 {
        self.counts[port][usize::from(class.min(7))].bytes
    }

    /// Whether the last frame to the neighbour at a port paused a class.
    pub fn is_paused(&self, port: usize, class: u8) -> bool {
        self.counts[port][usize::from(class.min(7))].is_paused
    }
}
