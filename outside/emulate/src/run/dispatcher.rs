//! The thread that all machines of a run share: it grants them time, in the order of a policy, and takes in
//! what they did.
//!
//! More machines than cores is the normal case. Those that may run wait until one that runs stands again, so
//! that none is kept from its core in the middle of a grant by others that are ahead of it.
//!
//! Invariant: the thread ends, and with it all machines, when the last federate is dropped.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

use paceline_engine::{Door, OutsideLps};
use paceline_kernel::{Event, Time};
use paceline_packets::{NetEvent, Packets};

use super::Terms;
use super::checkpoint::remove_unnamed;
use super::policy::Queue;
use super::seat::{Seat, Step};
use super::sleep::{Alarm, Sleeper};
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
    alarm: Arc<Alarm>,
    thread: Option<JoinHandle<()>>,
}

impl Dispatcher {
    pub(super) fn start(model: Packets, mut seats: Vec<Seat>, terms: Terms) -> io::Result<Self> {
        let sleeper = Sleeper::new()?;
        let alarm = sleeper.alarm();
        let (orders, inbox) = mpsc::channel();
        let (at_once, queue) = (terms.at_once.max(1), Queue::new(terms.policy));
        let watch = terms.observer.map(|observer| Watch::new(observer, &mut seats));
        let saved = vec![false; seats.len()];
        // Seats that run are at most those that may at once, and all of them before their first time.
        let have_bells = sleeper.takes(at_once) && seats.iter().all(|seat| seat.machine().has_bell());
        let worker = Worker { model, seats, inbox, sleeper, have_bells, at_once, queue, watch, saved };
        let thread = thread::Builder::new().name("machines".into()).spawn(move || worker.work())?;
        Ok(Self { orders: Some(orders), alarm, thread: Some(thread) })
    }

    pub(super) fn order(&self, number: usize, order: Order) {
        // A thread that is gone has said so by dropping its doors.
        let _ = self.orders.as_ref().map(|orders| orders.send((number, order)));
        self.alarm.ring();
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        drop(self.orders.take());
        self.alarm.ring();
        // A panic of the thread has ended the run already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Worker {
    model: Packets,
    seats: Vec<Seat>,
    inbox: Receiver<(usize, Order)>,
    sleeper: Sleeper,
    /// Machines are waited for at their bells, once all have come to their first time.
    have_bells: bool,
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
        self.sleeper.is_awake();
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
        // Those that ran beside it would be waited for at their bells, which it has not.
        if self.have_bells && self.is_starting() {
            return;
        }
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
        let at_bells = self.have_bells && !self.is_starting();
        let running = self.seats.iter_mut().filter(|seat| seat.is_running()).map(Seat::machine_mut);
        if at_bells {
            self.sleeper.at_words(running);
        } else {
            self.sleeper.at_descriptors(running.map(|machine| &*machine));
        }
    }

    /// Whether a machine runs to its first time: until then it has no bell.
    fn is_starting(&self) -> bool {
        self.seats.iter().any(|seat| seat.is_running() && seat.is_starting())
    }
}
