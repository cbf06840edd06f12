//! Records: a replay reaches the digests of the run, says if it does not, and reads whatever is in a file
//! without a panic.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use paceline_fedpro::{Connection, Host, Limits, Password, RecordEnd, RecordError, Recorder, replay};
use paceline_hla::{Credentials, Response, request};
use proptest::prelude::*;

use crate::client::{Client, Inside};
use crate::hosts::{ask, create_named, exchange, join, opened, register};

/// A file in memory, of which a part is kept.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("nobody panics with it").clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const PASSWORD: &str = "not to be recorded";

fn connect() -> request::ConnectWithCredentials {
    let units: Vec<u16> = PASSWORD.encode_utf16().collect();
    let size = (units.len() as u32).to_be_bytes();
    let data: Vec<u8> = size.into_iter().chain(units.into_iter().flat_map(u16::to_be_bytes)).collect();
    let r#type = "HLAplainTextPassword".to_owned();
    request::ConnectWithCredentials { credentials: Some(Credentials { r#type, data: data.into() }) }
}

/// A run of a few federates: one of them is lost, one resigns, one is there at the end. What is recorded.
fn recorded() -> Vec<u8> {
    let memory = Memory::default();
    // A second federation is refused, in the replay as well.
    let limits = Limits { federations: 1, ..Limits::default() };
    let recorder =
        Recorder::begin(Box::new(memory.clone()), limits.of_infrastructure()).expect("memory takes all");
    let mut host = Host::with_limits(Inside::with_module(), limits);
    host.set_password(Password::new(PASSWORD));
    host.set_recorder(recorder);
    let mut clients: Vec<Client> = (1..=3).map(|connection| opened(&mut host, connection)).collect();
    for (connection, client) in (1..).zip(&mut clients) {
        let connected = ask(&mut host, connection, client, connect());
        assert!(matches!(connected, Response::ConnectWithCredentials(_)), "{connected:?}");
        for name in ["F", "G"] {
            ask(&mut host, connection, client, create_named(name));
        }
        ask(&mut host, connection, client, join());
        ask(&mut host, connection, client, register(connection as u32));
    }
    let (_, torn) = clients[0].call(register(7));
    assert!(!exchange(&mut host, 1, &mut clients[0], &torn[..torn.len() - 1]), "half a call");
    host.lose(Connection(1), std::time::Duration::ZERO);
    host.expire(std::time::Duration::from_secs(1000));
    ask(&mut host, 2, &mut clients[1], request::ResignFederationExecution { resign_action: 5 });
    ask(&mut host, 3, &mut clients[2], register(9));
    let digests = host.finish_record().expect("memory takes all").expect("it records");
    assert_eq!(digests.federates().count(), 3);
    assert!(digests.federates().all(|(_, _, digest)| digest.callbacks > 0), "{digests:?}");
    memory.bytes()
}

#[test]
fn a_replay_reaches_the_digests_of_the_run() {
    let record = recorded();
    let replayed = replay(&*record).expect("it is a record");
    assert_eq!((replayed.end, replayed.calls), (RecordEnd::Equal, 17), "{replayed:?}");
    let text: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert!(!record.windows(text.len()).any(|part| part == text), "the password is nobody's business");
}

#[test]
fn a_replay_that_differs_says_so() {
    let mut record = recorded();
    // The last bytes are those of a digest.
    *record.last_mut().expect("it is not empty") ^= 1;
    assert_eq!(replay(&*record).expect("it is a record").end, RecordEnd::Different);
}

#[test]
fn a_record_that_was_cut_off_is_replayed_up_to_there() {
    let record = recorded();
    let mut calls = 0;
    for end in 8..record.len() {
        let replayed = replay(&record[..end]).expect("the rest is missing, nothing is wrong");
        assert_eq!(replayed.end, RecordEnd::Missing, "{end}");
        assert!((calls..=calls + 1).contains(&replayed.calls), "{end}");
        calls = replayed.calls;
    }
    assert_eq!(calls, 17);
}

#[test]
fn what_is_no_record_is_refused() {
    assert!(matches!(replay(&b"PK\x03\x04"[..]), Err(RecordError::Magic { .. })));
    let mut long = recorded()[..8].to_vec();
    long.extend([0xff; 8]);
    let error = replay(&*long).expect_err("so much is not allowed");
    assert!(error.to_string().contains("entry 1, which ends at byte"), "{error}");
}

proptest! {
    #[test]
    fn damaged_records_do_not_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut record = recorded();
        for (place, value) in damage {
            let place = place.index(record.len());
            record[place] = value;
        }
        let _ = replay(&*Bytes::from(record));
    }
}
