//! The ids of a machine's parts, a type for each, and arenas that are indexed by them.
//!
//! Ids count over the whole machine, from zero, in the order of the spec: the PCPUs and VCPUs of the first
//! host's privileged domain come first. Domains count the privileged ones of all hosts first, then the
//! guests. VCPUs and domains have the ids by which policies know them; PCPUs have others there, which count
//! from zero on every host.
//!
//! Invariant: an arena only grows, so that an id that it gave out is valid for good.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

pub use paceline_policy::{DomId, VcpuId};

use crate::ProcessId;

/// A host, by its index in [`MachineSpec::hosts`](crate::MachineSpec::hosts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A guest domain, by its index in [`MachineSpec::domains`](crate::MachineSpec::domains).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestId(pub u32);

/// A physical CPU, by number over all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PcpuId(pub u32);

/// A packet that is on its way; the id is used again when it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

/// A number that names a part of the machine.
pub(crate) trait Id: Copy {
    /// The id of this number.
    fn of(number: u32) -> Self;
    fn number(self) -> u32;
}

macro_rules! ids {
    ($($id:ident),*) => {
        $(impl Id for $id {
            fn of(number: u32) -> Self {
                Self(number)
            }

            fn number(self) -> u32 {
                self.0
            }
        })*
    };
}

ids!(HostId, GuestId, PcpuId, VcpuId, PacketId, ProcessId);

/// Ids that follow each other, such as those of a guest's VCPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<I> {
    first: I,
    count: u32,
}

impl<I: Id> Span<I> {
    /// So many from `first` on.
    pub fn new(first: I, count: u32) -> Self {
        Self { first, count }
    }

    /// The first; there may be none.
    pub fn first(self) -> I {
        self.first
    }

    pub fn count(self) -> u32 {
        self.count
    }

    /// The one that is so far behind the first.
    pub fn at(self, offset: u32) -> I {
        I::of(self.first.number() + offset)
    }

    /// How far `id`, one of them, is behind the first.
    pub fn offset_of(self, id: I) -> u32 {
        id.number() - self.first.number()
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = I> + Clone {
        (0..self.count).map(move |offset| self.at(offset))
    }
}

/// One `T` for each id.
#[derive(Debug)]
pub(crate) struct Arena<I, T> {
    all: Vec<T>,
    id: PhantomData<I>,
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self { all: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> Arena<I, T> {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Returns the id of the value.
    pub fn push(&mut self, value: T) -> I {
        self.all.push(value);
        I::of(self.len() - 1)
    }

    /// Returns the ids of the values, in their order.
    pub fn extend(&mut self, values: impl IntoIterator<Item = T>) -> Span<I> {
        let first = self.len();
        self.all.extend(values);
        Span::new(I::of(first), self.len() - first)
    }

    /// The one of this id, if there is one.
    pub fn get(&self, id: I) -> Option<&T> {
        self.all.get(id.number() as usize)
    }

    /// The ids of all.
    pub fn ids(&self) -> Span<I> {
        Span::new(I::of(0), self.len())
    }

    /// All, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().iter().zip(&self.all)
    }

    /// All, without their ids.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.all.into_iter()
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.all[id.number() as usize]
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.all[id.number() as usize]
    }
}
