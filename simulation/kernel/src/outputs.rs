//! Lists of what models leave behind, as they are read from files and from other processes.
//!
//! A list of values that take no bytes, such as `()`, says only how long it is: a damaged length would be
//! counted up one by one, for years. Invariant: reading a list takes a time that what was written, or
//! [`MOST`], bounds.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The most outputs that a list may have: a run has one of each federate and each time that its federates
/// were dealt, so that no run comes near.
const MOST: usize = 1 << 28;

/// What a model has left behind, in parts.
///
/// ```
/// use paceline_kernel::Outputs;
/// let outputs = Outputs(vec![(), ()]);
/// let bytes = postcard::to_stdvec(&outputs)?;
/// assert_eq!(postcard::from_bytes::<Outputs<()>>(&bytes)?.0.len(), 2);
/// # Ok::<(), postcard::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(serialize = "O: Serialize", deserialize = "O: Deserialize<'de>"))]
pub struct Outputs<O>(#[serde(deserialize_with = "read")] pub Vec<O>);

impl<O> Outputs<O> {
    /// The outputs of all processes in the order in which they were left behind: those of each time that LPs
    /// were dealt together, in the order of processes. `of` gives for each process how many federates it
    /// has, and its outputs: so many for each of these times. The first one may have others before, of
    /// all processes.
    ///
    /// ```
    /// use paceline_kernel::Outputs;
    /// let all = Outputs::in_order(vec![(1, vec!["before", "a1", "a2"]), (2, vec!["b1", "c1", "b2", "c2"])]);
    /// assert_eq!(all.0, ["before", "a1", "b1", "c1", "a2", "b2", "c2"]);
    /// ```
    pub fn in_order(of: Vec<(usize, Vec<O>)>) -> Self {
        // How often LPs were dealt: each time left one output of each federate.
        let deals = |(federates, outputs): &(usize, Vec<O>)| outputs.len().div_ceil((*federates).max(1));
        let deals_of_others = of.iter().skip(1).map(deals).max();
        let mut all = Vec::with_capacity(of.iter().map(|(_, outputs)| outputs.len()).sum());
        let mut rest: Vec<_> =
            of.into_iter().map(|(federates, outputs)| (federates.max(1), outputs.into_iter())).collect();
        // All processes were dealt as often: what the first has beyond that is older, and of the whole run.
        if let (Some((federates, first)), Some(deals)) = (rest.first_mut(), deals_of_others) {
            let before = first.len().saturating_sub(deals.saturating_mul(*federates));
            all.extend(first.take(before));
        }
        while rest.iter().any(|(_, outputs)| outputs.len() > 0) {
            // One time that LPs were dealt, process by process.
            for (federates, outputs) in &mut rest {
                all.extend(outputs.take(*federates));
            }
        }
        Self(all)
    }
}

/// Reads a list of outputs.
pub(crate) fn read<'de, D: Deserializer<'de>, O: Deserialize<'de>>(from: D) -> Result<Vec<O>, D::Error> {
    struct List<O>(PhantomData<O>);

    impl<'de, O: Deserialize<'de>> Visitor<'de> for List<O> {
        type Value = Vec<O>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} outputs")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<O>, A::Error> {
            let claimed = list.size_hint().unwrap_or(0);
            // What comes from outside may claim any length: neither that nor more than it is given memory.
            if claimed > MOST {
                return Err(A::Error::invalid_length(claimed, &self));
            }
            let mut outputs = Vec::new();
            while let Some(output) = list.next_element()? {
                if outputs.len() >= MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                outputs.push(output);
            }
            Ok(outputs)
        }
    }

    from.deserialize_seq(List(PhantomData))
}

#[cfg(test)]
mod test {
    use super::Outputs;

    #[test]
    fn outputs_of_whatever_lengths_are_all_there_each_process_in_its_order() {
        for lengths in [[0, 0, 0], [5, 0, 7], [1, 4, 3], [9, 4, 2], [0, 6, 1]] {
            let of =
                (0..3).map(|rank: usize| (rank, (0..lengths[rank]).map(|place| (rank, place)).collect()));
            let all = Outputs::in_order(of.collect()).0;
            for (rank, length) in lengths.into_iter().enumerate() {
                let places: Vec<_> =
                    all.iter().filter(|(of, _)| *of == rank).map(|(_, place)| *place).collect();
                assert_eq!(places, (0..length).collect::<Vec<_>>(), "{lengths:?}");
            }
        }
    }

    /// The length of a list of nothing can be anything, and is not counted up.
    #[test]
    fn a_list_of_nothing_is_as_long_as_can_be() {
        let written = postcard::to_stdvec(&Outputs(vec![(); 5])).unwrap();
        assert_eq!(postcard::from_bytes::<Outputs<()>>(&written).unwrap().0.len(), 5);
        let damaged = postcard::to_stdvec(&(1_u64 << 60)).unwrap();
        assert!(postcard::from_bytes::<Outputs<()>>(&damaged).is_err());
    }
}
