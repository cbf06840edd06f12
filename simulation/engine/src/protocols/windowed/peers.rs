//! Windows of several processes: each runs its own federates in the window, and contributes to a round once
//! it is through. The window closes with the round; all processes then open the same next one.
//!
//! Of a federate in another process, `next` is the least time of what has been sent to it since the last
//! contribution: the sender counts a message that the receiver may not have taken in when it contributes
//! itself.
//!
//! Invariants: a process contributes after it has sent all messages of the window; a window opens when all of
//! them have arrived; what arrives from a process that has opened the next window already is for after that
//! window here.

use paceline_kernel::{Model, Time};

use super::{Bounds, Desk, State, Windowed};
use crate::peers::{Contribution, Delivery, DeliveryError, Peers};
use crate::sync::lock;

impl<M: Model> Windowed<'_, M> {
    /// All federates here are through with the window: sends that to the other processes, and opens the next
    /// window if they are through too. Returns for how many workers there is work.
    pub(super) fn close_together(&self, state: &mut State) -> u32 {
        let Some(peers) = self.shared.peers else { return 0 };
        loop {
            // Under the lock of the state, though sending may wait for room: no federate here has anything to
            // run before the round is complete.
            peers.contribute(self.contribution(state, peers));
            let work = self.try_open(state, peers);
            // With nothing to do in a window, this process is through with it at once.
            if work > 0 || state.ending.over || peers.has_contributed() {
                return work;
            }
        }
    }

    fn contribution(&self, state: &mut State, peers: &Peers<M>) -> Contribution {
        let least = state.next.iter().copied().min().unwrap_or(Time::MAX);
        let differs = matches!(state.bounds, Bounds::ByDistance(_));
        let known = (0..).zip(state.next.iter().copied()).filter(|(_, next)| differs && *next < Time::MAX);
        let next = known.collect();
        // What was sent counts in this contribution; from now on the receiver counts it.
        for (federate, sent) in (0..).zip(&mut state.next) {
            if !peers.owns(federate) {
                *sent = Time::MAX;
            }
        }
        Contribution { least, halt: self.shared.monitor.halt(), next, ..Contribution::default() }
    }

    /// Opens the next window, or ends the leg, if all processes are through with this one. Says for how many
    /// workers there is work.
    fn try_open(&self, state: &mut State, peers: &Peers<M>) -> u32 {
        let Some(all) = peers.complete() else { return 0 };
        // A run that is over ends as such, even where somebody has asked for a pause.
        if all.halt.is_some() && all.least < self.shared.until {
            self.shared.end(state, all.halt);
            return 0;
        }
        let mut next = Vec::new();
        if matches!(state.bounds, Bounds::ByDistance(_)) {
            next.resize(state.next.len(), Time::MAX);
            // Whatever a damaged frame says: a number that no federate has is passed over.
            for (federate, time) in all.next {
                if let Some(known) = next.get_mut(federate as usize) {
                    *known = time;
                }
            }
        }
        self.open(state, all.least, Some(&next))
    }

    /// Takes in what other processes have sent. Says whether there was anything.
    pub(super) fn hear_peers(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some(peers) = self.shared.peers else { return false };
        let heard = peers.hear(|delivery| {
            let Delivery::Events { to, mut events } = delivery else {
                return Err(DeliveryError::protocol());
            };
            let least = events.iter().map(paceline_kernel::Event::time).min().unwrap_or(Time::MAX);
            let mut state = lock(&self.shared.state);
            if least < state.bounds.of(to) {
                return Err(DeliveryError(format!(
                    "an event for federate {to} at {least}, in a window that is open"
                )));
            }
            let next = &mut state.next[to as usize];
            *next = (*next).min(least);
            drop(state);
            self.seats[to as usize].post(&mut events, &mut desk.spare);
            Ok(())
        });
        match heard {
            Err(error) => {
                self.shared.fail(error);
                true
            }
            Ok(false) => false,
            Ok(true) => {
                let mut state = lock(&self.shared.state);
                // Without a contribution of this process no round can be complete.
                if state.ending.over || !peers.has_contributed() {
                    return true;
                }
                let mut work = self.try_open(&mut state, peers);
                // The window that it opened has nothing for this process, which is through with it at once.
                if work == 0 && !state.ending.over && !peers.has_contributed() {
                    work = self.close_together(&mut state);
                }
                let over = state.ending.over;
                drop(state);
                if over {
                    self.shared.idle.wake_all();
                } else {
                    self.shared.idle.wake(work.min(self.shared.useful).saturating_sub(1));
                }
                true
            }
        }
    }
}
