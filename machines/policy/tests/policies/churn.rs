//! Domains that come, go and change while others run, under every policy that reacts to messages or runs
//! gangs: the laboratory checks each decision, and the same calls must give the same answers.

use crate::lab::{Act, Lab, Stretch};
use paceline_policy::{DomId, MILLISECOND as MS, PcpuId, Setting, Settings, VcpuId};
use proptest::prelude::*;

const KINDS: &str = "sedf csde csdd boost-1a boost-1b boost-1c boost-2a boost-2bi boost-2bii govindan implicit implicit \
    gang flexible";

/// An action on a domain or VCPU, which is named by its index among those that are present.
#[derive(Clone, Debug)]
enum Event {
    Come { vcpus: usize, runs_us: u64, sleeps_us: u64, yields: bool },
    Go(usize),
    Adjust(usize, u64),
    Migrate(usize, u32),
    Messages(usize, u32),
    Waits(usize, bool),
    Ask(u32),
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let which = 0_usize..64;
    let come = (1_usize..3, 50_u64..5_000, 0_u64..3_000, any::<bool>());
    let come = come.prop_map(|(vcpus, runs_us, sleeps_us, yields)| Event::Come {
        vcpus,
        runs_us,
        sleeps_us,
        yields,
    });
    let event = prop_oneof![
        3 => come,
        1 => which.clone().prop_map(Event::Go),
        1 => (which.clone(), 1_u64..9).prop_map(|(dom, value)| Event::Adjust(dom, value)),
        2 => (which.clone(), 0_u32..4).prop_map(|(vcpu, pcpu)| Event::Migrate(vcpu, pcpu)),
        4 => (which.clone(), 0_u32..30).prop_map(|(dom, messages)| Event::Messages(dom, messages)),
        2 => (which, any::<bool>()).prop_map(|(vcpu, waits)| Event::Waits(vcpu, waits)),
        1 => (0_u32..4).prop_map(Event::Ask),
    ];
    prop::collection::vec((0_u64..3_000, event), 1..80)
}

fn settings(kind: &str, variant: usize) -> Settings {
    match kind {
        "implicit" => {
            let reaction = ["immediate-boost", "periodic-boost"][variant % 2];
            Settings::default().with("reaction", Setting::Word(reaction.into()))
        }
        "gang" | "flexible" => Settings::default().with("slot", Setting::Nanos(2 * MS)),
        _ => Settings::default(),
    }
}

/// Other settings of a domain.
fn change(kind: &str, value: u64) -> Settings {
    match kind {
        "gang" | "flexible" => Settings::default().with("gang", Setting::Count(value)),
        "implicit" => Settings::default(),
        _ => Settings::default().with("slice", Setting::Nanos(value * MS / 3)),
    }
}

/// The policy's dump names every VCPU that is present, with the PCPU on which it runs.
fn check_told(lab: &Lab, pcpus: u32, vcpus: usize) {
    let running: Vec<_> = (0..pcpus).filter_map(|pcpu| Some((lab.running(pcpu)?, PcpuId(pcpu)))).collect();
    let dump = lab.policy.dump(lab.now_ns);
    assert_eq!(dump.len(), vcpus);
    let runs_on = |vcpu| running.iter().find(|(running, _)| *running == vcpu).map(|(_, pcpu)| *pcpu);
    dump.iter().for_each(|standing| assert_eq!(standing.runs_on, runs_on(standing.vcpu), "{standing:?}"));
    dump.iter().for_each(|standing| assert!(standing.awake || standing.runs_on.is_none(), "{standing:?}"));
}

fn play(kind: &str, values: Settings, pcpus: u32, events: &[(u64, Event)]) -> Vec<Stretch> {
    let mut lab = Lab::new(kind, values, pcpus);
    let mut doms: Vec<(DomId, Vec<u32>)> = Vec::new();
    let mut vcpus = 0;
    for (after_us, event) in events {
        lab.run(lab.now_ns + after_us * 1_000);
        let pick = |which: &usize| doms.get(*which % doms.len().max(1)).cloned();
        match event {
            Event::Come { vcpus: number, runs_us, sleeps_us, yields } => {
                let mut script = vec![Act::Compute(runs_us * 1_000)];
                script.extend((*sleeps_us > 500).then_some(Act::Sleep(sleeps_us * 1_000)));
                script.extend(yields.then_some(Act::Yield));
                let number = (*number).min(pcpus as usize);
                // DOM0 comes first.
                let privileged = vcpus == 0;
                let scripts = vec![(script, None); number];
                let dom =
                    lab.domain(privileged, &scripts, true, Settings::default()).expect("it is admitted");
                doms.push((dom, (vcpus..vcpus + number as u32).collect()));
                vcpus += number as u32;
            }
            Event::Go(which) => {
                if let Some((dom, _)) = pick(which) {
                    lab.remove(dom);
                    doms.retain(|(other, _)| *other != dom);
                }
            }
            Event::Adjust(which, value) => {
                if let Some((dom, _)) = pick(which) {
                    let mut change = change(kind, *value);
                    lab.call(|policy, now_ns, orders| {
                        // It may not fit: then nothing changes.
                        let _ = policy.adjust(now_ns, dom, &mut change, orders);
                    });
                }
            }
            Event::Migrate(which, pcpu) => {
                let all: Vec<u32> = doms.iter().flat_map(|(_, vcpus)| vcpus.clone()).collect();
                let vcpu = all.get(which % all.len().max(1)).copied().map(VcpuId);
                let runs = |vcpu: &VcpuId| (0..pcpus).any(|pcpu| lab.running(pcpu) == Some(*vcpu));
                if let Some(vcpu) = vcpu.filter(|vcpu| !runs(vcpu)) {
                    let pcpu = PcpuId(pcpu % pcpus);
                    lab.call(|policy, now_ns, orders| policy.migrate(now_ns, vcpu, pcpu, false, orders));
                }
            }
            Event::Messages(which, messages) => {
                if let Some((dom, _)) = pick(which) {
                    lab.call(|policy, now_ns, orders| policy.pending(now_ns, dom, *messages, orders));
                }
            }
            Event::Waits(which, waits) => {
                if let Some((_, vcpus)) = pick(which) {
                    let vcpu = VcpuId(vcpus[0]);
                    lab.call(|policy, now_ns, orders| policy.waiting(now_ns, vcpu, *waits, orders));
                }
            }
            Event::Ask(pcpu) => lab.call(|_, _, orders| orders.reschedule(PcpuId(pcpu % pcpus))),
        }
        check_told(&lab, pcpus, doms.iter().map(|(_, vcpus)| vcpus.len()).sum());
        // If there is only one PCPU, it idles only while no VCPU waits.
        assert!(pcpus > 1 || lab.wasted().is_empty());
    }
    lab.run(lab.now_ns + 100 * MS);
    lab.stretches()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_decision_is_sound_whatever_comes(pcpus in 1_u32..5, events in events()) {
        for (variant, kind) in KINDS.split(' ').enumerate() {
            let values = settings(kind, variant);
            let first = play(kind, values.clone(), pcpus, &events);
            let rules = kind.starts_with("cs") || kind.starts_with("boost") || kind == "govindan";
            let again = if rules { values.with("choice", Setting::Word("scan".into())) } else { values };
            prop_assert_eq!(first, play(kind, again, pcpus, &events), "{}", kind);
        }
    }
}
