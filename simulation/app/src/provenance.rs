//! What results come from: the parameters of the scenario, its horizon, the program and its version, and the
//! host that computed them.
//!
//! Invariant: nothing in it depends on how the scenario was run on that host.

use paceline_kernel::Time;
use paceline_scenario::Scenario;
use paceline_scenario::inputs::Input;
use serde_json::{Value, json};

use crate::output::Identity;

/// What the results of a scenario come from.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// The parameters as read, by section and key.
    parameters: Value,
    /// The files that the scenario names.
    inputs: Vec<Input>,
    horizon: Option<Time>,
    program: &'static str,
    version: &'static str,
}

impl Provenance {
    /// Of a scenario of the program of this name and version that has not been read yet, with this horizon.
    /// Section `[run]` says how it is run, and is no part of it.
    pub fn new(
        program: &'static str,
        version: &'static str,
        scenario: &Scenario,
        horizon: Option<Time>,
    ) -> Self {
        let mut parameters = serde_json::to_value(scenario.given()).unwrap_or_default();
        if let Some(sections) = parameters.as_object_mut() {
            sections.shift_remove("run");
        }
        Self { parameters, inputs: Vec::new(), horizon, program, version }
    }

    /// The same of a scenario that names these files.
    pub fn inputs(self, inputs: Vec<Input>) -> Self {
        Self { inputs, ..self }
    }

    /// What distinguishes results of a run with this seed from those of others.
    pub fn identity(&self, seed: u64) -> Identity {
        let mut summary = json!({});
        self.add_to(&mut summary);
        let part =
            |(name, key, place): (&'static str, &str, &'static str)| (name, place, summary[key].clone());
        let parts = [
            ("program", "program", "/program"),
            ("horizon in seconds", "horizon_s", "/horizon_s"),
            ("parameters", "parameters", "/parameters"),
            ("input files", "inputs", "/inputs"),
        ];
        Identity::new([("seed", "/seed", seed.into())].into_iter().chain(parts.map(part)))
    }

    /// What determines the results of a run besides its seed and the section `[run]`.
    pub fn content(&self) -> Value {
        json!({ "program": self.program, "parameters": self.parameters, "inputs": self.inputs })
    }

    /// Name and version of the program.
    pub fn program(&self) -> String {
        format!("{} {}", self.program, self.version)
    }

    /// The same with another horizon.
    pub fn until(self, horizon: Option<Time>) -> Self {
        Self { horizon, ..self }
    }

    /// Adds it to a summary.
    pub fn add_to(&self, summary: &mut Value) {
        let members = json!({
            "program": self.program,
            "version": self.version,
            "paceline": env!("CARGO_PKG_VERSION"),
            "host": host(),
            "horizon_s": self.horizon.map(Time::as_secs_f64),
            "parameters": self.parameters,
        });
        if let (Some(summary), Value::Object(members)) = (summary.as_object_mut(), members) {
            summary.extend(members);
            if !self.inputs.is_empty() {
                summary.insert("inputs".to_owned(), serde_json::to_value(&self.inputs).unwrap_or_default());
            }
        }
    }
}

#[cfg(unix)]
fn host() -> Value {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    json!({
        "name": text(system.nodename()),
        "system": text(system.sysname()),
        "release": text(system.release()),
        "machine": text(system.machine()),
    })
}

#[cfg(not(unix))]
fn host() -> Value {
    json!({ "system": std::env::consts::OS, "machine": std::env::consts::ARCH })
}
