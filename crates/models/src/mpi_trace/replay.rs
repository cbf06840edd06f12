//! Replays the actions of one rank.

use paceline_processes::{Activity, Failure, Process};

use super::{Action, EAGER_BYTES, Message};

/// The tag of messages within collective actions.
const COLLECTIVE: u32 = u32::MAX;
/// Bits of a rank within the number of a mailbox.
const RANK_BITS: u32 = 16;

/// Sender, receiver and tag of a message.
type Ends = (u32, u32, u32);

/// See the module.
pub(super) struct Rank<'c> {
    cx: &'c Process<()>,
    pub(super) own: u32,
    pub(super) ranks: u32,
    /// Actions begun and not waited for; the activity is `None` where no wait is needed.
    open: Vec<(Ends, Option<Activity<()>>)>,
}

impl<'c> Rank<'c> {
    pub(super) fn new(cx: &'c Process<()>, own: u32, ranks: u32) -> Self {
        Self { cx, own, ranks, open: Vec::new() }
    }

    /// The mailbox of messages from one rank to another with a tag.
    fn mailbox(from: u32, to: u32, tag: u32) -> u64 {
        u64::from(from) << (RANK_BITS + 32) | u64::from(to) << 32 | u64::from(tag)
    }

    /// Performs the actions in order. An action that fails because a link or host is down is skipped.
    pub(super) async fn replay(&mut self, actions: &[Action]) {
        for action in actions {
            // The failure and its time enter the digest.
            let _: Result<(), Failure> = self.act(*action).await;
        }
    }

    async fn act(&mut self, action: Action) -> Result<(), Failure> {
        match action {
            Action::Compute(flops) => self.cx.compute(flops).await,
            Action::Send(Message { other, tag, bytes }) => self.send(other, tag, bytes).await,
            Action::Receive(Message { other, tag, .. }) => self.receive(other, tag).await,
            Action::StartSend(Message { other, tag, bytes }) => {
                let begun = self.start_send(other, tag, bytes);
                self.open.push(((self.own, other, tag), begun));
                Ok(())
            }
            Action::StartReceive(Message { other, tag, .. }) => {
                let begun = self.start_receive(other, tag);
                self.open.push(((other, self.own, tag), Some(begun)));
                Ok(())
            }
            Action::Wait(which) => {
                let found = self.open.iter().rposition(|(own, _)| which.is_none_or(|which| which == *own));
                match found.map(|place| self.open.remove(place)) {
                    Some((_, Some(mut begun))) => begun.wait(self.cx).await.map(drop),
                    _ => Ok(()),
                }
            }
            Action::WaitAll => {
                let mut begun: Vec<Activity<()>> =
                    self.open.drain(..).filter_map(|(_, begun)| begun).collect();
                Activity::wait_all(self.cx, &mut begun.iter_mut().collect::<Vec<_>>()).await
            }
            Action::Barrier => self.double(0.0).await,
            Action::Broadcast { bytes, root } => self.broadcast(bytes, root).await,
            Action::Reduce { bytes, flops, root } => {
                self.reduce(bytes, root).await?;
                self.cx.compute(flops).await
            }
            Action::ReduceAll { bytes, flops } => {
                self.double(bytes).await?;
                self.cx.compute(flops).await
            }
            Action::Exchange { bytes } => self.exchange(bytes).await,
        }
    }

    fn start_send(&self, to: u32, tag: u32, bytes: f64) -> Option<Activity<()>> {
        let mailbox = Self::mailbox(self.own, to, tag);
        if bytes < EAGER_BYTES {
            self.cx.send_detached(mailbox, (), bytes);
            return None;
        }
        Some(self.cx.start_send(mailbox, (), bytes))
    }

    fn start_receive(&self, from: u32, tag: u32) -> Activity<()> {
        self.cx.start_receive(Self::mailbox(from, self.own, tag))
    }

    async fn send(&self, to: u32, tag: u32, bytes: f64) -> Result<(), Failure> {
        let mailbox = Self::mailbox(self.own, to, tag);
        if bytes < EAGER_BYTES {
            self.cx.send_detached(mailbox, (), bytes);
            return Ok(());
        }
        self.cx.send(mailbox, (), bytes).await
    }

    async fn receive(&self, from: u32, tag: u32) -> Result<(), Failure> {
        self.cx.receive(Self::mailbox(from, self.own, tag)).await
    }

    /// Sends within a collective action.
    pub(super) async fn tell(&self, to: u32, bytes: f64) -> Result<(), Failure> {
        self.send(to, COLLECTIVE, bytes).await
    }

    /// Receives within a collective action.
    pub(super) async fn hear(&self, from: u32) -> Result<(), Failure> {
        self.receive(from, COLLECTIVE).await
    }

    /// Sends to one rank and receives from one, at the same time.
    pub(super) async fn swap(&self, to: u32, from: u32, bytes: f64) -> Result<(), Failure> {
        let mut begun = vec![self.start_receive(from, COLLECTIVE)];
        begun.extend(self.start_send(to, COLLECTIVE, bytes));
        Activity::wait_all(self.cx, &mut begun.iter_mut().collect::<Vec<_>>()).await
    }
}
