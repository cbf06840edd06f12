//! What `paceline rti` prints: lines for people, or a JSON object a line.

use std::io::{self, Write};

use paceline_app::failure::CommandError;
use paceline_app::stdout;
use paceline_fedpro::Digests;
use serde_json::{Value, json};

use super::record;

/// How lines are printed.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    pub is_json: bool,
}

impl Lines {
    fn print(self, text: &str, object: &Value) -> Result<(), CommandError> {
        if self.is_json { stdout::print(&format!("{object}\n")) } else { stdout::print(&format!("{text}\n")) }
    }

    /// Where it listens: the first line, which says that clients may come.
    pub fn listening(self, places: &[String]) -> Result<(), CommandError> {
        let object = json!({"event": "listening", "at": places});
        self.print(&format!("listening at {}", places.join(", ")), &object)
    }

    /// How many sessions a signal has ended: the last line; and before it the digests of a run that was
    /// recorded.
    pub fn ended(self, sessions: usize, digests: Option<&Digests>) -> Result<(), CommandError> {
        let text = if sessions == 1 {
            "ended, with 1 session".to_owned()
        } else {
            format!("ended, with {sessions} sessions")
        };
        let text = format!("{}{text}", digests.map(record::lines).unwrap_or_default());
        let mut object = json!({"event": "ended", "sessions": sessions});
        if let Some(digests) = digests {
            object["federates"] = record::objects(digests);
        }
        self.print(&text, &object)
    }

    /// A line of the log. Who reads it may be gone; federates are served all the same.
    pub fn log(self, line: &str) {
        let _ = if self.is_json {
            self.print(line, &json!({"event": "log", "line": line})).map_err(drop)
        } else {
            writeln!(io::stderr(), "paceline: {line}").map_err(drop)
        };
    }
}
