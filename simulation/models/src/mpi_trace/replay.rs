//! Replays the actions of one rank.
//!
//! Invariant: an action is over only when what it waits for has happened; one that fails ends the replay of
//! its rank.

use paceline_kernel::Time;
use paceline_processes::{Activity, Mailbox, Process, RequestError};

use super::requests::Requests;
use super::{Action, EAGER_BYTES, ENVELOPE_BYTES, Ends, Message, TEST_SECONDS};

/// Kinds of collective actions; messages of one kind are not received in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collective {
    Barrier = 1,
    Broadcast,
    Reduce,
    Exchange,
    ExchangeEach,
    Gather,
    GatherAll,
    Scatter,
    ReduceScatter,
    Scan,
}

impl Collective {
    /// The tag of its messages: above those of a trace, so that a receive with any tag does not get them.
    fn tag(self) -> u32 {
        Mailbox::ANY - self as u32
    }
}

/// A request that was begun: `None` where nobody need wait for it.
type Begun = Option<Activity<()>>;

/// A rank that performs its actions one after the other.
pub(super) struct Rank<'c> {
    cx: &'c Process<()>,
    pub(super) rank: u32,
    pub(super) ranks: u32,
    open: Requests<Begun>,
    /// How often in a row a test has failed.
    failed_tests: u32,
    /// What earlier sleeps were too short, in nanoseconds: less than the clock shows, and negative if they
    /// were too long.
    owed_sleep_ns: f64,
}

impl<'c> Rank<'c> {
    pub(super) fn new(cx: &'c Process<()>, rank: u32, ranks: u32) -> Self {
        Self { cx, rank, ranks, open: Requests::default(), failed_tests: 0, owed_sleep_ns: 0.0 }
    }

    /// Performs the actions in order, and waits for what they have left open. Says which action failed, and
    /// why; the one after the last is that wait.
    pub(super) async fn replay(&mut self, actions: &[Action]) -> Result<(), (usize, RequestError)> {
        for (place, action) in actions.iter().enumerate() {
            self.act(action).await.map_err(|failure| (place, failure))?;
        }
        // As MPI_Finalize completes what the program has not waited for.
        self.wait_for_all().await.map_err(|failure| (actions.len(), failure))
    }

    async fn act(&mut self, action: &Action) -> Result<(), RequestError> {
        match action {
            Action::Compute(flops) => self.cx.compute(*flops).await,
            Action::Sleep(seconds) => {
                self.sleep(*seconds).await;
                Ok(())
            }
            Action::Send(Message { other, tag, bytes }) => self.send(*other, *tag, *bytes).await,
            Action::Receive(Message { other, tag, .. }) => self.receive(*other, *tag).await,
            Action::StartSend(Message { other, tag, bytes }) => {
                let begun = self.start_send(*other, *tag, *bytes);
                self.open.begin((self.rank, *other, *tag), begun);
                Ok(())
            }
            Action::StartReceive(Message { other, tag, .. }) => {
                let begun = self.start_receive(*other, *tag);
                self.open.begin((*other, self.rank, *tag), Some(begun));
                Ok(())
            }
            Action::SendReceive { to, from, bytes } => self.send_receive(*to, *from, *bytes).await,
            Action::Wait(ends) => match self.open.take(*ends) {
                Some(Some(mut begun)) => begun.wait(self.cx).await.map(drop),
                _ => Ok(()),
            },
            Action::Test(ends) => self.test(*ends).await,
            Action::WaitAll => self.wait_for_all().await,
            collective => self.act_together(collective).await,
        }
    }

    async fn act_together(&self, action: &Action) -> Result<(), RequestError> {
        match action {
            Action::Barrier => self.barrier().await,
            Action::Broadcast { bytes, root } => self.broadcast(*bytes, *root).await,
            Action::Reduce { bytes, flops, root } => {
                self.gather(Collective::Reduce, *bytes, *root).await?;
                self.cx.compute(*flops).await
            }
            Action::ReduceAll { bytes, flops } => {
                self.reduce_all(*bytes).await?;
                self.cx.compute(*flops).await
            }
            Action::ReduceScatter { counts, element, flops } => {
                self.reduce_scatter(counts, *element).await?;
                self.cx.compute(*flops).await
            }
            Action::Scan { bytes, flops } => {
                self.scan(*bytes).await?;
                self.cx.compute(*flops).await
            }
            Action::Exchange { bytes } => self.exchange(*bytes).await,
            Action::ExchangeEach { bytes } => {
                self.exchange_at_once(Collective::ExchangeEach, |other| bytes[other as usize]).await
            }
            Action::Gather { bytes, root } => self.gather(Collective::Gather, *bytes, *root).await,
            Action::GatherAll { bytes } => self.exchange_at_once(Collective::GatherAll, |_| *bytes).await,
            Action::Scatter { bytes, root } => self.scatter(Collective::Scatter, |_| *bytes, *root).await,
            Action::ScatterEach { bytes, root } => {
                self.scatter(Collective::Scatter, |other| bytes[other as usize], *root).await
            }
            _ => unreachable!("what a rank does alone is done elsewhere"),
        }
    }

    /// Sleeps; what the clock does not show of it is made up for by later sleeps.
    async fn sleep(&mut self, seconds: f64) {
        let exact_ns = seconds * 1e9 + self.owed_sleep_ns;
        let ns = exact_ns.round().max(0.0);
        let span = if ns < u64::MAX as f64 { Time::nanos(ns as u64) } else { Time::MAX };
        // A sum of many short sleeps is right, whatever each of them is rounded to.
        self.owed_sleep_ns = if span == Time::MAX { 0.0 } else { exact_ns - ns };
        self.cx.sleep(span).await;
    }

    /// As SimGrid: both messages have tag 0, which such a line does not name.
    async fn send_receive(&self, to: Option<u32>, from: u32, bytes: f64) -> Result<(), RequestError> {
        if to == Some(self.rank) && from == self.rank {
            return Ok(());
        }
        let mut begun = vec![self.start_receive(from, 0)];
        begun.extend(to.and_then(|to| self.start_send(to, 0, bytes)));
        self.all(begun).await
    }

    /// As SimGrid: a test takes [`TEST_SECONDS`], and so much more after each in a row that has failed; then
    /// the request is looked at. One that is over is complete, and is not waited for any more.
    async fn test(&mut self, ends: Ends) -> Result<(), RequestError> {
        if self.open.get(ends).is_none() {
            return Ok(());
        }
        self.sleep(f64::from(1 + self.failed_tests) * TEST_SECONDS).await;
        let is_over = match self.open.get(ends) {
            Some(Some(begun)) => begun.test(self.cx).await,
            _ => true,
        };
        if !is_over {
            self.failed_tests += 1;
            return Ok(());
        }
        self.failed_tests = 0;
        match self.open.take(ends) {
            Some(Some(mut begun)) => begun.wait(self.cx).await.map(drop),
            _ => Ok(()),
        }
    }

    async fn wait_for_all(&mut self) -> Result<(), RequestError> {
        let begun = self.open.take_all().into_iter().flatten().collect();
        self.all(begun).await
    }

    /// Waits for all of them; the failure of the first that failed.
    pub(super) async fn all(&self, mut begun: Vec<Activity<()>>) -> Result<(), RequestError> {
        if begun.is_empty() {
            return Ok(());
        }
        Activity::wait_all(self.cx, &mut begun.iter_mut().collect::<Vec<_>>()).await?;
        for activity in &mut begun {
            activity.wait(self.cx).await?;
        }
        Ok(())
    }

    fn mailbox(from: u32, to: u32, tag: u32) -> Mailbox {
        Mailbox::Matched { to, from, tag }
    }

    fn start_send(&self, to: u32, tag: u32, bytes: f64) -> Begun {
        let mailbox = Self::mailbox(self.rank, to, tag);
        let size = bytes + ENVELOPE_BYTES;
        if bytes < EAGER_BYTES {
            self.cx.send_detached(mailbox, (), size);
            return None;
        }
        Some(self.cx.start_send(mailbox, (), size))
    }

    fn start_receive(&self, from: u32, tag: u32) -> Activity<()> {
        self.cx.start_receive(Self::mailbox(from, self.rank, tag))
    }

    async fn send(&self, to: u32, tag: u32, bytes: f64) -> Result<(), RequestError> {
        let mailbox = Self::mailbox(self.rank, to, tag);
        let size = bytes + ENVELOPE_BYTES;
        if bytes < EAGER_BYTES {
            self.cx.send_detached(mailbox, (), size);
            return Ok(());
        }
        self.cx.send(mailbox, (), size).await
    }

    async fn receive(&self, from: u32, tag: u32) -> Result<(), RequestError> {
        self.cx.receive(Self::mailbox(from, self.rank, tag)).await
    }

    /// Sends within a collective action.
    pub(super) async fn send_part(&self, kind: Collective, to: u32, bytes: f64) -> Result<(), RequestError> {
        self.send(to, kind.tag(), bytes).await
    }

    /// Receives within a collective action.
    pub(super) async fn receive_part(&self, kind: Collective, from: u32) -> Result<(), RequestError> {
        self.receive(from, kind.tag()).await
    }

    pub(super) fn start_sending_part(&self, kind: Collective, to: u32, bytes: f64) -> Begun {
        self.start_send(to, kind.tag(), bytes)
    }

    pub(super) fn start_receiving_part(&self, kind: Collective, from: u32) -> Activity<()> {
        self.start_receive(from, kind.tag())
    }

    /// Sends to one rank and receives from one, at the same time; from and to itself takes no time, as in
    /// SimGrid.
    pub(super) async fn swap(
        &self,
        kind: Collective,
        to: u32,
        from: u32,
        bytes: f64,
    ) -> Result<(), RequestError> {
        if (to, from) == (self.rank, self.rank) {
            return Ok(());
        }
        let mut begun = vec![self.start_receiving_part(kind, from)];
        begun.extend(self.start_sending_part(kind, to, bytes));
        self.all(begun).await
    }
}
