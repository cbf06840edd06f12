//! Models of processes as `replicate` runs them: [`Replicas`] for them.

use paceline_kernel::Time;
use paceline_processes::Control;
use paceline_results::ResultFile;

use super::finished;
use super::loaded::{self, Loaded};
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::process_model::Watch;
use crate::program::Program;
use crate::replicate::{Replica, Replicas, Series};
use crate::summary::Outcome;

/// The models of processes of a program.
#[derive(Clone, Copy, Debug)]
pub struct OfProcesses<'p>(pub &'p Program);

impl Replicas for OfProcesses<'_> {
    fn subject(&self, source: &Source) -> Result<Series, CommandError> {
        let Loaded { kind, settings, provenance, .. } = loaded::read(self.0, source)?;
        Ok(Series {
            model: kind.name,
            first_seed: settings.seed,
            until: settings.until,
            provenance,
            is_sequential: false,
            units: ["messages", "messages/s"],
        })
    }

    fn replica(&self) -> Box<dyn Replica> {
        Box::new(OneOf { program: *self.0, control: Control::default() })
    }
}

#[derive(Debug)]
struct OneOf {
    program: Program,
    control: Control,
}

impl Replica for OneOf {
    fn run(&self, source: &Source) -> Result<(Outcome, Vec<ResultFile>), CommandError> {
        let loaded = loaded::read(&self.program, source)?;
        let watch = Watch::through(self.control.clone());
        let ran = loaded.model.run(&loaded.settings, &watch)?;
        let (finished, files) = finished(source, loaded, ran);
        Ok((finished.outcome(), files))
    }

    fn stop(&self) {
        self.control.stop();
    }

    fn time(&self) -> Time {
        self.control.time()
    }

    fn work(&self) -> u64 {
        self.control.steps()
    }
}
