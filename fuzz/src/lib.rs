//! What the fuzz targets share: a refusal must be one that can be shown, a folder for what has to be read
//! from files, and a model.

use std::fs;
use std::path::PathBuf;

use miette::GraphicalReportHandler;
use paceline_kernel::{Context, LpId, Model, Time};
use paceline_scenario::ScenarioError;
use serde::{Deserialize, Serialize};

/// Shows `error` in every form that the program shows it in. Panics where one of them is empty or cannot be
/// made.
pub fn show(error: &ScenarioError) {
    let mut report = String::new();
    GraphicalReportHandler::new().render_report(&mut report, error).expect("a string takes any report");
    for form in [report, error.to_string(), error.place(), error.one_line()] {
        assert!(!form.trim().is_empty(), "an error says something");
    }
}

/// A folder of this process for files, in memory where there is one.
pub fn folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = place.join(format!("paceline-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written to");
    folder
}

/// LPs of the ring.
const LPS: u32 = 6;

/// A ring of LPs that send everything on after a second, whatever it is.
#[derive(Clone, Debug)]
pub struct Ring;

/// The messages between the LPs of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RingMessage {
    /// An arbitrary number, which is written and read again.
    pub number: u64,
    /// An arbitrary text, of any length.
    pub text: Option<String>,
}

impl Model for Ring {
    type State = Vec<u64>;
    type Event = RingMessage;
    type Output = ();

    fn lps(&self) -> u32 {
        LPS
    }

    fn lookahead(&self) -> Time {
        Time::secs(1)
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Vec<u64> {
        cx.send(
            LpId((lp.0 + 1) % LPS),
            Time::secs(1),
            RingMessage { number: lp.0.into(), text: Some("begun".into()) },
        );
        vec![0; 3]
    }

    fn handle(&self, state: &mut Vec<u64>, message: &RingMessage, cx: &mut Context<Self>) {
        let draw = cx.rng().u64();
        state.iter_mut().for_each(|word| *word = word.wrapping_mul(31).wrapping_add(message.number ^ draw));
        let message = RingMessage { number: message.number.wrapping_add(1), text: message.text.clone() };
        cx.send(LpId((cx.lp().0 + 1) % LPS), Time::secs(1), message);
    }
}
