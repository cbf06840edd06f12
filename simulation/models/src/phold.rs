//! PHOLD (Fujimoto, 1990), as the PSX paper uses it: a fixed population of messages that LPs pass around.
//!
//! An LP that receives a message works for a while and sends one on, with a delay of the lookahead plus an
//! exponential time. There are two laws for its destination. Groups belong to the model, not to the
//! partition, so that the result does not depend on the number of federates.

mod settings;

use std::hint::black_box;

use paceline_kernel::{Channels, Context, Kept, LpId, Model, Partition, Time, Undo, UndoFn};

/// How the destination of a message is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Destination {
    /// With probability `remote` an LP drawn uniformly from all, else the LP that sends it.
    Any { remote: f64 },
    /// With probability `locality` an LP of the sender's group, else one of another group; uniform in both
    /// cases. There are `groups` groups, equally long runs of LPs.
    Group { groups: u32, locality: f64 },
}

/// The PHOLD model and its parameters.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_models::phold::{Destination, Phold};
/// let phold = Phold {
///     lps: 100,
///     messages_per_lp: 1.5,
///     lookahead: Time::secs(1),
///     mean: Time::secs(1),
///     work_ns: 0,
///     destination: Destination::Any { remote: 0.25 },
/// };
/// assert_eq!((phold.messages(0), phold.messages(50)), (2, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Phold {
    /// The number of logical processes.
    pub lps: u32,
    /// Initial messages per LP. If it is a fraction, the first LPs get one message more.
    pub messages_per_lp: f64,
    /// The least delay of a message.
    pub lookahead: Time,
    /// Mean of the exponential part of a delay.
    pub mean: Time,
    /// Work per event: this many steps of a multiplication chain, about one nanosecond each.
    pub work_ns: u64,
    /// Where messages go.
    pub destination: Destination,
}

impl Phold {
    /// The number of messages that `lp` starts with; all messages are dealt round-robin.
    pub fn messages(&self, lp: u32) -> u64 {
        let total = (f64::from(self.lps) * self.messages_per_lp).round() as u64;
        total / u64::from(self.lps) + u64::from(u64::from(lp) < total % u64::from(self.lps))
    }

    #[inline(always)]
    fn delay(&self, cx: &mut Context<Self>) -> Time {
        let mean_ns = self.mean.as_nanos() as f64;
        self.lookahead.saturating_add(Time::nanos(cx.rng().exponential(mean_ns) as u64))
    }

    #[inline(always)]
    fn destination(&self, cx: &mut Context<Self>) -> LpId {
        match self.destination {
            Destination::Any { remote } => {
                if cx.rng().chance(remote) {
                    LpId(cx.rng().below(u64::from(self.lps)) as u32)
                } else {
                    cx.lp()
                }
            }
            Destination::Group { groups, locality } => {
                let partition = Partition::runs(self.lps, groups);
                let group = partition.run(partition.place(cx.lp()).0);
                let size = group.end - group.start;
                if groups == 1 || cx.rng().chance(locality) {
                    return LpId(group.start + cx.rng().below(u64::from(size)) as u32);
                }
                let other = cx.rng().below(u64::from(self.lps - size)) as u32;
                LpId(if other < group.start { other } else { other + size })
            }
        }
    }
}

impl Model for Phold {
    /// How many messages the LP has received.
    type State = u64;
    type Event = ();
    type Output = ();

    const UNDO: Option<UndoFn<Self>> = Some(Self::undo);

    fn lps(&self) -> u32 {
        self.lps
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    /// Declares no channels between groups that never exchange messages.
    fn channels(&self, lp: LpId) -> Channels {
        match self.destination {
            Destination::Group { groups, locality } if groups > 1 && locality >= 1.0 => {
                let partition = Partition::runs(self.lps, groups);
                let group = partition.run(partition.place(lp).0);
                Channels::Only(group.map(|other| (LpId(other), self.lookahead)).collect())
            }
            _ => Channels::All,
        }
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
        for _ in 0..self.messages(lp.0) {
            let delay = self.delay(cx);
            cx.schedule(delay, ());
        }
        0
    }

    #[inline(always)]
    fn handle(&self, received: &mut u64, _message: &(), cx: &mut Context<Self>) {
        *received += 1;
        let mut chain = *received;
        for _ in 0..self.work_ns {
            chain = black_box(chain.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        let to = self.destination(cx);
        let delay = self.delay(cx);
        cx.send(to, delay, ());
    }

    fn admits_state(&self, _lp: LpId, received: &u64) -> bool {
        *received < 1 << 62
    }
}

impl Undo for Phold {
    #[inline(always)]
    fn undo(&self, received: &mut u64, _message: &(), _kept: &mut Kept<'_>) {
        *received -= 1;
    }
}
