//! A local socket at which whoever connects gets the state of the host. Nothing is read there, so that nobody
//! can give orders by it.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use mio::Interest;

use super::{STATUS, Server};
use crate::host::{HostStatus, Outside};

/// How long whoever asks may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the state is asked for, and how it is said.
pub(super) struct StatusListener {
    listener: mio::net::UnixListener,
    say: fn(&HostStatus) -> String,
}

impl fmt::Debug for StatusListener {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("StatusListener").field(&self.listener).finish()
    }
}

impl<O: Outside> Server<O> {
    /// Says the state of the host to everybody who connects to `listener`, in the words of `say`, and closes
    /// the connection.
    pub fn answer_status(
        &mut self,
        listener: UnixListener,
        say: fn(&HostStatus) -> String,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let mut listener = mio::net::UnixListener::from_std(listener);
        self.poll.registry().register(&mut listener, STATUS, Interest::READABLE)?;
        self.status = Some(StatusListener { listener, say });
        Ok(())
    }

    pub(super) fn show_status(&mut self) {
        let Some(StatusListener { listener, say }) = &self.status else { return };
        // Whoever does not wait for the answer gets none, and what fails here concerns nobody else.
        while let Ok((stream, _)) = listener.accept() {
            let text = say(&self.host.status());
            let mut stream = std::os::unix::net::UnixStream::from(stream);
            // A long answer has to be read before all of it is written; nobody waits for that.
            std::thread::spawn(move || {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.write_all(text.as_bytes())
            });
        }
    }
}
