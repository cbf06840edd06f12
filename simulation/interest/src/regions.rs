//! The regions of a matcher, by role and number.
//!
//! Numbers are looked up in pages of 1024 entries each; only pages in use exist. The regions of a role are in a dense list.
//! Iteration is by number, ascending.

use crate::keys::{Keys, Piece};
use crate::{Coordinate, Error, Region, RegionId, Role, Space};

/// Numbers in one page.
const PAGE: usize = 1024;

/// An entry of a page without a region.
const NONE: u32 = u32::MAX;

/// The regions of one role.
#[derive(Clone, Debug, Default)]
struct Table<const D: usize> {
    /// Indexes in `entries`, by number.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    entries: Vec<(u32, Keys<D>)>,
}

impl<const D: usize> Table<D> {
    fn place(&self, number: u32) -> Option<usize> {
        let page = self.pages.get(number as usize / PAGE)?.as_ref()?;
        let place = page[number as usize % PAGE];
        (place != NONE).then_some(place as usize)
    }

    fn set_place(&mut self, number: u32, place: u32) {
        let page = number as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]))[number as usize % PAGE] = place;
    }

    fn in_order(&self) -> impl Iterator<Item = &(u32, Keys<D>)> {
        let places = self.pages.iter().flatten().flat_map(|page| page.iter());
        places.filter(|place| **place != NONE).map(|place| &self.entries[*place as usize])
    }
}

/// All regions of a matcher, and the space they lie in.
#[derive(Clone, Debug)]
pub(crate) struct Regions<C, const D: usize> {
    pub space: Space<C, D>,
    tables: [Table<D>; 2],
}

impl<C: Coordinate, const D: usize> Regions<C, D> {
    pub fn new(space: Space<C, D>) -> Self {
        Self { space, tables: [Table::default(), Table::default()] }
    }

    fn table(&self, role: Role) -> &Table<D> {
        &self.tables[role as usize]
    }

    pub fn len(&self, role: Role) -> usize {
        self.table(role).entries.len()
    }

    pub fn contains(&self, id: RegionId) -> bool {
        self.table(id.role).place(id.number).is_some()
    }

    pub fn get(&self, id: RegionId) -> Result<&Keys<D>, Error> {
        let table = self.table(id.role);
        table.place(id.number).map(|place| &table.entries[place].1).ok_or(Error::Unknown(id))
    }

    /// The regions of a role, ascending by number.
    pub fn in_order(&self, role: Role) -> impl Iterator<Item = &(u32, Keys<D>)> {
        self.table(role).in_order()
    }

    /// The pieces of all regions of a role, ascending by number.
    pub fn pieces(&self, role: Role, mut each: impl FnMut(Piece<D>)) {
        self.in_order(role).for_each(|(number, keys)| keys.pieces(&self.space, *number, &mut each));
    }

    /// Adds a region. Returns its keys.
    pub fn insert(&mut self, id: RegionId, region: &Region<C, D>) -> Result<Keys<D>, Error> {
        let keys = self.space.keys(region)?;
        let table = &mut self.tables[id.role as usize];
        if table.place(id.number).is_some() {
            return Err(Error::Duplicate(id));
        }
        table.set_place(id.number, table.entries.len() as u32);
        table.entries.push((id.number, keys));
        Ok(keys)
    }

    /// Moves a region. Returns its keys before and after.
    pub fn modify(&mut self, id: RegionId, region: &Region<C, D>) -> Result<(Keys<D>, Keys<D>), Error> {
        let table = &mut self.tables[id.role as usize];
        let place = table.place(id.number).ok_or(Error::Unknown(id))?;
        let keys = self.space.keys(region)?;
        Ok((std::mem::replace(&mut table.entries[place].1, keys), keys))
    }

    /// Removes a region. Returns its keys.
    pub fn remove(&mut self, id: RegionId) -> Result<Keys<D>, Error> {
        let table = &mut self.tables[id.role as usize];
        let place = table.place(id.number).ok_or(Error::Unknown(id))?;
        table.set_place(id.number, NONE);
        let (_, keys) = table.entries.swap_remove(place);
        if let Some(&(moved, _)) = table.entries.get(place) {
            table.set_place(moved, place as u32);
        }
        Ok(keys)
    }
}
