//! What every policy promises, whatever it orders by: the same answers to the same calls, refusals that change nothing, and
//! domains that come and go.

use crate::lab::{Act, Lab, Stretch};
use paceline_policy::{
    DomId, Host, KINDS, MICROSECOND as US, NewDomain, Orders, Setting, Settings, VcpuId, build,
};
use proptest::prelude::*;

/// Settings with which a policy takes some domains and lets them run.
fn settings(kind: &str, number: u64) -> Settings {
    match kind {
        "arinc653" => Settings::default()
            .with("offset", Setting::Nanos(number * 500 * US))
            .with("runtime", Setting::Nanos(500 * US)),
        _ => Settings::default(),
    }
}

fn scripts() -> impl Strategy<Value = Script> {
    let span = || 1u64..5_000;
    let script = prop_oneof![
        Just(vec![Act::Compute(1_000_000_000 * US)]),
        (span(), span()).prop_map(|(run, rest)| vec![Act::Compute(run * US), Act::Sleep(rest * US)]),
        (span(), span()).prop_map(|(run, lvt)| vec![Act::Compute(run * US), Act::Lvt(lvt), Act::Yield]),
    ];
    (script, proptest::option::weighted(0.2, 0u32..2))
}

/// A VCPU's script and pin.
type Script = (Vec<Act>, Option<u32>);

/// Domains come and go in the laboratory: every 3 ms one more comes, and where `gone` says so an older one goes.
fn comes_and_goes(kind: &str, all: &[(Script, Option<usize>)]) -> (Vec<Stretch>, String) {
    let mut lab = Lab::new(kind, Settings::default(), 2);
    let mut there: Vec<DomId> = Vec::new();
    for (number, (script, gone)) in (0..).zip(all) {
        let added = lab.domain(number == 0, std::slice::from_ref(script), true, settings(kind, number));
        there.extend(added);
        if let Some(gone) = gone.filter(|_| there.len() > 1) {
            lab.remove(there.remove(gone % there.len()));
        }
        lab.run((number + 1) * 3_000 * US);
        assert_eq!(lab.policy.dump(lab.now_ns).len(), there.len(), "{kind} knows who is there");
    }
    lab.run(lab.now_ns + 100_000 * US);
    (lab.stretches(), format!("{:?}", lab.policy.dump(lab.now_ns)))
}

#[test]
fn a_policy_is_called_what_it_is_asked_for_by() {
    for (kind, what) in KINDS {
        let policy = build(kind, &mut Settings::default(), Host { pcpus: 2 }).expect("it needs no settings");
        assert_eq!(policy.name(), *kind);
        assert!(!what.is_empty());
        let mut wrong = Settings::default().with("no_such_setting", Setting::Flag(true));
        assert!(build(kind, &mut wrong, Host { pcpus: 2 }).is_err(), "{kind}");
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    for (kind, _) in KINDS {
        let mut policy =
            build(kind, &mut Settings::default(), Host { pcpus: 2 }).expect("it needs no settings");
        let mut orders = Orders::default();
        let domain = NewDomain { dom: DomId(0), privileged: false, vcpus: vec![VcpuId(0)], pins: vec![None] };
        let wrong = || settings(kind, 1).with("no_such_setting", Setting::Flag(true));
        assert!(policy.add(0, &domain, &mut wrong(), &mut orders).is_err(), "{kind}");
        assert!(policy.dump(0).is_empty(), "{kind}");
        policy.add(0, &domain, &mut settings(kind, 0), &mut orders).expect("it is admitted");
        let before = policy.dump(0);
        assert!(policy.adjust(0, DomId(0), &mut wrong(), &mut orders).is_err(), "{kind}");
        assert_eq!(policy.dump(0), before, "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_calls_have_the_same_answers(
        all in prop::collection::vec((scripts(), proptest::option::weighted(0.4, 0usize..8)), 1..12),
    ) {
        for (kind, _) in KINDS {
            let once = comes_and_goes(kind, &all);
            prop_assert!(!once.0.is_empty(), "{kind}");
            prop_assert_eq!(once, comes_and_goes(kind, &all), "{}", kind);
        }
    }
}
