//! Properties of every policy, whatever it orders by: the same answers to the same calls, refusals that
//! change nothing, and domains that come and go.

use crate::lab::{Act, Lab, Stretch};
use paceline_policy::{
    DomId, Host, MICROSECOND as US, NewDomain, Orders, POLICIES, PolicyError, Setting, Settings, VcpuId,
    build, names,
};
use proptest::prelude::*;

const HOST: Host = Host { pcpus: 2 };

fn lone_domain() -> NewDomain {
    NewDomain { dom: DomId(0), privileged: false, vcpus: vec![VcpuId(0)], pins: vec![None] }
}

/// Settings with which a policy admits several domains and lets them run.
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

/// Domains come and go in the laboratory: every 3 ms one more comes, and if `gone` says so an older one goes.
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
fn every_policy_is_built_by_a_name_that_no_other_has() {
    for kind in POLICIES {
        build(kind.name, &mut Settings::default(), HOST).expect("it needs no settings");
        assert!(!kind.about.is_empty());
        assert_eq!(names().filter(|name| *name == kind.name).count(), 1, "names differ");
    }
}

/// The list of allowed settings in the error for an unknown one.
fn allowed(refused: Result<(), PolicyError>) -> String {
    match refused {
        Err(PolicyError::UnknownSetting { allowed, .. }) => allowed,
        other => panic!("an unknown setting is refused as one: {other:?}"),
    }
}

#[test]
fn the_table_tells_the_settings_that_policies_and_domains_have() {
    let listed = |keys: &[&str]| if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
    let unknown = || Settings::default().with("no_such_setting", Setting::Flag(true));
    for kind in POLICIES {
        let mut wrong = unknown();
        if kind.keys.contains(&"reaction") {
            wrong.set("reaction", Setting::Word("periodic-boost".into()));
        }
        let refused = build(kind.name, &mut wrong, HOST).map(|_| ());
        assert_eq!(allowed(refused), listed(kind.keys), "{}", kind.name);
        let mut policy = build(kind.name, &mut Settings::default(), HOST).expect("it needs no settings");
        let refused = policy.add(0, &lone_domain(), &mut unknown(), &mut Orders::default());
        assert_eq!(allowed(refused), listed(kind.domain_keys), "{}", kind.name);
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    for kind in names() {
        let mut policy = build(kind, &mut Settings::default(), HOST).expect("it needs no settings");
        let mut orders = Orders::default();
        let domain = lone_domain();
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
        for kind in names() {
            let once = comes_and_goes(kind, &all);
            prop_assert!(!once.0.is_empty(), "{kind}");
            prop_assert_eq!(once, comes_and_goes(kind, &all), "{}", kind);
        }
    }
}
