//! The thread that all machines of a run share: it grants them time, in the order of a policy, and takes in
//! what they did.
//!
//! More machines than cores is the normal case. Those that may run wait until one that runs stands again, so
//! that none is kept from its core in the middle of a grant by others that are ahead of it.
//!
//! Invariant: the thread ends, and with it all machines, when the last federate is dropped.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use paceline_engine::{Door, OutsideLps};
use paceline_kernel::{Event, Time};
use paceline_packets::{NetEvent, Packets};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Terms;
use super::checkpoint::remove_unnamed;
use super::policy::Queue;
use super::seat::{Seat, Step};
use super::watch::Watch;

/// What a federate is asked for.
pub(super) enum Order {
    Begin(Box<OutsideLps<Packets>>, Door<Packets>),
    Advance(Time, Vec<Event<NetEvent>>),
    End,
    /// To be saved beside a checkpoint; where the answer goes.
    Save(PathBuf, Sender<Result<Vec<u8>, String>>),
}

/// The way to the thread.
pub(super) struct Dispatcher {
    orders: Option<Sender<(usize, Order)>>,
    /// A byte here wakes the thread.
    bell: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Dispatcher {
    pub(super) fn start(model: Packets, mut seats: Vec<Seat>, terms: Terms) -> io::Result<Self> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let (orders, inbox) = mpsc::channel();
        let (at_once, queue) = (terms.at_once.max(1), Queue::new(terms.policy));
        let watch = terms.observer.map(|observer| Watch::new(observer, &mut seats));
        let saved = vec![false; seats.len()];
        let worker = Worker { model, seats, inbox, bell: heard, at_once, queue, watch, saved };
        let thread = thread::Builder::new().name("machines".into()).spawn(move || worker.work())?;
        Ok(Self { orders: Some(orders), bell, thread: Some(thread) })
    }

    pub(super) fn order(&self, number: usize, order: Order) {
        // A thread that is gone has said so by dropping its doors.
        let _ = self.orders.as_ref().map(|orders| orders.send((number, order)));
        self.ring();
    }

    fn ring(&self) {
        // A bell that is full of bytes rings already.
        let _ = (&self.bell).write(&[1]);
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        drop(self.orders.take());
        self.ring();
        // A panic of the thread has ended the run already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Worker {
    model: Packets,
    seats: Vec<Seat>,
    inbox: Receiver<(usize, Order)>,
    bell: UnixStream,
    at_once: usize,
    queue: Queue,
    watch: Option<Watch>,
    /// Which machines were saved for the checkpoint that is being written, or was last.
    saved: Vec<bool>,
}

impl Worker {
    fn work(mut self) {
        while self.take_orders() {
            self.start_machines();
            self.look();
            self.sleep();
            for seat in self.seats.iter_mut().filter(|seat| seat.is_running()) {
                seat.read(&self.model);
            }
            self.look();
        }
    }

    fn look(&mut self) {
        self.watch.iter_mut().for_each(|watch| watch.look(&mut self.seats));
    }

    /// False once no federate is left.
    fn take_orders(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Ok((number, Order::Begin(lps, door))) => self.seats[number].begin(lps, door),
                Ok((number, Order::Advance(bound, events))) => {
                    self.seats[number].advance(&self.model, bound, events);
                }
                Ok((number, Order::End)) => {
                    // Before the run hears of the end, and closes the trace.
                    self.watch.iter_mut().for_each(|watch| watch.end(&mut self.seats, number));
                    self.seats[number].end();
                }
                Ok((number, Order::Save(checkpoint, saved))) => {
                    // Who has asked waits.
                    let _ = saved.send(self.save(number, &checkpoint));
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Saves a machine. The first one of a checkpoint, in whatever order they come, makes room.
    fn save(&mut self, number: usize, checkpoint: &Path) -> Result<Vec<u8>, String> {
        if self.saved[number] || !self.saved.contains(&true) {
            self.saved.fill(false);
            remove_unnamed(checkpoint).map_err(|error| format!("old states cannot be removed: {error}"))?;
        }
        self.saved[number] = true;
        self.seats[number].save(&self.model, checkpoint)
    }

    /// Grants time to those that wait for it, while there are cores.
    fn start_machines(&mut self) {
        let waiting = (0..).zip(&self.seats).filter(|(_, seat)| seat.step() == Step::Waiting);
        waiting.for_each(|(number, _)| self.queue.join(number));
        let mut running = self.seats.iter().filter(|seat| seat.is_running()).count();
        while running < self.at_once {
            let standing = |number: usize| (self.seats[number].earliest_ns(), self.seats[number].work());
            let Some(number) = self.queue.pick(standing) else { return };
            let seat = &mut self.seats[number];
            seat.grant();
            running += usize::from(seat.is_running());
        }
    }

    /// Sleeps until an order comes, a machine says something, or one is to be given up.
    fn sleep(&mut self) {
        let running = || self.seats.iter().filter(|seat| seat.is_running());
        let deadline = running().filter_map(|seat| seat.machine().deadline()).min();
        // A little later than the deadline, so that `read` finds it passed.
        let left = |at: Instant| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let timeout = deadline.and_then(|at| Timespec::try_from(left(at)).ok());
        let mut fds = vec![PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN)];
        fds.extend(running().map(|seat| PollFd::from_borrowed_fd(seat.machine().fd(), PollFlags::IN)));
        // Interrupted by a signal, it looks once more than it has to.
        let _ = poll(&mut fds, timeout.as_ref());
        drop(fds);
        let mut bytes = [0; 256];
        while matches!(self.bell.read(&mut bytes), Ok(256)) {}
    }
}
