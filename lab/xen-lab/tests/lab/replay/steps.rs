//! What happens to a hypervisor, step by step, at random.

use proptest::collection::vec;
use proptest::prelude::*;

/// A step. Numbers choose among those that there are: `vcpu` the nth of all VCPUs, and so on. A step that no
/// VCPU can take is left out.
#[derive(Clone, Debug)]
pub enum Step {
    /// Time passes; slices end and timers go off meanwhile.
    Pass { ns: u64 },
    /// Time passes until just before, at, or after the next end of a slice or timer.
    PassToNext { off_ns: i64 },
    /// PCPUs that were asked decide, in this order if `reverse`.
    Settle { reverse: bool },
    /// Who sleeps wakes.
    Wake { vcpu: usize },
    /// Who is awake sleeps.
    Sleep { vcpu: usize },
    /// Who runs blocks, without a word; `wakes`: it is woken before its PCPU has noticed.
    Block { pcpu: usize, wakes: bool },
    /// Xen says once more that somebody is awake.
    Again { vcpu: usize },
    /// Who runs yields.
    Yield { pcpu: usize },
    /// A PCPU decides without having been asked.
    Pick { pcpu: usize },
    /// Who runs reports: how much its LVT has risen, what it is if `absolute`, and flags.
    Report { pcpu: usize, lvt: u64, absolute: bool, flags: u32 },
    /// A VCPU gets another PCPU, and may be pinned to it.
    Move { vcpu: usize, pcpu: usize, pin: bool },
    /// An event is pending on a port of a domain.
    Port { dom: usize, port: u32 },
    /// A domain clears one of its ports.
    Clear { dom: usize, port: usize },
    /// The ports of a domain are closed.
    Close { dom: usize },
    /// Who runs writes on its page how many messages it has taken and not worked on.
    Left { pcpu: usize, messages: u32 },
    /// A domain gets another share: period and slice in microseconds, and whether it takes extra time.
    Adjust { dom: usize, share: (u64, u64, bool) },
    /// A domain comes.
    Add { privileged: bool, pins: Vec<Option<usize>> },
    /// A domain goes.
    Remove { dom: usize },
}

fn pass() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u64..1_000_000).prop_map(|ns| Step::Pass { ns }),
        1 => (0u64..3_000).prop_map(|ns| Step::Pass { ns }),
        1 => (0u64..100_000_000).prop_map(|ns| Step::Pass { ns }),
        6 => (-1i64..=2).prop_map(|off_ns| Step::PassToNext { off_ns }),
    ]
}

fn report() -> impl Strategy<Value = Step> {
    let lvt = prop_oneof![
        2 => Just((0u64, false)),
        4 => (1u64..4).prop_map(|rise| (rise, false)),
        4 => (1u64..2_000_000).prop_map(|rise| (rise, false)),
        2 => (0u64..6).prop_map(|lvt| (lvt, true)),
        1 => prop_oneof![Just(u64::MAX), Just(i64::MAX as u64), Just(1 << 63)].prop_map(|lvt| (lvt, true)),
    ];
    let flags = prop_oneof![8 => Just(1u32), 3 => Just(3), 1 => Just(0), 1 => Just(2), 1 => Just(5)];
    (any::<usize>(), lvt, flags).prop_map(|(pcpu, (lvt, absolute), flags)| Step::Report {
        pcpu,
        lvt,
        absolute,
        flags,
    })
}

fn message() -> impl Strategy<Value = Step> {
    let index = any::<usize>;
    let port = prop_oneof![0u32..4, 60u32..70, 0u32..4096];
    prop_oneof![
        6 => (index(), port).prop_map(|(dom, port)| Step::Port { dom, port }),
        6 => (index(), index()).prop_map(|(dom, port)| Step::Clear { dom, port }),
        1 => index().prop_map(|dom| Step::Close { dom }),
        2 => (index(), 0u32..4).prop_map(|(pcpu, messages)| Step::Left { pcpu, messages }),
    ]
}

/// From a tenth of the shortest period that there is, to more than there is.
fn share() -> impl Strategy<Value = (u64, u64, bool)> {
    let period_us = prop_oneof![1u64..100, 100u64..30_000, Just(10_000_000), Just(10_000_001)];
    let percent = prop_oneof![Just(0u64), 1u64..60, Just(100), Just(101)];
    let share = (period_us, percent, any::<bool>());
    share.prop_map(|(period_us, percent, extra)| (period_us, (period_us * percent).div_ceil(100), extra))
}

fn domain() -> impl Strategy<Value = Step> {
    let pin = proptest::option::weighted(0.3, 0usize..4);
    (any::<bool>(), vec(pin, 1..4)).prop_map(|(privileged, pins)| Step::Add { privileged, pins })
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<usize>;
    prop_oneof![
        12 => pass(),
        4 => any::<bool>().prop_map(|reverse| Step::Settle { reverse }),
        8 => index().prop_map(|vcpu| Step::Wake { vcpu }),
        3 => index().prop_map(|vcpu| Step::Sleep { vcpu }),
        3 => (index(), any::<bool>()).prop_map(|(pcpu, wakes)| Step::Block { pcpu, wakes }),
        1 => index().prop_map(|vcpu| Step::Again { vcpu }),
        3 => index().prop_map(|pcpu| Step::Yield { pcpu }),
        2 => index().prop_map(|pcpu| Step::Pick { pcpu }),
        8 => report(),
        2 => (index(), index(), any::<bool>()).prop_map(|(vcpu, pcpu, pin)| Step::Move { vcpu, pcpu, pin }),
        6 => message(),
        1 => (index(), share()).prop_map(|(dom, share)| Step::Adjust { dom, share }),
        1 => domain(),
        1 => index().prop_map(|dom| Step::Remove { dom }),
    ]
}

/// Steps that begin with some domains.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let first = Step::Add { privileged: true, pins: vec![None] };
    (vec(domain(), 1..4), vec(step(), 1..150))
        .prop_map(move |(domains, steps)| [first.clone()].into_iter().chain(domains).chain(steps).collect())
}
