//! Policies of a scenario: reads their settings, and checks that a policy accepts them and admits the
//! domains.
//!
//! The settings of a policy are in `[policy]`, those of domains in their `settings`. A table among them that
//! is named after one policy, or several, holds for these only: so one scenario can be run under many
//! policies.
//!
//! Invariant: a refusal by a policy is reported at its place in the file before anything runs.

use paceline_kernel::Time;
use paceline_machine::MachineSpec;
use paceline_policy::{
    DomId, Host, NewDomain, Orders, PcpuId, Policy, PolicyError, Setting, Settings, VcpuId,
};
use paceline_scenario::keys::{self, Key, Missing};
use paceline_scenario::{Raw, ScenarioError, Section, Value};

use super::MachineScenario;

/// The name at `key`, which must be that of a policy.
pub(super) fn kind(section: &mut Section, key: &str) -> Result<&'static str, ScenarioError> {
    let choices: Vec<_> = paceline_policy::names().map(|name| (name, name)).collect();
    section.choice(key, &choices, None)
}

/// The tables of `section` that hold for the policy `kind`.
fn tables(section: &mut Section, kind: &str) -> Result<Vec<Section>, ScenarioError> {
    let names: Vec<_> = paceline_policy::names().collect();
    let mut chosen = Vec::new();
    for (key, _) in section.clone().rest() {
        if !section.is_table(&key) {
            continue;
        }
        let policies: Vec<_> = key.split([' ', ',']).filter(|name| !name.is_empty()).collect();
        if let Some(other) = policies.iter().find(|name| !names.contains(name)) {
            let hint = paceline_scenario::nearest(other, names.iter().copied());
            let hint = hint.map_or(String::new(), |hint| format!("; did you mean {hint:?}?"));
            return Err(section.unknown(
                &key,
                format!("settings for {other:?}, which is no policy{hint}"),
                &names,
            ));
        }
        let table = section.table(&key)?;
        if policies.contains(&kind) {
            chosen.push(table);
        }
    }
    Ok(chosen)
}

/// The settings in `section` as they are under the policy `kind`.
pub(super) fn settings(section: &Section, kind: &str) -> Result<Settings, ScenarioError> {
    let mut section = section.clone();
    let tables = tables(&mut section, kind)?;
    let mut settings = Settings::default();
    for mut table in std::iter::once(section).chain(tables) {
        for (key, raw) in table.rest() {
            settings.set(key.clone(), setting(&table, &key, &raw)?);
        }
    }
    Ok(settings)
}

fn setting(section: &Section, key: &str, raw: &Raw) -> Result<Setting, ScenarioError> {
    match raw {
        Raw::Bool(flag) => Ok(Setting::Flag(*flag)),
        Raw::String(text) => Ok(match Time::read(raw) {
            Ok(time) => Setting::Nanos(time.as_nanos()),
            Err(_) => Setting::Word(text.clone()),
        }),
        Raw::Integer(number) if u64::try_from(*number).is_ok() => Ok(Setting::Count(*number as u64)),
        other => {
            let allowed = "a duration such as \"300us\", a whole number from 0, true or false, or a word";
            Err(section.refuse(key, format!("the setting `{key}` cannot be {other}"), allowed))
        }
    }
}

/// The error for what `who` was refused, at its place in the section of its `owner` or among the settings in
/// `section`.
fn complain(
    error: PolicyError,
    who: &str,
    (owner, section): (&Section, &Section),
    kind: &str,
) -> ScenarioError {
    let mut outer = section.clone();
    let tables = tables(&mut outer, kind).unwrap_or_default();
    let holder = |key: &str| tables.iter().rev().find(|table| table.has(key)).unwrap_or(section);
    match error {
        PolicyError::UnknownSetting { key, allowed, .. } => {
            let names: Vec<_> = allowed.split(", ").filter(|name| *name != "none").collect();
            let names = if names.is_empty() { vec!["none"] } else { names };
            holder(&key).unknown(&key, format!("{who} has no setting `{key}` under {kind}"), &names)
        }
        PolicyError::BadValue { key, value, allowed } => {
            holder(&key).refuse(&key, format!("`{key}` of {who} cannot be {value} under {kind}"), allowed)
        }
        PolicyError::Oversubscribed { pcpu, percent, .. } => {
            let problem = format!(
                "{who} cannot be admitted by {kind}: {pcpu} would have to give {percent} % of its time"
            );
            section.refuse("slice", problem, "at most 100 %")
        }
        PolicyError::TooManyVcpus { vcpus, pcpus, .. } => {
            let problem =
                format!("{who} has {vcpus} VCPUs, which {kind} cannot run together on {pcpus} PCPUs");
            owner.refuse("vcpus", problem, format!("at most {pcpus}"))
        }
        other @ PolicyError::UnknownPolicy { .. } => {
            section.refuse("kind", other.to_string(), "another policy")
        }
    }
}

/// A domain for the policy of its host, where VCPUs are numbered from `first`.
fn newcomer(dom: u32, privileged: bool, first: u32, vcpus: u32, pins: &[u32]) -> NewDomain {
    let pins = (0..vcpus as usize).map(|vcpu| pins.get(vcpu).copied().map(PcpuId)).collect();
    NewDomain { dom: DomId(dom), privileged, vcpus: (first..first + vcpus).map(VcpuId).collect(), pins }
}

/// Notes the settings that a policy has read as keys of `section`.
fn note(section: &str, settings: &Settings) {
    for known in settings.known() {
        keys::note(|| Key {
            section: section.to_owned(),
            name: known.key.to_owned(),
            allowed: known.allowed.clone(),
            missing: known.default.clone().map_or(Missing::Open, Missing::Default),
        });
    }
}

/// Lets the policy of every host admit the domains of `spec` as they come and go, in the order in which the
/// machine will.
pub(super) fn admit(scenario: &MachineScenario, kind: &str, spec: &MachineSpec) -> Result<(), ScenarioError> {
    let mut orders = Orders::default();
    let mut policies: Vec<Box<dyn Policy>> = Vec::new();
    let (mut vcpu, hosts) = (0, spec.hosts.len() as u32);
    for (host, number) in spec.hosts.iter().zip(0..) {
        let place = Host { pcpus: host.pcpus };
        let mut settings = host.policy.settings.clone();
        let mut policy = paceline_policy::build(kind, &mut settings, place)
            .map_err(|error| complain(error, "the policy", (&scenario.policy, &scenario.policy), kind))?;
        note("policy", &settings);
        policy.start(0, &mut orders);
        let domain = newcomer(number, true, vcpu, host.dom0_vcpus, &host.dom0_pins);
        vcpu += host.dom0_vcpus;
        policy.add(0, &domain, &mut host.dom0_settings.clone(), &mut orders).map_err(|error| {
            complain(error, "the privileged domain", (&scenario.dom0.section, &scenario.dom0.settings), kind)
        })?;
        policies.push(policy);
    }
    let mut events: Vec<_> = Vec::new();
    for (domain, number) in spec.domains.iter().zip(0..) {
        let newcomer = newcomer(hosts + number, false, vcpu, domain.vcpus, &domain.pins);
        vcpu += domain.vcpus;
        events.push((domain.arrives_ns, number, Some(newcomer)));
        events.extend(domain.leaves_ns.map(|leaves_ns| (leaves_ns, number, None)));
    }
    events.sort_by_key(|(at_ns, ..)| *at_ns);
    for (at_ns, number, newcomer) in events {
        let domain = &spec.domains[number as usize];
        let policy = &mut policies[domain.host as usize];
        let Some(newcomer) = newcomer else {
            policy.remove(at_ns, DomId(hosts + number), &mut orders);
            continue;
        };
        let mut settings = domain.settings.clone();
        policy
            .add(at_ns, &newcomer, &mut settings, &mut orders)
            .map_err(|error| complain(error, &domain.name, scenario.sections_of(number as usize), kind))?;
        note("domain.settings", &settings);
    }
    Ok(())
}
