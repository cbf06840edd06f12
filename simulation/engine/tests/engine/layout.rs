//! How a model deals its LPs to federates, and which channels it declares: a mistake is reported with the LP,
//! before anything runs.

use paceline_engine::{Protocol, RunError};
use paceline_kernel::{Channels, Context, LinkError, LpId, Partition, PartitionError, Time};

use crate::channels::PROTOCOLS;
use crate::script::{Play, Script, run_of};

/// Deals LPs to so many federates.
type Deal = fn(u32) -> Partition;

/// LPs that each send to the next.
struct Row {
    partition: Deal,
    /// To whom the last LP declares a channel.
    last: Option<LpId>,
}

const LPS: u32 = 16;

impl Play for Row {
    fn lps(&self) -> u32 {
        LPS
    }
    fn partition(&self, federates: u32) -> Partition {
        (self.partition)(federates)
    }
    fn channels(&self, lp: LpId) -> Channels {
        let Some(last) = self.last else { return Channels::All };
        let to = if lp.0 + 1 < LPS { LpId(lp.0 + 1) } else { last };
        Channels::Only(vec![(to, Time::secs(1))])
    }
    fn handle(&self, _state: &mut u64, _event: u64, cx: &mut Context<Script>) {
        cx.send(LpId((cx.lp().0 + 1) % LPS), Time::secs(1), 0);
    }
}

fn refused(row: Row, protocol: Protocol) -> RunError {
    let run = run_of(row).until(Time::secs(20)).threads(2).protocol(protocol);
    let run = if protocol == Protocol::Sequential { run } else { run.federates(4) };
    run.run().expect_err("it cannot be run")
}

#[test]
fn a_partition_of_other_lps_is_refused_with_the_lp() {
    let missing = PartitionError::Missing { lp: LpId(12), dealt: 12, lps: LPS };
    let unknown = PartitionError::UnknownLp { lp: LpId(16), dealt: 20, lps: LPS };
    let cases: [(Deal, _); 4] = [
        (|federates| Partition::runs(12, federates), missing),
        (|federates| Partition::table(&(0..12).map(|lp| lp % federates).collect::<Vec<_>>()), missing),
        (|federates| Partition::runs(20, federates), unknown),
        (|federates| Partition::table(&(0..20).map(|lp| lp % federates).collect::<Vec<_>>()), unknown),
    ];
    for protocol in PROTOCOLS {
        for (partition, error) in cases {
            let message = refused(Row { partition, last: None }, protocol);
            assert_eq!(message, RunError::Partition(error), "{protocol:?}");
            assert!(message.to_string().contains("LP 1"), "{message}");
        }
    }
}

#[test]
fn a_channel_to_an_lp_that_does_not_exist_is_reported_as_that() {
    for protocol in PROTOCOLS {
        let row = Row { partition: |federates| Partition::runs(LPS, federates), last: Some(LpId(99)) };
        let message = refused(row, protocol);
        let error = LinkError::UnknownLp { from: LpId(15), to: LpId(99), lps: LPS };
        assert_eq!(message, RunError::Link(error), "{protocol:?}");
        assert_eq!(
            message.to_string(),
            "the channel from LP 15 to LP 99 goes to an LP that does not exist (there are 16)"
        );
    }
}
