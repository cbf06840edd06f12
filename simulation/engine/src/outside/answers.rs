//! The answers of outside federates, from any thread, until a worker takes them in.
//!
//! Invariant: an answer is in the list before a worker is woken for it; a worker that is about to sleep has
//! read the epoch before it looked here the last time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{Event, EventError, Model, RuleError, Time};

use super::OutsideLps;
use super::standing::{Said, Standing};
use crate::sync::{Condvar, Mutex, lock};
use crate::workers::idle::Idle;

/// What an outside federate says.
#[derive(Debug)]
pub(crate) enum Answer<M: Model> {
    Done {
        next: Time,
        events: Vec<Event<M::Event>>,
    },
    Promise(Time),
    /// One that runs ahead has said where it stands.
    Stands,
    Ended(Box<OutsideLps<M>>),
    Failed(FederateError),
    /// All its doors are gone.
    Gone,
    /// It has had its time.
    Late,
}

/// Why an outside federate cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FederateError {
    /// The model that it runs broke a rule.
    Rule(Box<RuleError>),
    /// It ran ahead, and something went wrong that cannot be taken back any more.
    Event(Box<EventError>),
    /// Anything else, in words.
    Other(String),
}

#[derive(Debug)]
struct List<M: Model> {
    answers: VecDeque<(u32, Answer<M>)>,
    /// By when whom is to answer, where there is a limit.
    deadlines: Vec<(u32, Instant)>,
    over: bool,
}

#[derive(Debug)]
pub(crate) struct Answers<M: Model> {
    list: Mutex<List<M>>,
    changed: Condvar,
    idle: Arc<Idle>,
}

impl<M: Model> Answers<M> {
    /// Answers for which workers are woken through `idle`.
    pub(crate) fn new(idle: Arc<Idle>) -> Self {
        let list = List { answers: VecDeque::new(), deadlines: Vec::new(), over: false };
        Self { list: Mutex::new(list), changed: Condvar::new(), idle }
    }

    pub(crate) fn take(&self) -> Option<(u32, Answer<M>)> {
        lock(&self.list).answers.pop_front()
    }

    /// The next answer, as soon as there is one: for threads that are not workers.
    pub(crate) fn wait(&self) -> (u32, Answer<M>) {
        let mut list = lock(&self.list);
        loop {
            if let Some(answer) = list.answers.pop_front() {
                return answer;
            }
            list = self.changed.wait(list).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Whether there are answers that no worker has taken in.
    pub(crate) fn any(&self) -> bool {
        !lock(&self.list).answers.is_empty()
    }

    fn push(&self, federate: u32, answer: Answer<M>) {
        {
            let mut list = lock(&self.list);
            // The leg is over, and the next one has answers of its own: a late answer would belong to
            // neither.
            if list.over {
                return;
            }
            list.answers.push_back((federate, answer));
        }
        // The owner of the run, who waits at the end of a leg, or a worker.
        self.changed.notify_all();
        self.idle.wake(1);
    }

    /// Nobody takes in answers any more.
    pub(crate) fn close(&self) {
        lock(&self.list).over = true;
        self.changed.notify_all();
    }

    /// `federate` is to answer within `limit` from now; without a limit, when it likes.
    pub(crate) fn expect(&self, federate: u32, limit: Option<Duration>) {
        if let Some(limit) = limit {
            lock(&self.list).deadlines.push((federate, Instant::now() + limit));
            self.changed.notify_all();
        }
    }

    /// `federate` has answered.
    pub(crate) fn met(&self, federate: u32) {
        lock(&self.list).deadlines.retain(|(other, _)| *other != federate);
    }

    /// Says of those who miss their time that they do, until the answers are closed.
    pub(crate) fn keep_time(&self) {
        let mut list = lock(&self.list);
        while !list.over {
            let now = Instant::now();
            let late = list.deadlines.extract_if(.., |(_, due)| *due <= now).map(|(federate, _)| federate);
            let late: Vec<u32> = late.collect();
            if !late.is_empty() {
                // `push` takes the list.
                drop(list);
                late.into_iter().for_each(|federate| self.push(federate, Answer::Late));
                list = lock(&self.list);
                continue;
            }
            list = match list.deadlines.iter().map(|(_, due)| *due).min() {
                Some(due) => {
                    let waited = self.changed.wait_timeout(list, due - now);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
                None => self.changed.wait(list).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
    }
}

/// Says that a federate is gone, once no answer can come from it any more.
struct Last<M: Model> {
    federate: u32,
    answers: Arc<Answers<M>>,
    said: Arc<Said<M::Event>>,
}

impl<M: Model> Drop for Last<M> {
    fn drop(&mut self) {
        // With the last door: a thread that panicked or a connection that closed is noticed without a time
        // limit.
        self.answers.push(self.federate, Answer::Gone);
    }
}

/// Where an outside federate answers; for any thread. Once all clones are dropped before the LPs are back,
/// the federate is gone, and the run ends.
pub struct Door<M: Model>(Arc<Last<M>>);

impl<M: Model> Clone for Door<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Model> fmt::Debug for Door<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Door").field(&self.0.federate).finish()
    }
}

impl<M: Model> Door<M> {
    pub(crate) fn new(federate: u32, answers: &Arc<Answers<M>>, said: &Arc<Said<M::Event>>) -> Self {
        Self(Arc::new(Last { federate, answers: Arc::clone(answers), said: Arc::clone(said) }))
    }

    /// The number of the federate in the partition.
    pub fn federate(&self) -> u32 {
        self.0.federate
    }

    fn say(&self, answer: Answer<M>) {
        self.0.answers.push(self.0.federate, answer);
    }

    /// It has done everything before its bound, and does nothing by itself before `next`. `events` are its
    /// messages to others, each at least the lookahead after what caused it, and those to its own LPs at
    /// or after the bound.
    pub fn done(&self, next: Time, events: Vec<Event<M::Event>>) {
        self.say(Answer::Done { next, events });
    }

    /// It is not done, but will do nothing before `at_least` any more: federates that wait for it may run up
    /// to that time.
    pub fn promise(&self, at_least: Time) {
        self.say(Answer::Promise(at_least));
    }

    /// One that runs ahead says where it stands: at least once after each hand-over
    /// ([`super::OutsideFederate::run_ahead`]), else when it has something to say.
    pub fn stands(&self, standing: Standing<M::Event>) {
        if self.0.said.add(standing) {
            self.say(Answer::Stands);
        }
    }

    /// Gives back the LPs, after [`super::OutsideFederate::end`].
    pub fn ended(&self, lps: OutsideLps<M>) {
        self.say(Answer::Ended(Box::new(lps)));
    }

    /// It cannot continue, and the run ends.
    pub fn failed(&self, failure: FederateError) {
        self.say(Answer::Failed(failure));
    }
}
