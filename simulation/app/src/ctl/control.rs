//! The run's end of `paceline ctl`: a socket and a thread that answers requests, one after the other.
//!
//! Invariant: the socket is there exactly as long as the [`Control`] is, unless the process is killed.

use std::fs;
use std::io::{self, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use paceline_engine::Monitor;

use super::folder;
use crate::text;

/// A run that can be reached; no longer when dropped.
#[derive(Debug)]
pub struct Control {
    socket: PathBuf,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens for requests to the run of `scenario` that `monitor` watches. `elastic` says whether its
    /// number of threads can change.
    pub fn open(scenario: &str, monitor: &Monitor, elastic: bool) -> io::Result<Self> {
        Self::listen(scenario, Watched::Lps { monitor: monitor.clone(), elastic })
    }

    /// The same, for a run of processes on `threads` threads.
    #[cfg(feature = "processes")]
    pub fn of_processes(
        scenario: &str,
        control: &paceline_processes::Control,
        threads: u32,
    ) -> io::Result<Self> {
        Self::listen(scenario, Watched::Processes { control: control.clone(), threads })
    }

    fn listen(scenario: &str, watched: Watched) -> io::Result<Self> {
        // Looking for runs removes what killed ones have left.
        folder::runs()?;
        let socket = folder::make()?.join(format!("{}.sock", std::process::id()));
        let listener = UnixListener::bind(&socket)
            .map_err(|reason| io::Error::new(reason.kind(), format!("{}: {reason}", socket.display())))?;
        let over = Arc::new(AtomicBool::new(false));
        let mut control = Self { socket, over: Arc::clone(&over), thread: None };
        let subject = Subject { scenario: scenario.replace('\n', " "), watched };
        let serve = move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                // A client that hangs up or sends nothing gets no answer.
                let _ = stream.and_then(|stream| subject.serve(stream));
            }
        };
        control.thread = Some(Builder::new().name("paceline-ctl".into()).spawn(serve)?);
        Ok(control)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // A connection wakes the thread. If there can be none, the thread ends with the process.
        let woken = UnixStream::connect(&self.socket).is_ok();
        // Without a socket to remove there is nothing left to do.
        let _ = fs::remove_file(&self.socket);
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            // A thread that failed has no more to say.
            let _ = thread.join();
        }
    }
}

/// What requests are about.
struct Subject {
    scenario: String,
    watched: Watched,
}

/// A run, and what it can be asked.
enum Watched {
    Lps {
        monitor: Monitor,
        /// Whether its number of threads can change.
        elastic: bool,
    },
    #[cfg(feature = "processes")]
    Processes { control: paceline_processes::Control, threads: u32 },
}

impl Subject {
    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(folder::PATIENCE))?;
        stream.set_write_timeout(Some(folder::PATIENCE))?;
        let request = folder::line(&stream)?;
        let answer = match self.answer(&request) {
            Ok(said) => format!("ok {said}\n"),
            Err(problem) => format!("error {problem}\n"),
        };
        stream.write_all(answer.as_bytes())
    }

    fn answer(&self, request: &str) -> Result<String, String> {
        let scenario = &self.scenario;
        if request == "name" {
            return Ok(scenario.clone());
        }
        match &self.watched {
            Watched::Lps { monitor, elastic } => answer_of_lps(scenario, monitor, *elastic, request),
            #[cfg(feature = "processes")]
            Watched::Processes { control, threads } => {
                answer_of_processes(scenario, control, *threads, request)
            }
        }
    }
}

fn answer_of_lps(scenario: &str, monitor: &Monitor, elastic: bool, request: &str) -> Result<String, String> {
    match request.split(' ').collect::<Vec<_>>()[..] {
        ["status"] => {
            let (time, events) = (monitor.time(), text::count(monitor.events()));
            Ok(format!("{scenario}: at {time}, {events} events, threads {}", monitor.threads()))
        }
        ["threads", _] if !elastic => {
            Err(format!("{scenario} runs under protocol \"sequential\", on one thread"))
        }
        ["threads", number] => {
            let threads = number.parse().map_err(|_| format!("{number} is no number of threads"))?;
            monitor.set_threads(threads).map_err(|error| error.to_string())?;
            Ok(format!("{scenario}: threads {threads} from now on"))
        }
        ["why", ..] | ["step" | "go"] => {
            Err(format!("{scenario} is a model of LPs; {request:?} is for models of processes"))
        }
        _ => Err(format!("unknown request {request:?}; there are status and threads")),
    }
}

#[cfg(feature = "processes")]
fn answer_of_processes(
    scenario: &str,
    control: &paceline_processes::Control,
    threads: u32,
    request: &str,
) -> Result<String, String> {
    // Less than whoever asks has.
    let patience = folder::PATIENCE / 2;
    let answer = match request.split_once(' ').unwrap_or((request, "")) {
        ("status", "") => {
            let (time, steps) = (control.time(), text::count(control.steps()));
            return Ok(format!("{scenario}: at {time}, {steps} steps, threads {threads}"));
        }
        ("threads", _) => {
            return Err(format!("{scenario} is a model of processes, whose number of threads stays"));
        }
        ("why", process) => control.why(process, patience),
        ("step", "") => control.step(patience),
        ("go", "") => control.go_on(patience),
        _ => return Err(format!("unknown request {request:?}; there are status, why, step and go")),
    };
    answer.map_err(|error| format!("{scenario}: {error}"))
}
