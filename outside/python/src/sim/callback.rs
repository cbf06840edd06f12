//! What is called when an event is processed.
//!
//! Callbacks of the core are kept as what they mean. A program that looks at `callbacks` gets a list of bound
//! methods, which stands from then on.

use super::object::*;
use super::statics::statics;
use smallvec::SmallVec;

pub enum Callback {
    /// Resume this process.
    Resume(Ref),
    /// Let this condition count the event.
    Check(Ref),
    /// Collect the value of the condition that the event is.
    Build,
    /// Throw the interruption that the event is into its process.
    Interrupt,
    /// Serve the gets of this resource.
    Get(Ref),
    /// Serve the puts of this resource.
    Put(Ref),
    /// End `run`.
    Stop,
}

pub enum Callbacks {
    /// The event is processed.
    Done,
    Native(SmallVec<[Callback; 2]>),
    List(Ref),
}

impl Callbacks {
    #[inline(always)]
    pub fn empty() -> Self {
        Self::Native(SmallVec::new())
    }

    pub fn references(&self, mut visit: impl FnMut(Raw)) {
        match self {
            Self::Done => {}
            Self::List(list) => visit(list.raw()),
            Self::Native(callbacks) => callbacks.iter().filter_map(Callback::reference).for_each(visit),
        }
    }
}

impl Callback {
    fn reference(&self) -> Option<Raw> {
        match self {
            Self::Resume(object) | Self::Check(object) | Self::Get(object) | Self::Put(object) => {
                Some(object.raw())
            }
            Self::Build | Self::Interrupt | Self::Stop => None,
        }
    }

    /// The callback as Python sees it, of this event.
    pub unsafe fn object(self, event: Raw) -> Outcome<Ref> {
        let names = &statics().names;
        match self {
            Self::Resume(process) => get(process.raw(), names.resume),
            Self::Check(condition) => get(condition.raw(), names.check),
            Self::Build => get(event, names.build_value),
            Self::Interrupt => get(event, names.interrupt),
            Self::Get(resource) => get(resource.raw(), names.trigger_get),
            Self::Put(resource) => get(resource.raw(), names.trigger_put),
            Self::Stop => Ok(Ref::share(statics().stop_callback)),
        }
    }
}
