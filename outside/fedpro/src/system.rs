//! What a host needs, from the system that it runs on.

use std::io;

use bytes::Bytes;

use crate::folder::ModuleFolder;
use crate::host::Outside;

/// The system: its source of random numbers, a folder with modules, and somebody who reads lines.
#[derive(Debug)]
pub struct System<L> {
    modules: Option<ModuleFolder>,
    log: L,
}

impl<L: FnMut(&str)> System<L> {
    /// The system with modules of this folder, or of none. Fails if the system has no source of random
    /// numbers, without which anybody could guess the names of sessions.
    pub fn new(modules: Option<ModuleFolder>, log: L) -> io::Result<Self> {
        getrandom::u64().map_err(io::Error::from)?;
        Ok(Self { modules, log })
    }
}

impl<L: FnMut(&str)> Outside for System<L> {
    fn random(&mut self) -> u64 {
        getrandom::u64().expect("the source has been tried")
    }

    fn module(&mut self, name: &str) -> Option<Bytes> {
        match self.modules.as_ref()?.read(name) {
            Ok(content) => Some(content),
            Err(error) => {
                self.log(&error.to_string());
                None
            }
        }
    }

    fn log(&mut self, line: &str) {
        (self.log)(line);
    }
}
