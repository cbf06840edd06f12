//! When a logical process acts: once in an instant, when all that comes in it is there.
//!
//! What is sent to a logical process for an instant is in the engine's queue before the instant begins. So
//! whatever happens first in an instant has it send itself an [`Event::Act`], which the engine puts after all
//! else of the instant.
//!
//! Invariants: at most one [`Event::Act`] is open for an instant; a wake-up is open for the time of what is
//! due next, or an earlier one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use paceline_kernel::{Context, Time};

use super::mail::{Event, Item};
use super::{Federates, Handles, World};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The wake-ups that a logical process has open in the queue of the engine.
#[derive(Default)]
pub(super) struct Agenda {
    /// The instant for which an [`Event::Act`] is open.
    acts: Option<Time>,
    /// When a wake-up is open.
    wakes: Option<Time>,
}

/// A federate or the carrier.
pub(super) trait Acts {
    type Payload: Send + 'static;

    fn agenda(&mut self) -> &mut Agenda;

    fn take_in(&mut self, item: Item<Self::Payload>, now: Time);

    /// All that is due at this instant is there. Returns the time at which something is due next, if the
    /// world has not ended.
    fn act(&mut self, world: &World, cx: &mut Context<'_, Federates<'_>>) -> Option<Time>;
}

impl<T: Acts + Send> Handles for Mutex<T> {
    fn handle(&self, event: &Event, world: &World, cx: &mut Context<'_, Federates<'_>>) {
        let (mut lp, now) = (lock(self), cx.now());
        match event {
            Event::Act => {
                lp.agenda().acts = None;
                let next = lp.act(world, cx).map(|next| next.max(now));
                if let Some(next) = next.filter(|next| lp.agenda().is_new(now, *next)) {
                    cx.schedule(next - now, Event::Wake);
                }
                return;
            }
            Event::Wake => {}
            Event::Mail(mail) => mail.take().into_iter().for_each(|item| lp.take_in(item, now)),
        }
        if lp.agenda().acts.replace(now) != Some(now) {
            cx.schedule(Time::ZERO, Event::Act);
        }
    }
}

impl Agenda {
    /// Something is due at `next`: whether a wake-up is to be sent for it.
    fn is_new(&mut self, now: Time, next: Time) -> bool {
        let known = self.wakes.is_some_and(|wakes| now < wakes && wakes <= next);
        if !known {
            self.wakes = Some(next);
        }
        !known
    }
}
