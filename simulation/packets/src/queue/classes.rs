//! Queues of classes that share a link: strict priority, and deficit round robin (Shreedhar and Varghese,
//! 1996).
//!
//! Each class has a queue of any discipline. A class that a neighbour has paused is passed over and collects
//! no deficit meanwhile, like one that is empty: it would send a burst afterwards.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Classes, Discipline, Loss, MOST_BYTES, Packet, QueueError, Verdict};

/// The most classes of a port: those of PFC.
const CLASSES_MAX: usize = 8;

fn check_count(classes: usize) -> Result<(), QueueError> {
    match classes {
        1..=CLASSES_MAX => Ok(()),
        _ => Err(QueueError { what: format!("{classes} classes"), allowed: "1 to 8 classes" }),
    }
}

/// The class of a packet among so many.
fn class_of(packet: &impl Packet, classes: usize) -> usize {
    usize::from(packet.class()).min(classes - 1)
}

/// Whether the queue `number` among so many has to wait: the last one also holds the classes beyond it, and
/// waits while any of them is paused.
fn is_paused(paused: Classes, number: u8, classes: usize) -> bool {
    let last = if usize::from(number) + 1 == classes { 7 } else { number };
    (number..=last).any(|class| paused.contains(class))
}

/// Tells queues that are empty that the link could have served them: RED counts the time from then on as
/// idle.
fn note_idle<'a, P: Packet, Q: Discipline<P> + 'a>(now: Time, queues: impl Iterator<Item = &'a mut Q>) {
    for queue in queues.filter(|queue| queue.is_empty()) {
        let packet = queue.dequeue(now, Classes::NONE, &mut Vec::new());
        debug_assert!(packet.is_none(), "an empty queue has no packet");
    }
}

/// Serves the first class that has packets, from class 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StrictPriority<Q> {
    classes: Vec<Q>,
}

impl<Q> StrictPriority<Q> {
    /// The queues of the classes, class 0 first.
    ///
    /// # Errors
    ///
    /// There are not 1 to 8 classes.
    pub fn new(classes: Vec<Q>) -> Result<Self, QueueError> {
        check_count(classes.len())?;
        Ok(Self { classes })
    }

    /// The queue of a class.
    pub fn class(&self, class: u8) -> Option<&Q> {
        self.classes.get(usize::from(class))
    }
}

impl<Q> StrictPriority<Q> {
    /// Whether it has as many classes as `fresh`, and all are such beside those of `fresh`.
    pub(super) fn is_all(&self, fresh: &Self, mut is_such: impl FnMut(&Q, &Q) -> bool) -> bool {
        self.classes.len() == fresh.classes.len()
            && self.classes.iter().zip(&fresh.classes).all(|(class, fresh)| is_such(class, fresh))
    }
}

impl<P: Packet, Q: Discipline<P>> Discipline<P> for StrictPriority<Q> {
    fn enqueue(&mut self, now: Time, packet: P, losses: &mut Vec<Loss<P>>) -> Verdict {
        let class = class_of(&packet, self.classes.len());
        self.classes[class].enqueue(now, packet, losses)
    }

    fn dequeue(&mut self, now: Time, paused: Classes, losses: &mut Vec<Loss<P>>) -> Option<P> {
        note_idle(now, self.classes.iter_mut());
        let count = self.classes.len();
        let mut classes = (0..).zip(&mut self.classes).filter(|(class, _)| !is_paused(paused, *class, count));
        classes.find_map(|(_, queue)| queue.dequeue(now, Classes::NONE, losses))
    }

    fn len(&self) -> usize {
        self.classes.iter().map(Discipline::len).sum()
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(Discipline::bytes).sum()
    }

    fn head_bytes(&self) -> Option<u32> {
        self.classes.iter().find_map(Discipline::head_bytes)
    }

    fn look(&self, show: &mut dyn FnMut(&P)) {
        self.classes.iter().for_each(|queue| queue.look(show));
    }
}

/// A class of [`Drr`], with what it may send in its turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct DrrClass<Q> {
    queue: Q,
    /// The bytes it may send more in each turn.
    quantum: u32,
    /// The bytes it may still send (the deficit counter). It is below zero where active queue management gave
    /// a longer packet than the one that was looked at.
    deficit: i64,
}

/// Serves classes in turn. In its turn a class may send its quantum of bytes, and what it could not use of
/// the turns before because its next packet was longer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Drr<Q> {
    classes: Vec<DrrClass<Q>>,
    /// The classes that have packets, in the order of their turns.
    active: VecDeque<u8>,
    /// Whether the first of them has its quantum of this turn.
    is_in_turn: bool,
}

impl<Q> Drr<Q> {
    /// The queues of the classes with their quanta in bytes, class 0 first. A quantum below the longest
    /// packet is allowed; a class then needs several turns for a packet.
    ///
    /// # Errors
    ///
    /// There are not 1 to 8 classes, or a quantum is zero.
    pub fn new(classes: Vec<(u32, Q)>) -> Result<Self, QueueError> {
        check_count(classes.len())?;
        if classes.iter().any(|(quantum, _)| *quantum == 0) {
            return Err(QueueError { what: "a quantum of 0 bytes".into(), allowed: "1 byte or more" });
        }
        let classes = classes.into_iter().map(|(quantum, queue)| DrrClass { queue, quantum, deficit: 0 });
        Ok(Self { classes: classes.collect(), active: VecDeque::new(), is_in_turn: false })
    }

    /// The queue of a class.
    pub fn class(&self, class: u8) -> Option<&Q> {
        self.classes.get(usize::from(class)).map(|class| &class.queue)
    }

    /// Whether its numbers fit each other, it has the classes of `fresh`, and the queues of all are such
    /// beside those of `fresh`.
    pub(super) fn is_all<P: Packet>(&self, fresh: &Self, mut is_such: impl FnMut(&Q, &Q) -> bool) -> bool
    where
        Q: Discipline<P>,
    {
        let classes = (0u8..).zip(&self.classes).zip(&fresh.classes);
        let is_once = |(place, number): (usize, &u8)| {
            usize::from(*number) < self.classes.len()
                && !self.active.range(..place).any(|other| other == number)
        };
        // A deficit grows until the next packet fits, and falls below zero where CoDel sends a longer one.
        let most = i64::from(MOST_BYTES);
        self.classes.len() == fresh.classes.len()
            && self.active.iter().enumerate().all(is_once)
            && classes.into_iter().all(|((number, class), fresh)| {
                class.quantum == fresh.quantum
                    && (-most..=most + i64::from(class.quantum)).contains(&class.deficit)
                    && (class.queue.is_empty() || self.active.contains(&number))
                    && is_such(&class.queue, &fresh.queue)
            })
    }

    /// The first active class goes to the end of the line.
    fn end_turn(&mut self) {
        self.active.rotate_left(1);
        self.is_in_turn = false;
    }
}

impl<P: Packet, Q: Discipline<P>> Discipline<P> for Drr<Q> {
    fn enqueue(&mut self, now: Time, packet: P, losses: &mut Vec<Loss<P>>) -> Verdict {
        let number = class_of(&packet, self.classes.len());
        let class = &mut self.classes[number];
        let was_empty = class.queue.is_empty();
        let verdict = class.queue.enqueue(now, packet, losses);
        if was_empty && !class.queue.is_empty() && !self.active.contains(&(number as u8)) {
            self.active.push_back(number as u8);
        }
        verdict
    }

    fn dequeue(&mut self, now: Time, paused: Classes, losses: &mut Vec<Loss<P>>) -> Option<P> {
        note_idle(now, self.classes.iter_mut().map(|class| &mut class.queue));
        // How many classes in a row were paused.
        let mut passed = 0;
        while passed < self.active.len() {
            let number = *self.active.front()?;
            let count = self.classes.len();
            let class = &mut self.classes[usize::from(number)];
            if is_paused(paused, number, count) {
                class.deficit = class.deficit.min(0);
                self.end_turn();
                passed += 1;
                continue;
            }
            passed = 0;
            if !self.is_in_turn {
                class.deficit += i64::from(class.quantum);
                self.is_in_turn = true;
            }
            if class.queue.head_bytes().is_some_and(|bytes| i64::from(bytes) > class.deficit) {
                self.end_turn();
                continue;
            }
            let packet = class.queue.dequeue(now, Classes::NONE, losses);
            class.deficit -= packet.as_ref().map_or(0, |packet| i64::from(packet.wire_bytes()));
            if class.queue.is_empty() {
                class.deficit = 0;
                self.active.pop_front();
                self.is_in_turn = false;
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn len(&self) -> usize {
        self.classes.iter().map(|class| class.queue.len()).sum()
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(|class| class.queue.bytes()).sum()
    }

    fn head_bytes(&self) -> Option<u32> {
        self.active.front().and_then(|number| self.classes[usize::from(*number)].queue.head_bytes())
    }

    fn look(&self, show: &mut dyn FnMut(&P)) {
        self.classes.iter().for_each(|class| class.queue.look(show));
    }
}
