//! Saving a guest that stands: the plugin pauses the machine, then the monitor has its state written.

use super::wire::Order;
use super::{Guest, GuestError};
use std::path::Path;

impl Guest {
    /// Writes the state of the guest, which stands, to a file from which others with the same settings start
    /// ([`GuestSettings::load`](super::GuestSettings::load)). The guest can go on afterwards. Frames that are
    /// on their way to it are not part of it.
    ///
    /// # Panics
    ///
    /// If the guest does not stand, or is to become a template.
    pub fn save(&mut self, file: &Path) -> Result<(), GuestError> {
        assert!(self.template.is_none(), "guest {} is a template, whose memory is not copied", self.name);
        self.pause()?;
        let saved = self.write_state(file);
        // It goes on whether or not there was room for its state.
        self.monitor.go_on().map_err(|reason| self.not_saved(reason))?;
        self.wait()?;
        saved
    }

    /// Ends the guest and makes it the template at
    /// [`GuestSettings::template`](super::GuestSettings::template). Guests that load it share the memory that
    /// they do not change, and start without reading it.
    ///
    /// # Panics
    ///
    /// If the guest does not stand, or its settings have no template.
    pub fn save_template(mut self) -> Result<(), GuestError> {
        let file = self.template.clone().expect("the settings name a template");
        self.pause()?;
        self.write_state(&file)
    }

    fn write_state(&mut self, file: &Path) -> Result<(), GuestError> {
        self.monitor.save(file).map_err(|reason| self.not_saved(reason))
    }

    fn pause(&mut self) -> Result<(), GuestError> {
        if self.is_over {
            return Err(self.broken("it was to be saved after its end"));
        }
        assert!(self.order.is_none(), "guest {} was saved while it runs", self.name);
        self.tell(Order::Save, &[])?;
        while self.order.is_some_and(|(order, _)| order == Order::Save) {
            // `take` turns the order into one to stand where it is once the machine has paused.
            if self.read()?.is_some() {
                return Err(self.broken("it went on instead of being saved"));
            }
            if self.order.is_some_and(|(order, _)| order == Order::Save) {
                self.sleep()?;
            }
        }
        Ok(())
    }

    fn not_saved(&self, reason: String) -> GuestError {
        GuestError::Save { guest: self.name.clone(), time_ns: self.clock_ns, reason }
    }
}
