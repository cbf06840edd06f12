//! Signals that ask the program to end: SIGINT (Ctrl-C), SIGTERM, and SIGHUP, which a terminal sends when it
//! goes away. Elsewhere than on Unix, Ctrl-C.
//!
//! A program that such a signal has ended has the exit status that shells give it: 128 and the signal's
//! number. Invariant: SIGHUP is left alone where whoever started the program wants it to be ignored, as
//! `nohup` does.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Signals within this time of the first belong to it: some programs that end others signal both a process
/// and its group.
const TOGETHER: Duration = Duration::from_millis(200);
/// The number of SIGINT.
const INTERRUPT: i32 = 2;

/// The signal that came first; zero before there is one.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The first signal to end calls `stop`; another one ends the program, unless it comes with the first.
pub fn on_first(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut first = None;
    on_each(move |signal| match first {
        None => {
            first = Some(Instant::now());
            FIRST.store(signal, Ordering::SeqCst);
            stop();
        }
        Some(first) if first.elapsed() < TOGETHER => {}
        Some(_) => {
            // Nothing else would remove them: no destructor runs.
            paceline_files::discard_unfinished();
            std::process::exit(i32::from(status_of(signal)));
        }
    })
}

/// The exit status of a program that was interrupted: by the signal that came first, or by another process of
/// its run, as if that had passed on a Ctrl-C.
pub fn status() -> u8 {
    status_of(FIRST.load(Ordering::SeqCst))
}

fn status_of(signal: i32) -> u8 {
    128 + u8::try_from(signal).ok().filter(|signal| (1..128).contains(signal)).unwrap_or(INTERRUPT as u8)
}

/// Lets the program go on where a file may not grow (`ulimit -f`): writing fails, as on a full disk.
/// Otherwise SIGXFSZ would end it. The signal is handled and not ignored, so that programs that this one
/// starts have it as usual.
pub fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        let seen = std::sync::Arc::default();
        // Where it cannot be handled, the program ends as it would have.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
    }
}

/// Every signal to end calls `handle` with its number, on a thread of its own.
#[cfg(unix)]
pub fn on_each(mut handle: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let watched =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP));
    let mut signals = Signals::new(watched)?;
    let handle = move || signals.forever().for_each(&mut handle);
    std::thread::Builder::new().name("paceline-signals".into()).spawn(handle).map(drop)
}

#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.is_ok_and(|status| status.sigign & (1 << (signal - 1)) != 0)
}

/// Without /proc no signal is known to be ignored.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_signal: i32) -> bool {
    false
}

/// As on Unix, for Ctrl-C only.
#[cfg(not(unix))]
pub fn on_each(mut handle: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || handle(INTERRUPT)).map_err(io::Error::other)
}
