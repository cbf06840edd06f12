//! Finds the best pacer that the settings allow and the system permits.

use crate::pacer::{PaceError, Pacer, UnavailableError};
use crate::settings::{PaceSettings, PolicyChoice};
use crate::{governor, sched_ext};

/// The result of [`start`].
pub struct Started {
    /// The pacer; none if none was asked for, or all are refused under [`PolicyChoice::Auto`].
    pub pacer: Option<Box<dyn Pacer>>,
    /// Why better ones were not taken, the best first.
    pub refusals: Vec<UnavailableError>,
}

/// Starts a policy, or says why it cannot.
type Candidate = fn(&PaceSettings) -> Result<Box<dyn Pacer>, UnavailableError>;

/// Starts the best policy that `settings` allow and the system permits.
pub fn start(settings: &PaceSettings) -> Result<Started, PaceError> {
    let candidates: &[Candidate] = match settings.policy {
        PolicyChoice::Auto => &[sched_ext::start, governor::start_real_time, governor::start_nice],
        PolicyChoice::SchedExt => &[sched_ext::start],
        PolicyChoice::Governor => &[governor::start_real_time, governor::start_nice],
        PolicyChoice::None => &[],
    };
    choose(settings, candidates)
}

/// The first of `candidates` that does not refuse.
fn choose(settings: &PaceSettings, candidates: &[Candidate]) -> Result<Started, PaceError> {
    let mut refusals = Vec::new();
    for candidate in candidates {
        match candidate(settings) {
            Ok(pacer) => return Ok(Started { pacer: Some(pacer), refusals }),
            Err(refusal) => refusals.push(refusal),
        }
    }
    match settings.policy {
        PolicyChoice::Auto | PolicyChoice::None => Ok(Started { pacer: None, refusals }),
        PolicyChoice::SchedExt | PolicyChoice::Governor => Err(PaceError::Refused(refusals)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    struct Willing;

    impl Pacer for Willing {
        fn name(&self) -> &'static str {
            "willing"
        }
        fn page(&self) -> &Path {
            Path::new("/nowhere")
        }
        fn period(&self) -> Duration {
            Duration::from_millis(1)
        }
        fn tick(&mut self) -> Result<(), PaceError> {
            Ok(())
        }
        fn stop(self: Box<Self>) -> Result<(), PaceError> {
            Ok(())
        }
    }

    const WILLING: Candidate = |_| Ok(Box::new(Willing));
    const FIRST: Candidate = |_| Err(UnavailableError { policy: "first", reason: "no".into() });
    const SECOND: Candidate = |_| Err(UnavailableError { policy: "second", reason: "neither".into() });

    #[test]
    fn the_first_that_does_not_refuse_is_taken_and_the_better_ones_say_why_not() {
        let settings = PaceSettings::default();
        let started = choose(&settings, &[FIRST, SECOND, WILLING]).expect("one of them is willing");
        assert_eq!(started.pacer.expect("one of them is willing").name(), "willing");
        let reasons: Vec<_> = started.refusals.iter().map(ToString::to_string).collect();
        assert_eq!(reasons, ["first: no", "second: neither"]);
        let best = choose(&settings, &[WILLING, FIRST]).expect("one of them is willing");
        assert!(best.refusals.is_empty() && best.pacer.is_some());
    }

    #[test]
    fn where_all_refuse_auto_does_without_and_a_policy_by_name_is_an_error() {
        let auto = PaceSettings::default();
        let started = choose(&auto, &[FIRST, SECOND]).expect("auto takes none");
        assert!(started.pacer.is_none() && started.refusals.len() == 2);
        for policy in [PolicyChoice::SchedExt, PolicyChoice::Governor] {
            let error = choose(&PaceSettings { policy, ..auto }, &[FIRST]).err().expect("it was asked for");
            assert!(error.to_string().contains("first: no"), "{error}");
        }
    }
}
