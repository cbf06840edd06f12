//! A client of the page that knows as much of HTTP as it needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use serde_json::{Map, Value};

use crate::Running;

/// The page of a run that goes on.
pub struct Page {
    run: Running,
    /// Reads what the run says, so that it never waits for room.
    said: JoinHandle<String>,
    /// Host and port.
    pub host: String,
    pub token: String,
}

impl Page {
    /// Starts `paceline run SCENARIO --live` with these options, and finds where its page is.
    pub fn of_run(folder: &Path, scenario: &str, options: &[&str]) -> Self {
        Self::start(folder, &[&["run", scenario, "--json", "--live"], options].concat())
    }

    /// Starts the program with these arguments, and finds where its page is.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        let piped = command.current_dir(folder).env("XDG_RUNTIME_DIR", folder).stdout(Stdio::piped());
        Self::of(Running::start(piped.stderr(Stdio::piped()).args(arguments)))
    }

    /// The page of a program that was started with pipes.
    pub fn of(mut run: Running) -> Self {
        let mut lines = BufReader::new(run.stderr.take().expect("it is piped"));
        let mut line = String::new();
        while !line.starts_with("Live page: ") {
            line.clear();
            assert!(lines.read_line(&mut line).expect("UTF-8") > 0, "the page is announced");
        }
        let address = line.trim().strip_prefix("Live page: http://").expect("it is one of HTTP");
        let (host, token) = address.split_once("/?token=").expect("it has a token");
        let (host, token) = (host.to_owned(), token.to_owned());
        let said = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
            rest
        });
        Self { run, said, host, token }
    }

    /// What to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.host, self.token)
    }

    /// Sends bytes, and gives the status and the whole answer.
    pub fn raw(&self, request: &str) -> (u16, String) {
        self.try_raw(request).expect("it answers")
    }

    fn try_raw(&self, request: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.host).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        // A connection that is reset behind its answer has answered.
        let _ = stream.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        Some((status, answer))
    }

    /// Asks the run for something, and gives the status and what it says.
    pub fn post(&self, request: &str) -> (u16, String) {
        self.try_post(request).expect("it answers")
    }

    /// The same; nothing where the connection is refused.
    pub fn try_post(&self, request: &str) -> Option<(u16, String)> {
        let Self { host, token, .. } = self;
        let length = request.len();
        let (status, answer) = self.try_raw(&format!(
            "POST /do HTTP/1.1\r\nHost: {host}\r\nx-paceline-token: {token}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{request}"
        ))?;
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        Some((status, body.unwrap_or_default()))
    }

    /// Listens to the frames.
    pub fn events(&self) -> Events {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        let Self { host, token, .. } = self;
        // Version 1.0 knows no chunks: events come as they are.
        write!(stream, "GET /events?token={token} HTTP/1.0\r\nHost: {host}\r\n\r\n")
            .expect("it takes a request");
        Events { lines: BufReader::new(stream), latest: Map::new() }
    }

    /// The summary of the run, once it has come to its end.
    pub fn finish(self) -> Value {
        self.finish_with(0)
    }

    /// The summary of a run that ends with this exit status.
    pub fn finish_with(self, status: i32) -> Value {
        let (printed, said) = self.end(status);
        serde_json::from_slice(&printed).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// What a program has printed and said that ends with this exit status.
    pub fn end(self, status: i32) -> (Vec<u8>, String) {
        let output = self.run.wait_with_output();
        let said = self.said.join().expect("it only reads");
        assert_eq!(output.status.code(), Some(status), "{said}");
        (output.stdout, said)
    }
}

/// The frames of a page.
pub struct Events {
    lines: BufReader<TcpStream>,
    /// By the name of the event.
    latest: Map<String, Value>,
}

impl Events {
    /// The next event, by its name; `None` at the end.
    fn next(&mut self) -> Option<String> {
        let (mut name, mut data) = (String::new(), Vec::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(found) = line.strip_prefix("event: ") {
                found.clone_into(&mut name);
            } else if let Some(found) = line.strip_prefix("data: ") {
                data.push(found.to_owned());
            } else if line.is_empty() && !name.is_empty() {
                break;
            }
        }
        let data = data.join("\n");
        let value = serde_json::from_str(&data).unwrap_or_else(|_| Value::from(data));
        self.latest.insert(name.clone(), value);
        Some(name)
    }

    /// Waits for an event of this name, and gives its data.
    pub fn until(&mut self, name: &str) -> Value {
        while self.next().expect("it comes before the end") != name {}
        self.latest[name].clone()
    }

    /// Waits for the end, and gives the last data of each name.
    pub fn until_end(mut self) -> Map<String, Value> {
        while self.next().is_some() {}
        assert!(self.latest.contains_key("end"), "the last frame says so: {:?}", self.latest.keys());
        self.latest
    }
}
