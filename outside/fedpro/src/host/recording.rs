//! What a host writes into a record, if it has one.
//!
//! Invariants: an entry is written before its call is answered, and the system has it before the answer goes
//! out, if the server flushes the record as it collects answers; credentials are not recorded.

use std::io;
use std::time::Duration;

use paceline_hla::{Call, Callback};
use paceline_rti::{Client, Digests};

use super::{Host, Outside};
use crate::record::Recorder;

/// The call without what lets a client in: it has been checked, and the infrastructure does not look at it.
fn without_credentials(call: &mut Call) {
    match call {
        Call::ConnectWithCredentials(r) => r.credentials = None,
        Call::ConnectWithConfigurationAndCredentials(r) => r.credentials = None,
        _ => {}
    }
}

impl<O: Outside> Host<O> {
    /// From now on calls are recorded. Clients that have called before would make no sense in the record, so
    /// this comes first.
    pub fn set_recorder(&mut self, recorder: Recorder) {
        self.recorder = Some(Ok(recorder));
    }

    /// Ends the record, with the digests that its calls have led to; nothing if there is none. Fails if it,
    /// or something before, could not be written.
    pub fn finish_record(&mut self) -> io::Result<Option<Digests>> {
        self.recorder.take().map(|recorder| recorder.and_then(Recorder::finish)).transpose()
    }

    /// Hands what was recorded to the system.
    pub(crate) fn flush_record(&mut self) {
        self.record(Recorder::flush);
    }

    fn record(&mut self, write: impl FnOnce(&mut Recorder) -> io::Result<()>) {
        let Some(Ok(recorder)) = &mut self.recorder else { return };
        if let Err(error) = write(recorder) {
            // The federates matter more than the record: they go on, and whoever ends the record hears of it.
            self.outside.log(&format!("the record ends here, it cannot be written: {error}"));
            self.recorder = Some(Err(error));
        }
    }

    /// Before a call.
    pub(super) fn record_call(&mut self, client: Client, call: &mut Call) {
        without_credentials(call);
        self.record(|recorder| recorder.call(client, call));
    }

    /// Before it is said from where a client is connected.
    pub(super) fn record_origin(&mut self, client: Client, host: &str) {
        self.record(|recorder| recorder.from(client, host));
    }

    /// Says the time to the infrastructure, if anybody looks at what depends on it.
    pub(super) fn pass_time(&mut self) {
        // Milliseconds are what can be seen, so that a record has no more entries than there are of them.
        let now = Duration::from_millis(self.now.as_millis() as u64);
        if !self.rti.needs_time() || self.passed == now {
            return;
        }
        self.passed = now;
        self.record(|recorder| recorder.now(now));
        let mut callbacks = Vec::new();
        self.rti.pass(now, &mut callbacks);
        // It is nobody's call.
        self.take_in(Client(0), &callbacks);
        self.hand_out(callbacks);
    }

    /// Before a client is removed.
    pub(super) fn record_removal(&mut self, client: Client) {
        self.record(|recorder| recorder.gone(client));
    }

    /// After either of them.
    pub(super) fn take_in(&mut self, client: Client, callbacks: &[(Client, Callback)]) {
        if let Some(Ok(recorder)) = &mut self.recorder {
            recorder.take_in(&self.rti, client, callbacks);
        }
    }
}
