//! The thread of an outside federate that runs ahead: a [`Warp`], as inside, on the other side of two queues.
//!
//! Asked for it, it dawdles: it lets others go first, takes in one hand-over at a time, and says only now and
//! then where it stands.
//!
//! Invariants: everything handed over is taken in before the next turn, unless it dawdles; while it has
//! nothing to run before it is handed something, it waits, and has said where it stands; once it has
//! retreated it only takes in mail.

use paceline_kernel::{Bounds, Mail, Model, Outbox, Partition, Time, Warp, WarpTurn};

use super::{Order, Worker};
use crate::outside::{Door, FederateError, HandOver, OutsideLps, Permit, Standing};
use crate::sync::mpsc::{Receiver, TryRecvError};
use crate::sync::thread;
use crate::watch::lvt::{Publisher, publish};

/// The federate, and what it knows of the run.
struct Runner<'a, M: Model> {
    warp: Warp<M>,
    partition: &'a Partition,
    door: &'a Door<M>,
    outbox: Outbox<M::Event>,
    /// The number of the latest hand-over.
    taken_in: u64,
    /// What it has said last: the number of the latest hand-over then, and its floor.
    said: Option<(u64, Time)>,
    gvt: Time,
    permit: Permit,
    failed: bool,
}

impl<M: Model> Worker<M> {
    /// Runs ahead until the stretch ends, or the run is gone.
    pub(super) fn run_ahead(&mut self, lps: OutsideLps<M>, door: &Door<M>, inbox: &Receiver<Order<M>>) {
        let OutsideLps { federate, partition, reached, optimism, publishing, .. } = lps;
        let mut publisher = publishing.outside(federate.id());
        let settings = optimism.as_ref().expect("it is to run ahead");
        let mut runner = Runner {
            warp: Warp::new(federate, settings),
            outbox: Outbox::new(partition.federates()),
            partition: &partition,
            door,
            taken_in: 0,
            said: None,
            gvt: reached,
            permit: Permit::Retreat,
            failed: false,
        };
        let mut waits = true;
        loop {
            // With work left it only looks whether there are orders; without, it sleeps until there is one.
            let order = match waits {
                true => {
                    publisher.set_waiting(true);
                    let order = inbox.recv().map_err(|_| TryRecvError::Disconnected);
                    publisher.set_waiting(false);
                    order
                }
                false => inbox.try_recv(),
            };
            match order {
                Ok(Order::RunAhead(handed)) => runner.take_in(&self.model, handed),
                // The engine knows of the failure, and asks for no LPs.
                Ok(Order::End) if runner.failed => return,
                Ok(Order::End) => break,
                Ok(Order::Begin(..) | Order::Advance(..)) => {
                    unreachable!("a stretch ends before the next begins, and is of one kind")
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {}
            }
            if runner.failed {
                waits = true;
                continue;
            }
            waits = self.turn(&mut runner, &mut publisher);
        }
        drop(publisher);
        let (federate, rollbacks) = runner.warp.settle();
        let rollbacks = Some(Box::new(rollbacks));
        door.ended(OutsideLps { federate, partition, reached, optimism: None, rollbacks, publishing });
    }

    /// Runs what is permitted, for a turn. Says whether nothing is left to do before something is handed
    /// over.
    fn turn(&mut self, runner: &mut Runner<'_, M>, publisher: &mut Publisher) -> bool {
        let patient = self.dawdle.as_mut().is_some_and(|rng| rng.chance(0.5));
        if publisher.is_present() {
            publish(publisher, runner.warp.floor());
        }
        let waits = runner.turn(&self.model, patient);
        let mut says = true;
        if let Some(rng) = &mut self.dawdle {
            for _ in 0..rng.below(3) {
                thread::yield_now();
            }
            says = rng.chance(0.5);
        }
        // Before it sleeps in any case: the engine would wait for what was not said.
        if (says || waits) && !runner.failed {
            runner.say();
        }
        waits
    }
}

impl<M: Model> Runner<'_, M> {
    fn take_in(&mut self, model: &M, handed: HandOver<M::Event>) {
        let HandOver { number, mut mail, gvt, permit } = handed;
        self.warp.receive(model, self.partition, &mut mail, &mut self.outbox);
        // Once: what is cancelled by the retreat comes back as mail under the same permit.
        let retreats = permit == Permit::Retreat && self.permit != Permit::Retreat;
        (self.taken_in, self.gvt, self.permit) = (number, gvt, permit);
        if retreats && let Err(trouble) = self.warp.retreat(model, self.partition, gvt, &mut self.outbox) {
            self.fail(FederateError::Event(trouble));
        }
    }

    fn fail(&mut self, failure: FederateError) {
        self.failed = true;
        self.door.failed(failure);
    }

    /// Says whether there is nothing to run before something is handed over.
    fn turn(&mut self, model: &M, patient: bool) -> bool {
        let Permit::Run { until, ahead, width } = self.permit else { return true };
        let bounds = Bounds { floor: self.warp.floor(), gvt: self.gvt, until, width, ahead };
        match self.warp.turn(model, self.partition, bounds, patient, &mut self.outbox) {
            WarpTurn::Ran => false,
            // It is only patient where others may come first.
            WarpTurn::Waits => !patient,
            WarpTurn::Failed(trouble) => {
                self.fail(FederateError::Event(trouble));
                true
            }
        }
    }

    /// Says where it stands, if anything is new.
    fn say(&mut self) {
        let mut mail = Mail::default();
        self.outbox.flush_mail(|_, part, _| mail.append(part));
        let (taken_in, floor, front) = (self.taken_in, self.warp.floor(), self.warp.front());
        // Nothing new: another report would only wake a worker.
        if mail.is_empty() && self.said == Some((taken_in, floor)) {
            return;
        }
        self.said = Some((taken_in, floor));
        let effort = self.warp.take_effort();
        self.door.stands(Standing { taken_in, floor, front, mail, effort });
    }
}
