//! LPs on real threads, in the three runtimes of the ARTIS paper (section 5.2): federates of the kernel that
//! run in steps, and hand each other what they send.
//!
//! *Multi-threaded*: an LP has a main thread, which computes, and a courier, which moves messages between
//! LPs; what goes to another LP is handed over three times. They wait for each other by signals (a
//! condition), or by timed waits: nobody is woken, all look again when a span has passed. *Single-threaded*:
//! an LP is one thread, which puts messages into the other's memory and a byte for each into the other's
//! socket, and waits for bytes there. `lp` has the same three for the simulated machine.
//!
//! The paper's third thread, for the network, has nothing to do on one host, and is left out.
//!
//! A step is a window as wide as the lookahead. After it each LP tells each other one the least time that it
//! knows of; the least of all begins the next step.
//!
//! Invariants: a runtime changes when something is computed, never what: all give the digest of the run on
//! one thread. No LP is more than a step ahead of another, and a take reads all bytes of its socket: it holds
//! few, and writing never waits.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use paceline_kernel::{
    Digest, Event, Federate, Model, Outbox, Partition, Progress, Settings, TieBreak, Time, Windows,
};

use super::drive::Driven;

/// Events of a batch, after which what an LP has sent so far is handed over.
const BATCH: usize = 4_096;

/// How the threads of LPs wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// They look again after so long.
    Timed(Duration),
    /// They are woken.
    Signals,
    /// The one thread of an LP waits for its socket.
    Single,
}

/// What an LP sends another in a step: a part of it, or the last.
#[derive(Debug)]
struct Letter<E> {
    to: usize,
    step: u64,
    events: Vec<Event<E>>,
    /// With the last letter of a step: the least time that the sender knows of.
    least: Option<Time>,
}

/// What a thread finds on its shelf.
#[derive(Debug)]
enum Item<E> {
    Letter(Letter<E>),
    /// The end of a courier.
    Stop,
}

/// Where others leave things for a thread.
#[derive(Debug)]
struct Shelf<E> {
    items: Mutex<Vec<Item<E>>>,
    filled: Condvar,
    /// Both ends: what others write, and what the thread reads.
    socket: Option<(UnixStream, UnixStream)>,
}

impl<E> Shelf<E> {
    fn new(waits: Waits) -> io::Result<Self> {
        let socket = if waits == Waits::Single { Some(UnixStream::pair()?) } else { None };
        Ok(Self { items: Mutex::new(Vec::new()), filled: Condvar::new(), socket })
    }

    fn put(&self, item: Item<E>, waits: Waits) {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push(item);
        if let Some((mut ours, _)) = self.socket.as_ref().map(|(ours, theirs)| (ours, theirs)) {
            // A call for each message, as one that waits by `select` needs.
            ours.write_all(&[0]).expect("both ends of the socket are open");
        } else if waits == Waits::Signals {
            self.filled.notify_one();
        }
    }

    /// Everything on the shelf; waits until there is something.
    fn take(&self, waits: Waits) -> Vec<Item<E>> {
        loop {
            if let Some((_, mut theirs)) = self.socket.as_ref().map(|(ours, theirs)| (ours, theirs)) {
                match theirs.read(&mut [0; 1_024]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read.expect("both ends of the socket are open"),
                };
            }
            let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
            if items.is_empty() {
                items = match waits {
                    // Nobody signals: this is a look at intervals.
                    Waits::Timed(span) => {
                        self.filled.wait_timeout(items, span).unwrap_or_else(PoisonError::into_inner).0
                    }
                    Waits::Signals => self.filled.wait(items).unwrap_or_else(PoisonError::into_inner),
                    // The byte was that of something that was taken with what came before it.
                    Waits::Single => continue,
                };
            }
            if !items.is_empty() {
                return std::mem::take(&mut *items);
            }
        }
    }
}

/// The shelves of all threads: main threads, and couriers where there are any.
struct Office<E> {
    waits: Waits,
    mains: Vec<Shelf<E>>,
    couriers: Vec<Shelf<E>>,
}

impl<E: Send> Office<E> {
    fn new(lps: usize, waits: Waits) -> io::Result<Self> {
        let shelves = |count| (0..count).map(|_| Shelf::new(waits)).collect::<io::Result<Vec<_>>>();
        let couriers = if waits == Waits::Single { 0 } else { lps };
        Ok(Self { waits, mains: shelves(lps)?, couriers: shelves(couriers)? })
    }

    /// What the main thread of `from` does with a letter.
    fn send(&self, from: usize, letter: Letter<E>) {
        let next = self.couriers.get(from).unwrap_or(&self.mains[letter.to]);
        next.put(Item::Letter(letter), self.waits);
    }

    /// The courier of LP `lp`: takes what its main thread sends to the couriers of others, and what these
    /// bring to its main thread.
    fn carry(&self, lp: usize) {
        loop {
            for item in self.couriers[lp].take(self.waits) {
                let Item::Letter(letter) = item else { return };
                let next = if letter.to == lp { &self.mains[lp] } else { &self.couriers[letter.to] };
                next.put(Item::Letter(letter), self.waits);
            }
        }
    }
}

/// The main thread of an LP.
struct Main<'a, M: Model> {
    model: &'a M,
    partition: &'a Partition,
    office: &'a Office<M::Event>,
    federate: Federate<M>,
    lp: usize,
    /// By even and odd steps: how many others have ended it, and the least time that they know of.
    ended: [(usize, Time); 2],
    /// Whether the model has broken a rule: the LP computes no more, and goes through the steps.
    is_broken: bool,
}

impl<M: Model> Main<'_, M> {
    /// Runs to the end from the least time of all, and returns the digest, or which rule was broken.
    fn run(mut self, mut least: Time) -> Result<Digest, String> {
        let mut windows = Windows::lookahead(self.model.lookahead());
        let mut step = 0;
        while let Some(bound) = windows.open(least, Time::MAX) {
            let own = self.compute(step, bound);
            least = self.hear(step, own);
            step += 1;
        }
        if let Some(courier) = self.office.couriers.get(self.lp) {
            courier.put(Item::Stop, self.office.waits);
        }
        match self.federate.trouble() {
            Some(trouble) => Err(trouble.to_string()),
            None => Ok(self.federate.finish(self.model).digest),
        }
    }

    /// Computes a step and sends what it gives; returns the least time that this LP knows of then.
    fn compute(&mut self, step: u64, bound: Time) -> Time {
        let lps = self.office.mains.len();
        let mut outbox = Outbox::new(lps as u32);
        let mut own = Time::MAX;
        loop {
            let progress = match self.is_broken {
                true => Progress::Faulty,
                false => self.federate.advance(self.model, self.partition, bound, BATCH, &mut outbox),
            };
            self.is_broken |= progress == Progress::Faulty;
            let mut sent: Vec<Vec<Event<M::Event>>> = (0..lps).map(|_| Vec::new()).collect();
            outbox.flush(|to, events, least| {
                own = own.min(least);
                sent[to as usize].append(events);
            });
            let is_last = progress != Progress::More;
            if is_last && !self.is_broken {
                own = own.min(self.federate.lvt());
            }
            for (to, events) in sent.into_iter().enumerate().filter(|(to, _)| *to != self.lp) {
                if is_last || !events.is_empty() {
                    let least = is_last.then_some(own);
                    self.office.send(self.lp, Letter { to, step, events, least });
                }
            }
            if is_last {
                return own;
            }
        }
    }

    /// Waits until all others have ended the step; returns the least time of all.
    fn hear(&mut self, step: u64, own: Time) -> Time {
        let others = self.office.mains.len() - 1;
        let parity = |step: u64| (step % 2) as usize;
        while self.ended[parity(step)].0 < others {
            for item in self.office.mains[self.lp].take(self.office.waits) {
                let Item::Letter(letter) = item else { continue };
                self.federate.receive(letter.events);
                if let Some(least) = letter.least {
                    let (count, all) = &mut self.ended[parity(letter.step)];
                    (*count, *all) = (*count + 1, (*all).min(least));
                }
            }
        }
        let (_, least) = std::mem::replace(&mut self.ended[parity(step)], (0, Time::MAX));
        least.min(own)
    }
}

/// Runs `model`, whose lookahead is not zero, with so many LPs of the runtime. The error says which rule the
/// model breaks, or what the operating system refuses.
pub fn drive_threads<M: Model>(model: &M, lps: u32, waits: Waits) -> Result<Driven, String> {
    let start = Instant::now();
    let partition = model.partition(lps);
    let settings = Settings { seed: 1, ties: TieBreak::Fixed, window: model.lookahead() };
    let built = Federate::<M>::build(model, &partition, settings);
    let mut federates = built.map_err(|error| error.to_string())?;
    let least = federates.iter_mut().map(Federate::lvt).min().unwrap_or(Time::MAX);
    let office = Office::new(lps as usize, waits).map_err(|error| error.to_string())?;
    let digests = thread::scope(|scope| {
        for lp in 0..office.couriers.len() {
            let office = &office;
            scope.spawn(move || office.carry(lp));
        }
        let main = |(lp, federate)| {
            let (office, partition, ended) = (&office, &partition, [(0, Time::MAX); 2]);
            let main = Main { model, partition, office, federate, lp, ended, is_broken: false };
            scope.spawn(move || main.run(least))
        };
        let mains: Vec<_> = federates.into_iter().enumerate().map(main).collect();
        let joined = mains.into_iter().map(|main| main.join().expect("a main thread does not panic"));
        joined.collect::<Result<Vec<_>, String>>()
    })?;
    let joined = digests.into_iter().reduce(|mut all, digest| {
        all.join(digest);
        all
    });
    Ok(Driven { digest: joined.ok_or("there is no LP")?, wall: start.elapsed() })
}

#[cfg(test)]
mod tests {
    use paceline_kernel::BucketQueue;
    use paceline_models::wireless::{Computation, Deliveries, Wireless};

    use super::super::drive::{Gear, drive};
    use super::*;

    #[test]
    fn whatever_the_runtime_and_the_number_of_lps_the_digest_is_that_of_one_thread() {
        for delivery in [Deliveries::Singly, Deliveries::Together] {
            let network = Wireless::ad_hoc(300, 3, Computation::Light).deliver(delivery);
            let alone = drive::<_, BucketQueue<_>>(&network, Gear::Windows).expect("it runs").digest;
            for waits in [Waits::Timed(Duration::from_micros(50)), Waits::Signals, Waits::Single] {
                for lps in [1, 2, 5] {
                    let driven = drive_threads(&network, lps, waits).expect("it runs");
                    assert_eq!(driven.digest, alone, "{lps} LPs, {waits:?}");
                }
            }
        }
    }
}
