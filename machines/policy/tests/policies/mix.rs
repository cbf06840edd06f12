//! Random domains, with messages that come for them at random times, for properties that always hold.

use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, Setting, Settings};
use proptest::prelude::*;

use crate::lab::{Act, Lab};

/// A random load of a host.
#[derive(Clone, Debug)]
pub struct Mix {
    pub pcpus: u32,
    /// By domain: whether it is DOM0, its VCPUs' scripts and pins, and its settings.
    pub domains: Vec<(bool, Scripts, Settings)>,
    /// When, for which domain, and how many messages are pending from then on.
    pub messages: Vec<(u64, u32, u32)>,
}

pub type Scripts = Vec<(Vec<Act>, Option<u32>)>;

/// Up to three PCPUs and eight domains, the first of them DOM0, every VCPU pinned.
pub fn mixes(settings: fn() -> BoxedStrategy<Settings>) -> impl Strategy<Value = Mix> {
    let times = (20_u64..4_000, 0_u64..3_000);
    let acts = times.prop_map(|(runs_us, sleeps_us)| match sleeps_us {
        0..1_000 => vec![Act::Compute(runs_us * 1_000)],
        _ => vec![Act::Compute(runs_us * 1_000), Act::Sleep((sleeps_us - 900) * 1_000)],
    });
    let script = prop::collection::vec(acts, 1..4).prop_map(|acts| acts.concat());
    (1_u32..4).prop_flat_map(move |pcpus| {
        let vcpus = prop::collection::vec((script.clone(), (0..pcpus).prop_map(Some)), 1..3);
        let domains = prop::collection::vec((vcpus, settings()), 1..8);
        let messages = prop::collection::vec((0_u64..100_000, 0_u32..8, 0_u32..5), 0..60);
        (domains, messages).prop_map(move |(domains, mut messages)| {
            messages.sort();
            let domains = domains.into_iter().enumerate();
            let domains =
                domains.map(|(number, (scripts, settings))| (number == 0, scripts, settings)).collect();
            let messages =
                messages.into_iter().map(|(at_us, dom, count)| (at_us * 1_000, dom, count)).collect();
            Mix { pcpus, domains, messages }
        })
    })
}

/// A VCPU that only computes, that computes and sleeps, or that computes and yields, each for less than
/// `most_us`; pinned or not.
pub fn scripts(pcpus: u32, most_us: u64) -> impl Strategy<Value = (Vec<Act>, Option<u32>)> {
    let span = move || 1..most_us;
    let script = prop_oneof![
        Just(vec![Act::Compute(1_000_000 * MS)]),
        (span(), span()).prop_map(|(run, rest)| vec![Act::Compute(run * US), Act::Sleep(rest * US)]),
        span().prop_map(|run| vec![Act::Compute(run * US), Act::Yield]),
    ];
    (script, proptest::option::weighted(0.2, 0..pcpus))
}

/// Slices of up to a twentieth of the time, so that they fit wherever the VCPUs are pinned, and extra time.
pub fn small_slices() -> BoxedStrategy<Settings> {
    let slices = (2_u64..40, 0_u64..20).prop_map(|(period_ms, percent)| {
        let slice_ns = if percent > 5 { 0 } else { period_ms * MS * percent / 100 };
        let settings = Settings::default().with("period", Setting::Nanos(period_ms * MS));
        settings.with("slice", Setting::Nanos(slice_ns)).with("extra", Setting::Flag(true))
    });
    slices.boxed()
}

impl Mix {
    /// Runs 100 ms of it under a policy; `watch` gets the laboratory after every message and at every
    /// millisecond.
    pub fn play(&self, kind: &str, settings: &Settings, mut watch: impl FnMut(&Lab)) -> Lab {
        let mut lab = Lab::new(kind, settings.clone(), self.pcpus);
        for (privileged, scripts, settings) in &self.domains {
            lab.domain(*privileged, scripts, true, settings.clone()).expect("it is admitted");
        }
        let mut messages =
            self.messages.iter().filter(|(_, dom, _)| (*dom as usize) < self.domains.len()).peekable();
        for at_ns in (0..=100 * MS).step_by(MS as usize) {
            while let Some((told_ns, dom, count)) = messages.next_if(|(told_ns, ..)| *told_ns <= at_ns) {
                lab.run(*told_ns);
                lab.pending(*dom, *count);
                watch(&lab);
            }
            lab.run(at_ns);
            watch(&lab);
        }
        lab
    }
}
