//! What `paceline rti` shows of federates while they run: a trace, and slots of an LVT page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use paceline_hla::{Callback, LogicalTime, LogicalTimeInterval, Response, request};
use paceline_report::perfetto::packet::{EventType, Trace, TrackDescriptor, TrackEvent};
use prost::Message;
use rustix::process::Signal;

use super::client::Client;
use super::{MODULE, Served, create};
use crate::live::client::Page;
use crate::{Running, error_text, folder_of, says};

fn join(client: &mut Client, name: &str) {
    client.ask(request::Connect {});
    client.ask(create("fom.xml"));
    let federate_name = name.to_owned();
    let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
    let joined = client.ask(request::JoinFederationExecutionWithName {
        federate_name,
        federate_type,
        federation_name,
    });
    assert!(!matches!(joined, Response::Exception(_)), "{joined:?}");
    let lookahead = Some(LogicalTimeInterval { data: 1_f64.to_be_bytes().to_vec().into() });
    client.ask(request::EnableTimeRegulation { lookahead });
    client.ask(request::EnableTimeConstrained {});
}

fn advance(client: &mut Client, to: f64) {
    let time = Some(LogicalTime { data: to.to_be_bytes().to_vec().into() });
    let response = client.ask(request::TimeAdvanceRequest { time });
    assert!(!matches!(response, Response::Exception(_)), "{response:?}");
}

/// Two federates that join a server which has these arguments.
fn served(folder: &Path, arguments: &[&str], page: Option<&Path>) -> (Served, [Client; 2]) {
    fs::write(folder.join("fom.xml"), MODULE).expect("it can be written");
    let usual = ["--listen", "127.0.0.1:0", "--foms", "."];
    let served = Served::start_with(folder, &[&usual, arguments].concat(), |command| {
        if let Some(page) = page {
            command.env("PACELINE_LVT", page);
        }
    });
    let clients = ["behind", "ahead"].map(|name| {
        let mut client = Client::connect(served.address());
        join(&mut client, name);
        client.poll_from_now_on();
        client
    });
    (served, clients)
}

/// The events of each named track, in the order of time.
fn read(path: &Path) -> BTreeMap<String, Vec<(u64, TrackEvent)>> {
    let packets = Trace::decode(&*fs::read(path).expect("it is there")).expect("a trace").packet;
    let tracks: BTreeMap<u64, TrackDescriptor> = packets
        .iter()
        .filter_map(|packet| {
            Some((packet.track_descriptor.as_ref()?.uuid?, packet.track_descriptor.clone()?))
        })
        .collect();
    let mut events: BTreeMap<String, Vec<(u64, TrackEvent)>> = BTreeMap::new();
    for packet in &packets {
        let Some(event) = &packet.track_event else { continue };
        let track = &tracks[&event.track_uuid.expect("an event has a track")];
        let group = tracks[&track.parent_uuid.expect("a federate has a federation")].process.as_ref();
        assert_eq!(group.and_then(|group| group.process_name.as_deref()), Some("F"));
        let name = track.name.clone().expect("a name");
        events.entry(name).or_default().push((packet.timestamp.expect("a time"), event.clone()));
    }
    events
}

#[test]
fn a_trace_has_what_each_federate_did_its_time_and_its_galt() {
    let folder = folder_of(&[]);
    let (served, mut clients) = served(folder.path(), &["--trace", "run.trace"], None);
    advance(&mut clients[1], 2.5);
    advance(&mut clients[0], 0.5);
    advance(&mut clients[0], 2.0);
    // It handles its callback before the next call.
    clients[1].evoke_until(|callback| matches!(callback, Callback::TimeAdvanceGrant(_)));
    clients[1].ask(request::QueryLogicalTime {});
    let (.., log, status) = served.end(Signal::INT);
    assert_eq!((log.as_str(), status), ("", Some(130)));
    let events = read(&folder.path().join("run.trace"));
    let names: Vec<&str> = events.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["GALT of ahead", "GALT of behind", "ahead", "behind", "time of ahead", "time of behind"]
    );
    for name in ["ahead", "behind"] {
        let slices = &events[name];
        let mut before = None;
        for pair in slices.chunks(2) {
            let [(start, begin), (end, over)] = pair else { panic!("each slice ends: {slices:?}") };
            assert_eq!((begin.r#type(), over.r#type()), (EventType::SliceBegin, EventType::SliceEnd));
            assert!(start <= end && before.is_none_or(|before| before == *start), "one follows the other");
            before = Some(*end);
        }
    }
    let did: Vec<&str> = events["ahead"].iter().filter_map(|(_, event)| event.name.as_deref()).collect();
    assert!(did.iter().all(|name| ["granted", "advancing", "in a callback"].contains(name)), "{did:?}");
    let asked = did.iter().position(|name| *name == "advancing").expect("it has waited");
    assert!(did[asked..].contains(&"in a callback") && did.last() == Some(&"granted"), "{did:?}");
    let values = |track: &str| -> Vec<f64> {
        events[track].iter().filter_map(|(_, event)| event.double_counter_value).collect()
    };
    assert_eq!((values("time of ahead"), values("time of behind")), (vec![0.0, 2.5], vec![0.0, 0.5, 2.0]));
    // While it waits its GALT rises with the time of the other one, which has a lookahead of 1.
    assert_eq!(values("GALT of ahead").last(), Some(&3.0));
    assert!(values("GALT of ahead").contains(&1.5), "{:?}", values("GALT of ahead"));
}

#[test]
fn a_page_shows_who_holds_up_whom_and_stops_the_infrastructure() {
    let folder = folder_of(&[]);
    let (mut served, mut clients) = served(folder.path(), &["--live"], None);
    advance(&mut clients[0], 0.5);
    advance(&mut clients[1], 2.5);
    let page = Page::of(std::mem::replace(&mut served.child, Running::none()));
    let mut frames = page.events();
    let mut now = frames.until("now");
    // A page that was not watched asks for the federations with its first frame.
    while now["herd"]["names"].as_array().is_none_or(|names| names.len() < 2) {
        now = frames.until("now");
    }
    let herd = &now["herd"];
    assert_eq!(herd["names"], serde_json::json!(["behind", "ahead"]));
    assert_eq!(herd["front"][1], 2.5, "{herd}");
    says(herd["said"].as_str().expect("words"), &["F: behind holds up ahead since"]);
    let tables = frames.until("tables");
    assert_eq!(tables[0]["rows"][1][4], "behind", "{tables}");
    let (status, said) = page.post("pause");
    assert_eq!(status, 422);
    says(&said, &["a run-time infrastructure of HLA 4", "allowed: status, stop"]);
    assert_eq!(page.post("stop").0, 200);
    page.end(130);
}

#[test]
fn a_trace_that_cannot_be_written_is_said_before_anybody_connects() {
    let folder = folder_of(&[]);
    let error = error_text(folder.path(), &["rti", "--listen", "127.0.0.1:0", "--trace", "no/run.trace"], 1);
    says(&error, &["cannot write no/run.trace"]);
}

/// Federates of this test's process: the least of them is published.
#[cfg(target_os = "linux")]
#[test]
fn federates_are_published_for_their_process() {
    use paceline_lvt::Page;
    use paceline_lvt::layout::SIMULATION;
    let folder = folder_of(&[]);
    let path = folder.path().join("page");
    let page = Page::create(&path, 8).expect("it can be made");
    let (served, mut clients) = served(folder.path(), &[], Some(&path));
    let shown = || -> Vec<(u32, String, u64, u32)> {
        let slots = page.slots().expect("a page");
        slots.iter().map(|slot| (slot.pid, slot.name.to_string(), slot.lvt_ns, slot.flags)).collect()
    };
    let this = |lvt_ns, flags| vec![(std::process::id(), "rti: behind".to_owned(), lvt_ns, flags)];
    // What is published is there before the next call is answered.
    let settle = |client: &mut Client| drop(client.ask(request::QueryLogicalTime {}));
    advance(&mut clients[1], 2.5);
    settle(&mut clients[1]);
    assert_eq!(shown(), this(0, SIMULATION), "one waits, and the other is at 0");
    advance(&mut clients[0], 1.25);
    settle(&mut clients[0]);
    assert_eq!(shown(), this(1_250_000_000, SIMULATION));
    advance(&mut clients[0], 9.0);
    settle(&mut clients[0]);
    settle(&mut clients[1]);
    settle(&mut clients[1]);
    assert_eq!(shown(), this(2_500_000_000, SIMULATION), "one was granted 2.5, the other waits for 9");
    advance(&mut clients[1], 20.0);
    settle(&mut clients[1]);
    settle(&mut clients[0]);
    settle(&mut clients[0]);
    assert_eq!(shown(), this(9_000_000_000, SIMULATION));
    let [first, second] = clients;
    first.terminate();
    assert_eq!(shown(), this(20_000_000_000, SIMULATION), "who is alone was granted what it has asked for");
    second.terminate();
    let (.., log, _) = served.end(Signal::INT);
    assert_eq!((log.as_str(), shown()), ("", vec![]), "nobody is there any more");
}
