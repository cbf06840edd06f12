//! The live page: a run is watched and steered in a browser, while it goes on.
//!
//! What is no run is shown by a [`Scene`] of its command (`scene`): machines, replications, studies, run-time
//! infrastructures.
//!
//! A thread of its own serves one page by HTTP (`server`): server-sent events out, requests in by POST,
//! through the same words as `ctl` (`crate::steer`). It samples the run ten times a second
//! (`crate::sampling`), and puts what has changed into frames (`sample`, `frame`): numbers as JSON, curves as
//! pictures that the report crate draws.
//!
//! Invariants: who watches changes no result; a client that is slow, wrong or gone holds up neither the run
//! nor another client; whatever is kept for clients is bounded; a look that takes long is taken the less
//! often, so that all looks together take less than a hundredth of the run; nobody who has not the token sees
//! or steers anything.

mod access;
mod address;
mod frame;
mod picture;
mod sample;
mod scene;
mod server;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use clap::Args;
use tokio::sync::oneshot;

use crate::failure::CommandError;
use crate::sampling::{Facts, Sampler as RunSampler, Sampling};
use crate::steer::{Requests, Watched};

use access::Access;
pub use address::LiveAddress;
use frame::Frames;
use sample::Sampler;
use scene::frames::SceneFrames;
pub use scene::{About, Course, Drawing, Lanes, Messages, Now, Scene, Standing, Standings};
use server::Limits;

/// The longest that a request waits for its answer of the run.
const PATIENCE: Duration = Duration::from_secs(5);

/// From one moment of the curves to the next.
const MOMENT: Duration = Duration::from_millis(500);

/// What is said to requests.
type Answers = Box<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// The argument of a live page of what cannot be paused.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArguments {
    /// Serves a page that shows how far this is while it goes on, and can stop it
    ///
    /// The address to open is printed. ADDRESS is PORT, HOST or HOST:PORT; unless said, a free port of this
    /// machine that no other machine reaches. The address holds a token: whoever has it may see and stop
    /// this. The page stays on this connection: it is not encrypted.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub live: Option<LiveAddress>,
}

impl PageArguments {
    /// Serves the page of a scene, if there is to be one, until what it gives back is dropped.
    ///
    /// # Errors
    ///
    /// It cannot be served at this address.
    pub fn serve(&self, scene: impl FnOnce() -> Arc<dyn Scene>) -> Result<Option<Live>, CommandError> {
        self.live.as_ref().map(|address| Live::of_scene(address, scene())).transpose()
    }
}

/// The arguments of the live page.
#[derive(Args, Clone, Debug)]
pub struct LiveArguments {
    /// Serves a page that shows the run while it goes on, and steers it: pause, steps, speed, threads, stop
    ///
    /// The address to open is printed. ADDRESS is PORT, HOST or HOST:PORT; unless said, a free port of this
    /// machine that no other machine reaches. The address holds a token: whoever has it may steer the run.
    /// The page stays on this connection: it is not encrypted.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub live: Option<LiveAddress>,

    /// The run waits before its first event until it is let go, by the page or by `ctl go`
    #[arg(long, requires = "live")]
    pub paused: bool,
}

impl LiveArguments {
    /// Serves the page of the run that is `watched` so, if there is to be one.
    pub(crate) fn serve(
        &self,
        watched: &Watched,
        facts: &Facts,
        sampling: &mut Sampling,
    ) -> Result<Option<Live>, CommandError> {
        self.live.as_ref().map(|address| Live::start(address, facts, watched, sampling)).transpose()
    }

    /// Serves the page of a scene, if there is to be one, until what it gives back is dropped.
    ///
    /// # Errors
    ///
    /// It cannot be served at this address.
    pub fn serve_scene(&self, scene: impl FnOnce() -> Arc<dyn Scene>) -> Result<Option<Live>, CommandError> {
        PageArguments { live: self.live.clone() }.serve(scene)
    }
}

/// A page that is served; no longer when dropped.
#[derive(Debug)]
pub struct Live {
    /// Ends the server when it is dropped.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Serves the page of the run that is `watched` so, and prints where.
    pub(crate) fn start(
        address: &LiveAddress,
        facts: &Facts,
        watched: &Watched,
        sampling: &mut Sampling,
    ) -> Result<Self, CommandError> {
        let requests = Requests::new(&facts.scenario, watched.clone(), PATIENCE);
        let sampler = Sampler::new(RunSampler::new(facts.clone(), watched.clone(), sampling, MOMENT));
        Self::open(address, Box::new(move |request| requests.answer(request)), sampler)
    }

    /// Serves the page of a scene, and prints where.
    fn of_scene(address: &LiveAddress, scene: Arc<dyn Scene>) -> Result<Self, CommandError> {
        let frames = SceneFrames::new(Arc::clone(&scene));
        Self::open(address, Box::new(move |request| scene::answer(&scene, request)), frames)
    }

    fn open(
        address: &LiveAddress,
        answers: Answers,
        frames: impl Frames + Send + 'static,
    ) -> Result<Self, CommandError> {
        let failed = |what: &str, reason: &dyn std::fmt::Display| {
            CommandError::Option(format!(
                "--live {address}: {what}: {reason}; allowed: PORT, HOST or HOST:PORT"
            ))
        };
        let listener = address.bind().map_err(|reason| failed("cannot listen there", &reason))?;
        let local = listener.local_addr().map_err(|reason| failed("has no address", &reason))?;
        let access =
            Access::new(local).map_err(|reason| failed("no random numbers for the token", &reason))?;
        let url = access.url();
        let (end, ended) = oneshot::channel();
        let thread = serve(listener, access, answers, frames, ended)
            .map_err(|reason| failed("cannot be served", &reason))?;
        eprintln!("Live page: {url}");
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A server that failed has no more to say.
            let _ = thread.join();
        }
    }
}

/// Serves on a thread of its own, until `ended`.
fn serve(
    listener: TcpListener,
    access: Access,
    answers: Answers,
    frames: impl Frames + Send + 'static,
    ended: oneshot::Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let listener = {
        // Sockets register with the runtime that they are made in.
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let serve =
        move || runtime.block_on(server::serve(listener, access, answers, frames, ended, Limits::default()));
    Builder::new().name("paceline-live".into()).spawn(serve)
}
