//! The emulator's monitor (QMP, QEMU's protocol of one JSON object a line), through which a guest is saved.
//!
//! The monitor is served by the emulator's main loop, which runs while the guest stands paused.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub(super) struct Monitor {
    stream: BufReader<UnixStream>,
    patience: Duration,
    /// How many commands were sent. Each has its number, since answers may be left unread.
    sent: u32,
}

impl Monitor {
    pub(super) fn new(stream: UnixStream, patience: Duration) -> Self {
        Self { stream: BufReader::new(stream), patience, sent: 0 }
    }

    /// Has the machine loaded from a file. Sent before the emulator is up, and not waited for: where it
    /// fails, the emulator says why and ends.
    pub(super) fn load(&mut self, file: &Path) -> Result<(), String> {
        self.prepare()?;
        let uri = quoted(&format!("file:{}", file.display()));
        self.send("migrate-incoming", &format!(r#","arguments":{{"uri":{uri}}}"#))
    }

    /// Before the first use. Both sides of a move have to agree on what is not moved: memory that is a shared
    /// file.
    fn prepare(&mut self) -> Result<(), String> {
        if self.sent == 0 {
            let set = self.stream.get_ref().set_read_timeout(Some(self.patience));
            set.map_err(|error| broken(&error))?;
            self.send("qmp_capabilities", "")?;
            let shared = r#"{"capability":"x-ignore-shared","state":true}"#;
            let arguments = format!(r#","arguments":{{"capabilities":[{shared}]}}"#);
            self.send("migrate-set-capabilities", &arguments)?;
        }
        Ok(())
    }

    /// Writes the machine's state to a file. The machine is paused. The error is what the emulator says.
    pub(super) fn save(&mut self, file: &Path) -> Result<(), String> {
        self.prepare()?;
        let uri = quoted(&format!("file:{}", file.display()));
        self.execute("migrate", &format!(r#","arguments":{{"uri":{uri}}}"#))?;
        let since = Instant::now();
        loop {
            let answer = self.execute("query-migrate", "")?;
            // The move is said to be complete a moment before the machine may go on, which is refused until
            // then.
            if answer.contains(r#""status": "completed""#)
                && !self.execute("query-status", "")?.contains(r#""status": "finish-migrate""#)
            {
                return Ok(());
            }
            if answer.contains(r#""status": "failed""#) || since.elapsed() > self.patience {
                return Err(described(&answer));
            }
            // The emulator writes some hundred megabytes a second, and reports the end only to who has asked
            // for events.
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets a paused machine go on. The answer is not waited for: the machine stops where it is, waiting for
    /// its next grant, and may do so before the main loop has written the answer.
    pub(super) fn go_on(&mut self) -> Result<(), String> {
        self.send("cont", "")
    }

    fn execute(&mut self, command: &str, arguments: &str) -> Result<String, String> {
        self.send(command, arguments)?;
        // The order of the keys is not defined. No text in an answer looks like these.
        let numbers = [format!(r#""id": {}}}"#, self.sent), format!(r#""id": {},"#, self.sent)];
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line);
            match read.map_err(|error| format!("its monitor did not answer {command}: {error}"))? {
                0 => return Err("its monitor was closed".into()),
                // Other lines are the greeting, events and answers that were left.
                _ if !numbers.iter().any(|number| line.contains(number)) => {}
                _ if line.contains(r#""error": {"class""#) => return Err(described(&line)),
                _ => return Ok(line),
            }
        }
    }

    fn send(&mut self, command: &str, arguments: &str) -> Result<(), String> {
        self.sent += 1;
        let line = format!(r#"{{"execute":"{command}"{arguments},"id":{}}}"#, self.sent) + "\n";
        self.stream.get_mut().write_all(line.as_bytes()).map_err(|error| broken(&error))
    }
}

fn broken(error: &io::Error) -> String {
    format!("its monitor: {error}")
}

/// What an answer says of a failure; all of it if it says nothing.
fn described(answer: &str) -> String {
    let after = |key: &str| Some(answer.split_once(&format!(r#""{key}": ""#))?.1);
    let text = after("error-desc").or_else(|| after("desc")).and_then(|text| text.split_once('"'));
    text.map_or(answer.trim_end(), |(text, _)| text).to_owned()
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_what_the_emulator_says_of_it() {
        for (answer, text) in [
            (r#"{"return": {"status": "failed", "error-desc": "No space left"}, "id": 3}"#, "No space left"),
            (r#"{"id": 3, "error": {"class": "GenericError", "desc": "no such file"}}"#, "no such file"),
            ("{\"return\": {}}\n", r#"{"return": {}}"#),
        ] {
            assert_eq!(described(answer), text);
        }
    }
}
