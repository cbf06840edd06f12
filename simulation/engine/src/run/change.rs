//! Changes of the model's parameters while a run goes on.
//!
//! Invariant: a change is for a time at which nothing has happened yet, so that the run comes to the same as
//! one whose scenario had the change from the start.

use paceline_kernel::{Change, ChangeError, Model, Parameter, Time, ask};

use super::Run;
use crate::RunError;
use crate::panics::guarded;

/// The changes that a run takes while it goes on: they are kept, and each value that is read is sought among
/// them.
const CHANGES_MAX: usize = 10_000;

impl<M: Model> Run<M> {
    /// The parameters of the model that [`Run::change`] changes, with their values at
    /// [`Run::earliest_change`]. Errors: the model panics.
    pub fn parameters(&self) -> Result<Vec<Parameter>, RunError> {
        let at = self.earliest_change();
        guarded(|| Ok(ask(|| "`changeable`".into(), || self.simulation.model.changeable(at))))
    }

    /// The changes that were made while the run went on, before it was resumed too, in their order.
    pub fn changes(&self) -> &[Change] {
        &self.course.changes
    }

    /// The earliest time for which [`Run::change`] takes a change.
    pub fn earliest_change(&self) -> Time {
        // What LPs do as they begin has happened at time zero.
        self.earliest().max(Time::TICK)
    }

    /// Changes a parameter that the model declares ([`Model::changeable`]). The run comes to the same as one
    /// of a model that had the change from the start. It is in checkpoints, and in the report.
    ///
    /// Errors ([`RunError::Change`]), after which the run can go on as it was: the model declares no such
    /// parameter, its range excludes the value, or the time is before [`Run::earliest_change`] or not before
    /// the horizon; the run has other processes or outside federates, which have the model too.
    ///
    /// ```
    /// use paceline_engine::Simulation;
    /// use paceline_kernel::{
    ///     Change, Changing, Context, LpId, Model, Parameter, ParameterValue, Time,
    /// };
    ///
    /// /// A lamp that blinks.
    /// struct Lamp(Changing<Time>);
    ///
    /// impl Model for Lamp {
    ///     type State = u32; // how often it has
    ///     type Event = ();
    ///     type Output = ();
    /// #   fn lps(&self) -> u32 { 1 }
    /// #   fn lookahead(&self) -> Time { Time::secs(1) }
    ///     fn changeable(&self, at: Time) -> Vec<Parameter> {
    ///         vec![Parameter {
    ///             name: "model.every".into(),
    ///             unit: "",
    ///             least: ParameterValue::Time(Time::secs(1)),
    ///             most: ParameterValue::Time(Time::secs(60)),
    ///             value: ParameterValue::Time(*self.0.at(at)),
    ///         }]
    ///     }
    ///     fn change(&mut self, _: &str, at: Time, value: ParameterValue) {
    ///         self.0.set(at, value.time().expect("it is of the kind declared"));
    ///     }
    ///     fn init(&self, _: LpId, cx: &mut Context<Self>) -> u32 {
    ///         cx.schedule(Time::ZERO, ());
    ///         0
    ///     }
    ///     fn handle(&self, blinks: &mut u32, _: &(), cx: &mut Context<Self>) {
    ///         *blinks += 1;
    ///         cx.schedule(*self.0.at(cx.now()), ());
    ///     }
    /// }
    ///
    /// let lamp = Lamp(Changing::new(Time::secs(1)));
    /// let mut run = Simulation::new(lamp).until(Time::secs(20)).start()?;
    /// run.run_until(Time::secs(10))?;
    /// let to = ParameterValue::Time(Time::secs(5));
    /// run.change(Change { at: Time::secs(10), set: "model.every".into(), to })?;
    /// run.run_until(Time::MAX)?;
    /// assert_eq!(*run.state(LpId(0)), 12); // ten, and two
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn change(&mut self, change: Change) -> Result<(), RunError> {
        self.live()?;
        self.check_change(&change)?;
        let (simulation, course) = (&mut self.simulation, &mut self.course);
        let changed = guarded(|| {
            // Found out while the model is still the one with which the run began.
            if simulation.checkpoints.is_some() && course.changes.is_empty() {
                course.origin(simulation);
            }
            Ok(change.make(&mut simulation.model)?)
        });
        // A model that panicked may be half changed.
        self.failed = matches!(changed, Err(ref error) if !matches!(error, RunError::Change(_)));
        changed?;
        self.course.changes.push(change);
        Ok(())
    }

    fn check_change(&self, change: &Change) -> Result<(), ChangeError> {
        let Change { at, set, .. } = change;
        let (name, earliest, until) = (set.clone(), self.earliest_change(), self.simulation.until);
        if self.course.peers.is_some() {
            return Err(ChangeError::Elsewhere { name, what: "other processes" });
        }
        if !self.course.outsiders.is_empty() {
            return Err(ChangeError::Elsewhere { name, what: "outside federates" });
        }
        if self.course.changes.len() >= CHANGES_MAX {
            return Err(ChangeError::TooMany { most: CHANGES_MAX });
        }
        if *at < earliest {
            return Err(ChangeError::TooEarly { name, at: *at, earliest });
        }
        if *at >= until {
            return Err(ChangeError::TooLate { name, at: *at, until });
        }
        Ok(())
    }
}
