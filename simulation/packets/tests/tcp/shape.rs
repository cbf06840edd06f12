//! What a connection costs: its memory, and that equal calls give equal states.

use std::hash::{DefaultHasher, Hash, Hasher};

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, Connection, Segment, Settings, Step};

use super::network::{Network, Path};

/// A path of 10 ms.
struct Plain;

impl Path for Plain {
    fn send(&mut self, now: Time, _flow: usize, _from: usize, _segment: &Segment) -> Vec<(Time, bool)> {
        vec![(now + Time::millis(10), false)]
    }
}

#[test]
fn a_connection_is_small() {
    let bytes = size_of::<Connection>();
    assert!(bytes <= 768, "{bytes} bytes");
}

#[test]
fn equal_calls_give_equal_states() {
    let run = || {
        let settings = Settings { algorithm: Algorithm::Bbr, ..Settings::default() };
        let flows = [(Time::ZERO, 3_000_000)];
        let mut network = Network::new(Plain, [settings.clone(), settings], &flows);
        network.run(Time::millis(200));
        network.flows[0].ends.clone()
    };
    assert_eq!(run(), run());
    let hash = |ends: &[Connection; 2]| {
        let mut hasher = DefaultHasher::new();
        ends.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&run()), hash(&run()));
}

#[test]
fn a_state_goes_on_where_its_copy_stopped() {
    let settings = Settings::default();
    let mut out = vec![];
    let mut connection = Connection::connect(&mut Step::new(&settings, Time::ZERO, &mut out), 1);
    let mut copy = connection.clone();
    let mut outputs = vec![];
    for each in [&mut connection, &mut copy] {
        let mut out = vec![];
        each.on_timer(&mut Step::new(&settings, Time::secs(1), &mut out));
        outputs.push(out);
    }
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(connection, copy);
}
