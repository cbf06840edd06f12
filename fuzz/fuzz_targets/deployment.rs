//! Any text as a deployment for a platform with two hosts: it reads as one, or is refused with a message that
//! has a place.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use paceline_network::{Deployment, Platform, read};

const PLATFORM: &str = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\
    <host id=\"b\" speed=\"1Gf\"/></zone></platform>";

static HOSTS: LazyLock<Platform> = LazyLock::new(|| {
    read("hosts.xml", PLATFORM, &mut |_| Err("there is none".into())).expect("a sound platform")
});

fuzz_target!(|input: &str| {
    match Deployment::read("fuzz.xml", input, &HOSTS) {
        Ok(deployment) => {
            for actor in &deployment.actors {
                assert!((actor.host.0 as usize) < HOSTS.hosts().len());
                assert!(actor.start >= 0.0 && actor.kill.is_none_or(|kill| kill > actor.start));
            }
        }
        Err(mistake) => {
            assert!(mistake.line >= 1 && mistake.column >= 1);
            assert_eq!(mistake.to_string().lines().count(), 1, "{mistake}");
        }
    }
});
