//! A model driven to its end in one federate, on the calling thread, with the event queue that is to be
//! measured.
//!
//! Invariant: every queue and both gears give the digest that the engine gives.

use std::time::{Duration, Instant};

use paceline_kernel::{
    Digest, EventQueue, Federate, Model, Outbox, Partition, Progress, Settings, TieBreak, Time, Windows,
};

/// How a federate works its events off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gear {
    /// The queue gives out one event after the other, the least of all.
    OneByOne,
    /// The queue gives out all events of a window as wide as the lookahead, and the federate runs LP after
    /// LP.
    Windows,
}

#[derive(Clone, Copy, Debug)]
pub struct Driven {
    /// Of events and final states.
    pub digest: Digest,
    /// Real time from the first `init` to the last `finish`.
    pub wall: Duration,
}

/// Drives `model`, whose lookahead is not zero, with the queue `Q`. The error says which rule the model
/// breaks.
pub fn drive<M: Model, Q: EventQueue<M::Event>>(model: &M, gear: Gear) -> Result<Driven, String> {
    let start = Instant::now();
    let one = Partition::runs(model.lps(), 1);
    let window = if gear == Gear::Windows { model.lookahead() } else { Time::ZERO };
    let settings = Settings { seed: 1, ties: TieBreak::Fixed, window };
    let built = Federate::<M, Q>::build(model, &one, settings);
    let mut federate = built.map_err(|fault| fault.to_string())?.remove(0);
    let mut outbox = Outbox::new(1);
    match gear {
        Gear::OneByOne => {
            federate.step_on(model, &one, Time::MAX, usize::MAX, &mut outbox);
        }
        Gear::Windows => {
            let mut windows = Windows::lookahead(model.lookahead());
            while let Some(bound) = windows.open(federate.lvt(), Time::MAX) {
                // A federate that is broken does nothing any more, so that its time stands still.
                if federate.advance(model, &one, bound, usize::MAX, &mut outbox) == Progress::Faulty {
                    break;
                }
            }
        }
    }
    if let Some(trouble) = federate.trouble() {
        return Err(trouble.to_string());
    }
    let digest = federate.finish(model).digest;
    Ok(Driven { digest, wall: start.elapsed() })
}
