//! The interface of all matchers.

use std::fmt;

use crate::{Coordinate, Error, Region};

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Somebody publishes here (an update region of HLA).
    Update,
    /// Somebody wants to know what is published here (a subscription region of HLA).
    Subscription,
}

impl Role {
    /// The role of the regions that one with this role is matched with.
    pub fn other(self) -> Self {
        match self {
            Self::Update => Self::Subscription,
            Self::Subscription => Self::Update,
        }
    }
}

/// What a region is called: its role, and a number that its owner chooses. Memory grows with the numbers in use, by blocks of
/// 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId {
    /// What the region is for.
    pub role: Role,
    /// Its number among those of its role.
    pub number: u32,
}

impl RegionId {
    /// The update region with this number.
    pub fn update(number: u32) -> Self {
        Self { role: Role::Update, number }
    }

    /// The subscription region with this number.
    pub fn subscription(number: u32) -> Self {
        Self { role: Role::Subscription, number }
    }
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Update => "update region",
            Role::Subscription => "subscription region",
        };
        write!(f, "{role} {}", self.number)
    }
}

/// What becomes of one match when a region moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The region now overlaps the region of the other role with this number, and did not before.
    Begins(u32),
    /// The region overlapped the region of the other role with this number, and does no longer.
    Ends(u32),
}

/// Regions of both roles, and which of them overlap.
///
/// Everything a matcher tells depends only on the regions it holds, not on how they came there: a federate that inserts
/// them in another order is told the same.
pub trait Matcher<C: Coordinate, const D: usize> {
    /// Adds a region. Errors: the id is in use, or the region is none ([`Error::Inverted`], [`Error::NotANumber`]).
    fn insert(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error>;

    /// Moves a region, or gives it another size. Errors: nothing has this id, or the new region is none.
    fn modify(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error>;

    /// Takes a region away. Error: nothing has this id.
    fn remove(&mut self, id: RegionId) -> Result<(), Error>;

    /// How many regions have this role.
    fn len(&self, role: Role) -> usize;

    /// Whether there are no regions at all.
    fn is_empty(&self) -> bool {
        self.len(Role::Update) + self.len(Role::Subscription) == 0
    }

    /// Whether there is a region with this id.
    fn contains(&self, id: RegionId) -> bool;

    /// Calls `visit(update, subscription)` once for every pair that overlaps. The order is the kind's own, and depends only on
    /// the regions.
    fn pairs<F: FnMut(u32, u32)>(&mut self, visit: F)
    where
        Self: Sized;

    /// Puts the numbers of the regions of this role that overlap `region` into `found`, ascending, in place of what was there.
    /// `region` need not have been inserted. Error: it is none.
    fn overlapping(&mut self, role: Role, region: Region<C, D>, found: &mut Vec<u32>) -> Result<(), Error>;

    /// Puts the numbers of the regions of the other role that overlap this one into `found`, ascending, in place of what was
    /// there: the subscribers of an update region, the publishers of a subscription region. Error: nothing has this id.
    fn partners(&mut self, id: RegionId, found: &mut Vec<u32>) -> Result<(), Error>;

    /// [`Matcher::modify`], and puts what changes into `changes`, ascending by number, in place of what was there.
    fn modify_and_compare(
        &mut self,
        id: RegionId,
        region: Region<C, D>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        self.partners(id, &mut before)?;
        self.modify(id, region)?;
        self.partners(id, &mut after)?;
        changes.clear();
        compare(&before, &after, changes);
        Ok(())
    }
}

/// What becomes of the matches `before`, now that they are those of `after`; all ascending.
pub(crate) fn compare(before: &[u32], after: &[u32], changes: &mut Vec<Change>) {
    let (mut before, mut after) = (before.iter().copied().peekable(), after.iter().copied().peekable());
    loop {
        match (before.peek().copied(), after.peek().copied()) {
            (None, None) => return,
            (Some(old), Some(new)) if old == new => {
                before.next();
                after.next();
            }
            (Some(old), new) if new.is_none_or(|new| old < new) => {
                before.next();
                changes.push(Change::Ends(old));
            }
            _ => changes.extend(after.next().map(Change::Begins)),
        }
    }
}
