//! Null messages on many threads: no windows, every federate runs as far as the promises that it has received
//! allow.
//!
//! A worker takes the federate furthest behind, takes in its messages and promises, runs it up to its bound
//! for a batch, and posts events and new promises to its neighbours. A neighbour becomes ready when its bound
//! rises, or, on demand, when a federate asks it for a promise. The run is over when no federate is ready or
//! running: all promises have reached the horizon, or no federate waits for one, or there are no events left
//! anywhere.
//!
//! Invariants: a federate is ready at most once, and run by one worker at a time; what was posted while it
//! ran makes it ready again (`again`). `alive` counts the events that exist; it is raised before they are
//! posted, so that it is zero only when there are none.

mod outside;
mod peers;
mod state;

use paceline_kernel::{Federate, Links, Model, Outbox, Partition, Progress, Promise, Time};

use crate::outside::{Occupant, Outsiders, Seated, Start, unseat};
use crate::protocols::outcome::Outcome;
use crate::protocols::scaffold::{Ending, Scaffold};
use crate::sync::{Apart, AtomicI64, Ordering, lock};
use crate::watch::lvt::WorkerLvt;
use crate::watch::monitor::Halt;
use crate::watch::trace::Recorder;
use crate::workers::pool::{BATCH, Board, Turn};
use crate::workers::ready::Ready;
use crate::workers::seat::{Batch, Inbox, Seat, deliver};
use crate::{RecordKind, RunError, Simulation};
use state::{Quiet, State, Status};

/// Promises and requests in an inbox.
#[derive(Debug)]
struct Mail {
    /// The latest promise by incoming channel, and the least of them.
    clocks: Vec<Time>,
    least: Time,
    /// Federates that ask for a promise.
    requests: Vec<u32>,
}

struct Owner<M: Model> {
    occupant: Occupant<Federate<M>, M>,
    links: Links,
}

type ChannelSeat<M> = Seat<Owner<M>, <M as Model>::Event, Mail>;

/// Federates joined by channels.
pub(crate) struct Channelled<'a, M: Model> {
    shared: Scaffold<'a, M, State>,
    seats: Vec<ChannelSeat<M>>,
    alive: Apart<AtomicI64>,
    on_demand: bool,
}

/// What came of running a federate.
enum Ran {
    /// It has had its turn: whether there is more to do before its bound, and the time before which it will
    /// run nothing.
    Turn { more: bool, floor: Time },
    /// It is outside and was asked to continue; it will do nothing before this.
    Asked(Time),
}

/// A worker's own state.
pub(crate) struct Desk<E> {
    outbox: Outbox<E>,
    arrived: Vec<Batch<E>>,
    spare: Vec<Batch<E>>,
    requests: Vec<u32>,
    /// Federates whose inbox changed in a way that matters to them.
    touched: Vec<u32>,
    null_messages: u64,
    recorder: Recorder,
    lvt: WorkerLvt,
    /// When this worker last looked what is due to be sent to other processes.
    looked_ns: u64,
}

impl<'a, M: Model> Channelled<'a, M> {
    pub(crate) fn new(
        simulation: &'a Simulation<M>,
        partition: &'a Partition,
        seated: Seated<'a, Federate<M>, M>,
        links: Vec<Links>,
        until: Time,
    ) -> Self {
        let Seated { start, mut occupants, answers, idle } = seated;
        let Start { least, workers, peers, .. } = start;
        let count = occupants.len();
        let pending = |occupant: &mut Occupant<Federate<M>, M>| match occupant {
            Occupant::Inside(federate) => federate.pending(),
            Occupant::Outside(proxy) => proxy.pending(),
        };
        let alive = occupants.iter_mut().map(pending).sum::<usize>() as i64;
        let mut ready = Ready::new(count, workers as usize, simulation.model.lookahead());
        // What the first promises rest on. A federate that is far ahead has yet to say so to those who wait
        // for it.
        let from = least.min(until);
        // All are ready though most have nothing to run: each has to make its first promises.
        let (mut status, mut lvts) = (vec![Status::Ready; count], vec![from; count]);
        for federate in 0..count as u32 {
            if peers.is_none_or(|peers| peers.owns(federate)) {
                ready.push(federate, from);
            } else {
                (status[federate as usize], lvts[federate as usize]) = (Status::Idle, Time::MAX);
            }
        }
        let state = State {
            ready,
            status,
            lvts,
            quiet: Quiet::default(),
            running: 0,
            outside: 0,
            ending: Ending::default(),
            null_messages: 0,
        };
        let seat = |(occupant, links): (_, Links)| {
            let mail = Mail { clocks: links.clocks(), least: links.bound(), requests: Vec::new() };
            Seat::new(Owner { occupant, links }, mail)
        };
        let on_demand = links.first().is_some_and(Links::on_demand);
        let seats = occupants.into_iter().zip(links).map(seat).collect();
        let shared = Scaffold::new(simulation, partition, until, start, state, idle, answers);
        Self { shared, seats, alive: Apart(AtomicI64::new(alive)), on_demand }
    }

    /// Runs a federate for a batch and posts the messages and promises that result.
    fn run(&self, id: u32, desk: &mut Desk<M::Event>) -> Result<Ran, RunError> {
        let seat = &self.seats[id as usize];
        let mut owner = lock(&seat.federate);
        let Owner { occupant, links } = &mut *owner;
        {
            let mut inbox = lock(&seat.inbox);
            // Promises and the events that come with them are taken in together: a bound is never ahead of
            // its events.
            std::mem::swap(&mut inbox.batches, &mut desk.arrived);
            std::mem::swap(&mut inbox.extra.requests, &mut desk.requests);
            inbox.extra.clocks.iter().enumerate().for_each(|(slot, clock)| links.raise(slot as u32, *clock));
        }
        desk.requests.drain(..).for_each(|from| links.want(from));
        let bound = links.bound().min(self.shared.until);
        let federate = match occupant {
            Occupant::Inside(federate) => federate,
            Occupant::Outside(proxy) => return self.ask(proxy, links, bound, desk),
        };
        deliver(federate, &mut desk.arrived, &mut desk.spare, self.seats.len());
        let (pending, before) = (federate.pending(), federate.events());
        desk.lvt.publish(|| federate.lvt().min(bound));
        let start_ns = desk.recorder.now();
        let progress =
            federate.advance(self.shared.model, self.shared.partition, bound, BATCH, &mut desk.outbox);
        // Even a federate without events has only come as far as the promises made to it.
        let (lvt, events) = (federate.lvt(), federate.events() - before);
        let floor = lvt.min(bound);
        self.shared.monitor.advance(Time::ZERO, events);
        desk.lvt.publish(|| floor);
        desk.recorder.slice(RecordKind::Run, Some(id), start_ns, floor, events);
        desk.recorder.sent(id, &desk.outbox);
        desk.recorder.flushed();
        if progress == Progress::Faulty {
            return Err(federate.trouble().expect("a faulty federate has trouble").into());
        }
        if !self.lives_on(federate.pending() as i64 - pending as i64, desk) {
            return Ok(Ran::Turn { more: false, floor: Time::MAX });
        }
        self.post(id, links, floor, desk);
        // One with more to do before its bound waits for nobody yet.
        if progress == Progress::Idle {
            self.want(id, links, lvt, desk);
        }
        Ok(Ran::Turn { more: progress == Progress::More, floor })
    }

    /// Counts the events that a federate has made, or used up (`kept`, which may be negative), and those that
    /// it sends. Says whether there are events anywhere, or ends the leg: no promise is needed any more.
    /// Where there are other processes, they decide that together; what goes to them is counted by the
    /// receiver.
    fn lives_on(&self, kept: i64, desk: &Desk<M::Event>) -> bool {
        let here = |to: &u32| self.shared.elsewhere(*to).is_none();
        let sent: usize = desk.outbox.filled().filter(here).map(|to| desk.outbox.to(to).len()).sum();
        // In one addition, before anything is posted: the count is never zero while an event that this turn
        // has used up is to be followed by one that it sends.
        let more = kept + sent as i64;
        let alive = self.alive.fetch_add(more, Ordering::SeqCst) + more;
        // Events of other processes are not in this count: with peers, rounds find the end.
        if self.shared.peers.is_some() {
            return true;
        }
        if alive == 0 {
            lock(&self.shared.state).ending.over = true;
        }
        alive != 0
    }

    /// To which federate an outside one sends something that the declared channels exclude.
    fn undeclared(&self, links: &Links, desk: &Desk<M::Event>) -> Option<u32> {
        desk.outbox.filled().find(|to| !links.keeps(*to, desk.outbox.least(*to)))
    }

    /// Asks those for a promise that federate `id` waits for, on demand.
    fn want(&self, id: u32, links: &mut Links, lvt: Time, desk: &mut Desk<M::Event>) {
        links.ask(lvt, self.shared.until, |from| {
            if let Some(peers) = self.shared.elsewhere(from) {
                return peers.send_request(from, id);
            }
            lock(&self.seats[from as usize].inbox).extra.requests.push(id);
            desk.touched.push(from);
        });
    }

    /// Posts events and promises to the neighbours of federate `id`, which will run nothing before `floor`.
    fn post(&self, id: u32, links: &mut Links, floor: Time, desk: &mut Desk<M::Event>) {
        let Desk { outbox, spare, touched, null_messages, .. } = desk;
        let on_demand = self.on_demand;
        links.promise(floor, self.shared.until, outbox, |promise, outbox| {
            let Promise { to, slot, clock, null } = promise;
            *null_messages += u64::from(null);
            let events = if null { Vec::new() } else { outbox.take(to, spare.pop().unwrap_or_default()) };
            if let Some(peers) = self.shared.elsewhere(to) {
                let mut events = events;
                peers.send_promise(promise, &mut events);
                // For a promise alone no list was taken out: each would leave one more.
                if !null {
                    spare.push(events);
                }
                return;
            }
            if !null && on_demand {
                // Whoever has an event before its bound comes to it must ask.
                touched.push(to);
            }
            self.accept(to, slot, clock, events, touched);
        });
        outbox.flush(|to, events, _| assert!(events.is_empty(), "federate {id} has a channel to {to}"));
        assert!(spare.len() <= self.seats.len(), "a worker keeps no more lists than there are federates");
    }

    /// Puts events and the promise that they come with into the inbox of federate `to`. If its bound rises,
    /// it is touched.
    fn accept(&self, to: u32, slot: u32, clock: Time, events: Batch<M::Event>, touched: &mut Vec<u32>) {
        let mut inbox = lock(&self.seats[to as usize].inbox);
        let Inbox { batches, extra: mail } = &mut *inbox;
        if !events.is_empty() {
            batches.push(events);
        }
        // Only a channel that had the least promise can raise the bound.
        let known = mail.clocks[slot as usize];
        mail.clocks[slot as usize] = clock.max(known);
        if known == mail.least && clock > known {
            mail.least = mail.clocks.iter().copied().min().unwrap_or(Time::MAX);
            if mail.least > known {
                touched.push(to);
            }
        }
    }

    /// Touches the federates that something was posted to, and publishes how far all have come.
    fn touch_and_publish(&self, state: &mut State, desk: &mut Desk<M::Event>) {
        state.null_messages += std::mem::take(&mut desk.null_messages);
        desk.touched.drain(..).for_each(|touched| state.touch(touched));
        let least = state.lvts.iter().copied().min().unwrap_or(Time::MAX);
        self.shared.monitor.advance(least.min(self.shared.until), 0);
        desk.recorder.gvt(least.min(self.shared.until));
    }

    /// How many workers to wake: one for each federate that is ready, but no more than are of use beside this
    /// one and those that hold a federate. One that is outside is running and occupies no worker.
    fn wanted(&self, state: &State) -> u32 {
        let work = u32::try_from(state.ready.len()).unwrap_or(u32::MAX);
        let awake = state.running - state.outside + 1;
        work.min(self.shared.useful.saturating_sub(awake))
    }

    /// Puts federate `id` back after its turn, which may have been `outside`.
    fn close(&self, id: u32, ran: Result<Ran, RunError>, desk: &mut Desk<M::Event>, outside: bool) {
        // Reporting a failure may write to other processes: not while the other workers wait for the state.
        if let Err(error) = &ran {
            self.shared.send_failure(error);
        }
        let mut state = lock(&self.shared.state);
        match ran {
            // All is noted.
            Ok(Ran::Asked(_)) => {}
            Ok(Ran::Turn { more, floor }) => {
                state.running -= 1;
                state.outside -= u32::from(outside);
                state.lvts[id as usize] = floor;
                let again = std::mem::replace(&mut state.status[id as usize], Status::Idle) == Status::Again;
                // `lives_on` may have found that no event is left, without waking anybody.
                if state.ending.over {
                    return self.shared.end(&mut state, None);
                }
                if more || again {
                    state.touch(id);
                }
                self.touch_and_publish(&mut state, desk);
            }
            Err(error) => {
                state.running -= 1;
                state.ending.error.get_or_insert(error);
                self.shared.end(&mut state, Some(Halt::Stop));
            }
        }
        let (wanted, over) = (self.wanted(&state), state.running == 0 && state.ready.len() == 0);
        drop(state);
        if let Some(peers) = self.shared.peers {
            desk.looked_ns = peers.send_due(desk.looked_ns);
        }
        // At the end every worker is to see that it is over, and where there are other processes, one of them
        // has to contribute.
        if over { self.shared.idle.wake_all() } else { self.shared.idle.wake(wanted) }
    }

    /// Takes the board apart after the leg.
    pub(crate) fn finish(self, outsiders: &mut Outsiders<M>) -> Outcome<M> {
        let settled = self.settle();
        let Self { shared, seats, .. } = self;
        let (partition, answers) = (shared.partition, shared.answers.clone());
        let mut state = shared.into_state();
        if let Err(error) = settled {
            state.ending.error.get_or_insert(error);
        }
        let failed = state.ending.error.is_some();
        let left = seats.into_iter().map(|seat| {
            let (owner, batches) = seat.into_federate();
            (owner.occupant, batches)
        });
        let (federates, error) =
            unseat(left, answers.as_deref(), partition, outsiders, failed, |federate| federate);
        Outcome {
            federates,
            halt: state.ending.halt,
            error: state.ending.error.or(error),
            null_messages: state.null_messages,
            ..Outcome::default()
        }
    }
}

impl<'a, M: Model> Board<'a> for Channelled<'a, M> {
    type Model = M;
    type State = State;
    type Desk = Desk<M::Event>;

    fn desk(&self, recorder: Recorder, lvt: WorkerLvt) -> Self::Desk {
        Desk {
            outbox: Outbox::new(self.shared.partition.federates()),
            arrived: Vec::new(),
            spare: Vec::new(),
            requests: Vec::new(),
            touched: Vec::new(),
            null_messages: 0,
            recorder,
            lvt,
            looked_ns: 0,
        }
    }

    fn instruments(desk: &mut Self::Desk) -> (&mut Recorder, &mut WorkerLvt) {
        (&mut desk.recorder, &mut desk.lvt)
    }

    fn turn(&self, worker: usize, desk: &mut Self::Desk) -> Turn {
        if self.hear(desk) || self.hear_peers(desk) {
            return Turn::Worked;
        }
        let mut state = lock(&self.shared.state);
        self.shared.obey(&mut state);
        if self.contribute(&mut state) {
            return Turn::Worked;
        }
        if state.ending.over {
            return Turn::Over;
        }
        let Some(federate) = state.ready.take(worker) else {
            if state.running == 0 && self.shared.peers.is_none() {
                // All workers are idle and none can wake them.
                self.shared.end(&mut state, None);
                return Turn::Over;
            }
            return self.shared.nothing_after_sending(state);
        };
        state.status[federate as usize] = Status::Running;
        state.running += 1;
        drop(state);
        let ran = self.run(federate, desk);
        self.close(federate, ran, desk, false);
        Turn::Worked
    }

    fn scaffold(&self) -> &Scaffold<'a, M, State> {
        &self.shared
    }
}
