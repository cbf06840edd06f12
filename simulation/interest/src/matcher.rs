//! The interface of all matchers.

use std::fmt;

use crate::{Coordinate, Error, Region};

/// The role of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Data is published here (an update region of HLA).
    Update,
    /// A receiver wants the data published here (a subscription region of HLA).
    Subscription,
}

impl Role {
    /// The role of the regions with which regions of this role are matched.
    pub fn other(self) -> Self {
        match self {
            Self::Update => Self::Subscription,
            Self::Subscription => Self::Update,
        }
    }
}

/// The identity of a region: its role, and a number that its owner chooses. Memory grows with the numbers in use, in blocks of
/// 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId {
    /// The role.
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

/// A change of one match when a region moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The region overlaps the region of the other role with this number, and did not before.
    Begins(u32),
    /// The region overlapped the region of the other role with this number, and no longer does.
    Ends(u32),
}

/// Regions of both roles, and the overlaps between them.
///
/// The results of a matcher depend only on its current regions, not on its history: two federates that insert the same regions in
/// different orders get the same results.
pub trait Matcher<C: Coordinate, const D: usize> {
    /// Adds a region. Errors: the id is in use, or the region is invalid ([`Error::Inverted`], [`Error::NotANumber`]).
    fn insert(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error>;

    /// Moves or resizes a region. Errors: no region has this id, or the new region is invalid.
    fn modify(&mut self, id: RegionId, region: Region<C, D>) -> Result<(), Error>;

    /// Removes a region. Error: no region has this id.
    fn remove(&mut self, id: RegionId) -> Result<(), Error>;

    /// The number of regions with this role.
    fn len(&self, role: Role) -> usize;

    /// Whether there are no regions at all.
    fn is_empty(&self) -> bool {
        self.len(Role::Update) + self.len(Role::Subscription) == 0
    }

    /// Whether there is a region with this id.
    fn contains(&self, id: RegionId) -> bool;

    /// Calls `visit(update, subscription)` once for every overlapping pair. The order is specific to the matcher, and depends only
    /// on the regions.
    fn pairs<F: FnMut(u32, u32)>(&mut self, visit: F)
    where
        Self: Sized;

    /// Replaces the content of `found` by the numbers of the regions of this role that overlap `region`, ascending. `region` need
    /// not have been inserted. Error: it is invalid.
    fn overlapping(&mut self, role: Role, region: Region<C, D>, found: &mut Vec<u32>) -> Result<(), Error>;

    /// Replaces the content of `found` by the numbers of the regions of the other role that overlap this one, ascending: the
    /// subscribers of an update region, the publishers of a subscription region. Error: no region has this id.
    fn partners(&mut self, id: RegionId, found: &mut Vec<u32>) -> Result<(), Error>;

    /// Calls [`Matcher::modify`], and replaces the content of `changes` by the changes of matches, ascending by number.
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

/// The changes from the matches `before` to the matches `after`; all lists are ascending.
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
