//! The report of a run, `report.html` in the folder of `--out`: how it went, what its model draws, what came
//! of it, and how to repeat it, on one page that stands alone; and `paceline report`, which compares several.
//!
//! A thread of its own samples the run (`crate::sampling`) while it goes on (`Recorder`). At the end a
//! `Record` holds all that the page shows; it stands in the page itself as JSON, from which
//! reports are compared.
//!
//! Invariants: a report changes no result; its size is bounded, however long the run; what it says of results
//! does not depend on how the run was done, all else may.

pub mod compare;
mod maps;
mod page;
mod record;

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use paceline_kernel::Time;
use paceline_results::Picture;

use crate::sampling::{Facts, Sample, Sampler, Sampling};
use crate::steer::Watched;
use crate::summary::Finished;

pub(crate) use record::Origin;
use record::Record;

/// The report of a run that has ended.
pub(crate) fn html(finished: &Finished, origin: Origin, recorded: &Recorded) -> String {
    page::page(&Record::of(finished, origin, recorded), maps::maps(recorded))
}

/// The least time from one sample to the next, and the longest. In between a sample comes each time that the
/// run is longer by one part in [`SAMPLES`].
const SOON: Duration = Duration::from_millis(10);
const LATE: Duration = Duration::from_millis(250);
const SAMPLES: u32 = 40;
/// The first look at a run that must be asked back for it; the next one comes when the run is longer by one
/// part in so many. Under Time Warp the leg that ends for a look costs all that has run ahead.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const BETWEEN_LOOKS: u32 = 2;

/// Samples a run until it ends.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Ends the sampling when it is dropped.
    end: Sender<()>,
    thread: JoinHandle<Recorded>,
}

/// What was sampled of a run.
pub(crate) struct Recorded {
    pub(crate) sampler: Sampler,
    pub(crate) last: Sample,
    /// How often the model was drawn, when it was drawn with the greatest load, and when last.
    pub(crate) looks: usize,
    pub(crate) busiest: Option<(Time, Picture)>,
    pub(crate) latest: Option<(Time, Picture)>,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorded")
            .field("last", &self.last)
            .field("looks", &self.looks)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begins to sample the run that is `watched` so. Where the system gives no thread there is no report.
    pub(crate) fn start(facts: &Facts, watched: &Watched, sampling: &mut Sampling) -> Option<Self> {
        let mut sampler = Sampler::new(facts.clone(), watched.clone(), sampling, Duration::ZERO);
        let (end, ended) = mpsc::channel::<()>();
        // What is seen of processes is counted while they run, and costs them nothing more.
        let mut next_look = if matches!(watched, Watched::Lps { .. }) { FIRST_LOOK } else { Duration::ZERO };
        let record = move || {
            let mut recorded = Pictures::default();
            let (mut wait, mut real) = (Duration::ZERO, Duration::ZERO);
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let looks = real >= next_look;
                let sample = sampler.sample(looks, false);
                real = sample.real;
                if looks && !next_look.is_zero() {
                    next_look = real + real / BETWEEN_LOOKS;
                }
                wait = (real / SAMPLES).clamp(SOON, LATE);
                recorded.take(sample.picture);
            }
            let mut last = sampler.sample(true, true);
            recorded.take(last.picture.take());
            let Pictures { looks, busiest, latest } = recorded;
            Recorded { sampler, last, looks, busiest, latest }
        };
        let thread = Builder::new().name("paceline-report".into()).spawn(record).ok()?;
        Some(Self { end, thread })
    }

    /// What was sampled, once the run has ended; nothing where sampling has failed.
    pub(crate) fn finish(self) -> Option<Recorded> {
        drop(self.end);
        self.thread.join().ok()
    }
}

/// The pictures of a model that are kept.
#[derive(Debug, Default)]
struct Pictures {
    looks: usize,
    busiest: Option<(Time, Picture)>,
    latest: Option<(Time, Picture)>,
}

impl Pictures {
    fn take(&mut self, picture: Option<(Time, Picture)>) {
        let Some((at, picture)) = picture else { return };
        self.looks += 1;
        if self.busiest.as_ref().is_none_or(|(_, busiest)| load(&picture) > load(busiest)) {
            self.busiest = Some((at, picture.clone()));
        }
        self.latest = Some((at, picture));
    }
}

/// All loads of a picture together.
fn load(picture: &Picture) -> f64 {
    let points = picture.points.iter().map(|point| point.load);
    points.chain(picture.edges.iter().map(|edge| edge.load)).filter(|load| load.is_finite()).sum()
}
