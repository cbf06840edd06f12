//! Windows on many threads: everybody works up to a common bound, then the window moves.
//!
//! The board's state says which federates have work in the window and how many are not through yet. A worker takes the one
//! furthest behind, runs it for a batch, and keeps the messages of all federates it runs on its desk. When nothing is left
//! to take it hands everything over at once; whoever does so last opens the next window. So a thread that the operating
//! system has taken off its core holds up only the federate in its hands, there is no barrier at which every thread must
//! arrive, and locks are taken per federate and window, not per event.
//!
//! Invariants: `next[f]` is at most the time of the least event of `f` that was not run, once `f` is through with the
//! window and handed over; `unfinished` counts the federates ready, taken, or not handed over in this window; no desk
//! holds messages of a federate that another worker may take.

use paceline_kernel::{EventQueue, Fault, Federate, Model, Outbox, Partition, Progress, Time, Windows};

use crate::idle::Idle;
use crate::leg::Outcome;
use crate::monitor::Halt;
use crate::pool::{BATCH, Board, Turn};
use crate::ready::Ready;
use crate::seat::{Batch, Federates, Seat, deliver, vacate};
use crate::sync::{Apart, Mutex, lock};
use crate::trace::Recorder;
use crate::{Monitor, RecordKind};

#[derive(Debug)]
struct State {
    windows: Windows,
    bound: Time,
    ready: Ready,
    next: Vec<Time>,
    unfinished: usize,
    over: bool,
    halt: Option<Halt>,
    fault: Option<Fault>,
}

/// Federates in windows.
pub(crate) struct Windowed<'a, M: Model, Q> {
    model: &'a M,
    partition: &'a Partition,
    until: Time,
    monitor: &'a Monitor,
    /// More workers than this are never awake at once.
    useful: u32,
    seats: Vec<Seat<Federate<M, Q>, M::Event, ()>>,
    state: Apart<Mutex<State>>,
    idle: Idle,
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
    recorder: Recorder,
}

impl<'a, M: Model, Q: EventQueue<M::Event>> Windowed<'a, M, Q> {
    pub(crate) fn new(
        model: &'a M,
        partition: &'a Partition,
        mut federates: Federates<M, Q>,
        windows: Windows,
        until: Time,
        workers: u32,
        monitor: &'a Monitor,
    ) -> Self {
        let next = federates.iter_mut().map(Federate::lvt).collect();
        let ready = Ready::new(federates.len(), workers as usize, model.lookahead());
        let state = State {
            windows,
            bound: Time::ZERO,
            ready,
            next,
            unfinished: 0,
            over: false,
            halt: None,
            fault: None,
        };
        let seats = federates.into_iter().map(|federate| Seat::new(federate, ())).collect();
        let useful = workers.min(crate::cores::available());
        let board = Self {
            model,
            partition,
            until,
            monitor,
            useful,
            seats,
            state: Apart(Mutex::new(state)),
            idle: Idle::new(workers),
        };
        board.open(&mut lock(&board.state));
        board
    }

    /// Opens the next window, or ends the run. Says for how many workers there is work.
    fn open(&self, state: &mut State) -> u32 {
        let least = state.next.iter().copied().min().unwrap_or(Time::MAX);
        self.monitor.advance(least.min(self.until), 0);
        match state.windows.open(least, self.until) {
            None => state.over = true,
            Some(bound) => {
                state.bound = bound;
                for (federate, next) in state.next.iter_mut().enumerate().filter(|(_, next)| **next < bound) {
                    state.ready.push(federate as u32, *next);
                    // Until it is through, nothing is known but what others send it.
                    *next = Time::MAX;
                }
                state.unfinished = state.ready.len();
            }
        }
        u32::try_from(state.ready.len()).unwrap_or(u32::MAX)
    }

    /// Runs a federate for a batch.
    fn run(&self, federate: u32, bound: Time, desk: &mut Desk<M::Event>) {
        let seat = &self.seats[federate as usize];
        let mut own = lock(&seat.federate);
        std::mem::swap(&mut lock(&seat.inbox).batches, &mut desk.arrived);
        deliver(&mut own, &mut desk.arrived, &mut desk.spare, self.seats.len());
        let (before, start_ns) = (own.events(), desk.recorder.begin(|| own.lvt()));
        let progress = own.advance(self.model, self.partition, bound, BATCH, &mut desk.outbox);
        let (lvt, events) = (own.lvt(), own.events() - before);
        self.monitor.advance(Time::ZERO, events);
        desk.recorder.slice(RecordKind::Run, Some(federate), start_ns, lvt.min(bound), events);
        match progress {
            Progress::Idle => desk.through.push((federate, lvt)),
            Progress::More => {
                drop(own);
                // Whoever finishes the federate may close the window: its messages must not be on this desk by then.
                self.hand_over(desk);
                let mut state = lock(&self.state);
                if !state.over {
                    state.ready.push(federate, lvt);
                }
            }
            Progress::Faulty => {
                let fault = own.fault().cloned();
                drop(own);
                let mut state = lock(&self.state);
                let earlier = |known: &Fault| {
                    fault.as_ref().is_some_and(|new| (new.now, new.from) < (known.now, known.from))
                };
                if state.fault.as_ref().is_none_or(earlier) {
                    state.fault = fault;
                }
                self.end(&mut state, Halt::Stop);
            }
        }
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
    pub(crate) fn finish(self) -> Outcome<M, Q> {
        let state = self.state.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        Outcome {
            federates: vacate(self.seats, |federate| federate),
            halt: state.halt,
            fault: state.fault,
            windows: state.windows.opened(),
            ..Outcome::default()
        }
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Board for Windowed<'_, M, Q> {
    type Desk = Desk<M::Event>;

    fn desk(&self, recorder: Recorder) -> Self::Desk {
        let outbox = Outbox::new(self.partition.federates());
        let (through, told) = (Vec::new(), Vec::new());
        Desk { outbox, through, told, arrived: Vec::new(), spare: Vec::new(), recorder }
    }

    fn recorder(desk: &mut Self::Desk) -> &mut Recorder {
        &mut desk.recorder
    }

    fn turn(&self, worker: usize, desk: &mut Self::Desk) -> Turn {
        let mut state = lock(&self.state);
        if !state.over
            && let Some(halt) = self.monitor.halt()
        {
            self.end(&mut state, halt);
        }
        if let Some(federate) = state.ready.take(worker) {
            let bound = state.bound;
            drop(state);
            self.run(federate, bound, desk);
            return Turn::Worked;
        }
        if !desk.outbox.is_empty() || !desk.through.is_empty() {
            drop(state);
            self.hand_over(desk);
            return Turn::Worked;
        }
        if state.over { Turn::Over } else { Turn::Nothing(self.idle.epoch()) }
    }

    fn abort(&self) {
        self.end(&mut lock(&self.state), Halt::Stop);
    }

    fn idle(&self) -> &Idle {
        &self.idle
    }
}
