//! Which keys are recorded for a list of all that a scenario may have.

use paceline_kernel::Time;
use paceline_scenario::keys::recorded;
use paceline_scenario::{Scenario, Section};

fn read(run: &mut Section) {
    run.required::<u32>("lps").unwrap();
    run.or("lps", 1u32).unwrap();
    run.or("mean", Time::millis(1500)).unwrap();
    run.or("share", 0.25).unwrap();
    run.choice("law", &[("any", 1), ("group", 2)], Some(2)).unwrap();
    run.optional::<bool>("pin").unwrap();
    run.optional::<String>("kind").unwrap();
    run.choice("kind", &[("ring", 1)], Some(1)).unwrap();
    run.file("trace").unwrap();
    run.table("wait").unwrap().or("poll", 3u64).unwrap();
}

#[test]
fn keys_are_recorded_as_they_were_asked_for_first() {
    let mut scenario = Scenario::parse("", "[run]\nlps = 2\n", "".as_ref(), &[]).unwrap();
    let mut run = scenario.section("run").unwrap();
    let ((), keys) = recorded(|| read(&mut run));
    let shown: Vec<_> =
        keys.iter().map(|key| format!("{}.{} {:?}", key.section, key.name, key.missing)).collect();
    let expected = [
        "run.lps Refused",
        "run.mean Default(\"\\\"1500ms\\\"\")",
        "run.share Default(\"0.25\")",
        "run.law Default(\"\\\"group\\\"\")",
        "run.pin Open",
        "run.kind Default(\"\\\"ring\\\"\")",
        "run.trace Open",
        "run.wait Open",
        "run.wait.poll Default(\"3\")",
    ];
    assert_eq!(shown, expected);
    assert_eq!(keys[3].allowed, "\"any\", \"group\"");
    read(&mut run);
    assert_eq!(recorded(|| ()).1, [], "what was read before is not recorded");
}
