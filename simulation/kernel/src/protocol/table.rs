//! The channels of single LPs, as [`Model::channels`] declares them: every message is held against them when
//! it is sent.
//!
//! Invariants: an LP's channels are in the order of their receivers, each receiver once, with the least
//! lookahead declared for it; every lookahead is at least the model's, and every receiver exists.

mod quick;

use quick::Quick;

use super::channels::{channels_of, check};
use crate::{Channels, LinkError, LpId, Model, Time};

/// Up to so many channels are looked through one after the other.
const FEW: usize = 8;

/// The channels that a model declares: which LP may send to which, and how far ahead at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelTable {
    /// By LP, and one more: where its channels start in `receivers`.
    starts: Vec<usize>,
    receivers: Vec<LpId>,
    /// By channel; empty where all have the model's lookahead, so that a send reads nothing of it.
    lookaheads: Vec<Time>,
    /// By LP: it sends to all.
    to_all: Vec<bool>,
    quick: Quick,
}

impl ChannelTable {
    /// What `model` declares; nothing where each of its LPs sends to all, so that there is nothing to look
    /// at. Errors: a channel to an LP that does not exist, or with a lookahead below the model's.
    ///
    /// ```
    /// use paceline_kernel::{ChannelTable, Channels, Context, LpId, Model, Time};
    ///
    /// /// LP 0 sends to LP 1, which sends to all.
    /// struct Pair;
    ///
    /// impl Model for Pair {
    ///     type State = ();
    ///     type Event = ();
    ///     type Output = ();
    ///
    ///     fn lps(&self) -> u32 {
    ///         2
    ///     }
    ///     fn lookahead(&self) -> Time {
    ///         Time::secs(1)
    ///     }
    ///     fn channels(&self, lp: LpId) -> Channels {
    ///         if lp == LpId(0) { Channels::Only(vec![(LpId(1), Time::secs(5))]) } else { Channels::All }
    ///     }
    ///     fn init(&self, _lp: LpId, _cx: &mut Context<Self>) {}
    ///     fn handle(&self, _state: &mut (), _event: &(), _cx: &mut Context<Self>) {}
    /// }
    ///
    /// let table = ChannelTable::read(&Pair)?.expect("LP 0 names its channels");
    /// assert!(table.allows(LpId(0), LpId(1), Time::secs(5)) && !table.allows(LpId(0), LpId(1), Time::secs(4)));
    /// assert!(table.allows(LpId(1), LpId(0), Time::secs(1)));
    /// # Ok::<(), paceline_kernel::LinkError>(())
    /// ```
    pub fn read<M: Model>(model: &M) -> Result<Option<Self>, LinkError> {
        let (lps, least) = (model.lps(), model.lookahead());
        if (0..lps).all(|lp| channels_of(model, LpId(lp)) == Channels::All) {
            return Ok(None);
        }
        let mut table = Self {
            starts: vec![0],
            receivers: Vec::new(),
            lookaheads: Vec::new(),
            to_all: Vec::new(),
            quick: Quick::default(),
        };
        for from in (0..lps).map(LpId) {
            let channels = channels_of(model, from);
            table.to_all.push(channels == Channels::All);
            if let Channels::Only(mut declared) = channels {
                // Of channels declared twice the least lookahead comes first, and stays.
                declared.sort_unstable();
                declared.dedup_by_key(|(to, _)| *to);
                for (to, lookahead) in declared {
                    check(from, to, lookahead, lps, least)?;
                    table.receivers.push(to);
                    table.lookaheads.push(lookahead);
                }
            }
            table.starts.push(table.receivers.len());
        }
        if table.lookaheads.iter().all(|lookahead| *lookahead == least) {
            table.lookaheads = Vec::new();
        }
        table.quick = Quick::of(&table);
        Ok(Some(table))
    }

    /// Whether a message from `from` to `to` with this delay is found at once to be along a channel, or to
    /// the LP itself. What is not found may be allowed all the same.
    #[inline(always)]
    pub(crate) fn finds(&self, from: LpId, to: LpId, delay: Time) -> bool {
        self.quick.finds(from, to, delay)
    }

    /// Whether `from` may send something to `to`, another LP, that happens after `delay`, at least the
    /// model's lookahead.
    pub fn allows(&self, from: LpId, to: LpId, delay: Time) -> bool {
        let start = self.starts[from.index()];
        let receivers = &self.receivers[start..self.starts[from.index() + 1]];
        let found = if receivers.len() <= FEW {
            receivers.iter().position(|known| *known == to)
        } else {
            receivers.binary_search(&to).ok()
        };
        match found {
            Some(place) => self.lookaheads.get(start + place).is_none_or(|lookahead| *lookahead <= delay),
            // Who sends to all has no channels in the table.
            None => self.to_all[from.index()],
        }
    }
}
