//! Time in the small infrastructure: bounds by their definition, computed anew until nothing changes.

use super::Step;
use super::reference::{Federation, Message};

/// Nothing before a time, or neither before nor at it.
type Bound = (i64, bool);

#[derive(Clone, Debug, Default)]
pub struct Clock {
    pub now: i64,
    pub is_past: bool,
    pub lookahead: Option<i64>,
    floor: Option<Bound>,
    pub is_constrained: bool,
    pub awaits_constraint: bool,
    /// To when, whether only to the next message, and whether messages at that time may still come.
    pub pending: Option<(i64, bool, bool)>,
    is_asynchronous: bool,
    pub held: Vec<Message>,
    pub queue: Vec<Message>,
}

impl Clock {
    pub fn holds(&self) -> bool {
        self.is_constrained && !self.is_asynchronous && self.pending.is_none()
    }

    pub fn waits(&self) -> bool {
        self.pending.is_some() || self.awaits_constraint
    }

    fn first(&self) -> Option<i64> {
        self.queue.iter().filter_map(|message| message.at).min()
    }

    /// When it acts if nothing more comes, and whether it is past that time then.
    fn acts(&self) -> (i64, bool) {
        let Some((to, is_to_next, is_available)) = self.pending else { return (self.now, self.is_past) };
        let time = self.first().filter(|_| is_to_next).map_or(to, |first| first.min(to));
        (time, !is_available || (time == self.now && self.is_past))
    }

    /// What it sends first if it acts at `cause`.
    fn sends(&self, cause: Bound, is_past: bool) -> Option<Bound> {
        let lookahead = self.lookahead?;
        let sent = (cause.0 + lookahead, cause.1 || (lookahead == 0 && is_past));
        Some(self.floor.map_or(sent, |floor| floor.max(sent)))
    }

    pub fn send_bound(&self) -> Option<Bound> {
        let (from, is_past) = match self.pending {
            Some((to, _, is_available)) => (to, !is_available || (to == self.now && self.is_past)),
            None => (self.now, self.is_past),
        };
        self.sends((from, false), is_past)
    }

    fn arrive(&mut self, now: i64, is_past: bool) {
        (self.now, self.is_past, self.pending) = (now, is_past, None);
    }
}

impl Federation {
    /// Before what nothing comes to each, by its definition: who waits for its next message acts when
    /// anything arrives, and so on.
    fn bounds(&self) -> Vec<(u32, Option<Bound>)> {
        let clocks: Vec<_> =
            self.federates.iter().map(|(handle, federate)| (*handle, &federate.clock)).collect();
        let mut acts: Vec<Bound> = clocks.iter().map(|(_, clock)| (clock.acts().0, false)).collect();
        loop {
            let sends = |from: usize| clocks[from].1.sends(acts[from], clocks[from].1.acts().1);
            let others = |to: usize| (0..clocks.len()).filter(move |from| *from != to);
            let arrives: Vec<_> = (0..clocks.len()).map(|to| others(to).filter_map(sends).min()).collect();
            let react = |to: usize| match (arrives[to], clocks[to].1.pending) {
                (Some(arrives), Some((_, true, _))) if clocks[to].1.is_constrained => acts[to].min(arrives),
                _ => acts[to],
            };
            let earlier: Vec<Bound> = (0..clocks.len()).map(react).collect();
            if earlier == acts {
                return clocks.iter().map(|(handle, _)| *handle).zip(arrives).collect();
            }
            acts = earlier;
        }
    }

    /// GALT, LITS, time and lookahead of a federate, in words.
    pub fn queried(&self, federate: u32) -> (Option<i64>, String) {
        let bound =
            self.bounds().into_iter().find(|(handle, _)| *handle == federate).and_then(|(_, bound)| bound);
        let (galt, clock) = (bound.map(|bound| bound.0), &self.federates[&federate].clock);
        let lits = galt.into_iter().chain(clock.first()).min();
        let lookahead = clock
            .lookahead
            .map(|lookahead| clock.floor.map_or(lookahead, |floor| lookahead.max(floor.0 - clock.now)));
        (galt, format!("GALT {galt:?} LITS {lits:?} time {} lookahead {lookahead:?}", clock.now))
    }

    /// Grants one after the other, until nobody can be granted.
    pub fn grant_all(&mut self) {
        while let Some(federate) = self.grantable() {
            let clock = &mut self.federates.get_mut(&federate).expect("it waits").clock;
            if clock.awaits_constraint {
                (clock.awaits_constraint, clock.is_constrained) = (false, true);
                let words = format!("constrained at {}", clock.now);
                self.tell(federate, words);
                continue;
            }
            let (time, is_past) = clock.acts();
            clock.arrive(time, is_past);
            self.release(federate, time);
            self.tell(federate, format!("granted {time}"));
        }
    }

    fn grantable(&self) -> Option<u32> {
        let bounds = self.bounds();
        let mut waiting = bounds.into_iter().filter(|(handle, bound)| {
            let clock = &self.federates[handle].clock;
            let needed = match clock.pending {
                Some((_, _, is_available)) => (clock.acts().0, !is_available),
                None if clock.awaits_constraint => (clock.now, clock.is_past),
                None => return false,
            };
            let is_free = clock.pending.is_some() && !clock.is_constrained;
            is_free || bound.is_none_or(|bound| bound >= needed)
        });
        waiting.next().map(|(handle, _)| handle)
    }

    fn release(&mut self, federate: u32, until: i64) {
        let queue = std::mem::take(&mut self.federates.get_mut(&federate).expect("it is there").clock.queue);
        let (come, wait): (Vec<_>, Vec<_>) = queue.into_iter().partition(|message| message.at <= Some(until));
        self.federates.get_mut(&federate).expect("it is there").clock.queue = wait;
        come.into_iter().for_each(|message| self.tell(federate, message.words(true)));
    }

    fn release_held(&mut self, federate: u32) {
        let clock = &mut self.federates.get_mut(&federate).expect("it is there").clock;
        if !clock.holds() {
            let held = std::mem::take(&mut clock.held);
            held.into_iter().for_each(|message| self.tell(federate, message.words(false)));
        }
    }

    fn regulate(&mut self, federate: u32, lookahead: i64) {
        let relies = |(other, row): (&u32, &super::reference::Federate)| {
            (*other != federate && row.clock.is_constrained).then_some((row.clock.now, row.clock.is_past))
        };
        let latest = self.federates.iter().filter_map(relies).max();
        let clock = &mut self.federates.get_mut(&federate).expect("it is there").clock;
        let (now, is_past) = latest.unwrap_or_default().max((clock.now, clock.is_past));
        (clock.now, clock.is_past, clock.lookahead, clock.floor) = (now, is_past, Some(lookahead), None);
        self.release(federate, now);
        self.tell(federate, format!("regulates at {now}"));
    }

    fn flush(&mut self, federate: u32, to: i64) {
        let bound = self.federates.iter().filter(|(other, _)| **other != federate);
        let bound = bound
            .filter_map(|(_, row)| row.clock.sends((row.clock.acts().0, false), row.clock.acts().1))
            .min();
        let clock = &mut self.federates.get_mut(&federate).expect("it is there").clock;
        let optimistic = clock.first().map_or(to, |first| first.min(to));
        let safe = match bound {
            Some((bound, _)) if clock.is_constrained => bound.min(optimistic),
            _ => optimistic,
        };
        let is_past = safe == clock.now && clock.is_past;
        clock.arrive(safe, is_past);
        let held = std::mem::take(&mut clock.held);
        held.into_iter().for_each(|message| self.tell(federate, message.words(false)));
        self.release(federate, i64::MAX);
        self.tell(federate, format!("flushed at {safe} optimistic {optimistic}"));
    }

    fn retract(&mut self, federate: u32, number: usize) -> bool {
        let Some(bound) = self.federates[&federate].clock.send_bound() else { return false };
        let Some(sent) = self.sent.get(number).filter(|sent| sent.sender == federate && !sent.is_final)
        else {
            return false;
        };
        if sent.at <= bound.0 {
            return false;
        }
        let mut receivers = sent.receivers.clone();
        receivers.dedup();
        self.sent[number].is_final = true;
        for receiver in receivers {
            let Some(row) = self.federates.get_mut(&receiver) else { continue };
            let is_it = |message: &Message| message.ordered.is_some_and(|(known, _)| known == number);
            let waits = row.clock.queue.iter().chain(&row.clock.held).any(is_it);
            row.clock.queue.retain(|message| !is_it(message));
            row.clock.held.retain(|message| !is_it(message));
            if !waits {
                self.tell(receiver, format!("retract #{number}"));
            }
        }
        true
    }

    pub fn take_time(&mut self, federate: u32, step: Step) -> bool {
        // What was not retracted in time is never retracted: its sender has promised to be later.
        let granted = Some(&self.federates[&federate].clock).filter(|clock| clock.pending.is_none());
        let bound = granted.and_then(Clock::send_bound);
        for sent in self.sent.iter_mut().filter(|sent| sent.sender == federate) {
            sent.is_final |= bound.is_some_and(|bound| sent.at <= bound.0);
        }
        let clock = &mut self.federates.get_mut(&federate).expect("it is there").clock;
        let is_free = !clock.waits();
        match step {
            Step::Regulate(lookahead) if is_free && clock.lookahead.is_none() => {
                self.regulate(federate, lookahead)
            }
            Step::StopRegulating if clock.lookahead.is_some() => {
                (clock.lookahead, clock.floor) = (None, None)
            }
            Step::Constrain if is_free && !clock.is_constrained => clock.awaits_constraint = true,
            Step::StopBeingConstrained if clock.is_constrained => {
                clock.is_constrained = false;
                let queue = std::mem::take(&mut clock.queue);
                self.release_held(federate);
                queue.into_iter().for_each(|message| self.tell(federate, message.words(false)));
            }
            Step::Advance { to, is_to_next, is_available } if is_free && to >= clock.now => {
                clock.pending = Some((to, is_to_next, is_available));
                self.release_held(federate);
            }
            Step::Flush(to) if is_free && to >= clock.now => self.flush(federate, to),
            Step::Lookahead(lookahead) if clock.pending.is_none() && clock.lookahead.is_some() => {
                (clock.floor, clock.lookahead) = (clock.send_bound(), Some(lookahead));
            }
            Step::Asynchronous(value) if clock.is_asynchronous != value => {
                clock.is_asynchronous = value;
                self.release_held(federate);
            }
            Step::Retract(number) => {
                if !self.retract(federate, number) {
                    return false;
                }
            }
            _ => return false,
        }
        self.grant_all();
        true
    }
}
