//! Joins machines to a packet network: each is the outside federate of its host.
//!
//! - [`Machine`] is what a run needs of a machine; a guest of the emulator is one.
//! - `dispatcher` is the one thread that grants machines time and takes in what they did; [`GrantPolicy`]
//!   says which is first.
//! - [`SavedMachines`] are the machines of a checkpoint, from which a run goes on.
//! - [`MachineObserver`] looks on: `watch` tells it who does what when, and `frame_log` keeps the frames.
//! - `seat` is one machine with the LP of its host: frames become events and events frames.
//! - [`placed`] is a machine whose clock is made simulated time, and that is watched; `echoes` are its pings.
//!
//! A machine is granted time up to the bound of its federate, which the engine derives from the links around
//! it. It is not granted any while it would do nothing before that.
//!
//! Invariants: a frame reaches a machine at the first nanosecond at which it is there whole, and never where
//! the machine has already been; which machine runs first, and when in real time, decides nothing.

mod checkpoint;
mod dispatcher;
mod echoes;
mod frame_log;
mod guest;
mod machine;
mod observer;
pub mod placed;
mod policy;
mod seat;
mod sleep;
mod watch;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, mpsc};

use paceline_engine::{Door, OutsideFederate, OutsideLps};
use paceline_kernel::{Event, TieBreak, Time};
use paceline_packets::{NetEvent, Packets};

pub use checkpoint::{ResumeError, SavedMachines};
use dispatcher::{Dispatcher, Order};
pub use echoes::Echoes;
pub use machine::{Bell, Frame, Machine, MachineError, MachineState, Saved, Stopped};
pub use observer::{FrameEnd, MachineActivity, MachineObserver, MachineSlice};
pub use policy::GrantPolicy;
use seat::Seat;

/// How machines of a run are granted time.
#[derive(Clone, Debug)]
pub struct Terms {
    /// At most so many machines run at once.
    pub at_once: usize,
    /// How the run orders simultaneous events.
    pub ties: TieBreak,
    /// Which machine is granted time first where more wait than may run at once.
    pub policy: GrantPolicy,
    /// Who looks on.
    pub observer: Option<Arc<dyn MachineObserver>>,
}

impl Default for Terms {
    /// As many at once as there are cores, and the default order of both.
    fn default() -> Self {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        Self { at_once, ties: TieBreak::default(), policy: GrantPolicy::default(), observer: None }
    }
}

/// The outside federates of `machines`, in their order: each with the node at which its machine is. The model
/// is that of the run, and has a machine at each of these nodes.
///
/// # Errors
///
/// The thread that they share cannot be started.
///
/// # Panics
///
/// If the model has no machine at a node.
pub fn federates(
    model: &Packets,
    machines: Vec<(u32, Box<dyn Machine>)>,
    terms: Terms,
) -> std::io::Result<Vec<GuestFederate>> {
    start(model, seats(model, machines, terms.ties), terms)
}

/// As [`federates`], of machines that start from their states in a checkpoint ([`SavedMachines::state`]). The
/// run itself is resumed by [`Simulation::resume`](paceline_engine::Simulation::resume).
///
/// # Errors
///
/// The machines are not those of the checkpoint, in the order in which that run had them; or the thread
/// cannot be started.
///
/// # Panics
///
/// If the model has no machine at a node.
pub fn resumed(
    model: &Packets,
    machines: Vec<(u32, Box<dyn Machine>)>,
    terms: Terms,
    saved: &SavedMachines,
) -> Result<Vec<GuestFederate>, ResumeError> {
    let names: Vec<_> = machines.iter().map(|(node, machine)| (*node, machine.name())).collect();
    let kept = saved.of(&names)?;
    let mut seats = seats(model, machines, terms.ties);
    seats.iter_mut().zip(kept).for_each(|(seat, kept)| seat.restore(kept));
    start(model, seats, terms).map_err(ResumeError::Thread)
}

fn seats(model: &Packets, machines: Vec<(u32, Box<dyn Machine>)>, ties: TieBreak) -> Vec<Seat> {
    let count = machines.len() as u64;
    let seat = |(number, (node, machine)): (u64, (u32, Box<dyn Machine>))| {
        Seat::new(model, node, machine, (number, count), ties)
    };
    (0..).zip(machines).map(seat).collect()
}

fn start(model: &Packets, seats: Vec<Seat>, terms: Terms) -> std::io::Result<Vec<GuestFederate>> {
    let count = seats.len();
    let dispatcher = Arc::new(Dispatcher::start(model.clone(), seats, terms)?);
    Ok((0..count).map(|number| GuestFederate { number, dispatcher: dispatcher.clone() }).collect())
}

/// A machine as an outside federate. Its federate has one LP, the machine's host.
pub struct GuestFederate {
    number: usize,
    dispatcher: Arc<Dispatcher>,
}

impl fmt::Debug for GuestFederate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuestFederate").field("number", &self.number).finish_non_exhaustive()
    }
}

impl OutsideFederate<Packets> for GuestFederate {
    fn begin(&mut self, lps: OutsideLps<Packets>, door: Door<Packets>) -> Time {
        // It is asked at once, and says then when it does something by itself.
        let reached = lps.reached;
        self.dispatcher.order(self.number, Order::Begin(Box::new(lps), door));
        reached
    }

    fn advance(&mut self, bound: Time, events: Vec<Event<NetEvent>>) {
        self.dispatcher.order(self.number, Order::Advance(bound, events));
    }

    fn end(&mut self) {
        self.dispatcher.order(self.number, Order::End);
    }

    fn can_save(&self) -> bool {
        true
    }

    fn save(&mut self, checkpoint: &Path) -> Result<Vec<u8>, String> {
        let (saved, answer) = mpsc::channel();
        self.dispatcher.order(self.number, Order::Save(checkpoint.to_owned(), saved));
        answer.recv().unwrap_or_else(|_| Err("the thread of the machines is gone".into()))
    }
}
