//! Windows on many threads: all federates run up to a bound, then the window moves. The bound is common to all, or each
//! federate has its own ([`DistanceWindows`]).
//!
//! The board's state says which federates have work in the window and how many are not through yet. A worker takes the one
//! furthest behind, runs it for a batch, and keeps the messages of all federates it runs on its desk. When nothing is left
//! to take it hands everything over at once; the worker that does so last opens the next window. So a thread that the operating
//! system has taken off its core holds up only the federate in its hands, there is no barrier at which every thread must
//! arrive, and locks are taken per federate and window, not per event.
//!
//! Invariants: `next[f]` is at most the time of the least event of `f` that was not run, once `f` is through with the
//! window and handed over; `unfinished` counts the federates ready, taken, or not handed over in this window; no desk
//! holds messages of a federate that another worker may take; nothing is sent to arrive before its receiver's bound.

use std::sync::Arc;

use paceline_kernel::{
    DistanceWindows, EventQueue, Fault, Federate, Model, Outbox, Partition, Progress, Time, Windows,
};

use crate::idle::Idle;
use crate::leg::Outcome;
use crate::monitor::Halt;
use crate::outside::{Answers, Asked, Heard, Occupant, Outsiders, Seated, unseat};
use crate::pool::{BATCH, Board, Turn};
use crate::ready::Ready;
use crate::seat::{Batch, Seat, deliver};
use crate::sync::{Apart, Mutex, lock};
use crate::trace::Recorder;
use crate::{Monitor, Observer, RecordKind, RunError, Simulation, WindowOpened};

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
struct State {
    bounds: Bounds,
    ready: Ready,
    next: Vec<Time>,
    unfinished: usize,
    over: bool,
    halt: Option<Halt>,
    fault: Option<Fault>,
    error: Option<RunError>,
}

type Post<M, Q> = Seat<Occupant<Federate<M, Q>, M, Q>, <M as Model>::Event, ()>;

/// Federates in windows.
pub(crate) struct Windowed<'a, M: Model, Q> {
    model: &'a M,
    partition: &'a Partition,
    until: Time,
    monitor: &'a Monitor,
    observer: Option<&'a dyn Observer<M>>,
    /// More workers than this are never awake at once.
    useful: u32,
    seats: Vec<Post<M, Q>>,
    state: Apart<Mutex<State>>,
    idle: Arc<Idle>,
    /// Of outside federates, if there are any.
    answers: Option<Arc<Answers<M>>>,
}

/// What a worker gathers.
pub(crate) struct Desk<E> {
    outbox: Outbox<E>,
    /// Federates that are through with the window, with their LVT.
    through: Vec<(u32, Time)>,
    /// Federates that something was sent to, with the least time of it: scratch.
    told: Vec<(u32, Time)>,
    arrived: Vec<Batch<E>>,
    spare: Vec<Batch<E>>,
    /// The bounds of the window with this number, by federate; empty where they are common to all.
    bounds: Vec<Time>,
    window: u64,
    recorder: Recorder,
}

impl<E> Desk<E> {
    /// A federate that a message was sent to for a time before its bound, though the declared channels exclude that.
    fn early(&self) -> Option<u32> {
        if self.bounds.is_empty() {
            return None;
        }
        self.outbox.filled().find(|to| self.outbox.least(*to) < self.bounds[*to as usize])
    }
}

impl<'a, M: Model, Q: EventQueue<M::Event>> Windowed<'a, M, Q> {
    pub(crate) fn new(
        simulation: &'a Simulation<M>,
        partition: &'a Partition,
        seated: Seated<Federate<M, Q>, M, Q>,
        bounds: Bounds,
        until: Time,
        workers: u32,
    ) -> Self {
        let Simulation { model, monitor, observer, .. } = simulation;
        let Seated { mut occupants, answers, idle } = seated;
        let lvt = |occupant: &mut Occupant<Federate<M, Q>, M, Q>| match occupant {
            Occupant::Inside(federate) => federate.lvt(),
            Occupant::Outside(proxy) => proxy.lvt(),
        };
        let next: Vec<Time> = occupants.iter_mut().map(lvt).collect();
        let ready = Ready::new(next.len(), workers as usize, bounds.slack(model.lookahead()));
        let (unfinished, over) = (0, false);
        let state = State { bounds, ready, next, unfinished, over, halt: None, fault: None, error: None };
        let seats = occupants.into_iter().map(|occupant| Seat::new(occupant, ())).collect();
        let useful = workers.min(crate::cores::available());
        let board = Self {
            model,
            partition,
            until,
            monitor,
            observer: observer.as_ref().map(|observing| &*observing.observer),
            useful,
            seats,
            state: Apart(Mutex::new(state)),
            idle,
            answers,
        };
        board.open(&mut lock(&board.state));
        board
    }

    /// Opens the next window, or ends the run. Says for how many workers there is work.
    fn open(&self, state: &mut State) -> u32 {
        let least = state.next.iter().copied().min().unwrap_or(Time::MAX);
        self.monitor.advance(least.min(self.until), 0);
        if !state.bounds.open(least, &state.next, self.until) {
            state.over = true;
            return 0;
        }
        for (federate, next) in (0..).zip(&mut state.next) {
            if *next < state.bounds.of(federate) {
                state.ready.push(federate, *next);
                // Until it is through, nothing is known but what others send it.
                *next = Time::MAX;
            }
        }
        state.unfinished = state.ready.len();
        if let Some(observer) = self.observer {
            let (number, federates) = (state.bounds.opened() - 1, state.ready.len() as u32);
            let (time, events) = (least, self.monitor.events());
            observer.window(&WindowOpened { number, time, federates, events });
        }
        u32::try_from(state.ready.len()).unwrap_or(u32::MAX)
    }

    /// Runs a federate for a batch.
    fn run(&self, federate: u32, bound: Time, desk: &mut Desk<M::Event>) {
        let seat = &self.seats[federate as usize];
        let mut seated = lock(&seat.federate);
        std::mem::swap(&mut lock(&seat.inbox).batches, &mut desk.arrived);
        let own = match &mut *seated {
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
        deliver(own, &mut desk.arrived, &mut desk.spare, self.seats.len());
        let (before, start_ns) = (own.events(), desk.recorder.begin(|| own.lvt()));
        let progress = own.advance(self.model, self.partition, bound, BATCH, &mut desk.outbox);
        let (lvt, events) = (own.lvt(), own.events() - before);
        self.monitor.advance(Time::ZERO, events);
        desk.recorder.slice(RecordKind::Run, Some(federate), start_ns, lvt.min(bound), events);
        let early = desk.early();
        let fault = if let Some(to) = early {
            Some(own.undeclared(desk.outbox.to(to)))
        } else {
            own.fault().cloned()
        };
        drop(seated);
        if let Some(fault) = fault {
            self.fail(fault);
        } else if progress == Progress::Idle {
            desk.through.push((federate, lvt));
        } else {
            // Whoever finishes the federate may close the window: its messages must not be on this desk by then.
            self.hand_over(desk);
            let mut state = lock(&self.state);
            if !state.over {
                state.ready.push(federate, lvt);
            }
        }
    }

    /// Takes in an answer of an outside federate. Says whether there was one.
    fn hear(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some((id, answer)) = self.answers.as_ref().and_then(|answers| answers.take()) else {
            return false;
        };
        self.look_at_bounds(&lock(&self.state), desk);
        let mut seated = lock(&self.seats[id as usize].federate);
        let proxy = seated.proxy().expect("whoever answers is outside");
        let heard = match proxy.hear(answer, self.partition, &mut desk.outbox) {
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
            let mut state = lock(&self.state);
            state.error.get_or_insert(error);
            self.end(&mut state, Halt::Stop);
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

    /// Ends the work because of a fault; of several the earliest is kept.
    fn fail(&self, fault: Fault) {
        let mut state = lock(&self.state);
        let earlier = |known: &Fault| (fault.now, fault.from) < (known.now, known.from);
        if state.fault.as_ref().is_none_or(earlier) {
            state.fault = Some(fault);
        }
        self.end(&mut state, Halt::Stop);
    }

    /// Hands over what the desk has gathered; opens the next window if that was the last of this one.
    fn hand_over(&self, desk: &mut Desk<M::Event>) {
        let Desk { outbox, spare, told, through, recorder, .. } = desk;
        outbox.flush(|federate, events, least| {
            self.seats[federate as usize].post(events, spare);
            told.push((federate, least));
        });
        let mut state = lock(&self.state);
        for (federate, time) in through.iter().chain(told.iter()) {
            let next = &mut state.next[*federate as usize];
            *next = (*next).min(*time);
        }
        state.unfinished -= through.len();
        through.clear();
        told.clear();
        if state.unfinished == 0 && !state.over {
            let work = self.open(&mut state);
            recorder.gvt(self.monitor.time());
            let over = state.over;
            drop(state);
            if over {
                self.idle.wake_all();
            } else {
                // One federate is for the worker that opened the window.
                self.idle.wake(work.min(self.useful) - 1);
            }
        }
    }

    /// Ends the work before the run is over.
    fn end(&self, state: &mut State, halt: Halt) {
        if !state.over {
            (state.over, state.halt) = (true, Some(halt));
        }
        state.ready.clear();
        self.idle.wake_all();
    }

    /// Takes the board apart after the leg.
    pub(crate) fn finish(self, outsiders: &mut Outsiders<M>) -> Outcome<M, Q> {
        let state = self.state.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let failed = state.fault.is_some() || state.error.is_some();
        let answers = self.answers.as_deref();
        let left = self.seats.into_iter().map(Seat::into_federate);
        let (federates, error) =
            unseat(left, answers, self.partition, outsiders, failed, |federate| federate);
        Outcome {
            federates,
            halt: state.halt,
            fault: state.fault,
            error: state.error.or(error),
            windows: state.bounds.opened(),
            ..Outcome::default()
        }
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Board for Windowed<'_, M, Q> {
    type Desk = Desk<M::Event>;

    fn desk(&self, recorder: Recorder) -> Self::Desk {
        let outbox = Outbox::new(self.partition.federates());
        let (through, told) = (Vec::new(), Vec::new());
        let (arrived, spare) = (Vec::new(), Vec::new());
        Desk { outbox, through, told, arrived, spare, bounds: Vec::new(), window: 0, recorder }
    }

    fn recorder(desk: &mut Self::Desk) -> &mut Recorder {
        &mut desk.recorder
    }

    fn turn(&self, worker: usize, desk: &mut Self::Desk) -> Turn {
        if self.hear(desk) {
            return Turn::Worked;
        }
        let mut state = lock(&self.state);
        if !state.over
            && let Some(halt) = self.monitor.halt()
        {
            self.end(&mut state, halt);
        }
        if let Some(federate) = state.ready.take(worker) {
            let bound = state.bounds.of(federate);
            self.look_at_bounds(&state, desk);
            drop(state);
            self.run(federate, bound, desk);
            return Turn::Worked;
        }
        if !desk.outbox.is_empty() || !desk.through.is_empty() {
            drop(state);
            self.hand_over(desk);
            return Turn::Worked;
        }
        if state.over {
            return Turn::Over;
        }
        let epoch = self.idle.epoch();
        drop(state);
        Turn::nothing(epoch, self.answers.as_deref())
    }

    fn abort(&self) {
        self.end(&mut lock(&self.state), Halt::Stop);
    }

    fn idle(&self) -> &Idle {
        &self.idle
    }
}
