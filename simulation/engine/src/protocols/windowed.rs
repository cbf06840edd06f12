//! Windows on many threads: all federates run up to a bound, then the window moves. The bound is common to
//! all, or each federate has its own ([`DistanceWindows`]).
//!
//! The board's state says which federates have work in the window and how many are not through yet. A worker
//! takes the one furthest behind, runs it for a batch, and keeps the messages of all federates it runs on its
//! desk. When nothing is left to take it hands everything over at once; the worker that does so last opens
//! the next window. So a thread that the operating system has taken off its core holds up only the federate
//! in its hands, there is no barrier at which every thread must arrive, and locks are taken per federate and
//! window, not per event.
//!
//! Invariants: `next[f]` is at most the time of the least event of `f` that was not run, once `f` is through
//! with the window and handed over; `unfinished` counts the federates ready, taken, or not handed over in
//! this window; no desk holds messages of a federate that another worker may take; nothing is sent to arrive
//! before its receiver's bound.

mod peers;

use paceline_kernel::{
    DistanceWindows, EventError, Federate, Model, Outbox, Partition, Progress, Time, Windows,
};

use crate::outside::{Asked, Heard, Occupant, Outsiders, Seated, unseat};
use crate::protocols::outcome::Outcome;
use crate::protocols::scaffold::{Ending, Ends, Scaffold};
use crate::sync::lock;
use crate::watch::lvt::WorkerLvt;
use crate::watch::monitor::Halt;
use crate::watch::trace::Recorder;
use crate::workers::pool::{BATCH, Board, Turn};
use crate::workers::ready::Ready;
use crate::workers::seat::{Batch, Seat, deliver};
use crate::{Observer, RecordKind, Simulation, WindowOpened};

/// The protocol, and how far it allows federates to go in the window that is open.
#[derive(Debug)]
pub(crate) enum Bounds {
    /// All equally far.
    Common(Windows, Time),
    /// Each as far as its distance from the others allows.
    ByDistance(DistanceWindows),
}

impl Bounds {
    /// Opens the next window, where `least` is the least of `next`. Says whether there is one.
    fn open(&mut self, least: Time, next: &[Time], until: Time) -> bool {
        match self {
            Self::Common(windows, bound) => windows.open(least, until).map(|end| *bound = end).is_some(),
            Self::ByDistance(windows) => windows.open(next, until),
        }
    }

    fn of(&self, federate: u32) -> Time {
        match self {
            Self::Common(_, bound) => *bound,
            Self::ByDistance(windows) => windows.bound(federate),
        }
    }

    /// How far apart federates may be without one waiting for another.
    fn slack(&self, lookahead: Time) -> Time {
        match self {
            Self::Common(..) => lookahead,
            Self::ByDistance(windows) => windows.lag(),
        }
    }

    fn opened(&self) -> u64 {
        match self {
            Self::Common(windows, _) => windows.opened(),
            Self::ByDistance(windows) => windows.opened(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State {
    bounds: Bounds,
    ready: Ready,
    /// By federate; the invariants of the module say what.
    next: Vec<Time>,
    unfinished: usize,
    /// Of several the earliest.
    trouble: Option<EventError>,
    ending: Ending,
}

impl Ends for State {
    fn ending(&mut self) -> &mut Ending {
        &mut self.ending
    }

    fn clear(&mut self) {
        self.ready.clear();
    }
}

type WindowSeat<M> = Seat<Occupant<Federate<M>, M>, <M as Model>::Event, ()>;

/// Federates in windows.
pub(crate) struct Windowed<'a, M: Model> {
    shared: Scaffold<'a, M, State>,
    observer: Option<&'a dyn Observer<M>>,
    seats: Vec<WindowSeat<M>>,
}

/// What a worker gathers.
pub(crate) struct Desk<E> {
    outbox: Outbox<E>,
    /// Federates that are through with the window, with their LVT.
    through: Vec<(u32, Time)>,
    /// Federates that something was sent to, with the least time of it: scratch.
    receivers: Vec<(u32, Time)>,
    arrived: Vec<Batch<E>>,
    spare: Vec<Batch<E>>,
    /// The bounds of the window with this number, by federate; empty where they are common to all.
    bounds: Vec<Time>,
    window: u64,
    recorder: Recorder,
    lvt: WorkerLvt,
}

impl<E> Desk<E> {
    /// A federate that an outside one sent a message to for a time before its bound, though the declared
    /// channels exclude that. Under a common bound there is none: what keeps the lookahead, which the proxy
    /// has checked, is beyond it.
    fn early(&self) -> Option<u32> {
        if self.bounds.is_empty() {
            return None;
        }
        self.outbox.filled().find(|to| self.outbox.least(*to) < self.bounds[*to as usize])
    }
}

impl<'a, M: Model> Windowed<'a, M> {
    pub(crate) fn new(
        simulation: &'a Simulation<M>,
        partition: &'a Partition,
        seated: Seated<'a, Federate<M>, M>,
        bounds: Bounds,
        until: Time,
    ) -> Self {
        let Seated { start, mut occupants, answers, idle } = seated;
        let workers = start.workers;
        let lvt = |occupant: &mut Occupant<Federate<M>, M>| match occupant {
            Occupant::Inside(federate) => federate.lvt(),
            Occupant::Outside(proxy) => proxy.lvt(),
        };
        let next: Vec<Time> = occupants.iter_mut().map(lvt).collect();
        let slack = bounds.slack(simulation.model.lookahead());
        let ready = Ready::new(next.len(), workers as usize, slack);
        let state = State { bounds, ready, next, unfinished: 0, trouble: None, ending: Ending::default() };
        let board = Self {
            shared: Scaffold::new(simulation, partition, until, start, state, idle, answers),
            observer: simulation.observer.as_ref().map(|observing| &*observing.observer),
            seats: occupants.into_iter().map(|occupant| Seat::new(occupant, ())).collect(),
        };
        // Nothing has run and no federate is unfinished, so this opens the first window.
        board.close(&mut lock(&board.shared.state));
        board
    }

    /// All federates here are through with the window: opens the next one, or ends the run; where there are
    /// other processes, once all of them are through. Says for how many workers there is work.
    fn close(&self, state: &mut State) -> u32 {
        if self.shared.peers.is_some() {
            return self.close_together(state);
        }
        let least = state.next.iter().copied().min().unwrap_or(Time::MAX);
        self.open(state, least, None)
    }

    /// Opens the next window, or ends the run. Of all processes, `least` is the time of the least event; so
    /// is `next` by federate, unless this process has them all. Says for how many workers there is work.
    fn open(&self, state: &mut State, least: Time, next: Option<&[Time]>) -> u32 {
        self.shared.monitor.advance(least.min(self.shared.until), 0);
        if !state.bounds.open(least, next.unwrap_or(&state.next), self.shared.until) {
            // Callers wake the workers, once they have released the state.
            state.ending.over = true;
            return 0;
        }
        for (federate, next) in (0..).zip(&mut state.next) {
            if *next < state.bounds.of(federate) && self.shared.elsewhere(federate).is_none() {
                state.ready.push(federate, *next);
                // Until it is through, nothing is known but what others send it.
                *next = Time::MAX;
            }
        }
        state.unfinished = state.ready.len();
        // Under the lock: nothing of the window happens before the observer knows of it.
        if let Some(observer) = self.observer {
            let (number, federates) = (state.bounds.opened() - 1, state.ready.len() as u32);
            let (time, events) = (least, self.shared.monitor.events());
            observer.window(&WindowOpened { number, time, federates, events });
        }
        u32::try_from(state.ready.len()).unwrap_or(u32::MAX)
    }

    fn run(&self, federate: u32, bound: Time, desk: &mut Desk<M::Event>) {
        let seat = &self.seats[federate as usize];
        let mut seated = lock(&seat.federate);
        std::mem::swap(&mut lock(&seat.inbox).batches, &mut desk.arrived);
        let local = match &mut *seated {
            Occupant::Inside(federate) => federate,
            Occupant::Outside(proxy) => {
                proxy.receive_batches(&mut desk.arrived);
                // If it is asked, it is through once it has answered.
                if proxy.advance(bound) == Asked::No {
                    desk.through.push((federate, proxy.lvt()));
                }
                return;
            }
        };
        deliver(local, &mut desk.arrived, &mut desk.spare, self.seats.len());
        desk.lvt.publish(|| local.lvt());
        let (before, start_ns) = (local.events(), desk.recorder.now());
        let progress =
            local.advance(self.shared.model, self.shared.partition, bound, BATCH, &mut desk.outbox);
        let (lvt, events) = (local.lvt(), local.events() - before);
        self.shared.monitor.advance(Time::ZERO, events);
        desk.lvt.publish(|| lvt.min(bound));
        desk.recorder.slice(RecordKind::Run, Some(federate), start_ns, lvt.min(bound), events);
        desk.recorder.sent(federate, &desk.outbox);
        let trouble = local.trouble();
        drop(seated);
        if let Some(trouble) = trouble {
            self.fail(trouble);
        } else if progress == Progress::Idle {
            desk.through.push((federate, lvt));
        } else {
            // Whoever finishes the federate may close the window: its messages must not be on this desk by
            // then.
            self.hand_over(desk);
            let mut state = lock(&self.shared.state);
            // Nobody is woken for it: this worker takes its next turn at once.
            if !state.ending.over {
                state.ready.push(federate, lvt);
            }
        }
    }

    /// Takes in an answer of an outside federate. Says whether there was one.
    fn hear(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some((id, answer)) = self.shared.answer() else { return false };
        // Bounds are copied here, since the state is not locked while a seat is.
        self.look_at_bounds(&lock(&self.shared.state), desk);
        let mut seated = lock(&self.seats[id as usize].federate);
        let proxy = seated.proxy().expect("whoever answers is outside");
        let heard = match proxy.hear(answer, self.shared.partition, &mut desk.outbox) {
            Ok(Some(Heard::Done(_))) => match desk.early() {
                Some(to) => Err(proxy.undeclared(desk.outbox.to(to))),
                None => {
                    desk.through.push((id, proxy.lvt()));
                    Ok(())
                }
            },
            // Who waits in a window waits for all that others do in it.
            Ok(Some(Heard::Promise(_)) | None) => Ok(()),
            Err(error) => Err(error),
        };
        drop(seated);
        if let Err(error) = heard {
            self.shared.fail(error);
        }
        true
    }

    /// Notes the bounds of the window that is open, where each federate has its own.
    fn look_at_bounds(&self, state: &State, desk: &mut Desk<M::Event>) {
        if let Bounds::ByDistance(windows) = &state.bounds
            && desk.window != windows.opened()
        {
            desk.window = windows.opened();
            desk.bounds.clear();
            desk.bounds.extend_from_slice(windows.bounds());
        }
    }

    /// Ends the work because of what the model did; of several the earliest is kept.
    fn fail(&self, trouble: EventError) {
        let mut state = lock(&self.shared.state);
        let earlier = |known: &EventError| (trouble.at, trouble.lp) < (known.at, known.lp);
        if state.trouble.as_ref().is_none_or(earlier) {
            state.trouble = Some(trouble.clone());
        }
        self.shared.end(&mut state, Some(Halt::Stop));
        // Sending to the others may wait for room.
        drop(state);
        self.shared.send_failure(&trouble.into());
    }

    /// Hands over what the desk has gathered; opens the next window if that was the last of this one.
    fn hand_over(&self, desk: &mut Desk<M::Event>) {
        let Desk { outbox, spare, receivers, through, recorder, .. } = desk;
        outbox.flush(|federate, events, least| {
            match self.shared.elsewhere(federate) {
                Some(peers) => peers.send_events(federate, events),
                None => self.seats[federate as usize].post(events, spare),
            }
            receivers.push((federate, least));
        });
        recorder.flushed();
        // By now messages are in their inboxes: once the window closes, any worker may run their receivers.
        let mut state = lock(&self.shared.state);
        for (federate, time) in through.iter().chain(receivers.iter()) {
            let next = &mut state.next[*federate as usize];
            *next = (*next).min(*time);
        }
        state.unfinished -= through.len();
        through.clear();
        receivers.clear();
        if state.unfinished == 0 && !state.ending.over {
            let work = self.close(&mut state);
            recorder.gvt(self.shared.monitor.time());
            let over = state.ending.over;
            drop(state);
            if over {
                self.shared.idle.wake_all();
            } else {
                // One federate is for the worker that opened the window.
                self.shared.idle.wake(work.min(self.shared.useful).saturating_sub(1));
            }
        }
    }

    /// Takes the board apart after the leg.
    pub(crate) fn finish(self, outsiders: &mut Outsiders<M>) -> Outcome<M> {
        let Self { shared, seats, .. } = self;
        let (partition, answers) = (shared.partition, shared.answers.clone());
        let state = shared.into_state();
        let failed = state.trouble.is_some() || state.ending.error.is_some();
        let left = seats.into_iter().map(Seat::into_federate);
        let (federates, error) =
            unseat(left, answers.as_deref(), partition, outsiders, failed, |federate| federate);
        Outcome {
            federates,
            halt: state.ending.halt,
            trouble: state.trouble,
            error: state.ending.error.or(error),
            windows: state.bounds.opened(),
            ..Outcome::default()
        }
    }
}

impl<'a, M: Model> Board<'a> for Windowed<'a, M> {
    type Model = M;
    type State = State;
    type Desk = Desk<M::Event>;

    fn desk(&self, recorder: Recorder, lvt: WorkerLvt) -> Self::Desk {
        let outbox = Outbox::new(self.shared.partition.federates());
        let (through, receivers) = (Vec::new(), Vec::new());
        let (arrived, spare) = (Vec::new(), Vec::new());
        Desk { outbox, through, receivers, arrived, spare, bounds: Vec::new(), window: 0, recorder, lvt }
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
        if let Some(federate) = state.ready.take(worker) {
            let bound = state.bounds.of(federate);
            drop(state);
            self.run(federate, bound, desk);
            return Turn::Worked;
        }
        // Before the worker may leave: at a pause no message stays on a desk.
        if !desk.outbox.is_empty() || !desk.through.is_empty() {
            drop(state);
            self.hand_over(desk);
            return Turn::Worked;
        }
        if state.ending.over {
            return Turn::Over;
        }
        self.shared.nothing(state)
    }

    fn scaffold(&self) -> &Scaffold<'a, M, State> {
        &self.shared
    }
}
