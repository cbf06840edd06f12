//! `paceline rti`: federates join it, a signal ends it, and it does not listen to other machines by mistake.

mod client;
mod shown;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{ChildStdout, Command, Stdio};

use paceline_hla::{
    Callback, FomModule, FomModuleSource, LogicalTime, LogicalTimeInterval, Response, request,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{Running, error_text, folder_of, says};
use client::Client;

/// A server that a test has started.
pub struct Served {
    pub child: Running,
    pub output: BufReader<ChildStdout>,
    /// The places that its first line names, without their kind.
    pub places: Vec<String>,
}

impl Served {
    pub fn start(folder: &std::path::Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, |_| {})
    }

    /// Starts it as `set` has it.
    pub fn start_with(folder: &std::path::Path, arguments: &[&str], set: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command
            .current_dir(folder)
            .env("XDG_RUNTIME_DIR", folder)
            .arg("rti")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        set(&mut command);
        let mut child = Running::start(&mut command);
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        output.read_line(&mut first).expect("it prints");
        let places = first.split(['"', ' ', ',', '\n']).filter_map(|word| word.split_once("://"));
        let places: Vec<String> = places.map(|(_, place)| place.to_owned()).collect();
        if places.is_empty() {
            let mut said = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
            panic!("it listens nowhere: {first}{said}");
        }
        Self { child, output, places }
    }

    pub fn address(&self) -> SocketAddr {
        self.places[0].parse().expect("an address")
    }

    /// Ends it with a signal; returns the rest of what it printed, what it logged, and its exit status.
    pub fn end(mut self, signal: Signal) -> (String, String, Option<i32>) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(pid, signal).expect("it runs");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        let output = self.child.wait_with_output();
        (rest, String::from_utf8(output.stderr).expect("text"), output.status.code())
    }
}

fn create(module: &str) -> request::CreateFederationExecution {
    let source = Some(FomModuleSource::Url(module.to_owned()));
    request::CreateFederationExecution {
        federation_name: "F".to_owned(),
        fom_module: Some(FomModule { source }),
    }
}

const MODULE: &str = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"/>";

#[test]
fn a_federate_joins_and_a_signal_ends_its_session() {
    let folder = folder_of(&[("secret.xml", MODULE)]);
    fs::create_dir(folder.path().join("foms")).expect("a folder can be made");
    fs::write(folder.path().join("foms/fom.xml"), MODULE).expect("it can be written");
    let served = Served::start(folder.path(), &["--listen", "127.0.0.1:0", "--foms", "foms"]);
    let mut client = Client::connect(served.address());
    assert!(matches!(client.ask(request::Connect {}), Response::Connect(_)));
    let refused = client.ask(create("../secret.xml"));
    assert!(
        matches!(&refused, Response::Exception(e) if e.exception_name == "CouldNotOpenFOM"),
        "{refused:?}"
    );
    let created = client.ask(create("fom.xml"));
    assert!(matches!(created, Response::CreateFederationExecution(_)), "{created:?}");
    let join = request::JoinFederationExecution {
        federate_type: "test".to_owned(),
        federation_name: "F".to_owned(),
    };
    let joined = client.ask(join);
    assert!(matches!(joined, Response::JoinFederationExecution(_)), "{joined:?}");
    let session = client.session.to_string();
    let (rest, log, status) = served.end(Signal::INT);
    client.read_to_end();
    assert!(client.is_terminated);
    assert!(
        matches!(&client.callbacks[..], [.., Callback::ConnectionLost(lost)] if lost.fault_description.contains("ended"))
    );
    assert_eq!((rest.as_str(), status), ("ended, with 1 session\n", Some(130)));
    says(&log, &["the module \"../secret.xml\" is outside of the folder of modules"]);
    assert!(!log.contains(&session), "whoever knows the session can take it: {log}");
}

#[test]
fn several_addresses_are_listened_at_and_json_is_printed() {
    let folder = folder_of(&[]);
    let served =
        Served::start(folder.path(), &["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--json"]);
    let [first, second] = &served.places[..] else { panic!("two places") };
    assert_ne!(first, second);
    for place in [first, second] {
        let mut client = Client::connect(place.parse().expect("an address"));
        assert!(matches!(client.ask(request::Connect {}), Response::Connect(_)));
        client.terminate();
    }
    let mut stranger = std::net::TcpStream::connect(first).expect("it listens");
    std::io::Write::write_all(&mut stranger, b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
    stranger.read_to_end(&mut Vec::new()).expect("it closes");
    let (rest, log, status) = served.end(Signal::TERM);
    let lines: Vec<serde_json::Value> =
        rest.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    assert_eq!(lines[lines.len() - 1], serde_json::json!({"event": "ended", "sessions": 0}));
    assert!(lines[0]["line"].as_str().is_some_and(|line| line.contains("longer than the limit")), "{rest}");
    assert_eq!((log.as_str(), status), ("", Some(143)));
}

#[test]
fn it_listens_to_other_machines_only_if_that_is_asked_for() {
    let folder = folder_of(&[]);
    let error = error_text(folder.path(), &["rti", "--listen", "0.0.0.0:0"], 2);
    says(&error, &["--listen 0.0.0.0:0", "other machines reach this address", "--insecure"]);
    let served = Served::start(folder.path(), &["--listen", "0.0.0.0:0", "--insecure"]);
    assert!(served.places[0].starts_with("0.0.0.0:"));
    let error = error_text(folder.path(), &["rti", "--listen", &served.places[0], "--insecure"], 1);
    says(&error, &["cannot listen at tcp://0.0.0.0:", "in use"]);
    served.end(Signal::INT);
}

#[test]
fn bad_options_are_refused_before_anybody_can_connect() {
    let folder = folder_of(&[("empty", ""), ("text", "no certificate")]);
    for (arguments, words) in [
        (&["--foms", "absent"][..], &["--foms absent:"][..]),
        (&["--listen", "tls://127.0.0.1:0"], &["--listen tls://127.0.0.1:0", "--tls CERT,KEY"]),
        (&["--tls", "text"], &["--tls names 1 files", "a certificate and its key"]),
        (&["--tls", "text,text"], &["--tls: text: it has no certificate"]),
        (&["--password", "empty"], &["--password empty: its first line is empty"]),
        (&["--limit", "federations=0"], &["--limit federations=0", "from 1 on"]),
    ] {
        says(&error_text(folder.path(), &[&["rti"], arguments].concat(), 2), words);
    }
}

#[test]
fn the_status_says_who_is_waited_for() {
    let folder = folder_of(&[]);
    fs::write(folder.path().join("fom.xml"), MODULE).expect("it can be written");
    let status = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.env("XDG_RUNTIME_DIR", folder.path()).args(["rti", "status"]).args(arguments);
        let output = command.output().expect("the program starts");
        (String::from_utf8(output.stdout).expect("text"), String::from_utf8(output.stderr).expect("text"))
    };
    assert_eq!(status(&[]).1, "error: no run-time infrastructure is served\n");
    let served = Served::start(folder.path(), &["--listen", "127.0.0.1:0", "--foms", "."]);
    let mut clients = ["behind", "ahead"].map(|federate_name| {
        let mut client = Client::connect(served.address());
        client.ask(request::Connect {});
        client.ask(create("fom.xml"));
        let (federate_type, federation_name) = ("test".to_owned(), "F".to_owned());
        let federate_name = federate_name.to_owned();
        client.ask(request::JoinFederationExecutionWithName {
            federate_name,
            federate_type,
            federation_name,
        });
        let lookahead = Some(LogicalTimeInterval { data: 1_f64.to_be_bytes().to_vec().into() });
        client.ask(request::EnableTimeRegulation { lookahead });
        client.ask(request::EnableTimeConstrained {});
        client
    });
    let time = Some(LogicalTime { data: 2.5_f64.to_be_bytes().to_vec().into() });
    clients[1].ask(request::TimeAdvanceRequest { time });
    let (page, _) = status(&[]);
    says(
        &page,
        &[": 2 sessions, 1 federation\n", "F: HLAfloat64Time, 2 federates; behind holds up ahead since "],
    );
    says(
        &page,
        &[
            "  behind: at 0, lookahead 1, GALT 3.5, last call ",
            "  ahead: at 0, asks for 2.5, waits for behind since ",
        ],
    );
    let (object, _) = status(&["--json"]);
    let object: serde_json::Value = serde_json::from_str(&object).expect("an object");
    let ahead = &object["federations"][0]["federates"][1];
    assert_eq!((&ahead["at"], &ahead["asks_for"]), (&"0".into(), &"2.5".into()));
    assert_eq!(ahead["waits_for"], serde_json::json!(["behind"]));
    assert!(ahead["waits_seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0), "{ahead}");
    let pid = served.child.id().to_string();
    assert_eq!(object["pid"].to_string(), pid);
    assert!(status(&["--pid", "1"]).1.contains("is served in process 1"));
    served.end(Signal::INT);
    assert!(
        status(&["--pid", &pid]).1.contains("no run-time infrastructure is served"),
        "its socket is gone"
    );
}
