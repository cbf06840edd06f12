//! The state that a policy keeps for each VCPU or domain, by number.
//!
//! Invariant: the host names a VCPU only between the arrival and the departure of its domain. A PCPU, though,
//! may still run a VCPU whose domain has just gone: code that starts from a PCPU asks with [`PerId::get`].

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::{DomId, Standing, VcpuId};

pub(crate) type PerVcpu<T> = PerId<VcpuId, T>;

pub(crate) type PerDomain<T> = PerId<DomId, T>;

/// A number that the host has given, as an index.
pub(crate) trait Id: Copy {
    fn index(self) -> usize;
    fn from_index(index: usize) -> Self;
}

macro_rules! numbered {
    ($($id:ident),+) => {
        $(impl Id for $id {
            fn index(self) -> usize {
                self.index()
            }

            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
        })+
    };
}

numbered!(VcpuId, DomId);

/// At most one `T` per number.
#[derive(Clone, Debug)]
pub(crate) struct PerId<I, T> {
    slots: Vec<Option<T>>,
    id: PhantomData<I>,
}

impl<I, T> Default for PerId<I, T> {
    fn default() -> Self {
        Self { slots: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> PerId<I, T> {
    pub(crate) fn insert(&mut self, id: I, value: T) {
        if self.slots.len() <= id.index() {
            self.slots.resize_with(id.index() + 1, || None);
        }
        self.slots[id.index()] = Some(value);
    }

    pub(crate) fn remove(&mut self, id: I) -> Option<T> {
        self.slots.get_mut(id.index())?.take()
    }

    pub(crate) fn contains(&self, id: I) -> bool {
        self.get(id).is_some()
    }

    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.slots.get(id.index())?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| Some((I::from_index(index), slot.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(|(index, slot)| Some((I::from_index(index), slot.as_mut()?)))
    }

    /// The ids whose value fulfils a condition, ascending.
    pub(crate) fn ids(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<I> {
        self.iter().filter(|(_, value)| is_wanted(value)).map(|(id, _)| id).collect()
    }
}

impl<T> PerVcpu<T> {
    /// What [`crate::Policy::dump`] returns: a row for each VCPU.
    pub(crate) fn standings(&self, row: impl Fn(VcpuId, &T) -> Standing) -> Vec<Standing> {
        self.iter().map(|(id, vcpu)| row(id, vcpu)).collect()
    }
}

impl<I: Id, T> Index<I> for PerId<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        self.get(id).expect("the host names only VCPUs and domains that it has now")
    }
}

impl<I: Id, T> IndexMut<I> for PerId<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        self.get_mut(id).expect("the host names only VCPUs and domains that it has now")
    }
}
