//! A guest of the emulator as a machine of a run.

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::time::Instant;

use super::machine::{Bell, Frame, Machine, MachineError, MachineState, Saved, Stopped};
use crate::guest::{self, Guest, GuestState};

impl Machine for Guest {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), MachineError> {
        let frames: Vec<guest::Frame> = frames
            .iter()
            .map(|Frame { time_ns, card, bytes }| guest::Frame {
                time_ns: *time_ns,
                card: *card,
                bytes: bytes.clone(),
            })
            .collect();
        Ok(Self::grant(self, until_ns, &frames)?)
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        let Some(guest::Stopped { time_ns, frames, next_ns, state }) = Self::read(self)? else {
            return Ok(None);
        };
        let frames = frames.into_iter();
        let frames = frames.map(|guest::Frame { time_ns, card, bytes }| Frame { time_ns, card, bytes });
        let state = match state {
            GuestState::Standing => MachineState::Standing,
            GuestState::ShutDown => MachineState::ShutDown,
            GuestState::Reset => MachineState::Reset,
            GuestState::Crashed => MachineState::Crashed,
        };
        Ok(Some(Stopped { time_ns, frames: frames.collect(), next_ns, state }))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn has_bell(&self) -> bool {
        true
    }

    fn bell(&mut self) -> Option<Bell<'_>> {
        Self::bell(self).map(|(word, heard)| Bell { word, heard })
    }

    fn save(&mut self, file: &Path) -> Result<Saved, MachineError> {
        match self.is_off() {
            true => fs::write(file, [])?,
            false => Self::save(self, file)?,
        }
        Ok(Saved { logs: self.logs().to_vec(), kept: Vec::new() })
    }

    fn too_long(&self) -> u64 {
        Self::too_long(self)
    }

    fn dropped(&self) -> u64 {
        Self::dropped(self)
    }

    fn deadline(&self) -> Option<Instant> {
        Self::deadline(self)
    }
}
