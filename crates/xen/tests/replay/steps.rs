//! What happens to a hypervisor, step by step, at random.

use proptest::collection::vec;
use proptest::prelude::*;

/// A step. Numbers choose among those that there are: `vcpu` the so-manieth of all VCPUs, and so on. A step that nobody can take is left out.
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
    /// So many messages wait for a domain.
    Pending { dom: usize, messages: u32 },
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
    (any::<usize>(), lvt, flags)
        .prop_map(|(pcpu, (lvt, absolute), flags)| Step::Report { pcpu, lvt, absolute, flags })
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
        3 => (index(), 0u32..4).prop_map(|(dom, messages)| Step::Pending { dom, messages }),
        1 => domain(),
        1 => index().prop_map(|dom| Step::Remove { dom }),
    ]
}

/// Steps that begin with some domains.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let first = Step::Add { privileged: true, pins: vec![None] };
    (vec(domain(), 1..4), vec(step(), 1..150)).prop_map(move |(domains, steps)| {
        [first.clone()].into_iter().chain(domains).chain(steps).collect()
    })
}
