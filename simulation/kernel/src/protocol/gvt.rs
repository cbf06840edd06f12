//! Global virtual time: no event that is still to be run anywhere, and no message on its way, is before it.
//!
//! Participants are federates, not threads. A federate that a worker has *taken* counts with the floor it had
//! then; when the worker *reports*, it hands in the federate's new floor together with the least time of
//! everything it has sent, which has been delivered to inboxes by then. So every message is always counted
//! once at least: with its sender while it is being sent, and with its receiver from then on (Fujimoto and
//! Hybinette, 1997: shared memory shows messages in transit).
//!
//! Two ways to come to a value. [`GvtKind::Asynchronous`]: a round reads the least floor, whichever workers
//! run or are off their cores meanwhile; no worker waits and none need be scheduled (wait-free and driven by
//! time, as in Pellegrini and Quaglia, 2014). [`GvtKind::Synchronous`]: a round lets no worker take a
//! federate any more, waits until all are back, and then reads the least floor; the readable reference.
//!
//! Where a run has several processes, GVT is at most the *limit* that all of them have agreed on, which takes
//! the least floor here ([`Gvt::own_least`]) into account.
//!
//! Invariant: GVT never falls.
//!
//! To add a way, add a [`GvtKind`]; `simulation/engine/src/protocols/optimistic/state.rs` says when a round
//! begins, and who may work meanwhile.

use crate::Time;

/// How GVT is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GvtKind {
    /// No federate is taken until all are back and the least floor is read: the reference.
    Synchronous,
    /// A round reads the least floor while federates run on; no worker waits.
    #[default]
    Asynchronous,
}

/// The floors of all federates, and GVT.
///
/// ```
/// use paceline_kernel::{Gvt, GvtKind, Time};
/// let mut gvt = Gvt::new(GvtKind::Asynchronous, vec![Time::secs(1), Time::secs(2)]);
/// gvt.take(0);
/// // Federate 0 comes to 5 s, and has sent federate 1 something for 3 s.
/// gvt.report(0, Time::secs(5), [(1, Time::secs(3))]);
/// gvt.open_round();
/// assert_eq!(gvt.value(), Time::secs(2));
/// gvt.take(1);
/// gvt.report(1, Time::secs(4), []);
/// gvt.open_round();
/// assert_eq!(gvt.value(), Time::secs(4));
/// ```
#[derive(Clone, Debug)]
pub struct Gvt {
    kind: GvtKind,
    /// What each federate may still run, mail that it has not taken in apart.
    floors: Vec<Time>,
    /// The least time of the mail that each federate has not taken in.
    mail: Vec<Time>,
    /// The least of both, and above them a tree of minima; the least of all is in place 1.
    tree: Vec<Time>,
    /// Federates in the hands of workers.
    taken: u32,
    /// A synchronous round waits until all federates are back.
    gathering: bool,
    /// What other processes allow.
    limit: Time,
    value: Time,
    rounds: u64,
    steps: u64,
}

impl Gvt {
    /// For federates with these floors.
    pub fn new(kind: GvtKind, floors: Vec<Time>) -> Self {
        // A tree of minima: a report changes the nodes above one leaf, where a list would be gone through.
        let leaves = floors.len().next_power_of_two();
        let mut tree = vec![Time::MAX; 2 * leaves];
        tree[leaves..leaves + floors.len()].copy_from_slice(&floors);
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        let (mail, value) = (vec![Time::MAX; floors.len()], tree[1]);
        let limit = Time::MAX;
        Self { kind, floors, mail, tree, taken: 0, gathering: false, limit, value, rounds: 0, steps: 0 }
    }

    /// For some of the federates of a run, the others of which are in other processes: GVT starts at `limit`.
    pub fn limited(kind: GvtKind, floors: Vec<Time>, limit: Time) -> Self {
        let gvt = Self::new(kind, floors);
        Self { limit, value: gvt.value.min(limit), ..gvt }
    }

    /// The least floor of the federates here, and of the mail that they have not taken in: what the next
    /// round gives if all are back, unless other processes set a lower limit.
    pub fn own_least(&self) -> Time {
        self.tree[1]
    }

    /// What other processes allow; [`Time::MAX`] where there are none.
    pub fn limit(&self) -> Time {
        self.limit
    }

    /// All processes have agreed on a new limit. It never falls.
    pub fn raise_limit(&mut self, limit: Time) {
        assert!(limit >= self.limit, "the limit of GVT never falls, but {limit} is before {}", self.limit);
        self.limit = limit;
    }

    /// Mail has been delivered to `federate` from another process; `least` is the least time of it.
    pub fn deliver(&mut self, federate: u32, least: Time) {
        let mail = &mut self.mail[federate as usize];
        if least < *mail {
            *mail = least;
            self.update(federate);
        }
    }

    fn update(&mut self, federate: u32) {
        let at = federate as usize;
        let mut node = self.tree.len() / 2 + at;
        self.tree[node] = self.floors[at].min(self.mail[at]);
        while node > 1 {
            node /= 2;
            self.steps += 1;
            let least = self.tree[2 * node].min(self.tree[2 * node + 1]);
            if self.tree[node] == least {
                // Nothing changes further up.
                return;
            }
            self.tree[node] = least;
        }
    }

    /// How GVT is computed; fixed for the whole leg.
    pub fn kind(&self) -> GvtKind {
        self.kind
    }

    /// Whether federates may be taken; not while a synchronous round gathers them.
    pub fn may_take(&self) -> bool {
        !self.gathering
    }

    /// A worker has `federate`, and takes its mail after this: mail that is delivered in between counts
    /// twice, never not at all.
    pub fn take(&mut self, federate: u32) {
        let at = federate as usize;
        // The least of both stays as it is, and with it the tree.
        self.floors[at] = self.floors[at].min(self.mail[at]);
        self.mail[at] = Time::MAX;
        self.taken += 1;
    }

    /// `federate` is back with this floor; `sent` has the receivers of what has been delivered, with the
    /// least time of it. Returns whether that has ended a round.
    pub fn report(
        &mut self,
        federate: u32,
        floor: Time,
        sent: impl IntoIterator<Item = (u32, Time)>,
    ) -> bool {
        for (to, least) in sent {
            self.deliver(to, least);
        }
        self.floors[federate as usize] = floor;
        self.update(federate);
        self.taken -= 1;
        // The last report of those that a round has waited for ends it.
        self.gathering && self.close_round()
    }

    /// `federate`, which a worker has, will do nothing before `floor` any more, mail apart that it has not
    /// taken in.
    pub fn raise(&mut self, federate: u32, floor: Time) {
        let known = &mut self.floors[federate as usize];
        *known = floor.max(*known);
        self.update(federate);
    }

    /// Starts a round. Says whether it is over at once: an asynchronous one always is, a synchronous one if
    /// no worker has a federate; else the report of the last one ends it.
    pub fn open_round(&mut self) -> bool {
        self.gathering = true;
        self.close_round()
    }

    /// Ends the round that is open, if it can be ended now. Says whether it was.
    fn close_round(&mut self) -> bool {
        // A federate that a worker has counts with the floor it had when it was taken, or has promised since:
        // a round need not wait for it. The reference does.
        let is_over = self.kind == GvtKind::Asynchronous || self.taken == 0;
        if is_over {
            self.set_value();
        }
        is_over
    }

    fn set_value(&mut self) {
        let least = self.tree[1].min(self.limit);
        assert!(least >= self.value, "GVT never falls, but {least} is before {}", self.value);
        self.value = least;
        self.gathering = false;
        self.rounds += 1;
    }

    /// GVT, as of the latest round.
    pub fn value(&self) -> Time {
        self.value
    }

    /// The floor of a federate, mail included.
    pub fn floor(&self, federate: u32) -> Time {
        self.tree[self.tree.len() / 2 + federate as usize]
    }

    /// How often GVT was computed.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Minima of two floors taken so far: all the work of rounds.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}
