//! The digests of the ready-made scenarios, pinned: what a scenario computes does not change unnoticed.
//!
//! The rule: a digest in this table changes only in a commit whose subject says that it does and whose
//! message says why. Such a commit also makes checkpoints and published results of earlier versions
//! incomparable.
//!
//! Each scenario runs with the settings of its line `# short:`. Scenarios of machines have no digest; those
//! with a line `# needs:` read data that the project does not hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::{paceline, stderr};
use serde_json::Value;

const DIGESTS: &[(&str, &str)] = &[
    ("bittorrent", "643b5c2fa624d9ab"),
    ("blb", "b41070a1d6699cc8"),
    ("cellular", "74cc38023a425704"),
    ("chord", "82bf306d4326600c"),
    ("farm", "99b6931b743883e9"),
    ("hlb", "1165c6090837cf52"),
    ("master-workers", "ea8d55b19da3bdc6"),
    ("mpi-trace", "bcafbc4b2a7114f6"),
    ("packets-backbone", "9352f2569af31faa"),
    ("packets-bufferbloat", "351aae77ef7a5fd5"),
    ("packets-collective", "27f07fd6e466a8af"),
    ("packets-dumbbell", "cb322827bb19df0c"),
    ("packets-fat-tree", "7f72cddd2dfff5dc"),
    ("packets-incast", "41e3a906b7e597e9"),
    ("packets-web", "6cb2b7ead308832f"),
    ("packets-web-search", "7e54c1837e66fc42"),
    ("phold", "d769e567f9c80b07"),
    ("phold-mixed", "c81be0f6434addc6"),
    ("phold-optimistic", "636549bb9ab71d8e"),
    ("queueing", "b14bb7a04eed8ce5"),
    ("queueing-priorities", "db5b59e0e6fe22bf"),
    ("ringtown", "a93c342e2f50a120"),
    ("seir", "ba94b84514b9581a"),
    ("supply-chain", "452b046019dec14d"),
    ("traffic", "1d5fd2c742160839"),
    ("traffic-grid-small", "0b48d48786429db3"),
    ("ulb", "8874d658c79193f7"),
    ("vsb", "34369bd6297dc964"),
    ("wireless", "fefc74bd0b807833"),
    ("wireless-csma", "66b1b4772a58b688"),
];

#[test]
fn every_scenario_has_the_digest_that_is_pinned_here() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(project.join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // What guests do depends on the packages that this machine has.
        let has_guests = text.contains("\n[[guest]]");
        if has_guests || text.contains("\n[machine]") || text.contains("\n# needs: ") {
            continue;
        }
        let short = text.lines().find_map(|line| line.strip_prefix("# short: ")).expect("a short form");
        let mut arguments = vec!["run", path.to_str().unwrap(), "--json"];
        short.split_whitespace().for_each(|setting| arguments.extend(["--set", setting]));
        let output = paceline(&project, &arguments);
        assert!(output.status.success(), "{}: {}", path.display(), stderr(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        found.insert(name, summary["digest"].as_str().expect("a digest").to_owned());
    }
    let pinned = DIGESTS.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect();
    assert_eq!(found, pinned, "read the rule at the head of this file");
}
