//! The end of a run: when it is over, and when it is deadlocked.
//!
//! Invariant: `active` counts processes of the foreground that have begun, are not done and do not wait for a
//! message with none in their inbox: they may do something without a new one.

/// The processes of the foreground, and the domains that come and go, as numbers.
#[derive(Debug, Default)]
pub struct Progress {
    active: u64,
    /// Processes of the foreground that are not done.
    awaited: u64,
    /// Domains that are still to come, and those of the foreground that are still to go.
    moving: u64,
}

impl Progress {
    /// The run waits for so many processes more.
    pub fn await_processes(&mut self, processes: u32) {
        self.awaited += u64::from(processes);
    }

    /// So many processes that the run waits for begin.
    pub fn begin_processes(&mut self, processes: u32) {
        self.active += u64::from(processes);
    }

    /// A process waits for a message and has none.
    pub fn note_idle(&mut self) {
        self.active -= 1;
    }

    /// A process has a message, or does not wait any more.
    pub fn note_active(&mut self) {
        self.active += 1;
    }

    /// A process that the run waits for is done, or its domain has left.
    pub fn end_process(&mut self) {
        self.active -= 1;
        self.awaited -= 1;
    }

    /// A domain is to come or to go.
    pub fn plan_move(&mut self) {
        self.moving += 1;
    }

    /// A domain has arrived or left.
    pub fn move_domain(&mut self) {
        self.moving -= 1;
    }

    /// Whether the run waits for no process any more.
    pub fn is_over(&self) -> bool {
        self.awaited == 0
    }

    /// Whether the run waits for a process and no process can continue, unless a packet is on its way.
    pub fn is_stuck(&self) -> bool {
        self.awaited > 0 && self.active == 0 && self.moving == 0
    }
}
