//! Time Warp on many threads: every federate runs ahead as far as it pays, the one furthest behind first.
//!
//! A worker takes the federate with the least floor, takes in its mail (which may roll it back), lets it run
//! one batch, posts what it sent, and reports. GVT is the least floor of all (`Gvt`, in the kernel); it is
//! read at every report, by whoever reports, so that a worker taken off its core holds up nothing but GVT,
//! and the others only once they are as far ahead as is worth it. A federate that must wait for GVT says for
//! which; no worker looks at it before, unless mail comes.
//!
//! Invariants: a federate is ready, waiting, or in one worker's hands; GVT is read before the mail is taken;
//! messages are in inboxes before they are reported. Lock order: federate, then inbox or state; nobody who
//! holds the state takes a federate.

mod finish;
mod outside;
mod peers;
mod state;

use paceline_kernel::{Bounds, Mail, Model, MovingWindow, Outbox, Partition, Time, Warp, WarpTurn};

use crate::outside::{Occupant, Seated, Start};
use crate::protocols::scaffold::Scaffold;
use crate::sync::{Apart, AtomicU32, Mutex, MutexGuard, Ordering, lock};
use crate::watch::lvt::WorkerLvt;
use crate::watch::trace::Recorder;
use crate::workers::chaos::Chaos;
use crate::workers::pool::{Board, Turn};
use crate::{RecordKind, Simulation};
use state::{Elsewhere, Stand, State};

/// Looks for a report before a worker runs something ahead that could soon be run safely: some microseconds.
#[cfg(not(paceline_shuttle))]
const PATIENCE: u32 = 500;
#[cfg(paceline_shuttle)]
const PATIENCE: u32 = 2;
/// A worker reports its share of the federates in so many parts. Fewer and larger ones would keep GVT, and
/// those who wait for it, back for longer.
const PER_REPORT: usize = 3;
/// The most federates that it reports together, however many there are.
const MOST_TOGETHER: usize = 32;
/// Lists of mail that a worker keeps for reuse; more would keep memory of a burst.
const SPARE: usize = 64;

type Member<M> = Occupant<Warp<M>, M>;

struct Seat<M: Model> {
    warp: Apart<Mutex<Member<M>>>,
    inbox: Apart<Mutex<Vec<Mail<M::Event>>>>,
}

/// Federates that run ahead.
pub(crate) struct Optimistic<'a, M: Model> {
    shared: Scaffold<'a, M, State>,
    chaos: Option<u64>,
    seats: Vec<Seat<M>>,
    /// Changes with every report.
    reports: Apart<AtomicU32>,
    /// Whether a federate runs ahead outside, which may say something at any time.
    ahead_outside: bool,
}

/// A worker's own state.
pub(crate) struct Desk<E> {
    outbox: Outbox<E>,
    arrived: Vec<Mail<E>>,
    spare: Vec<Mail<E>>,
    /// Federates that something was sent to, with the least time of it, until they are reported.
    receivers: Vec<(u32, Time)>,
    /// Federates that have run and are not reported yet.
    stands: Vec<(u32, Stand)>,
    chaos: Option<Chaos>,
    /// Looks that are left before it takes a federate that would rather wait; see [`PATIENCE`].
    patience: u32,
    recorder: Recorder,
    lvt: WorkerLvt,
    /// When this worker last looked what is due to be sent to other processes.
    looked_ns: u64,
}

impl<'a, M: Model> Optimistic<'a, M> {
    pub(crate) fn new(
        simulation: &'a Simulation<M>,
        until: Time,
        width: Option<Time>,
        partition: &'a Partition,
        seated: Seated<'a, Warp<M>, M>,
    ) -> Self {
        let Simulation { model, speculation, .. } = simulation;
        let Seated { start, mut occupants, answers, idle } = seated;
        let Start { least, workers, peers, .. } = start;
        let floor = |occupant: &mut Member<M>| match occupant {
            Occupant::Inside(warp) => warp.floor(),
            Occupant::Outside(proxy) => proxy.lvt(),
        };
        let floors: Vec<Time> = occupants.iter_mut().map(floor).collect();
        let window = MovingWindow::new(width.unwrap_or_else(|| model.lookahead()), floors.len() as u32);
        let absent = (0..floors.len() as u32).map(|id| peers.is_some_and(|peers| !peers.owns(id)));
        let elsewhere = Elsewhere { limit: peers.map_or(Time::MAX, |_| least), absent: absent.collect() };
        let (kind, slack) = (speculation.gvt, model.lookahead());
        let state = State::new(kind, floors, workers as usize, slack, window, until, elsewhere);
        let ahead_outside = occupants.iter_mut().filter_map(Occupant::proxy).any(|proxy| proxy.is_ahead());
        let seat = |member| Seat { warp: Apart(Mutex::new(member)), inbox: Apart(Mutex::new(Vec::new())) };
        Self {
            shared: Scaffold::new(simulation, partition, until, start, state, idle, answers),
            chaos: speculation.chaos,
            seats: occupants.into_iter().map(seat).collect(),
            reports: Apart(AtomicU32::new(0)),
            ahead_outside,
        }
    }

    /// Lets a federate take in its mail and run a batch; only a safe one, if it can be `patient`. One that is
    /// outside and has something to do stands nowhere before it answers.
    fn run(&self, id: u32, bounds: Bounds, patient: bool, desk: &mut Desk<M::Event>) -> Option<Stand> {
        let seat = &self.seats[id as usize];
        let mut seated = lock(&seat.warp);
        std::mem::swap(&mut *lock(&seat.inbox), &mut desk.arrived);
        let warp = match &mut *seated {
            Occupant::Inside(warp) => warp,
            Occupant::Outside(proxy) => return self.ask(proxy, bounds, desk),
        };
        let (committed, processed) = (warp.events(), warp.stats().processed);
        desk.lvt.publish(|| bounds.floor);
        let (undone, safe, start_ns) = (warp.stats().undone, warp.stats().safe, desk.recorder.now());
        // Mail that has not been reported yet may be for earlier than the floor that is known.
        let mut bounds = bounds;
        for mut mail in desk.arrived.drain(..) {
            let least = warp.receive(self.shared.model, self.shared.partition, &mut mail, &mut desk.outbox);
            bounds.floor = bounds.floor.min(least);
            if desk.spare.len() < SPARE {
                desk.spare.push(mail);
            }
        }
        let rolled_back = warp.stats().undone - undone;
        if rolled_back > 0 {
            desk.recorder.slice(RecordKind::Rollback, Some(id), start_ns, bounds.floor, rolled_back);
        }
        desk.lvt.publish(|| warp.floor());
        let start_ns = desk.recorder.now();
        let turn = warp.turn(self.shared.model, self.shared.partition, bounds, patient, &mut desk.outbox);
        let (floor, front, effort) = (warp.floor(), warp.front(), warp.take_effort());
        let wants = warp.wants(Bounds { floor, ..bounds }, turn == WarpTurn::Waits);
        let kind = if warp.stats().safe > safe { RecordKind::Run } else { RecordKind::Ahead };
        let ran = warp.stats().processed - processed;
        if ran > 0 {
            desk.lvt.publish(|| floor);
            desk.recorder.slice(kind, Some(id), start_ns, floor, ran);
        }
        desk.recorder.front(id, front);
        desk.recorder.sent(id, &desk.outbox);
        self.shared.monitor.advance(Time::ZERO, warp.events() - committed);
        Some(Stand { turn, floor, wants, front, effort })
    }

    /// Delivers what the federates on the desk have sent, and reports them.
    fn hand_over(&self, desk: &mut Desk<M::Event>) {
        let Desk { outbox, spare, receivers, recorder, .. } = desk;
        recorder.flushed();
        outbox.flush_mail(|to, mail, least| {
            receivers.push((to, least));
            if let Some(peers) = self.shared.elsewhere(to) {
                return peers.send_mail(to, mail);
            }
            let mail = std::mem::replace(mail, spare.pop().unwrap_or_default());
            lock(&self.seats[to as usize].inbox).push(mail);
        });
        if let Some(peers) = self.shared.peers {
            desk.looked_ns = peers.send_due(desk.looked_ns);
        }
        let mut stands = std::mem::take(&mut desk.stands);
        let mut state = lock(&self.shared.state);
        // The first report takes along what all have sent: it counts with the receivers before any floor
        // rises.
        for (id, stand) in stands.drain(..) {
            self.report(&mut state, id, stand, desk);
        }
        // GVT of several processes may have waited for just these reports.
        self.take_part(&mut state, desk);
        // A hint for those who spin: what was reported they read under the lock.
        self.reports.0.fetch_add(1, Ordering::Release);
        let work = u32::try_from(state.work()).unwrap_or(u32::MAX);
        let (taken, may_take) = (state.taken - state.outside, state.gvt.may_take());
        drop(state);
        desk.stands = stands;
        // While a synchronous round gathers all federates, nobody could take one.
        if may_take {
            // One federate is for this worker.
            self.shared.idle.wake(work.min(self.shared.useful.saturating_sub(taken + 1)));
        }
    }

    /// Puts a federate back, and moves GVT on.
    fn report(&self, state: &mut State, id: u32, stand: Stand, desk: &mut Desk<M::Event>) {
        if state.report(id, stand, &desk.receivers) {
            let gvt = state.gvt.value().min(self.shared.until);
            self.shared.monitor.advance(gvt, 0);
            desk.recorder.gvt(gvt);
        }
        desk.receivers.clear();
        if state.ending.over {
            self.shared.idle.wake_all();
        }
    }

    /// Chooses the federate that the worker takes next, and says whether it is to run only what is safe, as
    /// long as the worker has patience. In this order: what is behind all others; what was rolled back and is
    /// run again whatever GVT is; and, once this worker has waited for a report, what would rather wait for
    /// GVT.
    fn choose(
        &self,
        state: &mut State,
        worker: usize,
        has_patience: bool,
        mut chaos: Option<&mut Chaos>,
    ) -> (Option<u32>, bool) {
        let any = chaos.as_mut().and_then(|chaos| chaos.pick(state.ready.len()));
        let taken = match any {
            Some(nth) => state.ready.take_any(worker, nth),
            None => state.ready.take(worker),
        };
        let is_patient = chaos.is_none_or(Chaos::is_patient);
        match taken.or_else(|| state.again()) {
            Some(id) => (Some(id), is_patient),
            None if has_patience => (None, true),
            None => (state.impatient(), false),
        }
    }

    /// No federate can be taken: the worker reports what it holds back, waits a little for a report of
    /// others, or has nothing to do.
    fn take_nothing(&self, state: MutexGuard<'_, State>, desk: &mut Desk<M::Event>) -> Turn {
        if !desk.stands.is_empty() {
            // Others may wait for just these reports.
            drop(state);
            self.hand_over(desk);
            return Turn::Worked;
        }
        if desk.patience > 0 {
            // Somebody may be about to report, which costs less than a sleep and a wake-up.
            drop(state);
            desk.patience = self.await_report(desk.patience);
            return Turn::Worked;
        }
        let others = self.ahead_outside || self.shared.peers.is_some();
        // The federate at GVT never waits, unless what holds GVT is in another process or outside.
        assert!(state.taken > 0 || others, "somebody can always go on");
        desk.patience = PATIENCE;
        self.shared.nothing_after_sending(state)
    }

    /// Waits for a report, but not long. Gives back what is left of the patience.
    fn await_report(&self, patience: u32) -> u32 {
        let seen = self.reports.0.load(Ordering::Acquire);
        for left in (0..patience).rev() {
            std::hint::spin_loop();
            if self.reports.0.load(Ordering::Acquire) != seen {
                return left;
            }
        }
        0
    }
}

impl<'a, M: Model> Board<'a> for Optimistic<'a, M> {
    type Model = M;
    type State = State;
    type Desk = Desk<M::Event>;

    fn desk(&self, recorder: Recorder, lvt: WorkerLvt) -> Self::Desk {
        Desk {
            outbox: Outbox::new(self.shared.partition.federates()),
            arrived: Vec::new(),
            spare: Vec::new(),
            receivers: Vec::new(),
            stands: Vec::new(),
            chaos: None,
            patience: PATIENCE,
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
        if self.take_part(&mut state, desk) {
            return Turn::Worked;
        }
        // Not while a synchronous round waits for all federates to be back.
        let open = !state.ending.over && state.gvt.may_take();
        // A synchronous round, or the end, waits for what this worker has not reported.
        if !open && !desk.stands.is_empty() {
            drop(state);
            self.hand_over(desk);
            return Turn::Worked;
        }
        if state.ending.over {
            return Turn::Over;
        }
        if !open {
            return self.shared.nothing_after_sending(state);
        }
        let mut chaos = self.chaos.map(|seed| desk.chaos.take().unwrap_or_else(|| Chaos::new(seed, worker)));
        chaos.iter_mut().for_each(Chaos::dawdle);
        let (id, patient) = self.choose(&mut state, worker, desk.patience > 0, chaos.as_mut());
        let Some(id) = id else {
            desk.chaos = chaos;
            return self.take_nothing(state, desk);
        };
        desk.patience = PATIENCE;
        state.take(id);
        // Many federates are reported together, so that there are fewer and longer lists of mail.
        let together =
            (self.seats.len() / (PER_REPORT * self.shared.useful as usize)).clamp(1, MOST_TOGETHER);
        let bounds = state.bounds(id);
        drop(state);
        chaos.iter_mut().for_each(Chaos::dawdle);
        let stand = self.run(id, bounds, patient, desk);
        chaos.iter_mut().for_each(Chaos::dawdle);
        desk.chaos = chaos;
        let failed = matches!(&stand, Some(Stand { turn: WarpTurn::Failed(_), .. }));
        desk.stands.extend(stand.map(|stand| (id, stand)));
        if failed || desk.stands.len() >= together {
            self.hand_over(desk);
        }
        Turn::Worked
    }

    fn scaffold(&self) -> &Scaffold<'a, M, State> {
        &self.shared
    }
}
