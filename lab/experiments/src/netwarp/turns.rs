//! Guests without a common clock: a host on which they take turns, and guests that are left alone.
//!
//! In turns, guests are real and the host is simulated: one core, which a fair scheduler gives to each guest
//! that has something to do, for a turn at most, and a bridge that hands frames over. Nothing is ordered by
//! clocks. The outcome is the same whenever it is run. Clocks are of two kinds:
//!
//! - A clock a machine (figure 1c of the NSX paper) goes on while the guest runs or has nothing to do, and
//!   stands while it waits for the core.
//! - A dilated clock (figure 1b; Gupta et al., 2006) reads the host's time divided by a factor. An emulator's
//!   clock cannot pass without instructions while its guest computes. So the pace is kept by ticks as long as
//!   a turn: a guest that has the core runs at full speed up to where its clock must be at the end of the
//!   tick, and is then held until the next one.
//!
//! Left alone, each guest runs in a thread of this process as fast as the machine lets it, and frames are
//! handed over at once: what comes of it is a matter of the machine and its load.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use paceline_emulate::guest::{Frame, Guest, GuestState, Stopped};
use paceline_kernel::Time;

use super::guests::{Started, failed};
use crate::prelude::*;

/// If nobody has anything to do for so long, all may be over, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000;
/// After so much a guest that runs is asked whether it has anything left to do, in nanoseconds.
const STEP_NS: u64 = 10_000;
/// The same for one that has nothing to do and is left alone: as long as a frame may wait for it.
const IDLE_STEP_NS: u64 = 100_000;
/// How long guests that are left alone are waited for.
const PATIENCE: Duration = Duration::from_secs(300);

/// A host on which guests take turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// The longest time that a guest has the core for; with dilated clocks, the host's tick.
    pub turn: Time,
    /// How long the bridge takes for a frame.
    pub bridge: Time,
    /// What the clocks of guests show.
    pub clocks: Clocks,
}

/// What the clocks of guests on a host show.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clocks {
    /// The time that each has run, or has had nothing to do.
    Apart,
    /// The host's time divided by this.
    Dilated(u64),
}

/// What is left of a run in turns.
#[derive(Clone, Debug)]
pub(super) struct Turned {
    pub consoles: Vec<String>,
    /// The share of the host's time in which a guest had the core, from the first frame to the last one.
    pub used: f64,
}

/// A host with all times in nanoseconds.
#[derive(Clone, Copy)]
struct Core {
    turn: u64,
    bridge: u64,
    clocks: Clocks,
}

impl Core {
    /// The host's time when clocks of guests show `clock`, if none has waited.
    fn when(self, clock: u64) -> u64 {
        match self.clocks {
            Clocks::Apart => clock,
            Clocks::Dilated(factor) => clock * factor,
        }
    }

    /// Where a clock of guests must be at the end of the tick that `now` of the host's time is in. Rounded
    /// up: a guest that is held there then is not let go before the next tick.
    fn bound(self, now: u64, factor: u64) -> u64 {
        ((now / self.turn + 1) * self.turn).div_ceil(factor)
    }
}

/// A guest on such a host. Times of the host and of the guest are in nanoseconds.
struct Resident {
    guest: Guest,
    clock: u64,
    next: Option<u64>,
    /// When the guest had the core last.
    left: u64,
    /// Whether it has been taken off the core with something left to do.
    is_kept: bool,
    /// Frames on their way, with the host's time.
    arriving: VecDeque<(u64, Frame)>,
}

impl Resident {
    fn new(mut guest: Guest) -> Found<Self> {
        let stopped = guest.wait().map_err(failed)?;
        let (clock, next) = (stopped.time_ns, stopped.next_ns);
        Ok(Self { guest, clock, next, left: clock, is_kept: false, arriving: VecDeque::new() })
    }

    /// When it has something to do and may do it, in the host's time.
    fn wakes(&self, core: Core) -> u64 {
        let timer = |next: u64| match core.clocks {
            Clocks::Apart => self.left + next.saturating_sub(self.clock),
            Clocks::Dilated(_) => core.when(next),
        };
        let arrival = self.arriving.front().map_or(u64::MAX, |(at, _)| *at);
        let wakes = if self.is_kept { self.left } else { self.next.map_or(u64::MAX, timer).min(arrival) };
        match core.clocks {
            Clocks::Apart => wakes,
            // The first tick at whose end the clock is to be beyond where it is.
            Clocks::Dilated(_) => wakes.max(core.when(self.clock) / core.turn * core.turn),
        }
    }

    /// What its clock shows when it gets the core at `now` of the host's time, and until when it may keep it.
    fn turn(&self, core: Core, now: u64) -> (u64, u64) {
        // Who had nothing to do has seen the time pass.
        match core.clocks {
            Clocks::Apart if self.is_kept => (self.clock, now + core.turn),
            Clocks::Apart => (self.clock + (now - self.left), now + core.turn),
            Clocks::Dilated(factor) => {
                let begin = if self.is_kept { self.clock } else { self.clock.max(now / factor) };
                (begin, now + (core.bound(now, factor) - begin))
            }
        }
    }

    /// Runs from `now` of the host's time to the end of its turn, or until nothing is left to do. Returns
    /// when that was, and the frames that left with the host's time.
    fn run(&mut self, core: Core, now: u64) -> Found<(u64, Vec<(u64, Frame)>)> {
        let (begin, end) = self.turn(core, now);
        let (mut at, mut sent) = (now, Vec::new());
        while at < end {
            let until = end.min(at + STEP_NS);
            let count = self.arriving.partition_point(|(time, _)| *time < until);
            let arrive = |(time, frame): (u64, Frame)| Frame { time_ns: begin + time.max(at) - now, ..frame };
            let mut frames: Vec<Frame> = self.arriving.drain(..count).map(arrive).collect();
            // A clock may be past the end of its last grant by less than an instruction.
            frames.iter_mut().for_each(|frame| frame.time_ns = frame.time_ns.max(self.clock));
            let grant_end = (begin + until - now).max(self.clock + 1);
            self.guest.grant(grant_end, &frames).map_err(failed)?;
            let Stopped { time_ns, frames, next_ns, state } = self.guest.wait().map_err(failed)?;
            if state != GuestState::Standing {
                return Err(failed("a guest has ended"));
            }
            sent.extend(frames.into_iter().map(|frame| (now + frame.time_ns.saturating_sub(begin), frame)));
            (self.clock, self.next, at) = (time_ns, next_ns, until);
            let is_busy = next_ns.is_some_and(|next| next <= time_ns);
            if !is_busy && self.arriving.front().is_none_or(|(time, _)| *time > at) {
                break;
            }
        }
        let is_busy = self.next.is_some_and(|next| next <= self.clock);
        (self.left, self.is_kept) = (at, is_busy);
        Ok((at, sent))
    }
}

/// Runs guests in turns until their consoles say that all is over or, by their clocks, it is `limit`.
pub(super) fn run_in_turns(
    mut started: Started,
    host: Host,
    is_over: impl Fn(&[String]) -> bool,
    limit: Time,
) -> Found<Turned> {
    let guests = started.guests.drain(..).map(Resident::new);
    let mut residents = guests.collect::<Found<Vec<_>>>()?;
    let core = Core { turn: host.turn.as_nanos(), bridge: host.bridge.as_nanos(), clocks: host.clocks };
    let begin = core.when(residents.iter().map(|resident| resident.clock).max().unwrap_or(0));
    let (mut now, mut last) = (begin, 0);
    // What counts as used begins with the first frame; with each one the span that counts gets longer.
    let (mut first_frame, mut busy, mut counted) = (None, 0, (0, 1));
    residents.iter_mut().for_each(|resident| resident.left = now);
    while now < core.when(limit.as_nanos()) {
        // The one after the last one that ran goes first: nobody waits for more than a turn of each other.
        let order = (1..=residents.len()).map(|step| (last + step) % residents.len());
        let ready = order.clone().find(|&number| residents[number].wakes(core) <= now);
        let Some(number) = ready else {
            let next = residents.iter().map(|resident| resident.wakes(core)).min().unwrap_or(u64::MAX);
            // Consoles are files: not after each turn.
            if next > now + PAUSE_NS && is_over(&started.consoles()) {
                break;
            }
            now = next.max(now + 1);
            continue;
        };
        let (end, sent) = residents[number].run(core, now)?;
        let has_sent = !sent.is_empty();
        for (at, frame) in sent {
            let at = at + core.bridge;
            for (other, resident) in residents.iter_mut().enumerate() {
                let is_for = frame.bytes.get(..6).is_some_and(|to| to[0] & 1 == 1 || to == mac(other));
                if other != number && is_for {
                    let place = resident.arriving.partition_point(|(time, _)| *time <= at);
                    resident.arriving.insert(place, (at, frame.clone()));
                }
            }
        }
        if let Some(first_frame) = first_frame {
            busy += end - now;
            if has_sent {
                counted = (busy, end - first_frame);
            }
        } else if has_sent {
            first_frame = Some(end);
        }
        (now, last) = (end, number);
    }
    Ok(Turned { consoles: started.consoles(), used: counted.0 as f64 / counted.1 as f64 })
}

/// The Ethernet address of a guest in a network that begins with the guests' hosts.
fn mac(number: usize) -> [u8; 6] {
    paceline_packets::Stations::ethernet_address([10, 0, 0, number as u8 + 1].into())
}

/// Runs guests up to `ready`, leaves them alone from there until their consoles say that all is over, and
/// gives all consoles.
pub(super) fn run_alone(
    mut started: Started,
    ready: Time,
    is_done: impl Fn(&[String]) -> bool,
) -> Found<Vec<String>> {
    let guests: Vec<Guest> = started.guests.drain(..).collect();
    let inboxes: Vec<Mutex<Vec<Frame>>> = guests.iter().map(|_| Mutex::default()).collect();
    let (is_over, begin) = (AtomicBool::new(false), Instant::now());
    let (all_ready, ready) = (Barrier::new(guests.len()), ready.as_ticks() / Time::TICKS_PER_NANO);
    let drive = |number: usize, mut guest: Guest| -> Found<()> {
        let mut stopped = guest.wait().map_err(failed)?;
        // Nobody sends before all are there.
        while stopped.time_ns < ready {
            guest.grant(ready, &[]).map_err(failed)?;
            stopped = guest.wait().map_err(failed)?;
        }
        all_ready.wait();
        while !is_over.load(Ordering::Relaxed) {
            let mut frames = std::mem::take(&mut *inboxes[number].lock().expect("nobody panics with it"));
            frames.iter_mut().for_each(|frame| frame.time_ns = stopped.time_ns);
            // Who waits for a timer alone gets there sooner.
            let is_idle = frames.is_empty() && stopped.next_ns.is_none_or(|next| next > stopped.time_ns);
            let step = if is_idle { IDLE_STEP_NS } else { STEP_NS };
            guest.grant(stopped.time_ns + step, &frames).map_err(failed)?;
            stopped = guest.wait().map_err(failed)?;
            for frame in stopped.frames.drain(..) {
                let to = (0..inboxes.len()).filter(|other| *other != number);
                for other in to.filter(|other| frame.bytes.get(..6).is_some_and(|to| to == mac(*other))) {
                    inboxes[other].lock().expect("nobody panics with it").push(frame.clone());
                }
            }
        }
        Ok(())
    };
    let ended = thread::scope(|scope| {
        let threads: Vec<_> = guests
            .into_iter()
            .enumerate()
            .map(|(number, guest)| scope.spawn(move || drive(number, guest)))
            .collect();
        while !is_done(&started.consoles())
            && begin.elapsed() < PATIENCE
            && threads.iter().all(|thread| !thread.is_finished())
        {
            thread::sleep(Duration::from_millis(100));
        }
        is_over.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(failed("a thread has panicked"))))
            .collect::<Found<Vec<()>>>()
    });
    ended.map(|_| started.consoles())
}
