//! The channels between federates: what [`Model::channels`] declares of LPs, joined for the federates that
//! own them.
//!
//! Invariants: every lookahead is at least the model's; no federate has a channel to itself, its LPs'
//! channels to each other are kept apart (`within`).

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{Channels, LpId, Model, Partition, Time, ask};

/// A channel that an LP cannot have.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum LinkError {
    /// Its lookahead is below the model's.
    #[error("the channel from {from} to {to} declares a lookahead of {lookahead}, below the model's {least}")]
    Lookahead { from: LpId, to: LpId, lookahead: Time, least: Time },
    /// It leads nowhere.
    #[error("the channel from {from} to {to} goes to an LP that does not exist (there are {lps})")]
    UnknownLp { from: LpId, to: LpId, lps: u32 },
}

crate::debug_tells!(LinkError);

/// The channels that the model declares for `lp`.
pub(super) fn channels_of<M: Model>(model: &M, lp: LpId) -> Channels {
    ask(|| format!("`channels` of {lp}"), || model.channels(lp))
}

/// Whether a model of `lps` LPs with a lookahead of `least` can have this channel.
pub(super) fn check(from: LpId, to: LpId, lookahead: Time, lps: u32, least: Time) -> Result<(), LinkError> {
    if to.0 >= lps {
        return Err(LinkError::UnknownLp { from, to, lps });
    }
    if lookahead < least {
        return Err(LinkError::Lookahead { from, to, lookahead, least });
    }
    Ok(())
}

/// Channels by sending and receiving federate.
#[derive(Clone, Debug)]
pub(super) struct FederateChannels {
    /// By (sender, receiver): the least lookahead of their LPs' channels.
    pub(super) between: BTreeMap<(u32, u32), Time>,
    /// By federate: the least lookahead of channels between two LPs of it; [`Time::MAX`] where there are
    /// none.
    pub(super) within: Vec<Time>,
}

impl FederateChannels {
    fn none(partition: &Partition) -> Self {
        Self { between: BTreeMap::new(), within: vec![Time::MAX; partition.federates() as usize] }
    }

    /// All channels. A federate with an LP that sends to all has one to each of the others.
    pub(super) fn all<M: Model>(model: &M, partition: &Partition) -> Result<Self, LinkError> {
        let mut channels = Self::none(partition);
        let mut to_all = vec![false; partition.federates() as usize];
        for from in (0..partition.lps()).map(LpId) {
            let sender = partition.place(from).0;
            if to_all[sender as usize] {
                // Nothing can be nearer; `ChannelTable` checks what the other LPs of the federate declare.
                continue;
            }
            match channels_of(model, from) {
                Channels::All => {
                    (0..partition.federates()).for_each(|to| channels.join(sender, to, model.lookahead()));
                    to_all[sender as usize] = true;
                }
                Channels::Only(declared) => channels.declare(model, partition, from, &declared)?,
            }
        }
        Ok(channels)
    }

    /// All channels, if every LP names them and they are at most `most`.
    pub(super) fn few<M: Model>(
        model: &M,
        partition: &Partition,
        most: usize,
    ) -> Result<Option<Self>, LinkError> {
        let mut channels = Self::none(partition);
        let mut count = 0;
        for from in (0..partition.lps()).map(LpId) {
            let Channels::Only(declared) = channels_of(model, from) else { return Ok(None) };
            count += declared.len();
            // Too many to be worth a table of distances; asking on would only take time.
            if count > most {
                return Ok(None);
            }
            channels.declare(model, partition, from, &declared)?;
        }
        Ok(Some(channels))
    }

    /// Takes in what LP `from` declares.
    fn declare<M: Model>(
        &mut self,
        model: &M,
        partition: &Partition,
        from: LpId,
        declared: &[(LpId, Time)],
    ) -> Result<(), LinkError> {
        let (sender, least, lps) = (partition.place(from).0, model.lookahead(), partition.lps());
        for &(to, lookahead) in declared {
            check(from, to, lookahead, lps, least)?;
            // An LP needs no lookahead to itself: its own messages never cross a bound.
            if to != from {
                self.join(sender, partition.place(to).0, lookahead);
            }
        }
        Ok(())
    }

    /// Two LPs of these federates have a channel.
    fn join(&mut self, from: u32, to: u32, lookahead: Time) {
        let known = if from == to {
            &mut self.within[from as usize]
        } else {
            self.between.entry((from, to)).or_insert(lookahead)
        };
        *known = (*known).min(lookahead);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Context;

    /// Three LPs; LP 1 sends to all where `open`.
    struct Chain {
        open: bool,
        short: Time,
    }

    impl Model for Chain {
        type State = ();
        type Event = ();
        type Output = ();

        fn lps(&self) -> u32 {
            3
        }
        fn lookahead(&self) -> Time {
            Time::millis(1)
        }
        fn channels(&self, lp: LpId) -> Channels {
            match lp.0 {
                0 => Channels::Only(vec![(LpId(1), Time::secs(3)), (LpId(2), Time::secs(2))]),
                1 if self.open => Channels::All,
                1 => Channels::Only(vec![(LpId(0), self.short), (LpId(1), Time::millis(1))]),
                _ => Channels::Only(vec![(LpId(1), Time::secs(7))]),
            }
        }
        fn init(&self, _lp: LpId, _cx: &mut Context<Self>) {}
        fn handle(&self, _state: &mut (), _event: &(), _cx: &mut Context<Self>) {}
    }

    #[test]
    fn the_least_lookahead_of_lps_counts_for_their_federates() {
        let (partition, short) = (Partition::table(&[0, 1, 1]), Time::secs(5));
        let chain = Chain { open: false, short };
        let known =
            FederateChannels::few(&chain, &partition, 5).expect("they are valid").expect("all are named");
        let between = BTreeMap::from([((0, 1), Time::secs(2)), ((1, 0), short)]);
        assert_eq!((&known.between, &known.within), (&between, &vec![Time::MAX, Time::secs(7)]));
        let all = FederateChannels::all(&chain, &partition).expect("they are valid");
        assert_eq!((all.between, all.within), (known.between, known.within));
        assert!(
            FederateChannels::few(&chain, &partition, 4).expect("they are valid").is_none(),
            "there are 5"
        );
    }

    #[test]
    fn who_sends_to_all_has_a_channel_to_each_federate() {
        let (partition, open) = (Partition::runs(3, 3), Chain { open: true, short: Time::secs(5) });
        assert!(FederateChannels::few(&open, &partition, 99).expect("they are valid").is_none());
        let all = FederateChannels::all(&open, &partition).expect("they are valid");
        assert_eq!(all.between[&(1, 0)], Time::millis(1));
        assert_eq!(all.between[&(1, 2)], Time::millis(1));
        assert_eq!(all.within, [Time::MAX, Time::millis(1), Time::MAX]);
    }

    #[test]
    fn a_channel_below_the_lookahead_is_refused() {
        let chain = Chain { open: false, short: Time::ticks(3) };
        let partition = Partition::runs(3, 1);
        let error = FederateChannels::few(&chain, &partition, 99).expect_err("3 ns are below the lookahead");
        let (lookahead, least) = (Time::ticks(3), Time::millis(1));
        assert_eq!(error, LinkError::Lookahead { from: LpId(1), to: LpId(0), lookahead, least });
        assert_eq!(FederateChannels::all(&chain, &partition).expect_err("here too"), error);
    }
}
