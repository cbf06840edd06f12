//! Any text as a platform file, and as a deployment for it: it reads as one, or is refused with a message
//! that has a place.
//!
//! What follows the first line that is `~~~~` is the text of every profile that the file names. The readers
//! never panic, and take no memory or time out of proportion; on what they accept, routes are found or
//! reported as missing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_network::{Deployment, FlowModel, Flows, HostId, Network, ReadError, read};

fuzz_target!(|input: &str| {
    let (text, profile) = input.split_once("\n~~~~\n").unwrap_or((input, ""));
    let platform = match read("fuzz.xml", text, &mut |_| Ok(profile.to_owned())) {
        Ok(platform) => platform,
        Err(mistake) => return show(&mistake),
    };
    if let Err(mistake) = Deployment::read("fuzz.xml", text, &platform) {
        show(&mistake);
    }
    let mut network = Flows::new(&platform, FlowModel::LV08);
    for host in 0..platform.hosts().len().min(4) as u32 {
        let (from, to) = (HostId(host), HostId(0));
        match network.start(from, to, 1e6) {
            Ok(_) => assert!(!platform.route(from, to).expect("it has started").links.is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for _ in 0..20 {
        let Some(at) = network.next() else { break };
        network.advance(at);
    }
});

fn show(mistake: &ReadError) {
    assert!(mistake.line >= 1 && mistake.column >= 1);
    assert_eq!(mistake.to_string().lines().count(), 1, "{mistake}");
}
