//! A program outside, which speaks JSON, does not get an event that its LP had cancelled before the LP came
//! to it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use paceline_engine::{JsonFederate, Outside, Protocol, Simulation};
use paceline_kernel::{Context, EventId, LpId, Model, Time};

/// Two LPs with the same timers: at 2 s those for 10 and 12 s are cancelled, that for 11 s is not.
#[derive(Clone)]
struct Alarms;

const CHANGE_OF_MIND: u64 = 0;

impl Model for Alarms {
    type State = Vec<EventId>;
    type Event = u64;
    type Output = Vec<(LpId, Time, u64)>;

    const CANCELS: bool = true;

    fn lps(&self) -> u32 {
        2
    }

    fn lookahead(&self) -> Time {
        Time::secs(1)
    }

    fn init(&self, _: LpId, cx: &mut Context<Self>) -> Vec<EventId> {
        cx.schedule(Time::secs(2), CHANGE_OF_MIND);
        [10, 11, 12].map(|at_s| cx.schedule(Time::secs(at_s), at_s)).to_vec()
    }

    fn handle(&self, timers: &mut Vec<EventId>, payload: &u64, cx: &mut Context<Self>) {
        if *payload == CHANGE_OF_MIND {
            assert!(cx.cancel(timers[0]) && cx.cancel(timers[2]));
        }
    }

    fn commit(&self, lp: LpId, at: Time, payload: &u64, output: &mut Self::Output) {
        output.push((lp, at, *payload));
    }
}

/// Sends nothing itself; returns the times, in seconds, of the events that it got.
fn other_side(stream: UnixStream) -> std::io::Result<Vec<u64>> {
    let mut writer = stream.try_clone()?;
    let mut told_of = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line: serde_json::Value = serde_json::from_str(&line?)?;
        let Some(events) = line["advance"]["events"].as_array() else { continue };
        told_of.extend(
            events.iter().filter_map(|event| event["at_ns"].as_u64()).map(|at_ns| at_ns / 1_000_000_000),
        );
        writeln!(writer, "{}", serde_json::json!({ "done": { "next_ns": null, "events": [] } }))?;
    }
    Ok(told_of)
}

#[test]
fn a_program_outside_is_not_told_of_what_was_cancelled_before() {
    for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
        let what = format!("{protocol:?}");
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets can be made");
        let other = std::thread::spawn(move || other_side(theirs));
        let reader = ours.try_clone().expect("a socket can be shared");
        let joins = Outside::new(JsonFederate::new(Alarms, reader, ours)).from(Time::secs(5));
        let run =
            Simulation::new(Alarms).protocol(protocol).federates(2).until(Time::secs(20)).outside(1, joins);
        let report = run.run().expect("both sides keep the rules");
        let mut committed: Vec<_> = report.outputs.into_iter().flatten().collect();
        committed.sort();
        let expected = |lp| [(2, 0), (11, 11)].map(|(at_s, payload)| (LpId(lp), Time::secs(at_s), payload));
        assert_eq!(committed, [expected(0), expected(1)].concat(), "{what}");
        let told_of = other.join().expect("the other side does not panic").expect("the stream works");
        assert_eq!(told_of, [11], "{what}");
    }
}
