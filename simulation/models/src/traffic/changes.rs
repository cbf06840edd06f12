//! What can be changed while a run goes on: the cycle of the lights, and the demand.
//!
//! With another cycle, green keeps its part of it, and cycles are counted from time zero on as before. Who
//! waits for green goes by the light as it was timed when it began to wait, and looks again then.
//!
//! Vehicles are drawn before the run, for the demand of the scenario. With a smaller one each vehicle departs
//! with the probability that is the one divided by the other; it is left out, or not, when it would be
//! released. Which ones are left out follows from the changes alone, so that no state has it.

use paceline_kernel::{Changing, Parameter, ParameterValue, Time};

use super::Traffic;
use super::demand::Draw;
use super::lights::Lights;
use super::settings::MAX_CYCLE;

/// The least cycle: both colours take some time.
const SHORTEST: Time = Time::millis(100);

const CYCLE: &str = "model.cycle";
const DEMAND: &str = "model.demand";

/// The parameters that change, over simulated time.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    lights: Option<Changing<Lights>>,
    /// Times the trips of the scenario's tables.
    demand: Changing<f64>,
}

impl Changes {
    pub(super) fn new(lights: Option<Lights>, draw: Draw) -> Self {
        Self { lights: lights.map(Changing::new), demand: Changing::new(draw.scale) }
    }

    /// The timing of the lights at a time, where it changes in this run.
    #[inline]
    pub(super) fn lights(&self, at: Time) -> Option<&Lights> {
        self.lights.as_ref().filter(|lights| lights.changes()).map(|lights| lights.at(at))
    }

    pub(super) fn declared(&self, at: Time) -> Vec<Parameter> {
        let mut declared = Vec::new();
        if let Some(lights) = &self.lights {
            declared.push(Parameter {
                name: CYCLE.into(),
                unit: "",
                least: ParameterValue::Time(SHORTEST),
                most: ParameterValue::Time(MAX_CYCLE),
                value: ParameterValue::Time(lights.at(at).cycle),
            });
        }
        if *self.demand.first() > 0.0 {
            declared.push(Parameter {
                name: DEMAND.into(),
                unit: "",
                least: ParameterValue::Number(0.0),
                most: ParameterValue::Number(*self.demand.first()),
                value: ParameterValue::Number(*self.demand.at(at)),
            });
        }
        declared
    }

    /// Changes what was declared.
    pub(super) fn make(&mut self, parameter: &str, at: Time, value: ParameterValue) {
        match (parameter, value, &mut self.lights) {
            (CYCLE, ParameterValue::Time(cycle), Some(lights)) => {
                let changed = lights.first().with_cycle(cycle);
                lights.set(at, changed);
            }
            (DEMAND, ParameterValue::Number(demand), _) => self.demand.set(at, demand),
            _ => unreachable!("{parameter} is not declared"),
        }
    }
}

impl Traffic {
    /// When a vehicle is released: one crossing before it departs, or at the start.
    #[inline]
    pub(super) fn released(&self, vehicle: u32) -> Time {
        self.demand.departs(vehicle).saturating_sub(self.rules.crossing)
    }

    /// Whether a vehicle does not depart, since the demand is smaller when it would be released.
    #[inline]
    pub(super) fn is_left_out(&self, vehicle: u32) -> bool {
        let demand = &self.changes.demand;
        demand.changes() && self.demand.rank(vehicle) * demand.first() >= *demand.at(self.released(vehicle))
    }

    /// How many of the first `gone` vehicles of an origin were left out.
    pub(super) fn left_out(&self, origin: u32, gone: u32) -> u64 {
        if !self.changes.demand.changes() {
            return 0;
        }
        let first = (0..gone).filter_map(|before| self.demand.next(origin, before));
        first.filter(|vehicle| self.is_left_out(*vehicle)).count() as u64
    }
}
