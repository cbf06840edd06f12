//! One guest: a process of QEMU whose virtual clock advances only as far as it is granted.
//!
//! A guest alternates between two states. It *stands* at a virtual time, and nothing in it moves;
//! [`Guest::grant`] lets it run up to a later time, with the frames that arrive at its cards until then;
//! [`Guest::read`] gives what it did once it stands again. Real time has no part in that: two guests with the
//! same settings, grants and frames do the same, and how the time is cut into grants does not matter either.
//!
//! The plugin in `plugin/`, inside the emulator, does the stopping. When the coordinator goes, however it
//! ends, the socket between them closes and the plugin ends the emulator: no guest outlives its run.
//!
//! ```no_run
//! use paceline_emulate::guest::{Card, Emulator, Guest, GuestError, GuestSettings, GuestState};
//!
//! # fn main() -> Result<(), GuestError> {
//! let emulator = Emulator::find()?;
//! let mut settings = GuestSettings::new("web", emulator.kernel(), "web.log");
//! settings.initramfs = Some("web.initramfs".into());
//! settings.cards = vec![Card { mac: [0x52, 0x54, 0, 0, 0, 1], mtu: 1500 }];
//! let mut guest = Guest::start(&settings, &emulator)?;
//! let mut stopped = guest.wait()?; // before its first instruction
//! while stopped.state == GuestState::Standing && stopped.time_ns < 1_000_000_000 {
//!     guest.grant(stopped.time_ns + 1_000_000, &[])?; // returns at once
//!     stopped = guest.wait()?; // or: polls its descriptor, then calls `read`
//!     for frame in &stopped.frames {
//!         println!("{} bytes left card {} at {} ns", frame.bytes.len(), frame.card, frame.time_ns);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod cards;
mod emulator;
mod error;
mod monitor;
mod page;
mod process;
mod save;
mod settings;
mod spin;
mod wait;
mod wire;

use cards::Cards;
use monitor::Monitor;
use page::Page;
use process::Process;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, send};
use std::io::{ErrorKind, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wait::Listening;
use wire::{Inbox, Order, Record};

pub use emulator::Emulator;
pub use error::{GuestError, LastWords};
pub use settings::{COMMAND_LINE, Card, GuestSettings};
pub(crate) use wait::LOOK_EVERY;
pub use wire::Frame;

/// What a guest did in a grant, once it stands again.
#[derive(Debug)]
pub struct Stopped {
    /// The guest's clock in nanoseconds. With a rate below one instruction a nanosecond it may be past the
    /// grant's end by less than the time of one instruction.
    pub time_ns: u64,
    /// The frames that left its cards, in the order of their times.
    pub frames: Vec<Frame>,
    /// The earliest time at which the guest does something by itself: its clock if it computes, or else its
    /// next timer; `None` if it waits for frames alone. Nobody needs to grant it less than that.
    pub next_ns: Option<u64>,
    /// Whether it can go on.
    pub state: GuestState,
}

/// Whether a guest can be granted more time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestState {
    /// It stands, and goes on with the next grant.
    Standing,
    /// It has switched itself off.
    ShutDown,
    /// It has reset itself: it rebooted, or crashed without saying so. It is not started again.
    Reset,
    /// Its kernel has reported a panic. Kernels do so where the driver `pvpanic-pci` is loaded.
    Crashed,
}

/// A guest that runs or stands. Dropped, its process is killed.
pub struct Guest {
    name: String,
    process: Process,
    socket: UnixStream,
    monitor: Monitor,
    /// There once the plugin has greeted.
    page: Option<Page>,
    listening: Listening,
    inbox: Inbox,
    cards: Cards,
    clock_ns: u64,
    /// What it was let to do, and since when in real time; `None` if it stands.
    order: Option<(Order, Instant)>,
    patience: Duration,
    /// The CPU time of its process when its patience was over for the first time since the order.
    held_up: Option<Duration>,
    template: Option<PathBuf>,
    logs: Vec<PathBuf>,
    is_over: bool,
    /// It has ended by switching itself off.
    is_off: bool,
}

/// To stand where it is: as a guest that starts, or that goes on once it was saved.
const STARTING: Order = Order::Grant { until_ns: 0, frames: 0 };

impl Guest {
    /// Starts the emulator and returns at once, so that many guests start side by side. The first
    /// [`read`](Self::read) that gives something says that the guest stands before its first instruction, or
    /// where its snapshot was saved.
    pub fn start(settings: &GuestSettings, emulator: &Emulator) -> Result<Self, GuestError> {
        settings.check()?;
        let (socket, plugin_end) = socket_pair(settings)?;
        let (monitor, monitor_end) = socket_pair(settings)?;
        let process = Process::start(settings, emulator, plugin_end, monitor_end)?;
        // A guest that stands reads what it is sent, so only one that hangs makes this wait.
        let limit = Some(settings.patience);
        let set_limits = socket.set_write_timeout(limit).and_then(|()| socket.set_read_timeout(limit));
        set_limits.map_err(|source| settings.start_error(source))?;
        let mut guest = Self {
            name: settings.name.clone(),
            process,
            socket,
            monitor: Monitor::new(monitor, settings.patience),
            page: None,
            listening: Listening::default(),
            inbox: Inbox::default(),
            cards: Cards::new(settings),
            clock_ns: 0,
            order: Some((STARTING, Instant::now())),
            patience: settings.patience,
            held_up: None,
            template: settings.template.clone(),
            logs: settings.logs(),
            is_over: false,
            is_off: false,
        };
        if let Some(file) = &settings.load {
            // An emulator that cannot even be told what to load has ended, and said why.
            guest.monitor.load(file).map_err(|_| guest.died())?;
        }
        Ok(guest)
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its clock in nanoseconds when it stood last.
    #[must_use]
    pub fn clock_ns(&self) -> u64 {
        self.clock_ns
    }

    /// Lets the guest run up to `until_ns`, with the frames that arrive until then in the order of their
    /// times, which are before `until_ns`. Returns without waiting for it. A frame that is longer than its
    /// card takes does not arrive, and is counted ([`too_long`](Self::too_long)).
    ///
    /// # Panics
    ///
    /// If the guest does not stand, or the frames are not as described.
    pub fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), GuestError> {
        if self.is_over {
            return Err(self.broken("it was granted time after its end"));
        }
        assert!(self.order.is_none(), "guest {} was granted time while it runs", self.name);
        assert!(frames.is_sorted_by_key(|f| f.time_ns), "frames out of order for guest {}", self.name);
        assert!(frames.last().is_none_or(|f| f.time_ns < until_ns), "frames after a grant's end");
        let (order, message) = wire::grant(until_ns, self.cards.arriving(frames));
        self.tell(order, &message)
    }

    /// Takes what the guest has sent so far; gives what it did if it stands again, and `None` while it runs.
    /// Does not wait. A guest that has run longer in real time than its settings allow is given up here.
    pub fn read(&mut self) -> Result<Option<Stopped>, GuestError> {
        if self.listening.rings() { self.read_page() } else { self.receive(RecvFlags::DONTWAIT) }
    }

    /// When the guest is given up unless it stands by then; `None` if it stands.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.order.map(|(_, since)| since + self.patience)
    }

    /// How many frames did not arrive because they are longer than an Ethernet header, a VLAN tag and the MTU
    /// of their card.
    #[must_use]
    pub fn too_long(&self) -> u64 {
        self.cards.too_long
    }

    /// How many frames were lost at its cards since 10,000 others waited for a driver, or since it was reset
    /// while they waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.cards.dropped
    }

    /// The real CPU time of its process so far, in steps of 10 ms.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        self.process.cpu_time()
    }

    /// The files to which what the guest writes to its serial lines goes.
    pub(crate) fn logs(&self) -> &[PathBuf] {
        &self.logs
    }

    /// Whether it has switched itself off.
    pub(crate) fn is_off(&self) -> bool {
        self.is_off
    }

    /// The number of its process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the guest, wherever it is.
    pub fn end(mut self) {
        // The plugin ends the emulator at once; what hangs is killed when `self.process` is dropped.
        let _ = self.socket.shutdown(Shutdown::Both);
        self.process.wait(Duration::from_secs(1));
    }

    fn tell(&mut self, order: Order, frames: &[u8]) -> Result<(), GuestError> {
        self.order = Some((order, Instant::now()));
        // The guest wakes up with what the socket takes at once, and makes room for the rest.
        let sent = match frames {
            [] => Ok(0),
            _ => send(&self.socket, frames, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
        };
        let now = match sent {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Err(self.died()),
        };
        let how = self.listening.answering(order);
        self.page.as_mut().expect("a guest that stands has greeted").order(order, how);
        self.socket.write_all(&frames[now..]).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.hung(),
            _ => self.died(),
        })
    }

    /// Takes what has been received; gives what the guest did if it stands again.
    fn take_records(&mut self) -> Result<Option<Stopped>, GuestError> {
        while let Some(record) = self.inbox.next().map_err(|reason| self.broken(&reason))? {
            if let Some(stopped) = self.take(record)? {
                return Ok(Some(stopped));
            }
        }
        Ok(None)
    }

    fn take(&mut self, record: Record) -> Result<Option<Stopped>, GuestError> {
        match record {
            Record::Hello { protocol: wire::PROTOCOL, page } => {
                let opened = Page::open(self.process_id(), page);
                self.page = Some(opened.map_err(|error| self.broken(&format!("its shared page: {error}")))?);
                Ok(None)
            }
            Record::Hello { protocol, .. } => {
                let reason =
                    format!("its plugin speaks version {protocol} of the protocol, not {}", wire::PROTOCOL);
                Err(GuestError::Refused {
                    guest: self.name.clone(),
                    reason: reason + "; run scripts/emulator",
                })
            }
            Record::Refused { reason } => Err(GuestError::Refused { guest: self.name.clone(), reason }),
            Record::Left(frame) => {
                let time_ns = frame.time_ns;
                if self.cards.keep(frame) { Ok(None) } else { Err(self.flooded(time_ns)) }
            }
            Record::Dropped { count } => {
                self.cards.dropped = count;
                Ok(None)
            }
            Record::Paused { time_ns } if time_ns != self.clock_ns => {
                // What it did meanwhile nobody has seen.
                (self.is_over, self.order) = (true, None);
                self.process.kill();
                Err(self.broken(&format!("it paused at {time_ns} ns to be saved, not where it stood")))
            }
            Record::Paused { .. } => {
                self.order = Some((STARTING, Instant::now()));
                Ok(None)
            }
            Record::Stopped { time_ns, next_ns } => {
                Ok(Some(self.stopped(time_ns, next_ns, GuestState::Standing)))
            }
            Record::Ended { time_ns, cause } => {
                let state = match cause.as_str() {
                    "guest-shutdown" => GuestState::ShutDown,
                    "guest-reset" => GuestState::Reset,
                    "guest-panic" => GuestState::Crashed,
                    // QEMU was ended from outside, by a signal for one.
                    _ => return Err(self.died_because(&format!("was ended ({cause})"))),
                };
                (self.is_over, self.is_off) = (true, state == GuestState::ShutDown);
                Ok(Some(self.stopped(time_ns, None, state)))
            }
        }
    }

    fn stopped(&mut self, time_ns: u64, next_ns: Option<u64>, state: GuestState) -> Stopped {
        (self.order, self.held_up) = (None, None);
        self.clock_ns = time_ns;
        Stopped { time_ns, frames: self.cards.take(), next_ns, state }
    }

    fn died(&mut self) -> GuestError {
        let how = self.process.wait(Duration::from_secs(1));
        self.died_because(&how)
    }

    fn died_because(&mut self, how: &str) -> GuestError {
        self.is_over = true;
        GuestError::Died {
            guest: self.name.clone(),
            time_ns: self.clock_ns,
            how: how.to_owned(),
            last_words: Box::new(self.process.last_words()),
        }
    }

    fn hung(&mut self) -> GuestError {
        self.is_over = true;
        let error = GuestError::Hung {
            guest: self.name.clone(),
            time_ns: self.clock_ns,
            patience: self.patience,
            last_words: Box::new(self.process.last_words()),
        };
        self.process.kill();
        error
    }

    fn flooded(&mut self, time_ns: u64) -> GuestError {
        self.is_over = true;
        self.process.kill();
        GuestError::Flooded { guest: self.name.clone(), time_ns, most_bytes: self.cards.most_bytes }
    }

    fn broken(&self, reason: &str) -> GuestError {
        GuestError::Protocol { guest: self.name.clone(), time_ns: self.clock_ns, reason: reason.to_owned() }
    }
}

/// Readable when [`Guest::read`] may give something, unless its [bell](Guest::bell) is listened to.
impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn socket_pair(settings: &GuestSettings) -> Result<(UnixStream, UnixStream), GuestError> {
    UnixStream::pair().map_err(|source| settings.start_error(source))
}
