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

use super::folder;
use crate::steer::{Requests, Watched};

/// A run that can be reached; no longer when dropped.
#[derive(Debug)]
pub struct Control {
    socket: PathBuf,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens for requests to the run of `scenario` that is `watched` so.
    pub(crate) fn open(scenario: &str, watched: Watched) -> io::Result<Self> {
        // Looking for runs removes what killed ones have left.
        folder::runs()?;
        let socket = folder::make()?.join(format!("{}.sock", std::process::id()));
        let listener = UnixListener::bind(&socket)
            .map_err(|reason| io::Error::new(reason.kind(), format!("{}: {reason}", socket.display())))?;
        let over = Arc::new(AtomicBool::new(false));
        let mut control = Self { socket, over: Arc::clone(&over), thread: None };
        // Less than whoever asks has.
        let requests = Requests::new(scenario, watched, folder::PATIENCE / 2);
        let serve = move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                // A client that hangs up or sends nothing gets no answer.
                let _ = stream.and_then(|stream| serve(&requests, stream));
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

/// Answers the request of one client.
fn serve(requests: &Requests, mut stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(folder::PATIENCE))?;
    stream.set_write_timeout(Some(folder::PATIENCE))?;
    let request = folder::line(&stream)?;
    let answer = match requests.answer(&request) {
        Ok(said) => format!("ok {said}\n"),
        Err(problem) => format!("error {problem}\n"),
    };
    stream.write_all(answer.as_bytes())
}
