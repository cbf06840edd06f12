//! The life of a peer: one process that serves other peers while it waits.

use std::hint::black_box;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_processes::Process;

use super::message::{Message, NOBODY};
use super::node::{Node, Way};
use super::{ANSWERED, HOPS, LOOKUPS, Observed, Shared, Starts};

/// The periodic tasks of a peer, and its departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chore {
    Stabilize,
    FixFingers,
    CheckPredecessor,
    Lookup,
    Leave,
}

/// The purpose of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Join,
    Finger(u32),
    Lookup(u64),
}

/// A question without an answer yet.
#[derive(Clone, Copy, Debug)]
struct Question {
    request: u32,
    reason: Reason,
    asked: Time,
}

struct Peer {
    cx: Process<Message>,
    shared: Arc<Shared>,
    node: Node,
    /// When each chore is next due.
    due: [(Time, Chore); 5],
    open: Vec<Question>,
    asked: u32,
    /// The successor and the predecessor, if they still owe an answer; else [`NOBODY`].
    awaited: (u32, u32),
}

/// The process of peer `number`; `there` are the peers on the ring from the start, sorted by place.
pub(super) async fn run(cx: Process<Message>, number: u32, shared: Arc<Shared>, there: Arc<Vec<u32>>) {
    let joins = shared.lives[number as usize].joins;
    let mailbox = u64::from(number);
    let node = match joins {
        Some(_) => Node::alone(&shared.ring, number),
        None => Node::warm(&shared.ring, number, &there),
    };
    drop(there);
    if let Some(at) = joins {
        cx.sleep_until(at).await;
    }
    let mut peer = Peer::new(cx.clone(), shared, node);
    if joins.is_some() {
        peer.join(mailbox).await;
    }
    loop {
        let (due, chore) = peer.next();
        match cx.receive_within(mailbox, due.saturating_sub(cx.now())).await {
            Ok(message) => peer.serve(message),
            Err(_) if chore == Chore::Leave => return peer.leave(),
            Err(_) => peer.work(chore),
        }
    }
}

impl Peer {
    fn new(cx: Process<Message>, shared: Arc<Shared>, node: Node) -> Self {
        let now = cx.now();
        let chord = &shared.chord;
        let first = |period: Time| match chord.starts {
            Starts::Lockstep => now.saturating_add(period),
            Starts::Spread => {
                let within_ns = period.as_nanos().max(1);
                now.saturating_add(Time::nanos(1 + cx.draw(|rng| rng.below(within_ns))))
            }
        };
        let leaves = shared.lives[node.peer as usize].leaves.map_or(Time::MAX, |(at, _)| at);
        let due = [
            (first(chord.stabilize), Chore::Stabilize),
            (first(chord.fix_fingers), Chore::FixFingers),
            (first(chord.check_predecessor), Chore::CheckPredecessor),
            (first(chord.lookup), Chore::Lookup),
            (leaves.max(now), Chore::Leave),
        ];
        Self { cx, shared, node, due, open: Vec::new(), asked: 0, awaited: (NOBODY, NOBODY) }
    }

    /// The chore that is due next, and when.
    fn next(&self) -> (Time, Chore) {
        *self.due.iter().min_by_key(|(at, _)| *at).expect("there are chores")
    }

    fn send(&self, to: u32, message: Message) {
        self.cx.send_detached(u64::from(to), message, self.shared.chord.bytes);
    }

    /// Finds the peer that holds `key`: consults the tables of this peer first, then asks the next peer.
    fn ask(&mut self, key: u64, reason: Reason) {
        let request = self.asked;
        self.asked = self.asked.wrapping_add(1);
        self.open.push(Question { request, reason, asked: self.cx.now() });
        match self.node.way(&self.shared.ring, key) {
            Way::Holder(holder) => self.found(request, holder, 0),
            Way::Next(next) => {
                self.send(next, Message::Find { key, asker: self.node.peer, request, hops: 1 });
            }
        }
    }

    /// Asks peer 0 for a place on the ring until it has one.
    async fn join(&mut self, mailbox: u64) {
        while self.node.successor() == self.node.peer {
            let request = self.asked;
            self.asked += 1;
            let asked = self.cx.now();
            self.open.push(Question { request, reason: Reason::Join, asked });
            let (key, asker) = (self.node.place, self.node.peer);
            self.send(0, Message::Find { key, asker, request, hops: 1 });
            while self.open.iter().any(|question| question.request == request) {
                match self.cx.receive_within(mailbox, self.shared.chord.patience).await {
                    Ok(message) => self.serve(message),
                    Err(_) => self.open.clear(),
                }
            }
        }
    }

    /// Handles the answer to a question.
    fn found(&mut self, request: u32, holder: u32, hops: u32) {
        let Some(place) = self.open.iter().position(|question| question.request == request) else { return };
        let Question { reason, asked, .. } = self.open.swap_remove(place);
        match reason {
            Reason::Join => self.node.set_successor(holder),
            Reason::Finger(finger) => self.node.set_finger(finger, holder),
            Reason::Lookup(key) => {
                self.cx.count(ANSWERED, 1);
                self.cx.tally(HOPS, hops.into());
                self.cx.record(key ^ u64::from(holder).rotate_left(32));
                if self.shared.chord.observe {
                    let observed = Observed { begun: asked, key, holder };
                    let list = &self.shared.outcome.observed;
                    list.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(observed);
                }
            }
        }
    }

    fn serve(&mut self, message: Message) {
        let mut chain = u64::from(self.asked);
        for _ in 0..self.shared.chord.work_ns {
            chain = black_box(chain.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        let ring = &self.shared.ring;
        match message {
            Message::Find { key, asker, request, hops } => match self.node.way(ring, key) {
                Way::Holder(holder) => self.send(asker, Message::Found { request, holder, hops }),
                Way::Next(next) => self.send(next, Message::Find { key, asker, request, hops: hops + 1 }),
            },
            Message::Found { request, holder, hops } => self.found(request, holder, hops),
            Message::Neighbours { asker } => self.send(asker, self.node.neighbours()),
            Message::AreNeighbours { peer, predecessor, successors } => {
                if peer == self.awaited.0 {
                    self.awaited.0 = NOBODY;
                }
                self.node.learn(ring, peer, predecessor, successors);
                if self.node.successor() != self.node.peer {
                    self.send(self.node.successor(), Message::Notify { peer: self.node.peer });
                }
            }
            Message::Notify { peer } => self.node.notified(ring, peer),
            Message::Ping { asker } => self.send(asker, Message::Pong { peer: self.node.peer }),
            Message::Pong { peer } => {
                if peer == self.awaited.1 {
                    self.awaited.1 = NOBODY;
                }
            }
            Message::NewSuccessor { instead_of, peer } => {
                if self.node.successor() == instead_of && peer != self.node.peer {
                    self.node.set_successor(peer);
                }
                self.node.forget(instead_of);
            }
            Message::NewPredecessor { instead_of, peer } => {
                self.node.forget(instead_of);
                if self.node.predecessor == NOBODY && peer != self.node.peer {
                    self.node.predecessor = peer;
                }
            }
        }
    }

    /// Does a chore and schedules it again after its period.
    fn work(&mut self, chore: Chore) {
        let chord = &self.shared.chord;
        let period = match chore {
            Chore::Stabilize => chord.stabilize,
            Chore::FixFingers => chord.fix_fingers,
            Chore::CheckPredecessor => chord.check_predecessor,
            Chore::Lookup => chord.lookup,
            Chore::Leave => Time::MAX,
        };
        for (at, kind) in &mut self.due {
            if *kind == chore {
                *at = at.saturating_add(period);
            }
        }
        let here = self.node.peer;
        match chore {
            Chore::Stabilize => {
                // A successor that has not answered since the last stabilization is gone.
                if self.awaited.0 != NOBODY && self.awaited.0 == self.node.successor() {
                    self.node.lose_successor();
                }
                self.awaited.0 = NOBODY;
                let successor = self.node.successor();
                if successor != here {
                    self.awaited.0 = successor;
                    self.send(successor, Message::Neighbours { asker: here });
                }
            }
            Chore::FixFingers => {
                let (finger, key) = self.node.finger_to_mend(&self.shared.ring);
                self.ask(key, Reason::Finger(finger));
            }
            Chore::CheckPredecessor => {
                if self.awaited.1 != NOBODY && self.awaited.1 == self.node.predecessor {
                    self.node.forget(self.awaited.1);
                }
                self.awaited.1 = self.node.predecessor;
                if self.awaited.1 != NOBODY {
                    self.send(self.awaited.1, Message::Ping { asker: here });
                }
            }
            Chore::Lookup => {
                let (now, patience) = (self.cx.now(), chord.patience);
                self.open.retain(|question| now.saturating_sub(question.asked) < patience);
                let key = self.cx.draw(|rng| rng.below(self.shared.ring.keys()));
                self.cx.count(LOOKUPS, 1);
                self.ask(key, Reason::Lookup(key));
            }
            Chore::Leave => {}
        }
    }

    /// Leaves the ring, with a message to its neighbours if it is a peer that sends one.
    fn leave(&mut self) {
        let Node { peer: instead_of, predecessor, .. } = self.node;
        let says = self.shared.lives[instead_of as usize].leaves.is_some_and(|(_, says)| says);
        let successor = self.node.successor();
        if says && predecessor != NOBODY && successor != instead_of {
            self.send(predecessor, Message::NewSuccessor { instead_of, peer: successor });
            self.send(successor, Message::NewPredecessor { instead_of, peer: predecessor });
        }
    }
}
