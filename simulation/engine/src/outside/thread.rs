//! An outside federate that runs the model on a thread of its own: the reference for all others.
//!
//! Asked for it, it works in small steps, lets others go first, and promises in between how far it has come,
//! so that everything that an outside federate may do is done in tests.
//!
//! It can run ahead, too ([`ahead`](self::ahead)).
//!
//! Invariant: the thread ends when its [`ThreadFederate`] is dropped, or when the model panics.

mod ahead;

use std::fmt;

use paceline_kernel::{Event, Model, Outbox, Progress, Rng, Time};

use super::{Door, FederateError, HandOver, OutsideFederate, OutsideLps};
use crate::sync::mpsc::{self, Receiver, Sender};
use crate::sync::thread::{self, JoinHandle};
use crate::watch::lvt::{Publisher, publish};

/// Events that it runs before it looks up, unless it dawdles.
const BATCH: usize = 1 << 13;

enum Order<M: Model> {
    Begin(Box<OutsideLps<M>>, Door<M>),
    Advance(Time, Vec<Event<M::Event>>),
    RunAhead(HandOver<M::Event>),
    End,
}

/// Runs the LPs of a federate on a thread of its own, by the model.
///
/// ```
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// use paceline_engine::{Outside, Protocol, Simulation, ThreadFederate};
/// # #[derive(Clone)]
/// # struct Ring;
/// # impl Model for Ring {
/// #     type State = u64;
/// #     type Event = u64;
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 4 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 { cx.schedule(Time::secs(1), 1); lp.0.into() }
/// #     fn handle(&self, sum: &mut u64, payload: &u64, cx: &mut Context<Self>) {
/// #         *sum += payload;
/// #         cx.send(LpId((cx.lp().0 + 1) % 4), Time::secs(1), *sum % 7);
/// #     }
/// # }
/// let ring = || Simulation::new(Ring).until(Time::secs(50));
/// let alone = ring().protocol(Protocol::Sequential).run()?;
/// let outside = Outside::new(ThreadFederate::new(Ring));
/// let joined = ring().protocol(Protocol::Window).federates(2).outside(1, outside).run()?;
/// assert_eq!(alone.digest, joined.digest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ThreadFederate<M: Model> {
    orders: Option<Sender<Order<M>>>,
    thread: Option<JoinHandle<()>>,
    optimistic: bool,
}

impl<M: Model + 'static> ThreadFederate<M>
where
    M::State: 'static,
    M::Event: 'static,
    M::Output: 'static,
{
    /// Runs `model`, which must be that of the run.
    pub fn new(model: M) -> Self {
        Self::start(model, None, false)
    }

    /// Runs `model`, which must be that of the run. Under an optimistic or mixed protocol it runs ahead by
    /// the settings of the run, as the federates inside do, and rolls back.
    ///
    /// ```
    /// # use paceline_kernel::{Context, LpId, Model, Time};
    /// use paceline_engine::{Outside, Protocol, Simulation, ThreadFederate};
    /// # #[derive(Clone)]
    /// # struct Ring;
    /// # impl Model for Ring {
    /// #     type State = u64;
    /// #     type Event = u64;
    /// #     type Output = ();
    /// #     fn lps(&self) -> u32 { 4 }
    /// #     fn lookahead(&self) -> Time { Time::secs(1) }
    /// #     fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 { cx.schedule(Time::secs(1), 1); lp.0.into() }
    /// #     fn handle(&self, sum: &mut u64, payload: &u64, cx: &mut Context<Self>) {
    /// #         *sum += payload;
    /// #         cx.send(LpId((cx.lp().0 + 1) % 4), Time::secs(1), *sum % 7);
    /// #     }
    /// # }
    /// let ring = || Simulation::new(Ring).until(Time::secs(50));
    /// let alone = ring().protocol(Protocol::Sequential).run()?;
    /// let outside = Outside::new(ThreadFederate::optimistic(Ring));
    /// let joined = ring().protocol(Protocol::Optimistic).federates(2).outside(1, outside).run()?;
    /// assert_eq!(alone.digest, joined.digest);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn optimistic(model: M) -> Self {
        Self::start(model, None, true)
    }

    /// As `new`, in steps and with pauses drawn from `seed`: for tests.
    #[doc(hidden)]
    pub fn dawdling(model: M, seed: u64) -> Self {
        Self::start(model, Some(Rng::new(seed, 0x6f75_7473)), false)
    }

    /// As [`ThreadFederate::optimistic`], with pauses drawn from `seed`, and saying late where it stands: for
    /// tests.
    #[doc(hidden)]
    pub fn optimistic_dawdling(model: M, seed: u64) -> Self {
        Self::start(model, Some(Rng::new(seed, 0x6f75_7473)), true)
    }

    fn start(model: M, dawdle: Option<Rng>, optimistic: bool) -> Self {
        let (orders, inbox) = mpsc::channel();
        let thread = thread::spawn(move || Worker { model, dawdle }.work(&inbox));
        Self { orders: Some(orders), thread: Some(thread), optimistic }
    }

    fn order(&self, order: Order<M>) {
        // A thread that is gone has said so by dropping its door.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }
}

impl<M: Model> fmt::Debug for ThreadFederate<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadFederate").finish_non_exhaustive()
    }
}

impl<M: Model> Drop for ThreadFederate<M> {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A panic of the model has ended the run already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl<M: Model + 'static> OutsideFederate<M> for ThreadFederate<M>
where
    M::State: 'static,
    M::Event: 'static,
    M::Output: 'static,
{
    fn begin(&mut self, lps: OutsideLps<M>, door: Door<M>) -> Time {
        self.order(Order::Begin(Box::new(lps), door));
        Time::MAX
    }

    fn advance(&mut self, bound: Time, events: Vec<Event<M::Event>>) {
        self.order(Order::Advance(bound, events));
    }

    fn end(&mut self) {
        self.order(Order::End);
    }

    fn runs_model(&self) -> bool {
        true
    }

    fn is_optimistic(&self) -> bool {
        self.optimistic
    }

    fn run_ahead(&mut self, handed: HandOver<M::Event>) {
        self.order(Order::RunAhead(handed));
    }
}

struct Worker<M> {
    model: M,
    dawdle: Option<Rng>,
}

impl<M: Model> Worker<M> {
    fn work(mut self, inbox: &Receiver<Order<M>>) {
        while let Ok(Order::Begin(mut lps, door)) = inbox.recv() {
            if lps.optimism.is_some() {
                self.run_ahead(*lps, &door, inbox);
                continue;
            }
            let mut outbox = Outbox::new(lps.partition.federates());
            let mut publisher = lps.publishing.outside(lps.federate.id());
            loop {
                publisher.set_waiting(true);
                match inbox.recv() {
                    Ok(Order::Advance(bound, events)) => {
                        publisher.set_waiting(false);
                        lps.federate.receive(events);
                        self.advance(&mut lps, &door, bound, &mut outbox, &mut publisher);
                    }
                    Ok(Order::End) => {
                        drop(publisher);
                        break door.ended(*lps);
                    }
                    Ok(Order::Begin(..) | Order::RunAhead(_)) => {
                        unreachable!("a stretch ends before the next begins, and is of one kind")
                    }
                    Err(_) => return,
                }
            }
        }
    }

    fn advance(
        &mut self,
        lps: &mut OutsideLps<M>,
        door: &Door<M>,
        bound: Time,
        outbox: &mut Outbox<M::Event>,
        publisher: &mut Publisher,
    ) {
        let OutsideLps { federate, partition, .. } = lps;
        let mut sent = Vec::new();
        loop {
            if publisher.is_present() {
                publish(publisher, federate.lvt());
            }
            let budget = self.dawdle.as_mut().map_or(BATCH, |rng| 1 + rng.below(5) as usize);
            let progress = federate.advance(&self.model, partition, bound, budget, outbox);
            outbox.flush(|_, events, _| sent.append(events));
            match progress {
                Progress::More => self.look_up(door, federate.lvt(), &sent),
                Progress::Idle => break door.done(federate.lvt(), sent),
                Progress::Faulty => {
                    let trouble = federate.trouble().expect("a faulty federate has trouble");
                    break door.failed(FederateError::Event(Box::new(trouble)));
                }
            }
        }
    }

    /// Between two batches.
    fn look_up(&mut self, door: &Door<M>, lvt: Time, sent: &[Event<M::Event>]) {
        let Some(rng) = &mut self.dawdle else { return };
        for _ in 0..rng.below(3) {
            thread::yield_now();
        }
        // What was sent goes with the answer, and may be for earlier than a promise would allow.
        if rng.chance(0.5) && sent.is_empty() {
            door.promise(lvt);
        }
    }
}
