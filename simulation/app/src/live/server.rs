//! The server: accepts connections, answers requests, sends frames.
//!
//! All frames are sampled once, for all clients. A client gets the latest frame when it has room for one, so
//! that nothing waits for slow clients and nothing gathers for them. A connection on which nothing has moved
//! for [`Limits::silence`] is dropped: its client does not read, sends half a request, or keeps an idle
//! connection open.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, Stream};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::Answers;
use super::access::{Access, TOKEN_HEADER};
use super::frame::{Frame, Frames, Sent};

/// The longest request to steer.
const REQUEST_BYTES: usize = 256;
/// What the system may keep for a client, beside the frame in hand.
#[cfg(unix)]
const SOCKET_BYTES: usize = 128 << 10;
/// How long clients may take for the last frame.
const FAREWELL: Duration = Duration::from_millis(500);
/// Where the connection is refused for want of a file, say: the next may have one.
const RETRY: Duration = Duration::from_millis(50);

const PAGE: &str = include_str!("page/live.html");
const SCRIPT: &str = include_str!("page/live.js");
const STYLE: &str = include_str!("page/live.css");

/// What clients may take of the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at a time; more are refused.
    pub(super) connections: usize,
    /// A connection on which nothing moves for so long is dropped. Frames come more often.
    pub(super) silence: Duration,
    /// From one frame to the next.
    pub(super) frame: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 64, silence: Duration::from_secs(10), frame: Duration::from_millis(100) }
    }
}

/// What all requests share. Behind one pointer, so that receivers of frames are counted: one, and one for
/// each client that watches.
type Shared = Arc<Page>;

struct Page {
    access: Access,
    answers: Answers,
    frames: watch::Receiver<Arc<Frame>>,
    style: String,
}

/// When something has moved on a connection last.
#[derive(Clone)]
struct Pulse(Arc<Mutex<Instant>>);

impl Pulse {
    fn start() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns once nothing has moved for `silence`.
    async fn stops(&self, silence: Duration) {
        loop {
            let since = self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            match silence.checked_sub(since) {
                Some(left) if !left.is_zero() => sleep(left).await,
                _ => return,
            }
        }
    }
}

/// Serves until `ended`, and then the last frame.
pub(super) async fn serve(
    listener: TcpListener,
    access: Access,
    answers: Answers,
    mut source: impl Frames,
    mut ended: oneshot::Receiver<()>,
    limits: Limits,
) {
    let (frames, latest) = watch::channel(Arc::new(source.sample(false)));
    let style = format!("{}\n{STYLE}", paceline_report::style_sheet());
    let shared = Arc::new(Page { access, answers, frames: latest, style });
    let app = Router::new()
        .route("/", get(page))
        .route("/live.js", get(|| async { file("text/javascript; charset=utf-8", SCRIPT.into()) }))
        .route("/live.css", get(style_sheet))
        .route("/events", get(events))
        .route("/do", post(steer))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared);
    let permits = Arc::new(Semaphore::new(limits.connections));
    let mut ticks = interval(limits.frame);
    // After the machine slept, one frame is enough.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = &mut ended => break,
            _ = ticks.tick() => {
                // One receiver is kept for those who come.
                source.is_watched(frames.receiver_count() > 1);
                frames.send_replace(Arc::new(source.sample(false)));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => accept(stream, &permits, &app, limits.silence),
                Err(_) => sleep(RETRY).await,
            }
        }
    }
    frames.send_replace(Arc::new(source.sample(true)));
    // Streams end behind the last frame, and connections with them; who does not read it is cut off.
    let all_gone = permits.acquire_many(limits.connections as u32);
    let _ = timeout(FAREWELL, all_gone).await;
}

/// Serves a connection, unless there are too many.
fn accept(stream: TcpStream, permits: &Arc<Semaphore>, app: &Router, silence: Duration) {
    let Ok(permit) = Arc::clone(permits).try_acquire_owned() else { return };
    let pulse = Pulse::start();
    let app = app.clone().layer(Extension(pulse.clone()));
    tokio::spawn(connection(stream, permit, pulse, silence, app));
}

async fn connection(
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    pulse: Pulse,
    silence: Duration,
    app: Router,
) {
    let _permit = permit;
    // Else what the system keeps for a client that does not read grows to megabytes. Without it, it is more.
    #[cfg(unix)]
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SOCKET_BYTES);
    // Frames are small and are to be there at once.
    let _ = stream.set_nodelay(true);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(silence)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    tokio::select! {
        // An error is that of a client, which is gone.
        _ = serving => {}
        () = pulse.stops(silence) => {}
    }
}

/// Refuses what comes from other pages, and says to browsers what this page may do.
async fn guard(
    State(shared): State<Shared>,
    Extension(pulse): Extension<Pulse>,
    request: HttpRequest,
    next: Next,
) -> Response {
    pulse.beat();
    let mut response = match shared.access.refusal(request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn file(kind: &'static str, text: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

fn no_token() -> Response {
    let why = "the token is missing or wrong; open the address that the run has printed\n";
    (StatusCode::FORBIDDEN, why).into_response()
}

/// The token of an address; it needs no decoding.
fn token(uri: &Uri) -> &str {
    let mut pairs = uri.query().unwrap_or_default().split('&');
    pairs.find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default()
}

async fn page(State(shared): State<Shared>, uri: Uri) -> Response {
    if shared.access.admits(token(&uri)) { file("text/html; charset=utf-8", PAGE.into()) } else { no_token() }
}

async fn style_sheet(State(shared): State<Shared>) -> Response {
    file("text/css; charset=utf-8", shared.style.clone())
}

/// The frames, from the latest on.
async fn events(State(shared): State<Shared>, Extension(pulse): Extension<Pulse>, uri: Uri) -> Response {
    if !shared.access.admits(token(&uri)) {
        return no_token();
    }
    let mut frames = shared.frames.clone();
    // Who comes has the latest frame at once, and does not wait for the next.
    frames.mark_changed();
    Sse::new(stream_of(frames, pulse)).into_response()
}

/// What is sent of each frame: what is new in it to this client. Ends behind the last frame.
fn stream_of(
    frames: watch::Receiver<Arc<Frame>>,
    pulse: Pulse,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let start = (frames, pulse, Sent::default(), VecDeque::<Event>::new());
    stream::unfold(start, |(mut frames, pulse, mut sent, mut waiting)| async move {
        // Asked for more only when the client has taken what came before.
        pulse.beat();
        // A frame from before anybody watched has nothing to show.
        while waiting.is_empty() {
            if sent.is_over || frames.changed().await.is_err() {
                return None;
            }
            let frame = Arc::clone(&frames.borrow_and_update());
            waiting.extend(frame.news(&mut sent));
        }
        let event = waiting.pop_front()?;
        Some((Ok(event), (frames, pulse, sent, waiting)))
    })
}

/// Does what a client asks of the run.
async fn steer(State(shared): State<Shared>, headers: HeaderMap, request: String) -> Response {
    let token = headers.get(TOKEN_HEADER).and_then(|token| token.to_str().ok());
    if !token.is_some_and(|token| shared.access.admits(token)) {
        return no_token();
    }
    // The run answers when it comes to it: not on the thread that sends frames.
    match tokio::task::spawn_blocking(move || (shared.answers)(request.trim())).await {
        Ok(Ok(said)) => said.into_response(),
        Ok(Err(problem)) => (StatusCode::UNPROCESSABLE_ENTITY, problem).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod test;
