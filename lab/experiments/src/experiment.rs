//! An experiment of a paper: its name, its file of parameters, and how it is planned; and the macros with
//! which papers list theirs and name what they compare.

use paceline_report::RanOn;
use paceline_scenario::ScenarioError;

use crate::batch::Setup;
use crate::parameters::Parameters;
use crate::plan::Plan;

/// Reads the parameters of an experiment, and plans its runs.
pub(crate) type Planner = fn(&Setup, &mut Parameters) -> Result<Plan, ScenarioError>;

/// An experiment. Where it is a published one, its name is that of the paper and the figure.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name, which no other one has.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// What its runs are.
    pub ran_on: RanOn,
    /// The file of its parameters, as it is built in.
    pub parameters: &'static str,
    pub(crate) planner: Planner,
}

impl Experiment {
    /// Plans its runs. Every mistake in its parameters is found here.
    pub fn plan(&self, setup: &Setup) -> Result<Plan, ScenarioError> {
        let mut parameters = Parameters::open(self.name, self.parameters, setup)?;
        let plan = (self.planner)(setup, &mut parameters)?;
        parameters.finish()?;
        Ok(plan)
    }
}

/// The experiments of a paper, `NAME: TITLE, RAN_ON => PLANNER` each; the file of parameters of one has its
/// name.
macro_rules! catalogue {
    ($($name:literal: $title:literal, $ran_on:ident => $planner:expr;)+) => {
        /// The experiments of the paper, in the order of the list.
        pub const EXPERIMENTS: &[$crate::Experiment] = &[$($crate::Experiment {
            name: $name,
            title: $title,
            ran_on: paceline_report::RanOn::$ran_on,
            parameters: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/parameters/", $name, ".toml")),
            planner: $planner,
        }),+];
    };
}
pub(crate) use catalogue;

/// Writes an enumeration whose variants have names in figures: `Variant = "its name"`.
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $kind:ident {
        $($(#[$of_variant:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $kind {
            $($(#[$of_variant])* $variant,)+
        }

        impl $kind {
            /// All of them, in their order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name in figures and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
pub(crate) use named;
