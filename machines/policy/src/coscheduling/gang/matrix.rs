//! The Ousterhout matrix: a row per time slot, a column per PCPU, in every cell one VCPU or none.
//!
//! Invariants: a VCPU that is seated is in one cell; all VCPUs of a gang are in one row; no row is empty. The
//! number of a row is never used again.

use std::collections::BTreeMap;

use crate::{PcpuId, VcpuId};

/// A VCPU to be seated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub vcpu: VcpuId,
    /// The only column it may have, if it is pinned.
    pub pin: Option<PcpuId>,
    /// The column it has now.
    pub has: Option<PcpuId>,
}

#[derive(Debug)]
pub(super) struct Matrix {
    pcpus: usize,
    rows: BTreeMap<u32, Vec<Option<VcpuId>>>,
    numbers: u32,
}

impl Matrix {
    pub fn new(pcpus: u32) -> Self {
        Self { pcpus: pcpus as usize, rows: BTreeMap::new(), numbers: 0 }
    }

    /// Whether `gang` could have a row of its own.
    pub fn could_seat(&self, gang: &[Seat]) -> bool {
        columns(&vec![None; self.pcpus], gang).is_some()
    }

    /// Seats a gang that has no cells, in the first row with enough free ones or in a new row. Returns the
    /// row, and the column of each VCPU.
    pub fn seat(&mut self, gang: &[Seat]) -> (u32, Vec<PcpuId>) {
        let fits = |(number, row): (&u32, &Vec<_>)| Some((*number, columns(row, gang)?));
        let found = self.rows.iter().find_map(fits);
        let (number, columns) = found.unwrap_or_else(|| {
            let row = vec![None; self.pcpus];
            let columns = columns(&row, gang).expect("a gang that cannot be seated is not admitted");
            self.rows.insert(self.numbers, row);
            self.numbers += 1;
            (self.numbers - 1, columns)
        });
        let row = self.rows.get_mut(&number).expect("it was found or made");
        for (seat, column) in gang.iter().zip(&columns) {
            row[column.index()] = Some(seat.vcpu);
        }
        (number, columns)
    }

    /// Frees a cell, and removes the row if it is empty then.
    pub fn free(&mut self, number: u32, column: PcpuId) {
        let row = self.rows.get_mut(&number).expect("who is seated has a row");
        row[column.index()] = None;
        if row.iter().all(Option::is_none) {
            self.rows.remove(&number);
        }
    }

    /// The VCPU in a cell.
    pub fn at(&self, number: u32, column: PcpuId) -> Option<VcpuId> {
        self.rows.get(&number)?[column.index()]
    }

    /// The VCPUs of a row.
    pub fn row(&self, number: u32) -> Vec<VcpuId> {
        self.rows.get(&number).into_iter().flatten().flatten().copied().collect()
    }
}

/// Columns for all VCPUs of `gang` in the free cells of a row: first pinned VCPUs, then those that can keep
/// their column, then the others from the left.
fn columns(row: &[Option<VcpuId>], gang: &[Seat]) -> Option<Vec<PcpuId>> {
    let mut free: Vec<bool> = row.iter().map(Option::is_none).collect();
    let mut columns = vec![None; gang.len()];
    for (column, seat) in columns.iter_mut().zip(gang) {
        if let Some(pin) = seat.pin {
            if !std::mem::take(&mut free[pin.index()]) {
                return None;
            }
            *column = Some(pin);
        }
    }
    for (column, seat) in columns.iter_mut().zip(gang) {
        if column.is_none() {
            *column = seat.has.filter(|has| std::mem::take(&mut free[has.index()]));
        }
    }
    for column in columns.iter_mut().filter(|column| column.is_none()) {
        let first = free.iter().position(|free| *free)?;
        free[first] = false;
        *column = Some(PcpuId(first as u32));
    }
    columns.into_iter().collect()
}
